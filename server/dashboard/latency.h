/*
 * latency.h - buckets of durations for percentiles that are read by people: four to a power of two
 * of microseconds, so that one of them, interpolated, is off by some percent only.
 */
#ifndef FLASHSALE_LATENCY_H
#define FLASHSALE_LATENCY_H

#include <stdint.h>

enum {
    LATENCY_FIRST = 7, /* bucket 0: below 2^7 us */
    LATENCY_LAST = 24, /* the last one: 2^24 us (17 s) and more */
    LATENCY_BUCKETS = (LATENCY_LAST - LATENCY_FIRST) * 4 + 2,
};

static inline int latency_bucket(int64_t us)
{
    if (us < 1 << LATENCY_FIRST)
        return 0;
    if (us >= 1 << LATENCY_LAST)
        return LATENCY_BUCKETS - 1;
    int power = 63 - __builtin_clzll((unsigned long long)us);
    return (power - LATENCY_FIRST) * 4 + (int)(us >> (power - 2) & 3) + 1;
}

/* Where a bucket begins, in us; it ends where the next one begins. */
static inline int64_t latency_from_us(int bucket)
{
    int quarters = bucket - 1;
    return bucket == 0 ? 0 : (int64_t)(4 + quarters % 4) << (LATENCY_FIRST - 2 + quarters / 4);
}

#endif
