/*
 * generator_health.h - whether the generator itself could keep up. A run whose generator was the
 * bottleneck measures the generator; it is reported as INVALID.
 */
#ifndef LOADTEST_GENERATOR_HEALTH_H
#define LOADTEST_GENERATOR_HEALTH_H

#include "loadtest/base/clock.h"

struct health_mark {
    mono_ns at, cpu;
};

struct health {
    double cpu_s; /* processor time that this process used */
    double wall_s;
    int cores;    /* that it may run on */
    double share; /* cpu_s / (wall_s * cores) */
};

struct health_mark health_now(void);

/* Between two marks. */
struct health health_between(struct health_mark from, struct health_mark to);

#endif
