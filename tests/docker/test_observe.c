/*
 * test_observe.c - docker/observe/: the files are what promtool accepts, each alert fires and does
 * not by its own tests, and a real Prometheus that scrapes three real instances says what happened
 * to them.
 *
 * The instances are real, so the alerts' own waiting times (`for`) are not waited for: an alert
 * that is pending counts. Only how often Prometheus looks is made shorter.
 */
#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/service.h"

static char dir[256], prometheus_url[64];
static fx_process *prometheus; /* NULL: none here */
static int server_port[FX_INSTANCES];

static void need(const char *program)
{
    char script[128];
    snprintf(script, sizeof(script), "command -v %s >/dev/null", program);
    if (fx_shell(script, NULL, 5000) != 0)
        fx_skip("no %s here", program);
}

/* ---- the files ------------------------------------------------------------------------------- */

static void promtool_accepts_the_files(void **state)
{
    (void)state;
    need("promtool");
    assert_int_equal(fx_shell("promtool check config docker/observe/prometheus.yml >&2", "", 20000),
                     0);
}

static void each_alert_fires_and_does_not(void **state)
{
    (void)state;
    need("promtool");
    assert_int_equal(fx_shell("promtool test rules docker/observe/alerts_test.yml >&2", "", 60000),
                     0);
}

/* In alerts_test.yml one that is expected and one that is not; a word in OPERATIONS.md. */
static void each_alert_is_tested_and_explained(void **state)
{
    (void)state;
    assert_int_equal(
        fx_shell(
            "cd docker; alerts=$(sed -n 's/.*- alert: //p' observe/alerts.yml);"
            "[ $(echo \"$alerts\" | wc -l) -ge 8 ] || exit 1;"
            "for alert in $alerts; do"
            "  grep -A3 \"alertname: $alert\\$\" observe/alerts_test.yml |"
            "    grep -q exp_alerts: || { echo \"$alert fires in no test\" >&2; exit 1; };"
            "  grep -q \"{alertname: $alert, eval_time: [0-9a-z]*}\" observe/alerts_test.yml ||"
            "    { echo \"$alert is silent in no test\" >&2; exit 1; };"
            "  grep -q \"[\\`]$alert[\\`]\" ../server/OPERATIONS.md ||"
            "    { echo \"OPERATIONS.md does not explain $alert\" >&2; exit 1; };"
            "done",
            "", 10000),
        0);
}

static void each_metric_of_an_alert_is_told(void **state)
{
    (void)state;
    fx_sell("'stock':2,'strategy':'combined'"); /* which the instance then knows */
    fx_expect(fx.server[0], 200, "GET /orders?item=P0001&after=0"); /* and who reads it */
    assert_int_equal(fx_shell("told=$(curl -sf \"$1/metrics\");"
                              "names=$(grep -v '^ *summary\\|^#' docker/observe/alerts.yml |"
                              "  grep -o 'flashsale_[a-z_]*' | sort -u);"
                              "[ $(echo \"$names\" | wc -l) -ge 8 ] || exit 1;"
                              "for name in $names; do"
                              "  echo \"$told\" | grep -q \"^$name[ {]\" ||"
                              "    { echo \"nothing tells $name\" >&2; exit 1; };"
                              "done",
                              fx_server_url(fx.server[0]), 20000),
                     0);
}

/* ---- a real Prometheus ----------------------------------------------------------------------- */

static fx_server *start_instance(int i)
{
    char listen[32];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", server_port[i]);
    return fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--listen", listen, FX_P0001));
}

static void write_targets(void)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/targets.yml", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "- targets: [\"127.0.0.1:%d\", \"127.0.0.1:%d\", \"127.0.0.1:%d\"]\n",
            server_port[0], server_port[1], server_port[2]);
    assert_int_equal(fclose(file), 0);
}

/* With a rule more, by which is told that the rules have been evaluated over what was sold. */
static void start_prometheus(void)
{
    char config[300], data[300], listen[64];
    int port = fx_free_port();
    write_targets();
    assert_int_equal(fx_shell("sed -E 's/_(interval|timeout): .*/_\\1: 500ms/'"
                              "  docker/observe/prometheus.yml >$1/prometheus.yml &&"
                              "{ cat docker/observe/alerts.yml;"
                              "  echo '      - alert: Seen';"
                              "  echo '        expr: max(flashsale_sale_ordered_units) == 2'; }"
                              "  >$1/alerts.yml",
                              dir, 5000),
                     0);
    snprintf(config, sizeof(config), "--config.file=%s/prometheus.yml", dir);
    snprintf(data, sizeof(data), "--storage.tsdb.path=%s/data", dir);
    snprintf(listen, sizeof(listen), "--web.listen-address=127.0.0.1:%d", port);
    snprintf(prometheus_url, sizeof(prometheus_url), "http://127.0.0.1:%d", port);
    prometheus = fx_spawn(
        (const char *const[]){"prometheus", config, data, listen, "--log.level=warn", NULL}, false);
}

static int setup(void **state)
{
    fx_service_start(state);
    for (int i = 0; i < FX_INSTANCES; i++) {
        server_port[i] = fx_free_port();
        fx.server[i] = start_instance(i);
    }
    fx_dir_make(dir, sizeof(dir));
    if (fx_shell("command -v prometheus >/dev/null", "", 5000) == 0)
        start_prometheus();
    return 0;
}

static int teardown(void **state)
{
    fx_process_free(prometheus);
    fx_dir_remove(dir);
    return fx_service_stop(state);
}

/* What an expression is now, of its first sample; NAN: it has none, or nobody answers. */
static double ask(const char *expression)
{
    char url[1024];
    fx_reply reply;
    int len = snprintf(url, sizeof(url), "%s/api/v1/query?query=", prometheus_url);
    for (const char *c = expression; *c != '\0'; c++)
        len += snprintf(url + len, sizeof(url) - (size_t)len,
                        isalnum((unsigned char)*c) ? "%c" : "%%%02X", (unsigned char)*c);
    double value = NAN;
    if (fx_http("GET", url, NULL, NULL, 5000, &reply) == 200) {
        cJSON *json = fx_reply_json(&reply);
        const cJSON *data = cJSON_GetObjectItem(json, "data");
        const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(data, "result"), 0);
        const char *text =
            cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(first, "value"), 1));
        value = text ? strtod(text, NULL) : NAN;
        cJSON_Delete(json);
    }
    fx_reply_free(&reply);
    return value;
}

static bool is_one(void *expression)
{
    return ask(expression) == 1;
}

static void await(const char *expression)
{
    if (!fx_wait_until(is_one, (void *)expression, 90000))
        fail_msg("%s never was 1: %g; %s", expression, ask(expression),
                 fx_process_stderr(prometheus));
}

static void need_prometheus(void)
{
    if (!prometheus)
        fx_skip("no prometheus here");
}

static void nothing_is_wrong_with_a_sound_sale(void **state)
{
    (void)state;
    need_prometheus();
    fx_sell("'stock':2,'strategy':'combined'");
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_status(fx.server[i], "POST /buy?item=P0001&user=u%d", i);
    await("sum(up{job=\"flashsale\"}) == bool 3");
    await("count_over_time(ALERTS{alertname=\"Seen\"}[1m]) >= bool 4");
    if (!isnan(ask("ALERTS{alertname!=\"Seen\"}")))
        fail_msg("an alert without a reason");
}

static void an_oversold_sale_is_alerted(void **state)
{
    (void)state;
    need_prometheus();
    fx_sell("'stock':2,'strategy':'none'");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1");
    fx_redis_do(fx.redis, "SET fs:{P0001}:%s:stock 2", fx_current_sale("P0001"));
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u2");
    assert_true(isnan(ask("ALERTS{alertname=\"FlashsaleOversold\"}")));
    fx_expect(fx.server[2], 201, "POST /buy?item=P0001&user=u3");
    await("ALERTS{alertname=\"FlashsaleOversold\",item=\"P0001\",strategy=\"none\"}");
    await("ALERTS{alertname=\"FlashsaleLostUpdates\",item=\"P0001\",strategy=\"none\"}");
}

/* Who gives up is in no time of a wait: it has acquired no lock. */
static void a_lock_that_is_never_had_is_alerted(void **state)
{
    (void)state;
    need_prometheus();
    fx_sell("'stock':2,'strategy':'combined','wait_ms':1100");
    fx_redis_do(fx.redis, "SET fs:{P0001}:%s:lock somebody", fx_current_sale("P0001"));
    assert_true(isnan(ask("ALERTS{alertname=\"FlashsaleLockNotHad\"}")));
    for (int i = 0; i < 2; i++)
        fx_refused(fx.server[0], 503, "busy", "POST /buy?item=P0001&user=u1");
    await("ALERTS{alertname=\"FlashsaleLockNotHad\"}");
}

static void a_killed_instance_is_a_target_that_is_down(void **state)
{
    (void)state;
    need_prometheus();
    char down[128], alert[160], back[128];
    snprintf(down, sizeof(down), "up{instance=\"127.0.0.1:%d\"} == bool 0", server_port[1]);
    snprintf(back, sizeof(back), "up{instance=\"127.0.0.1:%d\"}", server_port[1]);
    snprintf(alert, sizeof(alert),
             "ALERTS{alertname=\"FlashsaleInstanceAway\",instance=\"127.0.0.1:%d\"}",
             server_port[1]);
    await(back);
    fx_server_kill(fx.server[1]);
    fx.server[1] = NULL;
    await(down);
    await(alert);
    assert_true(ask("count(ALERTS{alertname=\"FlashsaleInstanceAway\"})") == 1);
    assert_true(isnan(ask("ALERTS{alertname=\"FlashsaleNoSale\"}")));
    fx.server[1] = start_instance(1);
    await(back);
}

static void a_silent_redis_is_alerted(void **state)
{
    (void)state;
    need_prometheus();
    fx_redis_signal(fx.redis, SIGSTOP);
    await("ALERTS{alertname=\"FlashsaleRedisAway\"}");
    await("ALERTS{alertname=\"FlashsaleNoSale\"}");
    fx_redis_signal(fx.redis, SIGCONT);
    await("absent(ALERTS{alertname=\"FlashsaleNoSale\"})");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promtool_accepts_the_files),
        cmocka_unit_test(each_alert_fires_and_does_not),
        cmocka_unit_test(each_alert_is_tested_and_explained),
        cmocka_unit_test(each_metric_of_an_alert_is_told),
        cmocka_unit_test(nothing_is_wrong_with_a_sound_sale),
        cmocka_unit_test(an_oversold_sale_is_alerted),
        cmocka_unit_test(a_lock_that_is_never_had_is_alerted),
        cmocka_unit_test(a_killed_instance_is_a_target_that_is_down),
        cmocka_unit_test(a_silent_redis_is_alerted),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
