/*
 * A server's clock, as far ahead of ours as its replies have shown. An acquire carries the moment,
 * by that clock, after which nobody waits for its reply: one that a slow network delivers later
 * would keep the lock from everybody for a lease.
 */
#ifndef DLOCK_CORE_SERVER_CLOCK_H
#define DLOCK_CORE_SERVER_CLOCK_H

#include <stdatomic.h>

#include "dlock_redis.h"

typedef struct server_clock {
    _Atomic int64_t offset_us; /* the server's clock less ours; 0 = not known */
} server_clock;

/* A moment by the server's clock, in us. 0: that is not known yet. */
int64_t dlock_server_clock_at(const server_clock *clock, dlock_time moment);

/* The server's clock showed `server_us` after the question was asked and before now. */
void dlock_server_clock_learn(server_clock *clock, int64_t server_us, dlock_time asked);

#endif
