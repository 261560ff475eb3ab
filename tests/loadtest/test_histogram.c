/*
 * The histogram against the plain truth: a sorted array of the same values.
 */
#include "tests/support/fixture.h"

#include "loadtest/report/report.h"
#include "loadtest/stats/histogram.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define VALUES 50000

static uint64_t state = 42;

static uint64_t next_random(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state >> 33;
}

/* Values of every size: uniform in the logarithm, from 1 us to 2^30 us (18 minutes). */
static int64_t any_value(void)
{
    int bits = (int)(next_random() % 31);
    return (int64_t)(next_random() & ((UINT64_C(1) << bits) - 1)) + (INT64_C(1) << bits) / 2;
}

static int rising(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void percentiles_are_exact_to_a_bucket(void **unused)
{
    (void)unused;
    static const double quantiles[] = {0.0001, 0.01, 0.1,  0.25,  0.5,    0.75,
                                       0.9,    0.95, 0.99, 0.999, 0.9999, 1.0};
    static int64_t values[VALUES];
    lt_histogram *h = histogram_new();
    double sum = 0;
    for (int i = 0; i < VALUES; i++) {
        values[i] = any_value();
        sum += (double)values[i];
        assert_true(histogram_record(h, values[i]));
    }
    qsort(values, VALUES, sizeof(values[0]), rising);
    for (size_t i = 0; i < COUNT(quantiles); i++) {
        size_t rank = (size_t)ceil(quantiles[i] * VALUES - 1e-9);
        int64_t exact = values[rank - 1], printed = histogram_at(h, quantiles[i]);
        assert_true(printed >= exact);
        assert_true(printed < exact + histogram_bucket_width(exact));
        assert_true((double)(printed - exact) <= 0.001 * (double)exact);
    }
    assert_int_equal(histogram_count(h), VALUES);
    assert_int_equal(histogram_min(h), values[0]);
    assert_int_equal(histogram_max(h), values[VALUES - 1]);
    assert_true(fabs(histogram_mean(h) - sum / VALUES) < 1e-6 * sum / VALUES);
    histogram_free(h);
}

static void buckets_meet_without_gap_or_overlap(void **unused)
{
    (void)unused;
    lt_histogram *h = histogram_new();
    int64_t expected = 0, low, high;
    int64_t count;
    for (int64_t us = 0; us < 40000; us++)
        histogram_record(h, us);
    for (int cursor = 0; histogram_next(h, &cursor, &low, &high, &count);) {
        assert_int_equal(low, expected);
        assert_true(high - low + 1 <= 1 || (double)(high - low + 1) <= 0.001 * (double)low);
        expected = high + 1;
    }
    assert_true(expected >= 40000);
    histogram_free(h);
}

static void small_values_have_a_bucket_each(void **unused)
{
    (void)unused;
    lt_histogram *h = histogram_new();
    for (int64_t us = 1; us <= 2000; us++)
        histogram_record(h, us);
    assert_int_equal(histogram_at(h, 0.5), 1000);
    assert_int_equal(histogram_at(h, 0.999), 1998);
    assert_int_equal(histogram_count_upto(h, 700), 700);
    histogram_free(h);
}

static void extremes_are_kept(void **unused)
{
    (void)unused;
    lt_histogram *h = histogram_new();
    assert_int_equal(histogram_at(h, 0.5), 0);
    assert_int_equal(histogram_min(h), 0);
    histogram_record(h, -5);
    histogram_record(h, INT64_C(1) << 40);
    assert_int_equal(histogram_count(h), 2);
    assert_int_equal(histogram_min(h), 0);
    assert_int_equal(histogram_max(h), INT64_C(1) << 40);
    histogram_free(h);
}

static void merging_is_addition(void **unused)
{
    (void)unused;
    lt_histogram *parts[3], *sum = histogram_new(), *whole = histogram_new();
    for (int i = 0; i < 3; i++)
        parts[i] = histogram_new();
    for (int i = 0; i < 3000; i++) {
        int64_t value = any_value();
        histogram_record(parts[i % 3], value);
        histogram_record(whole, value);
    }
    for (int i = 0; i < 3; i++)
        assert_true(histogram_merge(sum, parts[i]));
    for (int i = 1; i < 1000; i++)
        assert_int_equal(histogram_at(sum, i / 1000.0), histogram_at(whole, i / 1000.0));
    assert_int_equal(histogram_min(sum), histogram_min(whole));
    assert_int_equal(histogram_max(sum), histogram_max(whole));
    assert_true(fabs(histogram_mean(sum) - histogram_mean(whole)) < 1e-9 * histogram_mean(whole));
    for (int i = 0; i < 3; i++)
        histogram_free(parts[i]);
    histogram_free(sum);
    histogram_free(whole);
}

static void *record_many(void *arg)
{
    for (int64_t i = 0; i < 100000; i++)
        histogram_record(arg, i % 5000);
    return NULL;
}

/* Each thread writes its own, and somebody merges them meanwhile, as the progress display does. */
static void no_value_is_lost_between_threads(void **unused)
{
    (void)unused;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    lt_histogram *parts[THREADS], *seen, *sum = histogram_new();
    for (int i = 0; i < THREADS; i++) {
        parts[i] = histogram_new();
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, parts[i]), 0);
    }
    int64_t last = 0, count;
    do {
        seen = histogram_new();
        for (int i = 0; i < THREADS; i++)
            assert_true(histogram_merge(seen, parts[i]));
        count = histogram_count(seen);
        assert_true(count >= last && histogram_max(seen) <= 4999);
        last = count;
        histogram_free(seen);
    } while (count < THREADS * 100000);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(histogram_merge(sum, parts[i]));
        histogram_free(parts[i]);
    }
    assert_int_equal(histogram_count(sum), 400000);
    assert_int_equal(histogram_max(sum), 4999);
    histogram_free(sum);
}

static void few_samples_give_no_percentile(void **unused)
{
    (void)unused;
    static const struct {
        int64_t count;
        bool p50, p99, p999;
    } table[] = {{9, false, false, false}, {10, true, false, false}, {499, true, false, false},
                 {500, true, true, false}, {812, true, true, false}, {4999, true, true, false},
                 {5000, true, true, true}};
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_histogram *h = histogram_new();
        for (int64_t j = 0; j < table[i].count; j++)
            histogram_record(h, (int64_t)j);
        lt_latency latency = latency_of(h);
        assert_int_equal(isnan(latency.at[P50]), !table[i].p50);
        assert_int_equal(isnan(latency.at[P99]), !table[i].p99);
        assert_int_equal(isnan(latency.at[P999]), !table[i].p999);
        histogram_free(h);
    }
    assert_int_equal(latency_of(NULL).count, 0);
    assert_true(isnan(latency_of(NULL).at[P50]));
}

static void hgrm_has_the_plotters_format(void **unused)
{
    (void)unused;
    char *text = NULL;
    size_t length;
    lt_histogram *h = histogram_new();
    for (int64_t us = 1; us <= 10000; us++)
        histogram_record(h, us);
    FILE *out = open_memstream(&text, &length);
    assert_true(report_hgrm(out, h));
    fclose(out);

    double value, quantile, last_value = -1, last_quantile = -1;
    unsigned long upto, last_upto = 0;
    int lines = 0;
    assert_non_null(strstr(text, "Value     Percentile TotalCount 1/(1-Percentile)\n\n"));
    char *line = strstr(text, "\n\n") + 2;
    for (; *line != '#'; line = strchr(line, '\n') + 1, lines++) {
        assert_int_equal(sscanf(line, "%lf %lf %lu", &value, &quantile, &upto), 3);
        assert_true(value >= last_value && quantile > last_quantile && upto >= last_upto);
        assert_true((double)upto >= quantile * 10000 - 1e-6);
        last_value = value;
        last_quantile = quantile;
        last_upto = upto;
    }
    assert_true(lines > 30);
    assert_true(last_quantile == 1.0);
    assert_int_equal(last_upto, 10000);
    assert_non_null(strstr(line, "#[Max     =       10.000, Total count    =        10000]"));
    free(text);
    histogram_free(h);
}

/* Head and footer alone: a line would say that something took 0 ms. */
static void hgrm_of_nothing_has_no_values(void **unused)
{
    (void)unused;
    char *text = NULL;
    size_t length;
    lt_histogram *h = histogram_new();
    FILE *out = open_memstream(&text, &length);
    assert_true(report_hgrm(out, h));
    fclose(out);
    const char *head = strstr(text, "\n\n");
    assert_non_null(head);
    assert_int_equal(head[2], '#');
    free(text);
    histogram_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_exact_to_a_bucket),
        cmocka_unit_test(buckets_meet_without_gap_or_overlap),
        cmocka_unit_test(small_values_have_a_bucket_each),
        cmocka_unit_test(extremes_are_kept),
        cmocka_unit_test(merging_is_addition),
        cmocka_unit_test(no_value_is_lost_between_threads),
        cmocka_unit_test(few_samples_give_no_percentile),
        cmocka_unit_test(hgrm_has_the_plotters_format),
        cmocka_unit_test(hgrm_of_nothing_has_no_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
