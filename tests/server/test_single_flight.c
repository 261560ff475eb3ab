/*
 * test_single_flight.c - one call for a name at a time. The calls here last until the test lets
 * them end, so what is under way when is certain.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "server/base/single_flight.h"
#include "tests/support/fixture.h"

enum { LONG_MS = 20000, OTHERWISE = -1 };

static single_flight *all;
static atomic_int calls, may_end; /* begun; how many of them are let go */

static bool is_let_go(void *number)
{
    return atomic_load(&may_end) >= *(int *)number;
}

/* Answers its own number. */
static int call(void *arg, const char *name, dlock_time deadline)
{
    (void)arg, (void)name, (void)deadline;
    int number = atomic_fetch_add(&calls, 1) + 1;
    return fx_wait_until(is_let_go, &number, LONG_MS) ? number : 1000;
}

typedef struct asker {
    const char *name;
    flight_age age;
    int answer;
    atomic_bool asks, answered;
    pthread_t thread;
} asker;

static void *ask(void *arg)
{
    asker *a = arg;
    atomic_store(&a->asks, true);
    a->answer = single_flight_do(all, a->name, a->age, dlock_in_ms(LONG_MS), call, NULL, OTHERWISE);
    atomic_store(&a->answered, true);
    return NULL;
}

static void start(asker *a, const char *name, flight_age age)
{
    *a = (asker){.name = name, .age = age};
    pthread_create(&a->thread, NULL, ask, a);
}

static bool has_called(void *number)
{
    return atomic_load(&calls) >= *(int *)number;
}

static void wait_for_calls(int number)
{
    assert_true(fx_wait_until(has_called, &number, LONG_MS));
}

static int setup(void **state)
{
    (void)state;
    atomic_store(&calls, 0);
    atomic_store(&may_end, 0);
    all = single_flight_new();
    return all ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    single_flight_free(all);
    return 0;
}

static void who_comes_meanwhile_has_the_same_answer(void **state)
{
    (void)state;
    asker first, others[4];
    start(&first, "a", FLIGHT_ANY);
    wait_for_calls(1);
    for (int i = 0; i < 4; i++)
        start(&others[i], "a", FLIGHT_ANY);
    for (int i = 0; i < 4; i++)
        while (!atomic_load(&others[i].asks))
            continue;
    /* One without time joins them and must not begin a call either. */
    assert_int_equal(single_flight_do(all, "a", FLIGHT_ANY, dlock_in_ms(20), call, NULL, OTHERWISE),
                     OTHERWISE);
    assert_int_equal(atomic_load(&calls), 1);
    atomic_store(&may_end, 1000); /* who came too late to join makes one of its own */
    pthread_join(first.thread, NULL);
    assert_int_equal(first.answer, 1);
    for (int i = 0; i < 4; i++) {
        pthread_join(others[i].thread, NULL);
        assert_in_range(others[i].answer, 1, 5);
    }
}

static void who_wants_a_fresh_one_does_not_get_the_one_under_way(void **state)
{
    (void)state;
    asker first, fresh;
    start(&first, "a", FLIGHT_ANY);
    wait_for_calls(1);
    start(&fresh, "a", FLIGHT_FRESH);
    while (!atomic_load(&fresh.asks))
        continue;
    assert_int_equal(atomic_load(&calls), 1);
    atomic_store(&may_end, 2);
    pthread_join(first.thread, NULL);
    pthread_join(fresh.thread, NULL);
    assert_int_equal(first.answer, 1);
    assert_int_equal(fresh.answer, 2);
}

static void other_names_do_not_wait(void **state)
{
    (void)state;
    asker first, other;
    start(&first, "a", FLIGHT_ANY);
    wait_for_calls(1);
    start(&other, "b", FLIGHT_ANY);
    wait_for_calls(2); /* while the first is under way */
    assert_false(atomic_load(&first.answered));
    atomic_store(&may_end, 2);
    pthread_join(first.thread, NULL);
    pthread_join(other.thread, NULL);
    assert_int_equal(other.answer, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(who_comes_meanwhile_has_the_same_answer),
        CASE(who_wants_a_fresh_one_does_not_get_the_one_under_way),
        CASE(other_names_do_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
