#include "loadtest/load/arrivals.h"

#include <math.h>

/* splitmix64: well mixed from any seed, so neighbouring workers do not resemble each other. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* An exponentially distributed number with mean 1. */
static double exponential(uint64_t *state)
{
    double uniform = ((double)(next_random(state) >> 11) + 1.0) * 0x1p-53; /* (0, 1] */
    return -log(uniform);
}

lt_arrivals arrivals_of(const lt_plan *plan, int worker, int workers)
{
    double gap_ns = 1e9 / plan->rate;
    lt_arrivals arrivals = {.gap_ns = gap_ns * workers, .next_ns = gap_ns * worker};
    if (plan->poisson) {
        arrivals.random = (plan->seed + 1) * UINT64_C(0xD1342543DE82EF95) + (uint64_t)worker;
        arrivals.next_ns = arrivals.gap_ns * exponential(&arrivals.random);
    }
    return arrivals;
}

void arrivals_advance(lt_arrivals *arrivals)
{
    double gaps = arrivals->random == 0 ? 1.0 : exponential(&arrivals->random);
    arrivals->next_ns += arrivals->gap_ns * gaps;
}
