/* Timers: what is due when, as a heap by time. Each timer is a member of what it belongs to. */
#ifndef DLOCK_CORE_TIMERS_H
#define DLOCK_CORE_TIMERS_H

#include "dlock.h"

typedef struct timer {
    dlock_time due;
    int place; /* in the heap, counted from 1; 0 = not in it */
} timer;

typedef struct timers {
    timer **heap;
    int len, cap;
} timers;

/* Sets a timer that is not set. False: out of memory. */
bool dlock_timers_set(timers *all, timer *t, dlock_time due);
void dlock_timers_unset(timers *all, timer *t); /* no matter whether it is set */

/* The one that is due first; NULL: none is set. */
timer *dlock_timers_first(const timers *all);

void dlock_timers_free(timers *all);

#endif
