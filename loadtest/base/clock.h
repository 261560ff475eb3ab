/*
 * clock.h - monotonic time in nanoseconds, the only clock that measures anything here.
 *
 * Wall-clock time appears once, as the date a report was made.
 */
#ifndef LOADTEST_CLOCK_H
#define LOADTEST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* An instant of CLOCK_MONOTONIC, or a difference of two, in nanoseconds. */
typedef int64_t mono_ns;

#define NS_PER_US  INT64_C(1000)
#define NS_PER_MS  INT64_C(1000000)
#define NS_PER_S   INT64_C(1000000000)

#define MONO_NEVER INT64_MAX

mono_ns clock_now(void);

/* The instant, or the span, as the kernel takes it. */
struct timespec clock_timespec(mono_ns when);

/* Sleeps until `when`; returns at once when that has passed. A signal does not cut it short. */
void clock_sleep_until(mono_ns when);

/* Likewise, but checks 20 times a second whether to stop. False: *stop became nonzero before
 * `when`. */
bool clock_sleep_unless(const _Atomic int *stop, mono_ns when);

static inline double clock_seconds(mono_ns span)
{
    return (double)span / (double)NS_PER_S;
}

static inline double clock_ms(mono_ns span)
{
    return (double)span / (double)NS_PER_MS;
}

#endif
