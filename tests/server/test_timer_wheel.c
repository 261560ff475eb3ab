/* test_timer_wheel.c - timers on the wheel, without Redis. */
#include "tests/support/fixture.h"

#include <stdatomic.h>

#include "lock/dlock_redis.h"
#include "server/selling/timer_wheel.h"

static int64_t count_up(void *arg)
{
    return ++*(_Atomic int *)arg < 3 ? 20 : -1;
}

static bool fired_three_times(void *arg)
{
    return atomic_load((_Atomic int *)arg) == 3;
}

static void a_timer_fires_until_it_says_no(void **state)
{
    (void)state;
    _Atomic int fired = 0;
    wheel_timer timer = {0};
    fs_wheel *wheel = wheel_open();
    dlock_time begin = dlock_now();
    wheel_start(wheel, &timer, 30, count_up, (void *)&fired);
    assert_true(fx_wait_until(fired_three_times, (void *)&fired, 5000));
    assert_true(dlock_now().us - begin.us >= 70000);
    wheel_stop(wheel, &timer);
    assert_int_equal(fired, 3);
    wheel_close(wheel);
}

static void a_stopped_timer_does_not_fire(void **state)
{
    (void)state;
    _Atomic int stopped = 0, other = 0;
    wheel_timer a = {0}, b = {0}, far = {0};
    fs_wheel *wheel = wheel_open();
    wheel_start(wheel, &a, 60, count_up, (void *)&stopped);
    wheel_start(wheel, &b, 60, count_up, (void *)&other);
    wheel_start(wheel, &far, 100000, count_up, (void *)&stopped); /* more than one round away */
    wheel_stop(wheel, &a);
    assert_true(fx_wait_until(fired_three_times, (void *)&other, 5000));
    assert_int_equal(stopped, 0);
    wheel_stop(wheel, &b);
    wheel_stop(wheel, &far);
    wheel_close(wheel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_fires_until_it_says_no),
        cmocka_unit_test(a_stopped_timer_does_not_fire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
