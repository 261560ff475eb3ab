/*
 * arrivals.h - when the requests of an open model are due.
 *
 * The due times are fixed by rate and seed alone; nothing that happens during the run moves them.
 * Several workers share a schedule without talking to each other: of constant arrivals worker k of
 * n takes every n-th, and the sum of n Poisson processes of rate r/n is one of rate r.
 */
#ifndef LOADTEST_ARRIVALS_H
#define LOADTEST_ARRIVALS_H

#include "loadtest/base/plan.h"

typedef struct lt_arrivals {
    double gap_ns;   /* mean time between two of this worker's arrivals */
    double next_ns;  /* since the start; a double keeps the rate exact over hours */
    uint64_t random; /* state; 0: constant gaps */
} lt_arrivals;

lt_arrivals arrivals_of(const lt_plan *plan, int worker, int workers);

/* When the next request is due, after the start. */
static inline mono_ns arrivals_next(const lt_arrivals *arrivals)
{
    return (mono_ns)arrivals->next_ns;
}

/* Goes on to the one after it. */
void arrivals_advance(lt_arrivals *arrivals);

#endif
