/*
 * The finest zoom level that covers a run, and what its bins hold.
 */
#include "tests/support/fixture.h"

#include "loadtest/stats/timeline.h"

#include <math.h>
#include <stdlib.h>

static void the_timeline_zooms_out(void **unused)
{
    (void)unused;
    static const mono_ns lengths[] = {NS_PER_S, 30 * NS_PER_S, 60 * NS_PER_S, 1200 * NS_PER_S};
    static const double widths_s[] = {0.02, 0.1, 1, 30};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        lt_timeline *timeline = timeline_new();
        int count;
        double width_s;
        uint64_t total = 0;
        for (int j = 0; j < 1000; j++)
            timeline_record(timeline, OUT_SOLD, lengths[i] * j / 1000, 5 * NS_PER_MS);
        lt_timeline_bin *bins = timeline_bins(timeline, lengths[i], &count, &width_s);
        for (int j = 0; j < count; j++) {
            total += bins[j].outcomes[OUT_SOLD];
            if (bins[j].outcomes[OUT_SOLD] > 0)
                assert_true(bins[j].p99_ms > 4.0 && bins[j].p99_ms < 6.0);
        }
        assert_int_equal(total, 1000);
        assert_float_equal(width_s, widths_s[i], 1e-9);
        assert_true(count * width_s >= clock_seconds(lengths[i]));
        free(bins);
        timeline_free(timeline);
    }
}

/* Up to its last bin a level covers a run; from there on the next one does, and the last one what
 * it can. */
static void each_level_has_its_bins(void **unused)
{
    (void)unused;
    static const struct {
        mono_ns length;
        int count;
        double width_s;
    } table[] = {{0, 1, 0.02},
                 {20 * NS_PER_MS - 1, 1, 0.02},
                 {20 * NS_PER_MS, 2, 0.02},
                 {8 * NS_PER_S - 1, 400, 0.02},
                 {8 * NS_PER_S, 81, 0.1},
                 {40 * NS_PER_S, 41, 1},
                 {400 * NS_PER_S, 14, 30},
                 {12000 * NS_PER_S - 1, 400, 30},
                 {12000 * NS_PER_S, 400, 30},
                 {24000 * NS_PER_S, 400, 30}};
    lt_timeline *timeline = timeline_new();
    for (size_t i = 0; i < COUNT(table); i++) {
        int count;
        double width_s;
        lt_timeline_bin *bins = timeline_bins(timeline, table[i].length, &count, &width_s);
        assert_int_equal(count, table[i].count);
        assert_float_equal(width_s, table[i].width_s, 1e-9);
        assert_float_equal(bins[count - 1].start_s, (count - 1) * width_s, 1e-9);
        assert_true(bins[0].p50_ms == 0 && bins[0].p99_ms == 0);
        free(bins);
    }
    timeline_free(timeline);
}

/* Of one answer, and of two, in the first bin and in the last. */
static void one_answer_has_a_latency(void **unused)
{
    (void)unused;
    for (int answers = 1; answers <= 2; answers++) {
        for (int last = 0; last < 2; last++) {
            int count;
            double width_s;
            lt_timeline *timeline = timeline_new();
            for (int i = 0; i < answers; i++)
                timeline_record(timeline, OUT_SOLD, last * (NS_PER_S - 1), 5 * NS_PER_MS);
            lt_timeline_bin *bins = timeline_bins(timeline, NS_PER_S, &count, &width_s);
            const lt_timeline_bin *bin = &bins[last ? 49 : 0];
            assert_int_equal(bin->outcomes[OUT_SOLD], answers);
            assert_true(bin->p50_ms > 4.0 && bin->p50_ms < 6.0);
            assert_true(bin->p99_ms == bin->p50_ms);
            free(bins);
            timeline_free(timeline);
        }
    }
}

/* To a quarter of a doubling, from some 20 us to some 70 minutes. Of a hundred, 50 and one. */
static void a_bin_has_its_percentiles(void **unused)
{
    (void)unused;
    static const struct {
        mono_ns quick, slow;
        double p50_ms, p99_ms;
    } table[] = {{1, 1, 0.018, 0.018},
                 {15999, 16000, 0.018, 0.018},
                 {32 * NS_PER_US, 48 * NS_PER_US, 0.036, 0.052},
                 {NS_PER_MS, 2 * NS_PER_MS, 0.96, 1.92},
                 {15 * NS_PER_S, 5000 * NS_PER_S, 15729, 4026532}};
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_timeline *timeline = timeline_new();
        int count;
        double width_s;
        for (int n = 0; n < 100; n++)
            timeline_record(timeline, OUT_SOLD, 0, n < 50 ? table[i].quick : table[i].slow);
        lt_timeline_bin *bins = timeline_bins(timeline, 0, &count, &width_s);
        if (fabs(bins[0].p50_ms - table[i].p50_ms) > 0.02 * table[i].p50_ms ||
            fabs(bins[0].p99_ms - table[i].p99_ms) > 0.02 * table[i].p99_ms)
            fail_msg("row %zu: %g and %g ms", i, bins[0].p50_ms, bins[0].p99_ms);
        free(bins);
        timeline_free(timeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_timeline_zooms_out),
        cmocka_unit_test(each_level_has_its_bins),
        cmocka_unit_test(one_answer_has_a_latency),
        cmocka_unit_test(a_bin_has_its_percentiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
