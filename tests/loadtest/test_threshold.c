/*
 * Limits as --fail-if takes them.
 */
#include "tests/support/fixture.h"

#include "loadtest/result/threshold.h"

#include <math.h>

/* What a limit, which is well written, says of a result, and the figure that it sees. */
static lt_threshold_state state_of(const char *text, const lt_result *result, double *seen)
{
    lt_threshold threshold;
    char err[256];
    assert_true(threshold_parse(text, &threshold, err, sizeof(err)));
    return threshold_check(&threshold, result, seen);
}

static void thresholds_know_their_units(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        double limit; /* NAN: refused */
    } table[] = {
        {"p99>200ms", 200},
        {"p99 > 0.2s", 200},
        {"p99>200", 200},
        {"p99.9>=1s", 1000},
        {"p999>1", 1},
        {"sellout>1500ms", 1.5},
        {"fairness<0.2", 0.2},
        {"error_rate>5%", 0.05},
        {"errors>0", 0},
        {"throughput<1000", 1000},
        {"errors>5%", NAN},
        {"p99>>1", NAN},
        {"p99>", NAN},
        {">5", NAN},
        {"p99", NAN},
        {"p99=5", NAN},
        {"p99>=<5", NAN},
        {"error_rate>100%", 1},
        {"error_rate>101%", NAN},
        {"error_rate>%", NAN},
        {"sold>5ms", NAN},
        {"nosuch>1", NAN},
        {"p99>-1", NAN},
        {"p99>+1", NAN},
        {"p99>+10%", 10},
        {"p99 > + 1.5 %", 1.5},
        {"throughput<-5%", -5},
        {"sold>=+0%", 0},
        {"p99>+%", NAN},
        {"p99>+", NAN},
        {"p99>--1%", NAN},
        {"p99>+1ms%", NAN},
        {"p99>+100000000000000000000000000000001%", NAN},
        /* As long as it may be, and one longer: its unit is not cut off. */
        {"p99>1.000000000000000000000000000000000000000000000000000000000000000000000000s", 1000},
        {"p99>1.0000000000000000000000000000000000000000000000000000000000000000000000000s", NAN}};
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_threshold threshold;
        char err[256];
        bool good = threshold_parse(table[i].text, &threshold, err, sizeof(err));
        assert_int_equal(good, !isnan(table[i].limit));
        assert_true(!good || fabs(threshold.limit - table[i].limit) < 1e-9);
        assert_true(!good || threshold.relative == (strpbrk(table[i].text, "+-") != NULL));
    }
}

/* Just below the limit, at it, and just beyond: only what says "or equal" breaks at it. */
static void a_limit_breaks_where_it_says(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        bool below, at, above; /* broken */
    } table[] = {{"oversold>5", false, false, true},
                 {"oversold>=5", false, true, true},
                 {"oversold<5", true, false, false},
                 {"oversold<=5", true, true, false}};
    lt_result result = {.tally = tally_new()};
    for (size_t i = 0; i < COUNT(table); i++) {
        double seen;
        const bool broken[] = {table[i].below, table[i].at, table[i].above};
        for (int n = 0; n < 3; n++) {
            result.oversold = 4 + n;
            assert_int_equal(state_of(table[i].text, &result, &seen),
                             broken[n] ? THRESHOLD_BROKEN : THRESHOLD_HOLDS);
            assert_true(seen == 4 + n);
        }
    }
    result_free(&result);
}

/* Each name has its own figure; without a run there is none. */
static void each_metric_is_its_own_figure(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        double value; /* NAN: there is none */
    } table[] = {{"p50", 10},          {"p90", 10},          {"p95", 10},      {"p99", 10},
                 {"p99.9", 10},        {"p999", 10},         {"mean", 10},     {"max", 10},
                 {"throughput", 4},    {"goodput", 5},       {"sellout", 2},   {"fairness", 0.25},
                 {"sold", 10},         {"sold_out", 3},      {"busy", 4},      {"unknown", 5},
                 {"errors", 13},       {"error_rate", 0.18}, {"oversold", 14}, {"undersold", 15},
                 {"lost_updates", 16}, {"duplicates", 17}};
    enum { SAMPLES = 20000 };
    lt_result result = {.tally = tally_new(),
                        .elapsed_s = 10,
                        .sellout_s = 2,
                        .fairness = {.ratio = 0.25},
                        .sold = 10,
                        .oversold = 14,
                        .undersold = 15,
                        .lost_updates = 16,
                        .duplicates = 17};
    static const lt_result nothing;
    lt_tally *tally = result.tally;
    tally->issued = 100;
    tally->completed = 40;
    tally->outcomes[OUT_SOLD] = 10;
    tally->outcomes[OUT_SOLD_OUT] = 3;
    tally->outcomes[OUT_BUSY] = 4;
    tally->outcomes[OUT_UNKNOWN] = 5;
    tally->outcomes[OUT_ERROR] = 6;
    tally->outcomes[OUT_UNAVAILABLE] = 7;
    tally->from_due[OUT_SOLD] = histogram_new();
    for (int i = 0; i < SAMPLES; i++)
        histogram_record(tally->from_due[OUT_SOLD], 10000);
    for (size_t i = 0; i < COUNT(table); i++) {
        char text[64];
        double seen;
        snprintf(text, sizeof(text), "%s>1000", table[i].name);
        assert_int_equal(state_of(text, &result, &seen), THRESHOLD_HOLDS);
        if (fabs(seen - table[i].value) > 0.01 * table[i].value)
            fail_msg("%s is %g", table[i].name, seen);
        assert_int_equal(state_of(text, &nothing, &seen), THRESHOLD_NO_VALUE);
    }
    result_free(&result);
}

/* What failed counts at its age, and what was refused does not make it less. */
static void latencies_are_of_what_sold_or_failed(void **unused)
{
    (void)unused;
    static const struct {
        int series, ms, count;
    } parts[] = {{OUT_SOLD, 10, 9000},   {SERIES_UNANSWERED, 2000, 100}, {OUT_UNKNOWN, 1900, 100},
                 {OUT_ERROR, 1800, 100}, {OUT_UNAVAILABLE, 1700, 100},   {OUT_SOLD_OUT, 1, 50000},
                 {OUT_BUSY, 1, 50000},   {OUT_LIMIT, 1, 50000}};
    lt_result result = {.tally = tally_new()};
    for (size_t i = 0; i < COUNT(parts); i++) {
        lt_histogram *h = histogram_new();
        for (int n = 0; n < parts[i].count; n++)
            histogram_record(h, parts[i].ms * 1000);
        result.tally->from_due[parts[i].series] = h;
    }
    lt_latency latency = result_headline(&result);
    assert_int_equal(latency.count, 9400);
    assert_true(latency.at[P95] < 11 && fabs(latency.at[P99] - 2000) < 3);
    assert_true(result_latency(&result, OUT_SOLD).at[P99] < 11);
    result_free(&result);
}

/* What a run without a single sale, or request, does not have is neither kept nor broken. */
static void a_figure_that_a_run_does_not_have_is_no_value(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"p50>1", "p99.9>1", "mean>1", "max>1", "error_rate>0"};
    lt_result result = {.tally = tally_new()};
    for (size_t i = 0; i < COUNT(texts); i++) {
        double seen;
        assert_int_equal(state_of(texts[i], &result, &seen), THRESHOLD_NO_VALUE);
        assert_true(isnan(seen));
    }
    result_free(&result);
}

static void a_run_that_took_no_time_has_no_speed(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"throughput<1", "goodput<1"};
    lt_result result = {.tally = tally_new()};
    for (int sold = 0; sold < 2; sold++) {
        result.sold = sold;
        result.tally->completed = sold;
        for (size_t i = 0; i < COUNT(texts); i++) {
            double seen;
            assert_int_equal(state_of(texts[i], &result, &seen), THRESHOLD_BROKEN);
            assert_true(seen == 0.0);
        }
    }
    result_free(&result);
}

static void what_is_no_limit_is_refused_with_words(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *why;
    } table[] = {
        {"speed>1", "\"speed>1\": unknown metric; there are p50 p90"},
        {"speed>1", " lost_updates duplicates"},
        {"p99>x", "\"p99>x\" is not of the form METRIC>NUMBER"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_threshold threshold;
        char err[512] = "";
        assert_false(threshold_parse(table[i].text, &threshold, err, sizeof(err)));
        if (!strstr(err, table[i].why))
            fail_msg("%s", err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_know_their_units),
        cmocka_unit_test(what_is_no_limit_is_refused_with_words),
        cmocka_unit_test(a_limit_breaks_where_it_says),
        cmocka_unit_test(each_metric_is_its_own_figure),
        cmocka_unit_test(latencies_are_of_what_sold_or_failed),
        cmocka_unit_test(a_run_that_took_no_time_has_no_speed),
        cmocka_unit_test(a_figure_that_a_run_does_not_have_is_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
