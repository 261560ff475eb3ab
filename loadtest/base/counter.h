/*
 * counter.h - a counter that many threads add to and that may be read while they do.
 *
 * Relaxed order is enough: the counters of a run are read for display while it lasts, and exactly
 * only after its threads were joined.
 */
#ifndef LOADTEST_COUNTER_H
#define LOADTEST_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t counter;

static inline void counter_add(counter *c, uint64_t n)
{
    atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static inline uint64_t counter_get(const counter *c)
{
    return atomic_load_explicit((counter *)c, memory_order_relaxed);
}

#endif
