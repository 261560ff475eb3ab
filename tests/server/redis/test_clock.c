/* test_clock.c - what a sample of Redis's time is worth. */
#include "server/redis/node.h"
#include "tests/support/fixture.h"

#define S INT64_C(1000000)

/* The samples of one case, in us: of this process's clock, then Redis's less this one. */
typedef struct sample {
    int64_t sent, received, read; /* Redis read its clock at `read` */
    int64_t offset;               /* as it truly was */
} sample;

static int64_t after(const sample *samples)
{
    redis_clock clock = {.known = false};
    for (; samples->received; samples++)
        clock_take(&clock, (dlock_time){samples->sent}, (dlock_time){samples->received},
                   samples->read + samples->offset);
    return atomic_load(&clock.offset_us);
}

static void the_estimate_is_behind_by_a_round_trip_at_most(void **state)
{
    (void)state;
    assert_int_equal(after((sample[]){{1 * S, 1 * S + 200, 1 * S + 200, 5 * S}, {0}}), 5 * S);
    assert_int_equal(after((sample[]){{1 * S, 1 * S + 200, 1 * S, 5 * S}, {0}}), 5 * S - 200);
}

static void who_was_stopped_meanwhile_does_not_believe_the_answer(void **state)
{
    (void)state;
    const sample good = {1 * S, 1 * S + 200, 1 * S + 100, 5 * S};
    const sample stopped = {2 * S, 12 * S, 2 * S + 100, 5 * S};
    const sample slow = {2 * S, 2 * S + 900000, 2 * S + 100, 5 * S};
    assert_int_equal(after((sample[]){good, stopped, {0}}), 5 * S - 100);
    assert_int_equal(after((sample[]){good, slow, {0}}), 5 * S - 100);
    redis_clock clock = {.known = false};
    clock_take(&clock, (dlock_time){stopped.sent}, (dlock_time){stopped.received}, 7 * S);
    assert_false(atomic_load(&clock.known));
}

static void a_clock_that_was_set_is_followed(void **state)
{
    (void)state;
    const sample before = {1 * S, 1 * S + 200, 1 * S + 200, 5 * S};
    assert_int_equal(after((sample[]){before, {2 * S, 2 * S + 900, 2 * S + 900, 4 * S}, {0}}),
                     4 * S);
    assert_int_equal(after((sample[]){before, {2 * S, 2 * S + 900, 2 * S + 900, 3600 * S}, {0}}),
                     3600 * S);
}

static void a_good_sample_does_not_count_for_ever(void **state)
{
    (void)state;
    const sample good = {1 * S, 1 * S + 100, 1 * S + 100, 5 * S};
    const sample later = {61 * S, 61 * S + 900, 61 * S + 900, 5 * S + 3000};
    assert_int_equal(after((sample[]){good, later, {0}}), 5 * S + 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_estimate_is_behind_by_a_round_trip_at_most),
        cmocka_unit_test(who_was_stopped_meanwhile_does_not_believe_the_answer),
        cmocka_unit_test(a_clock_that_was_set_is_followed),
        cmocka_unit_test(a_good_sample_does_not_count_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
