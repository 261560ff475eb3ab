/*
 * clock.h - monotonic time in nanoseconds, the only clock that measures anything here.
 *
 * Wall-clock time appears once, as the date a report was made.
 */
#ifndef LOADTEST_CLOCK_H
#define LOADTEST_CLOCK_H

#include <stdint.h>

/* An instant of CLOCK_MONOTONIC, or a difference of two, in nanoseconds. */
typedef int64_t mono_ns;

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

mono_ns clock_now(void);

/* Sleeps until `when`; returns at once when that has passed. A signal does not cut it short. */
void clock_sleep_until(mono_ns when);

static inline double clock_seconds(mono_ns span)
{
    return (double)span / (double)NS_PER_S;
}

static inline double clock_ms(mono_ns span)
{
    return (double)span / (double)NS_PER_MS;
}

#endif
