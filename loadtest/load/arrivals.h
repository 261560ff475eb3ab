/*
 * arrivals.h - the requests of an open model: when they are due, and where they wait if every
 * connection is busy then.
 *
 * Rate and seed alone fix the due times; nothing that happens during the run moves them. Several
 * workers share them without communication: with constant arrivals worker k of n takes every n-th
 * request, and the sum of n Poisson processes of rate r/n is one of rate r.
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

#define BACKLOG_MAX ((size_t)1 << 20) /* a run with more proves nothing anyway */

typedef struct lt_due_request {
    int64_t ticket;
    mono_ns due;
} lt_due_request;

/* Waiting requests, FIFO. */
typedef struct lt_backlog {
    lt_due_request *ring;
    size_t head, count, room; /* room is a power of two, or 0 */
} lt_backlog;

/* False when the backlog is full, or memory short. */
bool backlog_push(lt_backlog *backlog, lt_due_request request);
bool backlog_pop(lt_backlog *backlog, lt_due_request *ret);
void backlog_release(lt_backlog *backlog);

#endif
