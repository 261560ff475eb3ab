/*
 * Limits as --fail-if takes them.
 */
#include "tests/support/fixture.h"

#include "loadtest/judge/threshold.h"

#include <math.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void thresholds_know_their_units(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        double limit; /* NAN: refused */
    } table[] = {{"p99>200ms", 200},    {"p99 > 0.2s", 200},
                 {"p99>200", 200},      {"p99.9>=1s", 1000},
                 {"p999>1", 1},         {"sellout>1500ms", 1.5},
                 {"fairness<0.2", 0.2}, {"error_rate>5%", 0.05},
                 {"errors>0", 0},       {"throughput<1000", 1000},
                 {"errors>5%", NAN},    {"p99>>1", NAN},
                 {"p99>", NAN},         {">5", NAN},
                 {"p99", NAN}};
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_threshold threshold;
        char err[256];
        bool good = threshold_parse(table[i].text, &threshold, err, sizeof(err));
        assert_int_equal(good, !isnan(table[i].limit));
        assert_true(!good || fabs(threshold.limit - table[i].limit) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thresholds_know_their_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
