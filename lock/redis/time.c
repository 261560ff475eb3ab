/*
 * Monotonic time, and waiting until a point of it.
 *
 * Leases go on while the machine is suspended, so time is CLOCK_BOOTTIME. Condition variables do
 * not take that clock: a wait gets the rest of its time on CLOCK_MONOTONIC, and the caller then
 * looks at dlock_now().
 */
#include <errno.h>
#include <time.h>

#include "dlock_redis.h"

dlock_time dlock_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (dlock_time){(int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000};
}

dlock_time dlock_in_ms(int64_t ms)
{
    int64_t now = dlock_now().us;
    if (ms < 0 || ms > (INT64_MAX - now) / 1000)
        return (dlock_time){INT64_MAX};
    return (dlock_time){now + ms * 1000};
}

int dlock_left_ms(dlock_time deadline)
{
    int64_t now = dlock_now().us;
    if (deadline.us <= now)
        return 0;
    int64_t ms = (deadline.us - now - 1) / 1000 + 1;
    return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

bool dlock_passed(dlock_time deadline)
{
    return deadline.us <= dlock_now().us;
}

dlock_time dlock_sooner(dlock_time a, dlock_time b)
{
    return a.us < b.us ? a : b;
}

void dlock_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void dlock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, dlock_time until)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t left_us = until.us - dlock_now().us;
    if (left_us < 0)
        left_us = 0;
    int64_t ns = at.tv_nsec + left_us % 1000000 * 1000;
    at.tv_sec += left_us / 1000000 + ns / 1000000000;
    at.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(cond, mutex, &at);
}

void dlock_sleep(dlock_time until)
{
    struct timespec at = {.tv_sec = until.us / 1000000, .tv_nsec = until.us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
        continue;
}
