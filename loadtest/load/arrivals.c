/*
 * Due times are computed one after the other from a random generator that the seed and the worker's
 * number start. The backlog is a ring that doubles.
 */
#include "loadtest/load/arrivals.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_ROOM 256

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

/* ---- the backlog ------------------------------------------------------------------------------
 */

static bool grow(lt_backlog *backlog)
{
    size_t room = backlog->room == 0 ? FIRST_ROOM : backlog->room * 2;
    lt_due_request *ring = room > BACKLOG_MAX ? NULL : malloc(room * sizeof(*ring));
    if (!ring)
        return false;
    for (size_t i = 0; i < backlog->count; i++)
        ring[i] = backlog->ring[(backlog->head + i) & (backlog->room - 1)];
    free(backlog->ring);
    *backlog = (lt_backlog){.ring = ring, .count = backlog->count, .room = room};
    return true;
}

bool backlog_push(lt_backlog *backlog, lt_due_request request)
{
    if (backlog->count == backlog->room && !grow(backlog))
        return false;
    backlog->ring[(backlog->head + backlog->count++) & (backlog->room - 1)] = request;
    return true;
}

bool backlog_pop(lt_backlog *backlog, lt_due_request *ret)
{
    if (backlog->count == 0)
        return false;
    *ret = backlog->ring[backlog->head];
    backlog->head = (backlog->head + 1) & (backlog->room - 1);
    backlog->count--;
    return true;
}

void backlog_release(lt_backlog *backlog)
{
    free(backlog->ring);
    *backlog = (lt_backlog){0};
}
