/*
 * Numbers and durations as people write them on the command line.
 */
#include "tests/support/fixture.h"

#include "loadtest/base/clock.h"
#include "loadtest/base/number.h"

static void numbers_are_read_strictly(void **unused)
{
    (void)unused;
    static const char *const bad[] = {"",   " 1", "1 ",  "0x10", "1e3", "12a",
                                      "-1", "+1", "101", "nan",  "--1", "99999999999999999999"};
    long whole;
    double decimal;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(number_parse_long(bad[i], 0, 100, &whole));
    assert_true(number_parse_long("100", 0, 100, &whole));
    assert_int_equal(whole, 100);
    assert_false(number_parse_double("inf", 0, 1e300, &decimal));
    assert_false(number_parse_double("0x1p3", 0, 1e300, &decimal));
    assert_true(number_parse_double("0.25", 0, 1, &decimal));
    assert_true(decimal == 0.25);
    assert_true(number_parse_double("0.2", 0.2, 1, &decimal));
    assert_true(number_parse_double("1", 0.2, 1, &decimal));
    assert_false(number_parse_double("0.19", 0.2, 1, &decimal));
    assert_false(number_parse_double("1.01", 0.2, 1, &decimal));
}

static void durations_have_units(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        int64_t ns; /* 0: refused */
    } table[] = {{"30", 30 * NS_PER_S},
                 {"1.5s", 1500 * NS_PER_MS},
                 {"250ms", 250 * NS_PER_MS},
                 {"2m", 120 * NS_PER_S},
                 {"10us", 10 * NS_PER_US},
                 {"0", 0},
                 {"-1s", 0},
                 {"5 s", 0},
                 {"s", 0},
                 {"1h", 3600 * NS_PER_S},
                 {"0.001us", 1},
                 {"0.0009us", 0},
                 {"168h", 168 * 3600 * NS_PER_S},
                 {"169h", 0}};
    for (size_t i = 0; i < COUNT(table); i++) {
        int64_t ns = 0;
        assert_int_equal(number_parse_duration(table[i].text, &ns), table[i].ns != 0);
        assert_int_equal(ns, table[i].ns);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_strictly),
        cmocka_unit_test(durations_have_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
