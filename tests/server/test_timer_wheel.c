/* test_timer_wheel.c - timers on the wheel, without Redis. */
#include "tests/support/fixture.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "lock/dlock_redis.h"
#include "server/selling/timer_wheel.h"

enum { WAIT_MS = 60000 };

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
    dlock_time begin = dlock_now();
    assert_true(wheel_start(&timer, 30, count_up, (void *)&fired));
    assert_true(fx_wait_until(fired_three_times, (void *)&fired, WAIT_MS));
    assert_true(dlock_now().us - begin.us >= 70000);
    wheel_stop(&timer);
    assert_int_equal(fired, 3);
}

static int64_t count_at_once(void *arg)
{
    return ++*(_Atomic int *)arg < 3 ? 0 : -1;
}

/* No time is a time like others, at the start and again. */
static void a_timer_can_be_due_at_once(void **state)
{
    (void)state;
    _Atomic int fired = 0;
    wheel_timer timer = {0};
    assert_true(wheel_start(&timer, 0, count_at_once, (void *)&fired));
    assert_true(fx_wait_until(fired_three_times, (void *)&fired, WAIT_MS));
    wheel_stop(&timer);
    assert_int_equal(fired, 3);
}

/* How often the other threads of this process have gone to sleep. */
static long long sleeps_of_others(void)
{
    char line[512];
    long long sum = 0, own = 0;
    FILE *file = popen("cat /proc/$PPID/task/*/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "voluntary_ctxt_switches: %lld", &own) == 1)
            sum += own;
    pclose(file);
    file = fopen("/proc/thread-self/status", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        sscanf(line, "voluntary_ctxt_switches: %lld", &own);
    fclose(file);
    return sum - own;
}

static bool stands_still(void *arg)
{
    (void)arg;
    long long before = sleeps_of_others();
    fx_let_pass(60);
    return sleeps_of_others() == before;
}

static bool turns(void *arg)
{
    return !stands_still(arg);
}

/* Which would wake up a hundred times a second. */
static void a_wheel_without_timers_stands_still(void **state)
{
    (void)state;
    _Atomic int fired = 0;
    wheel_timer timer = {0}, other = {0};
    assert_true(wheel_start(&timer, 0, count_at_once, (void *)&fired));
    assert_true(wheel_start(&other, 100000, count_up, (void *)&fired));
    assert_true(fx_wait_until(fired_three_times, (void *)&fired, WAIT_MS));
    assert_true(fx_wait_until(turns, NULL, WAIT_MS));
    wheel_stop(&other);
    wheel_stop(&timer);
    assert_true(fx_wait_until(stands_still, NULL, WAIT_MS));
    fired = 0; /* and turns again */
    assert_true(wheel_start(&timer, 20, count_up, (void *)&fired));
    assert_true(fx_wait_until(fired_three_times, (void *)&fired, WAIT_MS));
    wheel_stop(&timer);
}

/* A timer whose function does not return, so that the wheel stands still. */
typedef struct gate {
    atomic_bool reached, open;
    wheel_timer timer;
} gate;

static int64_t stand_still(void *arg)
{
    gate *g = arg;
    atomic_store(&g->reached, true);
    while (!atomic_load(&g->open))
        sched_yield();
    return -1;
}

static bool is_reached(void *g)
{
    return atomic_load(&((gate *)g)->reached);
}

static void stop_wheel(gate *g)
{
    assert_true(wheel_start(&g->timer, 0, stand_still, g));
    assert_true(fx_wait_until(is_reached, g, WAIT_MS));
}

static void a_stopped_timer_does_not_fire(void **state)
{
    (void)state;
    _Atomic int stopped = 0, other = 0;
    gate g = {0};
    wheel_timer a = {0}, b = {0}, far = {0};
    stop_wheel(&g);
    assert_true(wheel_start(&a, 60, count_up, (void *)&stopped));
    assert_true(wheel_start(&b, 60, count_up, (void *)&other));
    assert_true(
        wheel_start(&far, 100000, count_up, (void *)&stopped)); /* more than one round away */
    wheel_stop(&a);
    atomic_store(&g.open, true);
    assert_true(fx_wait_until(fired_three_times, (void *)&other, WAIT_MS));
    assert_int_equal(stopped, 0);
    wheel_stop(&b);
    wheel_stop(&far);
}

/* Of many that fire at the same time, whichever neighbours are stopped. */
static void the_others_fire_as_before(void **state)
{
    (void)state;
    enum { TIMERS = 60 };
    gate g = {0};
    _Atomic int fired[TIMERS] = {0};
    wheel_timer timers[TIMERS] = {{0}};
    stop_wheel(&g);
    for (int i = 0; i < TIMERS; i++)
        assert_true(wheel_start(&timers[i], 60, count_up, (void *)&fired[i]));
    for (int i = 0; i < TIMERS; i++)
        if (i % 4 != 0)
            wheel_stop(&timers[i]);
    atomic_store(&g.open, true);
    for (int i = 0; i < TIMERS; i += 4)
        assert_true(fx_wait_until(fired_three_times, (void *)&fired[i], WAIT_MS));
    for (int i = 0; i < TIMERS; i++) {
        wheel_stop(&timers[i]);
        assert_int_equal(fired[i], i % 4 == 0 ? 3 : 0);
    }
}

static int64_t note_time(void *arg)
{
    atomic_store((_Atomic int64_t *)arg, dlock_now().us);
    return -1;
}

static bool is_noted(void *arg)
{
    return atomic_load((_Atomic int64_t *)arg) != 0;
}

static bool is_past(void *time)
{
    return dlock_passed(*(dlock_time *)time);
}

/* The wheel catches up with the clock in one go; what was started meanwhile has all its time. */
static void a_wheel_that_was_late_fires_nothing_early(void **state)
{
    (void)state;
    enum { LATE_MS = 400, IN_MS = 300 };
    gate g = {0};
    wheel_timer timer = {0};
    _Atomic int64_t fired_us = 0;
    stop_wheel(&g);
    dlock_time late = dlock_in_ms(LATE_MS);
    assert_true(fx_wait_until(is_past, &late, WAIT_MS));
    dlock_time started = dlock_now();
    assert_true(wheel_start(&timer, IN_MS, note_time, (void *)&fired_us));
    atomic_store(&g.open, true);
    assert_true(fx_wait_until(is_noted, (void *)&fired_us, WAIT_MS));
    assert_true(atomic_load(&fired_us) - started.us >= IN_MS * 1000);
    wheel_stop(&timer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_fires_until_it_says_no),
        cmocka_unit_test(a_timer_can_be_due_at_once),
        cmocka_unit_test(a_wheel_without_timers_stands_still),
        cmocka_unit_test(a_stopped_timer_does_not_fire),
        cmocka_unit_test(the_others_fire_as_before),
        cmocka_unit_test(a_wheel_that_was_late_fires_nothing_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
