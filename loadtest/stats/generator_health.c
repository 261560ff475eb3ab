#include "loadtest/stats/generator_health.h"

#include <sched.h>
#include <time.h>

struct health_mark health_now(void)
{
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (struct health_mark){.at = clock_now(),
                                .cpu = (mono_ns)cpu.tv_sec * NS_PER_S + cpu.tv_nsec};
}

struct health health_between(struct health_mark from, struct health_mark to)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    struct health health = {.cpu_s = clock_seconds(to.cpu - from.cpu),
                            .wall_s = clock_seconds(to.at - from.at),
                            .cores = cores};
    if (health.wall_s > 0.0)
        health.share = health.cpu_s / (health.wall_s * cores);
    return health;
}
