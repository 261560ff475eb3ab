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

/* Whether the second sample counts, of what the first one says: [5 s, 5 s + 200 us]. */
static bool replaces(int64_t least, int64_t most)
{
    redis_clock clock = {.known = false};
    clock_take(&clock, (dlock_time){1 * S}, (dlock_time){1 * S + 200}, 6 * S + 200);
    assert_true(clock.least_us == 5 * S && clock.most_us == 5 * S + 200);
    int64_t sent = 2 * S, received = sent + (most - least);
    clock_take(&clock, (dlock_time){sent}, (dlock_time){received}, least + received);
    return clock.taken.us == received;
}

/* Of the same clock the better sample counts; since the first one it may have gone wrong by a
 * thousandth. */
static void samples_agree_up_to_the_drift(void **state)
{
    (void)state;
    enum { WIDTH = 3000 };
    const int64_t drift = (2 * S + WIDTH - (1 * S + 200)) / 1000, low = 5 * S, high = low + 200;
    assert_false(replaces(high + drift, high + drift + WIDTH));
    assert_true(replaces(high + drift + 1, high + drift + 1 + WIDTH));
    assert_false(replaces(low - drift - WIDTH, low - drift));
    assert_true(replaces(low - drift - 1 - WIDTH, low - drift - 1));
    const int64_t as_wide = 200 + 2 * drift; /* as the first one has become: 2,204 us */
    assert_true(replaces(low, low + as_wide));
    assert_false(replaces(low, low + as_wide + 1));
}

static void a_round_trip_has_a_longest_time(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        redis_clock clock = {.known = false};
        clock_take(&clock, (dlock_time){1 * S}, (dlock_time){1 * S + CLOCK_ROUND_MAX_US + more},
                   7 * S);
        assert_int_equal(atomic_load(&clock.known), !more);
    }
}

static void a_time_is_two_words(void **state)
{
    (void)state;
    char seconds[] = "1700000019", us[] = "000123";
    redisReply first = {.type = REDIS_REPLY_STRING, .str = seconds};
    redisReply second = {.type = REDIS_REPLY_STRING, .str = us};
    redisReply number = {.type = REDIS_REPLY_INTEGER, .integer = 7};
    redisReply *words[] = {&first, &second, &second}, *numbers[] = {&first, &number};
    redisReply time = {.type = REDIS_REPLY_ARRAY, .elements = 2, .element = words};
    int64_t read = 0;
    assert_true(node_read_time(&time, &read));
    assert_true(read == INT64_C(1700000019000123));
    for (size_t elements = 0; elements <= 3; elements++) {
        time.elements = elements;
        assert_int_equal(node_read_time(&time, &read), elements == 2);
    }
    time.elements = 2;
    time.element = numbers;
    assert_false(node_read_time(&time, &read));
    assert_false(node_read_time(&first, &read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_estimate_is_behind_by_a_round_trip_at_most),
        cmocka_unit_test(who_was_stopped_meanwhile_does_not_believe_the_answer),
        cmocka_unit_test(a_clock_that_was_set_is_followed),
        cmocka_unit_test(a_good_sample_does_not_count_for_ever),
        cmocka_unit_test(samples_agree_up_to_the_drift),
        cmocka_unit_test(a_round_trip_has_a_longest_time),
        cmocka_unit_test(a_time_is_two_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
