/*
 * generator_health.h - whether the generator itself could keep up. A run whose generator was the
 * bottleneck measures the generator; it is reported as INVALID.
 */
#ifndef LOADTEST_GENERATOR_HEALTH_H
#define LOADTEST_GENERATOR_HEALTH_H

#include "loadtest/base/clock.h"

typedef struct lt_health_mark {
    mono_ns at, cpu;
} lt_health_mark;

typedef struct lt_generator_health {
    double cpu_s; /* processor time that this process used */
    double wall_s;
    int cores;    /* that it may run on */
    double share; /* cpu_s / (wall_s * cores) */
} lt_generator_health;

lt_health_mark health_now(void);

/* Between two marks. */
lt_generator_health health_between(lt_health_mark from, lt_health_mark to);

#endif
