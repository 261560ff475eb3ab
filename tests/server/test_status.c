/* test_status.c - what an instance says of itself: metrics, and who holds which lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/support/service.h"

static void metrics_are_as_prometheus_wants_them(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "T1", "'stock':1,'strategy':'combined'");
    fx_expect(fx.server[0], 201, "POST /buy?item=T1&user=u1");
    fx_expect(fx.server[0], 409, "POST /buy?item=T1&user=u1");
    static const char *const lines[] = {
        "flashsale_buy_duration_seconds_count{outcome=\"sold\"} 1\n",
        "flashsale_buy_duration_seconds_count{outcome=\"sold_out\"} 1\n",
        "flashsale_buy_duration_seconds_bucket{outcome=\"sold\",le=\"0.0005\"}",
        "flashsale_lock_acquired_total ",
    };
    const char *metrics = fx_expect(fx.server[0], 200, "GET /metrics");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_non_null(strstr(metrics, lines[i]));

    if (fx_shell("command -v promtool >/dev/null", "", 5000) != 0)
        fx_skip("no promtool here; the names were checked, its lint was not");
    assert_int_equal(fx_shell("curl -sf \"$1/metrics\" | promtool check metrics",
                              fx_server_url(fx.server[0]), 10000),
                     0);
}

/* Buys again and again, each time with a hold that can be seen. */
static void *keep_buying(void *over)
{
    int status = 201;
    while (status == 201 && !atomic_load((atomic_bool *)over))
        status = fx_status(fx.server[0], "POST /buy?item=L1&user=u1");
    return (void *)(intptr_t)status;
}

static bool is_held(void *arg)
{
    (void)arg;
    const char *locks = fx_expect(fx.server[0], 200, "GET /locks");
    cJSON *json = cJSON_Parse(locks);
    assert_non_null(json);
    cJSON_Delete(json);
    return strstr(locks, "\"item\":\"L1\"") != NULL && strstr(locks, "\"held\":true") != NULL;
}

static void locks_are_listed(void **state)
{
    (void)state;
    pthread_t buyer;
    void *status;
    atomic_bool over = false;
    fx_start_sale(fx.server[0], "L1", "'stock':1000,'strategy':'fair','hold_ms':200");
    pthread_create(&buyer, NULL, keep_buying, &over);
    bool held = fx_wait_until(is_held, NULL, 60000);
    atomic_store(&over, true);
    pthread_join(buyer, &status);
    assert_true(held);
    assert_int_equal((int)(intptr_t)status, 201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_as_prometheus_wants_them),
        cmocka_unit_test(locks_are_listed),
    };
    return fx_run(tests, .instances = 1);
}
