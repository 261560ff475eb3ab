#include "loadtest/base/clock.h"

#include <errno.h>
#include <time.h>

mono_ns clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (mono_ns)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void clock_sleep_until(mono_ns when)
{
    struct timespec until = {.tv_sec = when / NS_PER_S, .tv_nsec = when % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}
