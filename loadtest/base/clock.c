/*
 * The monotonic clock and the only two sleeps of the program. Deadlines are absolute, so nothing
 * drifts. A sleep that must end early is cut into slices; this spares each sleeper a condition
 * variable.
 */
#include "loadtest/base/clock.h"

#include <errno.h>
#include <stdatomic.h>

#define SLICE_NS (50 * NS_PER_MS)

mono_ns clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (mono_ns)now.tv_sec * NS_PER_S + now.tv_nsec;
}

struct timespec clock_timespec(mono_ns when)
{
    return (struct timespec){.tv_sec = when / NS_PER_S, .tv_nsec = when % NS_PER_S};
}

void clock_sleep_until(mono_ns when)
{
    struct timespec until = clock_timespec(when);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

bool clock_sleep_unless(const _Atomic int *stop, mono_ns when)
{
    for (mono_ns now = clock_now(); now < when; now = clock_now()) {
        if (atomic_load_explicit((_Atomic int *)stop, memory_order_relaxed) != 0)
            return false;
        clock_sleep_until(now + SLICE_NS < when ? now + SLICE_NS : when);
    }
    return true;
}
