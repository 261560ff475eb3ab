#include "loadtest/stats/generator_health.h"

#include <sched.h>
#include <time.h>

lt_health_mark health_now(void)
{
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (lt_health_mark){.at = clock_now(), .cpu = (mono_ns)cpu.tv_sec * NS_PER_S + cpu.tv_nsec};
}

lt_generator_health health_between(lt_health_mark from, lt_health_mark to)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    lt_generator_health health = {.cpu_s = clock_seconds(to.cpu - from.cpu),
                                  .wall_s = clock_seconds(to.at - from.at),
                                  .cores = cores};
    if (health.wall_s > 0.0)
        health.share = health.cpu_s / (health.wall_s * cores);
    return health;
}
