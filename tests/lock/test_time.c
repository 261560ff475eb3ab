/* Waiting against a deadline: dlock_cond_wait() and dlock_sleep(). */
#include "lock/dlock_redis.h"
#include "tests/support/fixture.h"

enum { SHORT_MS = 20, LONG_MS = 60000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static bool said;

static void *say_it(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&mutex);
    said = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void a_wait_without_a_signal_ends_at_its_deadline(void **state)
{
    (void)state;
    dlock_cond_init(&cond);
    dlock_time from = dlock_now(), until = dlock_in_ms(SHORT_MS);
    pthread_mutex_lock(&mutex);
    while (!dlock_passed(until))
        dlock_cond_wait(&cond, &mutex, until);
    pthread_mutex_unlock(&mutex);
    assert_true(dlock_now().us - from.us < LONG_MS * 1000);
    pthread_cond_destroy(&cond);
}

static void a_signal_ends_a_wait_whatever_its_deadline(void **state)
{
    (void)state;
    const dlock_time far[] = {dlock_in_ms(LONG_MS), dlock_in_ms(-1)};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        said = false;
        dlock_cond_init(&cond);
        pthread_mutex_lock(&mutex);
        assert_int_equal(pthread_create(&thread, NULL, say_it, NULL), 0);
        while (!said)
            dlock_cond_wait(&cond, &mutex, far[i]);
        pthread_mutex_unlock(&mutex);
        pthread_join(thread, NULL);
        pthread_cond_destroy(&cond);
        assert_false(dlock_passed(far[i]));
    }
}

static void a_sleep_ends_at_its_time_or_at_once_when_that_is_past(void **state)
{
    (void)state;
    dlock_time until = dlock_in_ms(SHORT_MS);
    dlock_sleep(until);
    assert_true(dlock_passed(until));
    dlock_time before = dlock_now();
    dlock_sleep((dlock_time){0});
    dlock_sleep(until);
    assert_true(dlock_now().us - before.us < LONG_MS * 1000);
}

/* A wait may end for no reason, but not every time. */
static void a_wait_lasts_until_its_deadline(void **state)
{
    (void)state;
    enum { TRIES = 5 };
    static const int waits_ms[] = {20, 250, 1100};
    dlock_cond_init(&cond);
    for (size_t i = 0; i < COUNT(waits_ms); i++) {
        bool lasted = false;
        for (int n = 0; n < TRIES && !lasted; n++) {
            dlock_time until = dlock_in_ms(waits_ms[i]);
            pthread_mutex_lock(&mutex);
            dlock_cond_wait(&cond, &mutex, until);
            pthread_mutex_unlock(&mutex);
            lasted = dlock_now().us >= until.us - 2000; /* two clocks */
        }
        if (!lasted)
            fail_msg("%d ms were never waited for", waits_ms[i]);
    }
    pthread_cond_destroy(&cond);
}

/* Nobody is told that no time is left, or less than there is, as long as there is some. */
static void what_is_left_is_rounded_up(void **state)
{
    (void)state;
    static const int64_t rests_us[] = {1, 500, 999, 1000, 1001, 1500, 1000500};
    for (size_t i = 0; i < COUNT(rests_us); i++) {
        for (int n = 0; n < 20; n++) {
            dlock_time deadline = {dlock_now().us + rests_us[i]};
            int64_t left_us = (int64_t)dlock_left_ms(deadline) * 1000;
            assert_true(left_us >= deadline.us - dlock_now().us);
            assert_true(left_us < rests_us[i] + 1000);
        }
    }
}

static void deadlines_are_counted_in_ms(void **state)
{
    (void)state;
    dlock_time before = dlock_now(), soon = dlock_in_ms(LONG_MS), after = dlock_now();
    const dlock_time never = {INT64_MAX};
    assert_in_range(soon.us, before.us + LONG_MS * 1000, after.us + LONG_MS * 1000);
    assert_int_equal(dlock_in_ms(-1).us, never.us);
    assert_int_equal(dlock_in_ms(INT64_MAX).us, never.us);
    assert_int_equal(dlock_in_ms(INT64_MAX / 1000 - 1).us, never.us);
    assert_true(dlock_in_ms(0).us >= after.us && dlock_passed(dlock_in_ms(0)));

    assert_in_range(dlock_left_ms(soon), 1, LONG_MS);
    assert_int_equal(dlock_left_ms(never), INT32_MAX);
    assert_int_equal(dlock_left_ms(before), 0);
    assert_int_equal(dlock_left_ms((dlock_time){0}), 0);
    assert_true(dlock_passed(before) && !dlock_passed(soon) && !dlock_passed(never));

    assert_int_equal(dlock_sooner(before, soon).us, before.us);
    assert_int_equal(dlock_sooner(never, soon).us, soon.us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_without_a_signal_ends_at_its_deadline),
        cmocka_unit_test(a_wait_lasts_until_its_deadline),
        cmocka_unit_test(deadlines_are_counted_in_ms),
        cmocka_unit_test(what_is_left_is_rounded_up),
        cmocka_unit_test(a_signal_ends_a_wait_whatever_its_deadline),
        cmocka_unit_test(a_sleep_ends_at_its_time_or_at_once_when_that_is_past),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
