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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_without_a_signal_ends_at_its_deadline),
        cmocka_unit_test(a_signal_ends_a_wait_whatever_its_deadline),
        cmocka_unit_test(a_sleep_ends_at_its_time_or_at_once_when_that_is_past),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
