/* test_status.c - what an instance says of itself: metrics, and who holds which lock. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/metrics.h"
#include "server/strategies/registry.h"
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

/* ---- what is counted ------------------------------------------------------------------------- */

/* The number behind a name, with its labels, in what the instance says. */
static double number_of(const char *metrics, const char *name)
{
    char line[192];
    snprintf(line, sizeof(line), "\n%s ", name);
    const char *at = strstr(metrics, line);
    if (!at)
        fail_msg("%s is not in %s", name, metrics);
    return strtod(at + strlen(line), NULL);
}

static double labelled(const char *metrics, const char *name, const char *label, const char *value)
{
    char whole[128];
    snprintf(whole, sizeof(whole), "%s{%s=\"%s\"}", name, label, value);
    return number_of(metrics, whole);
}

/* The buckets of a histogram rise to its count, and all but those up to `below` are full. */
static void check_buckets(const char *metrics, const char *begins, double count, double below)
{
    int buckets = 0;
    double last = 0;
    for (const char *at = metrics; (at = strstr(at, begins)) != NULL; at++) {
        const char *bound = strstr(at, "le=\"") + 4;
        double le = strncmp(bound, "+Inf", 4) == 0 ? 1e9 : strtod(bound, NULL);
        double value = strtod(strchr(at, ' '), NULL);
        buckets++;
        if (value < last || value > count || (le <= below && value > 0))
            fail_msg("%s: %g up to %g, after %g", begins, value, le, last);
        last = value;
    }
    assert_true(buckets > 10);
    assert_true(last == count); /* the last is +Inf */
}

enum { HOLD_MS = 150, SOLD = 3 };

/* How many were told "busy" before one was told to slow down. */
static int ask_in_a_hurry(fx_server *server)
{
    int busy = 0, status = 503;
    fx_start_sale(server, "M2", "'stock':9,'strategy':'setnx','wait_ms':0");
    fx_redis_do(fx.redis, "SET fs:{M2}:%s:lock stranger PX 600000", fx_current_sale("M2"));
    while (status == 503 && busy < 10000) {
        status = fx_status(server, "POST /buy?item=M2&user=quick");
        busy += status == 503;
    }
    assert_int_equal(status, 429);
    return busy;
}

static void ask_for_all_that_is_counted(fx_server *server)
{
    fx_start_sale(server, "M1", "'stock':%d,'strategy':'combined','hold_ms':%d", SOLD, HOLD_MS);
    for (int i = 0; i < SOLD; i++)
        fx_expect(server, 201, "POST /buy?item=M1&user=u%d&request=m%d", i, i);
    fx_expect(server, 201, "POST /buy?item=M1&user=u0&request=m0"); /* replayed */
    fx_refused(server, 409, "sold_out", "POST /buy?item=M1&user=u9");
    fx_refused(server, 422, "request_reused", "POST /buy?item=M1&user=u9&request=m0");
    fx_expect(server, 404, "GET /orders/none?item=M1");
    fx_expect(server, 405, "DELETE /buy");
}

static void what_was_answered_is_counted(void **state)
{
    (void)state;
    static const char count[] = "flashsale_buy_duration_seconds_count";
    static const char responses[] = "flashsale_http_responses_total";
    static const struct {
        const char *name, *label, *value;
        double expected;
    } numbers[] = {
        {count, "outcome", "sold", SOLD + 1},
        {count, "outcome", "sold_out", 1},
        {count, "outcome", "conflict", 1},
        {count, "outcome", "store_unavailable", 0},
        {count, "outcome", "unknown", 0},
        {responses, "code", "404", 1},
        {responses, "code", "405", 1},
        {responses, "code", "409", 1},
        {responses, "code", "422", 1},
        {responses, "code", "429", 1},
        {responses, "code", "201", SOLD + 1 + 2}, /* and two sales */
    };
    fx_server *server =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--rate-user", "1", "--rate-burst", "3"));
    ask_for_all_that_is_counted(server);
    int busy = ask_in_a_hurry(server);
    const char *metrics = fx_expect(server, 200, "GET /metrics");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        double is = labelled(metrics, numbers[i].name, numbers[i].label, numbers[i].value);
        if (is != numbers[i].expected)
            fail_msg("%s %s: %g", numbers[i].name, numbers[i].value, is);
    }
    assert_true(labelled(metrics, count, "outcome", "busy") == busy);
    assert_true(labelled(metrics, responses, "code", "503") == busy);
    assert_true(number_of(metrics, "flashsale_buys_replayed_total") == 1);
    assert_true(number_of(metrics, "flashsale_rate_limited_total") == 1);
    assert_true(number_of(metrics, "flashsale_lock_held") == 0);
    assert_true(number_of(metrics, "flashsale_lock_waiting") == 0);
    assert_true(number_of(metrics, "flashsale_redis_up") == 1);
    assert_true(number_of(metrics, "flashsale_requests_in_flight") == 1); /* this one */
    fx_server_kill(server);
}

static void times_are_counted_where_they_belong(void **state)
{
    (void)state;
    double held_s = SOLD * HOLD_MS / 1000.0;
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), NULL);
    dlock_time from = dlock_now();
    fx_start_sale(server, "M3", "'stock':9,'strategy':'combined','hold_ms':%d", HOLD_MS);
    for (int i = 0; i < SOLD; i++)
        fx_expect(server, 201, "POST /buy?item=M3&user=u1");
    const char *metrics = fx_expect(server, 200, "GET /metrics");
    double passed_s = (double)(dlock_now().us - from.us) / 1e6;
    check_buckets(metrics, "flashsale_buy_duration_seconds_bucket{outcome=\"sold\",", SOLD,
                  HOLD_MS / 1000.0);
    double sum_s = labelled(metrics, "flashsale_buy_duration_seconds_sum", "outcome", "sold");
    assert_true(sum_s >= held_s && sum_s <= passed_s);
    check_buckets(metrics, "flashsale_lock_hold_seconds_bucket{", SOLD, HOLD_MS / 1000.0 / 2);
    check_buckets(metrics, "flashsale_lock_wait_seconds_bucket{", SOLD, 0);
    sum_s = number_of(metrics, "flashsale_lock_hold_seconds_sum");
    assert_true(sum_s >= held_s && sum_s <= passed_s);
    fx_server_kill(server);
}

/* A bucket's bound belongs to it. */
static void a_time_is_counted_in_the_first_bucket_that_holds_it(void **state)
{
    (void)state;
    static fs_metrics metrics;
    int64_t most_us = metrics_bucket_us[METRICS_BUCKETS - 1];
    for (int i = 0; i < METRICS_BUCKETS; i++)
        metrics_count_buy(&metrics, BUY_SOLD, false, metrics_bucket_us[i]);
    metrics_count_buy(&metrics, BUY_SOLD, false, metrics_bucket_us[0] + 1);
    metrics_count_buy(&metrics, BUY_SOLD, true, most_us + 1);
    for (int i = 0; i <= METRICS_BUCKETS; i++)
        assert_int_equal(metrics.buys[BUY_SOLD].bucket[i], i == 1 ? 2 : 1);
    assert_int_equal(metrics.replayed, 1);
    metrics_count_response(&metrics, METRICS_CODES); /* nothing beyond the end */
    metrics_count_response(&metrics, -1);
    metrics_count_response(&metrics, 0);
    assert_int_equal(metrics.responses[0], 1);
}

/* ---- locks ----------------------------------------------------------------------------------- */

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

/* ---- the strategies -------------------------------------------------------------------------- */

static bool flag(const cJSON *json, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(json, name);
    if (!cJSON_IsBool(member))
        fail_msg("'%s' is no flag of a strategy", name);
    return cJSON_IsTrue(member);
}

static void strategies_are_shown_as_they_are(void **state)
{
    (void)state;
    cJSON *json = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /strategies"));
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "strategies");
    int i = 0;
    for (const fs_strategy *const *s = strategy_list(); *s; s++, i++) {
        const cJSON *shown = cJSON_GetArrayItem(list, i);
        const char *const texts[][2] = {{"name", (*s)->name},
                                        {"summary", (*s)->summary},
                                        {"source", (*s)->source},
                                        {"weakness", (*s)->weakness}};
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
            assert_string_equal(
                cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(shown, texts[k][0])),
                texts[k][1]);
        assert_int_equal(flag(shown, "locked"), (*s)->locked);
        assert_int_equal(flag(shown, "renews"), (*s)->renews);
        assert_int_equal(flag(shown, "sharded"), (*s)->sharded);
        assert_int_equal(flag(shown, "replayable"), (*s)->replayable);
        assert_int_equal(flag(shown, "guarded"), (*s)->guarded);
        assert_int_equal(cJSON_GetObjectItem(shown, "lease_ms")->valueint, (*s)->lease_ms);
        assert_int_equal(cJSON_GetObjectItem(shown, "wait_ms")->valueint, (*s)->wait_ms);
    }
    assert_int_equal(cJSON_GetArraySize(list), i);
    cJSON_Delete(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_as_prometheus_wants_them),
        cmocka_unit_test(what_was_answered_is_counted),
        cmocka_unit_test(times_are_counted_where_they_belong),
        cmocka_unit_test(a_time_is_counted_in_the_first_bucket_that_holds_it),
        cmocka_unit_test(locks_are_listed),
        cmocka_unit_test(strategies_are_shown_as_they_are),
    };
    return fx_run(tests, .instances = 1);
}
