/* Where a thread sleeps: a wake-up that comes at any moment ends the sleep, and the last one needs
 * no lock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lock/redis/thread.h"

enum { LONG_MS = 20000, TIMES = 300 };

static void a_call_before_the_sleep_is_heard(void **state)
{
    (void)state;
    dlock_sleeper at = 0;
    dlock_time late = dlock_in_ms(LONG_MS / 2);
    dlock_sleeper_ready(&at);
    dlock_sleeper_rouse(&at);
    dlock_sleeper_wait(&at, dlock_in_ms(LONG_MS));
    assert_false(dlock_passed(late));
    assert_false(dlock_sleeper_ended(&at));
}

static void nobody_sleeps_after_the_end(void **state)
{
    (void)state;
    dlock_sleeper at = 0;
    dlock_time late = dlock_in_ms(LONG_MS / 2);
    dlock_sleeper_end(&at);
    dlock_sleeper_rouse(&at);
    for (int i = 0; i < 2; i++) {
        dlock_sleeper_ready(&at);
        dlock_sleeper_wait(&at, dlock_in_ms(LONG_MS));
        assert_true(dlock_sleeper_ended(&at));
    }
    assert_false(dlock_passed(late));
}

static void a_sleep_ends_at_its_time_and_may_be_followed_by_another(void **state)
{
    (void)state;
    dlock_sleeper at = 0;
    dlock_time passed = {0};
    dlock_sleeper_ready(&at);
    dlock_sleeper_wait(&at, passed);
    for (int i = 0, sleeps = 0; i < 2; i++) {
        dlock_time until = dlock_in_ms(100);
        while (!dlock_passed(until)) { /* it may return early, but not always */
            assert_in_range(++sleeps, 1, 1000);
            dlock_sleeper_ready(&at);
            dlock_sleeper_wait(&at, until);
        }
    }
    assert_false(dlock_sleeper_ended(&at));
}

typedef struct other {
    pthread_t thread;
    dlock_sleeper *at; /* on the stack of one that may be gone */
    pthread_mutex_t lock;
    int said;
} other;

static void *end_it(void *arg)
{
    other *o = arg;
    o->said = 1;
    dlock_sleeper_end(o->at);
    return NULL;
}

/* The sleeper's stack is used anew as soon as it has ended: whoever ends it must not touch it then.
 * The sanitizers would tell. */
static void sleep_once(other *o)
{
    dlock_sleeper at = 0;
    dlock_time late = dlock_in_ms(LONG_MS);
    o->said = 0;
    o->at = &at;
    assert_true(dlock_thread_start(&o->thread, end_it, o));
    while (!dlock_sleeper_ended(&at)) {
        dlock_sleeper_ready(&at);
        dlock_sleeper_wait(&at, dlock_in_ms(LONG_MS));
    }
    assert_false(dlock_passed(late));
    assert_int_equal(o->said, 1); /* what was written before the end is seen after it */
}

static void another_thread_ends_a_sleep(void **state)
{
    (void)state;
    other o = {.said = 0};
    for (int i = 0; i < TIMES; i++) {
        sleep_once(&o);
        pthread_join(o.thread, NULL);
    }
}

static void *rouse_it(void *arg)
{
    other *o = arg;
    pthread_mutex_lock(&o->lock);
    o->said = 1;
    dlock_sleeper_rouse(o->at);
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static void another_thread_rouses_a_sleeper(void **state)
{
    (void)state;
    dlock_sleeper at = 0;
    other o = {.at = &at, .lock = PTHREAD_MUTEX_INITIALIZER};
    for (int i = 0; i < TIMES; i++) {
        dlock_time late = dlock_in_ms(LONG_MS);
        o.said = 0;
        assert_true(dlock_thread_start(&o.thread, rouse_it, &o));
        pthread_mutex_lock(&o.lock);
        while (!o.said) {
            dlock_sleeper_ready(&at);
            pthread_mutex_unlock(&o.lock);
            dlock_sleeper_wait(&at, dlock_in_ms(LONG_MS));
            pthread_mutex_lock(&o.lock);
        }
        pthread_mutex_unlock(&o.lock);
        pthread_join(o.thread, NULL);
        assert_false(dlock_passed(late));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_before_the_sleep_is_heard),
        cmocka_unit_test(nobody_sleeps_after_the_end),
        cmocka_unit_test(a_sleep_ends_at_its_time_and_may_be_followed_by_another),
        cmocka_unit_test(another_thread_ends_a_sleep),
        cmocka_unit_test(another_thread_rouses_a_sleeper),
    };
    return cmocka_run_group_tests_name("thread", tests, NULL, NULL);
}
