/*
 * clock.h - Redis's time, estimated from samples: a question sent, the time in its answer, the
 * answer received.
 *
 * Redis read its clock at some moment between sending and receiving. The estimate takes the latest
 * one, so it is never ahead of Redis's clock, and behind it by one round trip at most: a deadline
 * that is translated is never later there than here. A sample whose answer was long under way, or
 * read late by a process that had been stopped, says little; it does not replace a better one.
 */
#ifndef FLASHSALE_CLOCK_H
#define FLASHSALE_CLOCK_H

#include "lock/dlock_redis.h"

#include <stdatomic.h>

/* An answer that took longer says nothing: so the estimate is never further behind than this. */
#define CLOCK_ROUND_MAX_US 1000000

/* Used by one thread, but for offset_us. All-zero: nothing is known. */
typedef struct redis_clock {
    _Atomic int64_t offset_us; /* Redis's clock less dlock_now() */
    atomic_bool known;
    int64_t least_us, most_us; /* the offset lies between them, by the sample that was kept */
    dlock_time taken;          /* when that was received */
} redis_clock;

/* Takes a sample, or leaves it. */
void clock_take(redis_clock *clock, dlock_time sent, dlock_time received, int64_t redis_us);

#endif
