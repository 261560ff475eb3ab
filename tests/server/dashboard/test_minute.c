/* test_minute.c - the last minute, made of the differences between records; and their buckets. */
#include <string.h>

#include "server/dashboard/minute.h"
#include "tests/support/service.h"

enum { START_S = 1790000000 };
#define START_MS (START_S * 1000LL)

static minute m;

typedef struct counted {
    int64_t counts[METRICS_COUNTS];
} counted;

static counted counts(int sold, int64_t us, int refused, int unknown)
{
    counted c = {.counts = {[BUY_SOLD] = sold, [BUY_UNKNOWN] = unknown}};
    c.counts[BUY_SOLD_OUT] = refused / 2;
    c.counts[BUY_BUSY] = refused - refused / 2;
    c.counts[BUY_OUTCOMES + latency_bucket(us)] = sold;
    return c;
}

static void add(int from_ms, int to_ms, counted before, counted after)
{
    minute_add(&m, START_MS + from_ms, before.counts, START_MS + to_ms, after.counts);
}

/* The value of a row for the second that begins `second` s after the start, seen `at` s after it;
 * -1: null. */
static double value(const char *row, int at, int second)
{
    fs_text text;
    text_init(&text);
    minute_write(&m, START_MS + at * 1000LL, &text);
    cJSON *json = cJSON_Parse(text_bytes(&text));
    assert_non_null(json);
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(json, row);
    assert_int_equal(cJSON_GetArraySize(steps), MINUTE_STEPS);
    assert_int_equal((int)fx_json_number(json, "step_ms"), 1000);
    const cJSON *step = cJSON_GetArrayItem(steps, MINUTE_STEPS - 1 - (at - 2 - second));
    assert_non_null(step);
    double is = cJSON_IsNull(step) ? -1 : cJSON_GetNumberValue(step);
    cJSON_Delete(json);
    text_free(&text);
    return is;
}

#define assert_is(row, at, second, expected)                                                       \
    do {                                                                                           \
        double is_ = value(row, at, second), wanted_ = (expected);                                 \
        if (is_ < wanted_ - 0.051 || is_ > wanted_ + 0.051)                                        \
            fail_msg("%s of second %d at %d: %g, not %g", row, second, at, is_, wanted_);          \
    } while (0)

static int setup(void **state)
{
    (void)state;
    memset(&m, 0, sizeof(m));
    return 0;
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    assert_is("sold_per_s", 10, 8, 0);
    assert_is("unknown_per_s", 10, -51, 0);
    assert_is("p50_ms", 10, 8, -1);
    assert_is("p99_ms", 10, -51, -1);
}

static void outcomes_are_sold_refused_or_unknown(void **state)
{
    (void)state;
    add(0, 1000, counts(5, 900, 3, 0), counts(12, 900, 10, 2));
    assert_is("sold_per_s", 3, 0, 7);
    assert_is("refused_per_s", 3, 0, 7);
    assert_is("unknown_per_s", 3, 0, 2);
}

/* 30 in two seconds: half a second of them in the first, one in the second, half in the third. */
static void a_difference_is_spread_over_its_time(void **state)
{
    (void)state;
    add(500, 2500, counts(0, 900, 0, 0), counts(30, 900, 0, 0));
    assert_is("sold_per_s", 6, 0, 7.5);
    assert_is("sold_per_s", 6, 1, 15);
    assert_is("sold_per_s", 6, 2, 7.5);
    assert_is("sold_per_s", 6, 3, 0);
}

static void instances_are_added_up(void **state)
{
    (void)state;
    add(0, 1000, counts(0, 900, 0, 0), counts(4, 900, 0, 0));
    add(0, 1000, counts(100, 900, 0, 0), counts(107, 900, 0, 0));
    assert_is("sold_per_s", 4, 0, 11);
}

static void counters_that_began_anew_are_no_negative_figures(void **state)
{
    (void)state;
    add(0, 1000, counts(50, 900, 8, 3), counts(2, 900, 9, 0));
    assert_is("sold_per_s", 4, 0, 0);
    assert_is("refused_per_s", 4, 0, 1);
    assert_is("unknown_per_s", 4, 0, 0);
    assert_is("p50_ms", 4, 0, -1);
}

static void a_minute_later_a_second_is_gone(void **state)
{
    (void)state;
    add(0, 1000, counts(0, 900, 0, 0), counts(9, 900, 0, 0));
    assert_is("sold_per_s", 61, 0, 9);
    assert_is("sold_per_s", 62, 1, 0);
    /* Its place in the ring is another second's. */
    assert_is("sold_per_s", 66, MINUTE_KEPT, 0);
    add(MINUTE_KEPT * 1000, MINUTE_KEPT * 1000 + 1000, counts(0, 900, 0, 0), counts(3, 900, 0, 0));
    assert_is("sold_per_s", 66, MINUTE_KEPT, 3);
    add(0, 1000, counts(0, 900, 0, 0), counts(9, 900, 0, 0)); /* a record that is as late as that */
    assert_is("sold_per_s", 66, MINUTE_KEPT, 3);
}

static void what_is_older_than_a_minute_is_within_it(void **state)
{
    (void)state;
    add(-600000, 1000, counts(0, 900, 0, 0), counts(120, 900, 0, 0));
    assert_is("sold_per_s", 3, 0, 2);
    assert_is("sold_per_s", 3, -58, 2);
}

static void time_that_stands_still_adds_nothing(void **state)
{
    (void)state;
    add(1000, 1000, counts(0, 900, 0, 0), counts(9, 900, 0, 0));
    add(2000, 1000, counts(0, 900, 0, 0), counts(9, 900, 0, 0));
    assert_is("sold_per_s", 4, 1, 0);
}

/* ---- percentiles ----------------------------------------------------------------------------- */

static void a_bucket_begins_where_the_one_before_ends(void **state)
{
    (void)state;
    for (int b = 0; b < LATENCY_BUCKETS; b++) {
        assert_int_equal(latency_bucket(latency_from_us(b)), b);
        if (b > 0)
            assert_int_equal(latency_bucket(latency_from_us(b) - 1), b - 1);
    }
    assert_int_equal(latency_bucket(INT64_MAX), LATENCY_BUCKETS - 1);
    assert_int_equal(latency_from_us(1), 128);
    assert_int_equal(latency_from_us(LATENCY_BUCKETS - 1), 1 << 24);
}

/* Within the bucket, which is a quarter of a power of two. */
static void percentiles_are_near_the_truth(void **state)
{
    (void)state;
    counted before = {{0}}, after = {{0}};
    for (int us = 1000; us < 101000; us += 100) { /* 1 to 101 ms, evenly */
        after.counts[BUY_SOLD]++;
        after.counts[BUY_OUTCOMES + latency_bucket(us)]++;
    }
    add(0, 1000, before, after);
    double p50 = value("p50_ms", 4, 0), p99 = value("p99_ms", 4, 0);
    if (p50 < 50 || p50 > 52 || p99 < 98 || p99 > 114)
        fail_msg("p50 %g, p99 %g", p50, p99);
}

static void beyond_the_last_bucket_its_beginning_is_said(void **state)
{
    (void)state;
    add(0, 1000, counts(0, 0, 0, 0), counts(4, 60000000, 0, 0));
    assert_is("p50_ms", 4, 0, (1 << 24) / 1000.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_nothing, setup),
        cmocka_unit_test_setup(outcomes_are_sold_refused_or_unknown, setup),
        cmocka_unit_test_setup(a_difference_is_spread_over_its_time, setup),
        cmocka_unit_test_setup(instances_are_added_up, setup),
        cmocka_unit_test_setup(counters_that_began_anew_are_no_negative_figures, setup),
        cmocka_unit_test_setup(a_minute_later_a_second_is_gone, setup),
        cmocka_unit_test_setup(what_is_older_than_a_minute_is_within_it, setup),
        cmocka_unit_test_setup(time_that_stands_still_adds_nothing, setup),
        cmocka_unit_test(a_bucket_begins_where_the_one_before_ends),
        cmocka_unit_test_setup(percentiles_are_near_the_truth, setup),
        cmocka_unit_test_setup(beyond_the_last_bucket_its_beginning_is_said, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
