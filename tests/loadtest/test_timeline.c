/*
 * The finest zoom level that covers a run.
 */
#include "tests/support/fixture.h"

#include "loadtest/stats/timeline.h"

#include <stdlib.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_timeline_zooms_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
