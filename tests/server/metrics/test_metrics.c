/* test_metrics.c - GET /metrics: what was answered is counted, and how the sales and the process
 * are is told, without a word to Redis. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/metrics/metrics.h"
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
    for (size_t i = 0; i < COUNT(lines); i++)
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

/* Of the lock of an item's sale. */
static double of_lock(const char *metrics, const char *name, const char *item)
{
    char begins[128];
    snprintf(begins, sizeof(begins), "\nflashsale_lock_name_%s{lock=\"fs:{%s}:", name, item);
    const char *line = strstr(metrics, begins);
    if (!line)
        fail_msg("%s is not in %s", begins, metrics);
    return strtod(strstr(line, ":lock\"} ") + strlen(":lock\"} "), NULL);
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
    for (size_t i = 0; i < COUNT(numbers); i++) {
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
    bool cluster = strcmp(fx_redis_kind(), "cluster") == 0;
    assert_true(number_of(metrics, cluster ? "flashsale_redis_up{server=\"0\"}"
                                           : "flashsale_redis_up") == 1);
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
    assert_true(of_lock(metrics, "acquired_total", "M3") == SOLD);
    double of_one_s = of_lock(metrics, "hold_seconds_total", "M3");
    assert_true(of_one_s > sum_s - 1e-3 && of_one_s < sum_s + 1e-3);
    assert_true(of_lock(metrics, "wait_seconds_total", "M3") > 0);
    assert_null(strstr(metrics, "{lock=\"fs:{M1}")); /* it was never asked for */
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

/* ---- the sales ------------------------------------------------------------------------------- */

/* A metric that is to have a value, at the first instance. */
typedef struct awaited {
    const char *name, *item; /* NULL: it has no label */
    double value;
} awaited;

static bool is_told(void *arg)
{
    const awaited *it = arg;
    char line[160];
    if (it->item)
        snprintf(line, sizeof(line), "\n%s{item=\"%s\"} %g\n", it->name, it->item, it->value);
    else
        snprintf(line, sizeof(line), "\n%s %g\n", it->name, it->value);
    return strstr(fx_expect(fx.server[0], 200, "GET /metrics"), line) != NULL;
}

static void expect_told(const char *name, const char *item, double value)
{
    awaited it = {name, item, value};
    if (!fx_wait_until(is_told, &it, 60000))
        fail_msg("%s of %s never was %g: %s", name, item ? item : "all", value,
                 fx_expect(fx.server[0], 200, "GET /metrics"));
}

/* One of two units is sold twice: one lost update, and one unit too many in the end. */
static void oversell(const char *item)
{
    fx_start_sale(fx.server[0], item, "'stock':2,'strategy':'none'");
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1", item);
    fx_redis_do(fx.redis, "SET fs:{%s}:%s:stock 2", item, fx_current_sale(item));
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u2", item);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u3", item);
}

static void a_sale_is_told_as_it_was_seen(void **state)
{
    (void)state;
    char info[192];
    oversell("S1");
    expect_told("flashsale_sale_ordered_units", "S1", 3);
    expect_told("flashsale_sale_initial_units", "S1", 2);
    expect_told("flashsale_sale_remaining_units", "S1", 0);
    expect_told("flashsale_sale_oversold_units", "S1", 1);
    expect_told("flashsale_sale_lost_update_units", "S1", 1);
    expect_told("flashsale_sale_sellable", "S1", 1);
    expect_told("flashsale_sale_halted", "S1", 0);
    snprintf(info, sizeof(info),
             "flashsale_sale_info{item=\"S1\",sale=\"%s\",strategy=\"none\"} 1\n",
             fx_current_sale("S1"));
    assert_non_null(strstr(fx_expect(fx.server[0], 200, "GET /metrics"), info));

    fx_start_sale(fx.server[0], "S1", "'stock':1234567,'strategy':'sharded','segments':4");
    fx_expect(fx.server[0], 201, "POST /buy?item=S1&user=u1&quantity=2");
    expect_told("flashsale_sale_ordered_units", "S1", 2);
    expect_told("flashsale_sale_oversold_units", "S1", 0);
    assert_non_null(strstr(fx_expect(fx.server[0], 200, "GET /metrics"),
                           "flashsale_sale_remaining_units{item=\"S1\"} 1234565\n"));
}

static void a_halted_sale_is_told(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "S2", "'stock':2,'strategy':'atomic'");
    fx_expect(fx.server[0], 201, "POST /buy?item=S2&user=u1");
    expect_told("flashsale_items_halted", NULL, 0);
    expect_told("flashsale_sale_ordered_units", "S2", 1);
    fx_redis_do(fx.redis, "DEL fs:{S2}:sale");
    expect_told("flashsale_sale_halted", "S2", 1);
    expect_told("flashsale_sale_sellable", "S2", 0);
    expect_told("flashsale_items_halted", NULL, 1);
    expect_told("flashsale_sale_ordered_units", "S2", 1);
    expect_told("flashsale_ready", NULL, 1); /* other items can be sold */
}

static void sales_are_told_of_when_redis_is_silent(void **state)
{
    (void)state;
    fx_only_single("it is stopped");
    oversell("S3");
    expect_told("flashsale_sale_oversold_units", "S3", 1);
    expect_told("flashsale_redis_up", NULL, 1);
    fx_redis_signal(fx.redis, SIGSTOP);
    expect_told("flashsale_redis_up", NULL, 0);
    expect_told("flashsale_ready", NULL, 0);
    expect_told("flashsale_sale_oversold_units", "S3", 1);
    fx_redis_signal(fx.redis, SIGCONT);
    expect_told("flashsale_redis_up", NULL, 1);
    expect_told("flashsale_ready", NULL, 1);
}

static int lines_of(const char *metrics, const char *begins)
{
    int count = 0;
    for (const char *at = metrics; (at = strstr(at, begins)) != NULL; at++)
        count++;
    return count;
}

static void items_are_bounded_and_those_in_trouble_come_first(void **state)
{
    (void)state;
    static const char name[] = "\nflashsale_sale_ordered_units{";
    enum { MORE = SALE_METRICS_ITEMS + 6 };
    char left_out[16] = "", item[16], line[96];
    for (int i = 0; i < MORE; i++) {
        snprintf(item, sizeof(item), "B%d", i);
        fx_start_sale(fx.server[0], item, "'stock':2,'strategy':'none'");
    }
    const char *metrics = fx_expect(fx.server[0], 200, "GET /metrics");
    assert_true(number_of(metrics, "flashsale_items") >= MORE);
    assert_int_equal(lines_of(metrics, name), SALE_METRICS_ITEMS);
    for (int i = 0; i < MORE && left_out[0] == '\0'; i++) {
        snprintf(line, sizeof(line), "%sitem=\"B%d\"}", name, i);
        if (!strstr(metrics, line))
            snprintf(left_out, sizeof(left_out), "B%d", i);
    }
    oversell(left_out);
    expect_told("flashsale_sale_oversold_units", left_out, 1);
    metrics = fx_expect(fx.server[0], 200, "GET /metrics");
    assert_int_equal(lines_of(metrics, name), SALE_METRICS_ITEMS);
}

/* ---- the process ----------------------------------------------------------------------------- */

static void the_process_is_told_of(void **state)
{
    (void)state;
    time_t before = time(NULL);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--threads", "64"));
    time_t after = time(NULL);
    const char *metrics = fx_expect(server, 200, "GET /metrics");
    double start_s = number_of(metrics, "process_start_time_seconds");
    assert_true(start_s >= (double)before - 1 && start_s <= (double)after + 1);
    double cpu_s = number_of(metrics, "process_cpu_seconds_total");
    assert_true(cpu_s > 0 && cpu_s < 60);
    double resident = number_of(metrics, "process_resident_memory_bytes");
    assert_true(resident > 1e6 && resident <= number_of(metrics, "process_virtual_memory_bytes"));
    double descriptors = number_of(metrics, "process_open_fds");
    assert_true(descriptors > 5 && descriptors < number_of(metrics, "process_max_fds"));
    assert_true(number_of(metrics, "flashsale_draining") == 0);
    fx_server_kill(server);
}

static bool is_draining(void *server)
{
    fx_reply reply;
    bool told = fx_ask(server, &reply, "GET /metrics") == 200 &&
                strstr(reply.body, "\nflashsale_draining 1\n") &&
                strstr(reply.body, "\nflashsale_ready 0\n");
    fx_reply_free(&reply);
    return told;
}

static void draining_is_told(void **state)
{
    (void)state;
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--drain-delay", "60"));
    fx_server_signal(server, SIGTERM);
    assert_true(fx_wait_until(is_draining, server, 30000));
    fx_server_kill(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_are_as_prometheus_wants_them),
        cmocka_unit_test(what_was_answered_is_counted),
        cmocka_unit_test(times_are_counted_where_they_belong),
        cmocka_unit_test(a_time_is_counted_in_the_first_bucket_that_holds_it),
        cmocka_unit_test(a_sale_is_told_as_it_was_seen),
        cmocka_unit_test(a_halted_sale_is_told),
        cmocka_unit_test(sales_are_told_of_when_redis_is_silent),
        cmocka_unit_test(items_are_bounded_and_those_in_trouble_come_first),
        cmocka_unit_test(the_process_is_told_of),
        cmocka_unit_test(draining_is_told),
    };
    return fx_run(tests, .instances = 1);
}
