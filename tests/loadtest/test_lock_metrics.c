/*
 * Lock waits out of two readings of GET /metrics.
 */
#include "tests/support/fixture.h"

#include "loadtest/service/lock_metrics.h"

#include <math.h>

static void lock_waits_are_the_difference_of_two_readings(void **unused)
{
    (void)unused;
    lt_lock_metrics before = {0}, after = {0};
    double ms;
    lock_metrics_parse(&before, "other_metric 1\n"
                                "flashsale_lock_wait_seconds_bucket{le=\"0.01\"} 100\n"
                                "flashsale_lock_wait_seconds_bucket{le=\"0.1\"} 100\n"
                                "flashsale_lock_wait_seconds_bucket{le=\"+Inf\"} 100\n");
    /* Two instances, or two label sets: they add up. */
    lock_metrics_parse(&after, "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"0.01\"} 110\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"0.1\"} 140\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"+Inf\"} 140\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"0.01\"} 40\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"0.1\"} 60\n"
                               "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"+Inf\"} 60");
    assert_true(lock_metrics_quantile(&before, &after, 0.50, &ms));
    assert_true(fabs(ms - 10.0) < 1e-6); /* 50 of the 100 new ones waited up to 10 ms */
    assert_true(lock_metrics_quantile(&before, &after, 0.99, &ms));
    assert_true(fabs(ms - 98.2) < 1e-6);
    assert_false(lock_metrics_quantile(&after, &after, 0.50, &ms));
    assert_false(lock_metrics_quantile(&(lt_lock_metrics){0}, &(lt_lock_metrics){0}, 0.5, &ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_waits_are_the_difference_of_two_readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
