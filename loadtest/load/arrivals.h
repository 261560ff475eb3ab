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

struct schedule {
    double gap_ns;   /* mean time between two of this worker's arrivals */
    double next_ns;  /* since the start; a double keeps the rate exact over hours */
    uint64_t random; /* state; 0: constant gaps */
};

struct schedule schedule_of(const struct load_plan *plan, int worker, int workers);

/* When the next request is due, after the start. */
static inline mono_ns schedule_next(const struct schedule *schedule)
{
    return (mono_ns)schedule->next_ns;
}

/* Goes on to the one after it. */
void schedule_advance(struct schedule *schedule);

#endif
