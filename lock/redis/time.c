/* Monotonic time and deadlines. */
#include <limits.h>
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
