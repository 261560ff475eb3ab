/*
 * clock.c - which sample to keep: the narrowest, as long as it can be true.
 *
 * Clocks drift, so what is known becomes less exact with time, by one part in a thousand here,
 * which is more than any clock does. A sample that contradicts it means that Redis's clock was set.
 */
#include "server/redis/clock.h"

#define DRIFT 1000

void clock_take(redis_clock *clock, dlock_time sent, dlock_time received, int64_t redis_us)
{
    if (received.us - sent.us > CLOCK_ROUND_MAX_US)
        return;
    int64_t least = redis_us - received.us, most = redis_us - sent.us;
    int64_t drift = (received.us - clock->taken.us) / DRIFT;
    bool agrees = atomic_load(&clock->known) && least <= clock->most_us + drift &&
                  most >= clock->least_us - drift;
    if (agrees && most - least > clock->most_us - clock->least_us + 2 * drift)
        return;
    clock->least_us = least;
    clock->most_us = most;
    clock->taken = received;
    atomic_store(&clock->offset_us, least);
    atomic_store(&clock->known, true);
}
