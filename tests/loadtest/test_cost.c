/*
 * What a sale costs: the counters of the instances and of Redis, and which of them a sale is
 * charged for.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include "loadtest/service/metrics.h"
#include "loadtest/service/redis_info.h"

#include <math.h>
#include <string.h>

static fx_redis *redis;

static int start_redis(void **unused)
{
    (void)unused;
    redis = fx_redis_start_single(NULL);
    return 0;
}

static bool is_near(double found, double expected)
{
    return fabs(found - expected) < 1e-6;
}

static void lock_waits_are_the_difference_of_two_readings(void **unused)
{
    (void)unused;
    lt_metrics before = {0}, after = {0};
    double ms;
    metrics_add(&before, "other_metric 1\n"
                         "flashsale_lock_wait_seconds_bucket{le=\"0.01\"} 100\n"
                         "flashsale_lock_wait_seconds_bucket{le=\"0.1\"} 100\n"
                         "flashsale_lock_wait_seconds_bucket{le=\"+Inf\"} 100\n");
    /* Two instances, or two label sets: they add up. */
    metrics_add(&after, "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"0.01\"} 110\n"
                        "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"0.1\"} 140\n"
                        "flashsale_lock_wait_seconds_bucket{kind=\"a\",le=\"+Inf\"} 140\n"
                        "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"0.01\"} 40\n"
                        "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"0.1\"} 60\n"
                        "flashsale_lock_wait_seconds_bucket{kind=\"b\",le=\"+Inf\"} 60");
    assert_true(metrics_lock_wait(&before, &after, 0.50, &ms));
    assert_true(is_near(ms, 10.0)); /* 50 of the 100 new ones waited up to 10 ms */
    assert_true(metrics_lock_wait(&before, &after, 0.99, &ms));
    assert_true(is_near(ms, 98.2));
    assert_false(metrics_lock_wait(&after, &after, 0.50, &ms));
    assert_false(metrics_lock_wait(&(lt_metrics){0}, &(lt_metrics){0}, 0.5, &ms));
}

static void processor_time_is_known_of_all_instances_or_of_none(void **unused)
{
    (void)unused;
    lt_metrics sum = {0};
    metrics_add(&sum, "# HELP process_cpu_seconds_total Total.\nprocess_cpu_seconds_total 1.25\n");
    metrics_add(&sum, "process_cpu_seconds_total 0.5");
    assert_true(is_near(sum.cpu_s, 1.75));
    metrics_add(&sum, "process_cpu_seconds_other 1\n");
    assert_true(isnan(sum.cpu_s));
}

static void redis_is_asked_over_both_kinds_of_socket(void **unused)
{
    (void)unused;
    enum { PINGS = 25 };
    char tcp[64], err[256] = "";
    snprintf(tcp, sizeof(tcp), "127.0.0.1:%d", fx_redis_port(redis));
    const char *const addresses[] = {fx_redis_url(redis), tcp};
    for (int i = 0; i < 2; i++) {
        lt_redis_info before = {0}, after = {0};
        assert_true(redis_info_add(addresses[i], &before, err, sizeof(err)));
        for (int j = 0; j < PINGS; j++)
            freeReplyObject(fx_redis_reply(redis, "PING"));
        assert_true(redis_info_add(addresses[i], &after, err, sizeof(err)));
        /* And the questions themselves. */
        assert_in_range(after.commands - before.commands, PINGS, PINGS + 2);
        assert_true(before.cpu_s > 0 && after.cpu_s > before.cpu_s);
    }
}

static void a_redis_that_is_not_there_is_named(void **unused)
{
    (void)unused;
    static const char *const addresses[] = {"127.0.0.1:1", "unix:///nowhere/redis.sock", "nohost"};
    for (size_t i = 0; i < COUNT(addresses); i++) {
        lt_redis_info sum = {0};
        char err[256] = "";
        assert_false(redis_info_add(addresses[i], &sum, err, sizeof(err)));
        assert_non_null(strstr(err, addresses[i]));
    }
}

/* The stub's sales take it 120 us each, its refusals 20. How many refusals a sale is charged for
 * depends on when half of the stock was seen to be sold; a request's share does not. */
static void a_sale_is_charged_for_the_time_with_stock(void **unused)
{
    (void)unused;
    enum { USERS = 4, STOCK = 400, REQUESTS = 2000, SALE_US = 120, REFUSAL_US = 20 };
    const double all_us = STOCK * SALE_US + (REQUESTS - STOCK) * REFUSAL_US;
    fx_stub *stub = fx_stub_start(NULL);
    fx_load *load = fx_load_run(stub, "run",
                                FX_ARGS("--users", "4", "--stock", "400", "--requests", "2000",
                                        "--redis-info", fx_redis_url(redis)));
    assert_true(is_near(fx_load_number(load, "cpu_us_per_request.service"), all_us / REQUESTS));
    double of_sale = fx_load_number(load, "cpu_us_per_sale.service");
    assert_true(of_sale > SALE_US * (1.0 - 2.0 * USERS / STOCK) && of_sale <= all_us / STOCK);
    double of_redis = fx_load_number(load, "cpu_us_per_sale.redis");
    assert_true(of_redis > 0);
    assert_true(fabs(fx_load_number(load, "cpu_us_per_sale.total") - of_sale - of_redis) < 0.01);
    fx_load_free(load);
    /* Of two servers one is not there: nothing is known of Redis, nor of the whole. */
    load = fx_load_run(stub, "run",
                       FX_ARGS("--redis-info", fx_redis_url(redis), "--redis-info", "127.0.0.1:1"));
    assert_non_null(strstr(load->text, "127.0.0.1:1: "));
    assert_true(fx_load_number(load, "cpu_us_per_sale.service") > 0);
    assert_true(isnan(fx_load_number(load, "cpu_us_per_sale.redis")));
    assert_true(isnan(fx_load_number(load, "cpu_us_per_sale.total")));
    assert_true(isnan(fx_load_number(load, "redis_cmds_per_sale")));
    fx_load_free(load);
    fx_stub_stop(stub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_waits_are_the_difference_of_two_readings),
        cmocka_unit_test(processor_time_is_known_of_all_instances_or_of_none),
        cmocka_unit_test(redis_is_asked_over_both_kinds_of_socket),
        cmocka_unit_test(a_redis_that_is_not_there_is_named),
        cmocka_unit_test(a_sale_is_charged_for_the_time_with_stock),
    };
    return cmocka_run_group_tests(tests, start_redis, NULL);
}
