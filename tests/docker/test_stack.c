/*
 * test_stack.c - docker/compose.yaml on a real container engine: it comes up healthy and confined,
 * sells right, survives restarts and kills under load, and stops in order.
 *
 * `make stack` runs it. It is skipped in `make test`, because building the images takes longer
 * than all other tests together. Each run has a compose project and ports of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/crowd.h"
#include "tests/support/service.h"

enum { BUILD_MS = 900000, COMPOSE_MS = 120000, RECOVERY_MS = 60000 };

/* compose ARGUMENTS, with either generation of the command. */
#define COMPOSE                                                                                    \
    "compose() {"                                                                                  \
    "  if docker compose version >/dev/null 2>&1; then"                                            \
    "    docker compose -f docker/compose.yaml \"$@\";"                                            \
    "  else"                                                                                       \
    "    docker-compose -f docker/compose.yaml \"$@\";"                                            \
    "  fi; };"

static const char *missing; /* why nothing can be tested; NULL = all is there */
static char proxy[64], instance[FX_INSTANCES][64], prometheus[64], report_dir[256];

static int compose(const char *arguments, int deadline_ms)
{
    return fx_shell(COMPOSE "compose $1 >/dev/null", arguments, deadline_ms);
}

static bool is_ready(void *url)
{
    char ready[128];
    fx_reply reply;
    snprintf(ready, sizeof(ready), "%s/readyz", (const char *)url);
    int status = fx_http("GET", ready, NULL, NULL, 2000, &reply);
    fx_reply_free(&reply);
    return status == 200;
}

/* A free port for the stack to publish: in the variable for compose, and as a URL. */
static void choose_port(const char *variable, char *url, size_t len)
{
    char port[8];
    snprintf(port, sizeof(port), "%d", fx_free_port());
    setenv(variable, port, 1);
    snprintf(url, len, "http://127.0.0.1:%s", port);
}

static void set_up_project(void)
{
    char project[64];
    snprintf(project, sizeof(project), "flashsale-test-%d", (int)getpid());
    setenv("COMPOSE_PROJECT_NAME", project, 1);
    setenv("FLASHSALE_ADDRESS_REQUESTS", "1000000", 1); /* our crowd has one address */
    choose_port("FLASHSALE_PORT", proxy, sizeof(proxy));
    choose_port("FLASHSALE_PROMETHEUS_PORT", prometheus, sizeof(prometheus));
    for (int i = 0; i < FX_INSTANCES; i++) {
        char variable[32];
        snprintf(variable, sizeof(variable), "FLASHSALE_PORT_%d", i + 1);
        choose_port(variable, instance[i], sizeof(instance[i]));
    }
    fx_dir_make(report_dir, sizeof(report_dir));
    setenv("FLASHSALE_REPORT", report_dir, 1);
}

static const char *find_missing(void)
{
    if (getenv("FLASHSALE_STACK") == NULL)
        return "only make stack runs this: building the images takes minutes";
    if (fx_shell("docker info >/dev/null 2>&1", NULL, 20000) != 0)
        return "no container engine runs here";
    if (fx_shell(COMPOSE "compose version >/dev/null 2>&1", NULL, 20000) != 0)
        return "the container engine has no compose";
    if (fx_shell("image=debian:13-slim; docker image inspect $image >/dev/null 2>&1 ||"
                 "docker pull -q $image >/dev/null 2>&1",
                 NULL, 300000) != 0)
        return "no debian:13-slim here, and no registry has it";
    return NULL;
}

static int setup(void **state)
{
    (void)state;
    missing = find_missing();
    if (missing)
        return 0;
    set_up_project();
    return compose("--profile loadtest --profile observe build", BUILD_MS) == 0 &&
                   compose("up -d", COMPOSE_MS) == 0 && fx_wait_until(is_ready, proxy, 60000)
               ? 0
               : -1;
}

static int teardown(void **state)
{
    (void)state;
    if (missing)
        return 0;
    fx_dir_remove(report_dir);
    return compose("down -v", COMPOSE_MS);
}

static void need_engine(void)
{
    if (missing)
        fx_skip("%s", missing);
}

/* The stack's admin token, as whoever runs the machine gets at it. */
static void token(char *buf, size_t len)
{
    fx_process *p = fx_spawn((const char *const[]){"sh", "-c",
                                                   COMPOSE "docker exec $(compose ps -q redis)"
                                                           " cat /run/flashsale/admin/token",
                                                   NULL},
                             true);
    assert_int_equal(fx_process_wait(p, 20000), 0);
    snprintf(buf, len, "%s", fx_process_stdout(p));
    fx_process_free(p);
    assert_true(strlen(buf) >= 32);
}

static void start_sale(const char *strategy)
{
    char secret[128], header[160], body[160], url[128];
    fx_reply reply;
    token(secret, sizeof(secret));
    snprintf(url, sizeof(url), "%s/sales", instance[0]);
    snprintf(header, sizeof(header), "Authorization: Bearer %s", secret);
    snprintf(body, sizeof(body), "{\"item\":\"P0001\",\"stock\":1000000,\"strategy\":\"%s\"}",
             strategy);
    const char *const headers[] = {header, NULL};
    if (fx_http("POST", url, headers, body, 10000, &reply) != 201)
        fail_msg("POST /sales: %d %s%s", reply.status, reply.body, reply.error);
    fx_reply_free(&reply);
}

static int orders(void)
{
    char url[128];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/stock?item=P0001", proxy);
    assert_int_equal(fx_http("GET", url, NULL, NULL, 5000, &reply), 200);
    cJSON *stock = fx_reply_json(&reply);
    int n = (int)fx_json_number(stock, "orders");
    assert_int_equal((int)fx_json_number(stock, "oversold"), 0);
    cJSON_Delete(stock);
    fx_reply_free(&reply);
    return n;
}

static void assert_sells(fx_crowd *crowd)
{
    if (!fx_crowd_sells(crowd, 100, RECOVERY_MS))
        fail_msg("not selling again after %d ms: %s", RECOVERY_MS,
                 fx_crowd_look(crowd).last_failure);
}

/* ---- how it stands --------------------------------------------------------------------------- */

static void everything_comes_up_healthy(void **state)
{
    (void)state;
    need_engine();
    assert_int_equal(
        fx_shell(COMPOSE "all=$(compose ps -q); [ $(echo \"$all\" | wc -l) = 5 ] || exit 1;"
                         "until [ \"$(docker inspect -f '{{.State.Health.Status}}' $all | sort -u)"
                         "\" = healthy ]; do sleep 0.5; done",
                 NULL, 60000),
        0);
}

static void the_images_are_small(void **state)
{
    (void)state;
    need_engine();
    assert_int_equal(fx_shell("for image in server redis proxy loadtest; do"
                              "  size=$(docker image inspect -f '{{.Size}}' flashsale-$image);"
                              "  [ $size -lt 120000000 ] || { echo $image: $size >&2; exit 1; };"
                              "done",
                              NULL, 60000),
                     0);
}

/* What the engine was told, and what the processes inside really can not do. */
static void the_containers_are_confined(void **state)
{
    (void)state;
    need_engine();
    assert_int_equal(
        fx_shell(COMPOSE "expect() { [ \"$1\" = \"$2\" ] || {"
                         "  echo \"$c: '$1' instead of '$2'\" >&2; exit 1; }; };"
                         "for c in $(compose ps -q); do"
                         "  expect \"$(docker inspect -f '{{.HostConfig.ReadonlyRootfs}}"
                         " {{.Config.User}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}"
                         " {{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}' $c)\""
                         "    'true 10001:10001 [ALL] [no-new-privileges:true] 536870912 1200';"
                         "  expect \"$(docker exec $c sh -c 'awk \"/^(CapBnd|NoNewPrivs|Uid)/"
                         " {print \\$2}\" /proc/1/status; touch /x 2>/dev/null && echo writes' |"
                         "    tr '\\n' ' ')\" '10001 0000000000000000 1 ';"
                         "done;"
                         "expect \"$(docker inspect -f '{{len .HostConfig.PortBindings}}'"
                         " $(compose ps -q redis))\" 0",
                 NULL, 60000),
        0);
}

/* ---- loadtest -------------------------------------------------------------------------------- */

static void the_host_can_compare_strategies(void **state)
{
    (void)state;
    need_engine();
    char secret[128], program[512];
    token(secret, sizeof(secret));
    setenv("FLASHSALE_ADMIN_TOKEN", secret, 1);
    const char *const argv[] = {fx_build_path("loadtest", program, sizeof(program)),
                                "compare",
                                "--preset",
                                "contended",
                                "--runs",
                                "1",
                                "--strategies",
                                "none,reentrant,atomic,combined",
                                "--target",
                                instance[0],
                                "--target",
                                instance[1],
                                "--target",
                                instance[2],
                                NULL};
    fx_process *p = fx_spawn(argv, true);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    if (fx_process_wait(p, 120000) != 0)
        fail_msg("loadtest: %s%s", fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
}

static void the_profile_leaves_its_report_in_the_folder(void **state)
{
    (void)state;
    need_engine();
    assert_int_equal(compose("run --rm loadtest compare --preset contended --runs 1"
                             " --strategies none,combined --target http://flashsale-1:7000"
                             " --target http://flashsale-2:7001 --target http://flashsale-3:7002"
                             " --json /report/compare.json --html /report/report.html",
                             COMPOSE_MS),
                     0);
    assert_int_equal(fx_shell("grep -q '\"verdict\"' \"$1/compare.json\" &&"
                              "grep -q '</html>' \"$1/report.html\"",
                              report_dir, 5000),
                     0);
}

/* ---- Prometheus ------------------------------------------------------------------------------ */

static bool sees_all_targets(void *arg)
{
    (void)arg;
    char query[128];
    fx_reply reply;
    snprintf(query, sizeof(query), "%s/api/v1/query?query=sum(up)", prometheus);
    fx_http("GET", query, NULL, NULL, 5000, &reply);
    bool all = strstr(reply.body, ",\"4\"]") != NULL; /* and the proxy */
    fx_reply_free(&reply);
    return all;
}

static void prometheus_scrapes_the_instances_and_the_proxy(void **state)
{
    (void)state;
    need_engine();
    assert_int_equal(compose("--profile observe up -d prometheus", COMPOSE_MS), 0);
    bool seen = fx_wait_until(sees_all_targets, NULL, RECOVERY_MS);
    assert_int_equal(compose("--profile observe rm -sf prometheus", COMPOSE_MS), 0);
    assert_true(seen);
}

/* ---- under load ------------------------------------------------------------------------------ */

/* Whether buyers have come to this instance, through the proxy, since its start. */
static bool has_sold(void *url)
{
    char metrics[128];
    fx_reply reply;
    snprintf(metrics, sizeof(metrics), "%s/metrics", (const char *)url);
    fx_http("GET", metrics, NULL, NULL, 5000, &reply);
    const char *sold =
        strstr(reply.body, "flashsale_buy_duration_seconds_count{outcome=\"sold\"} ");
    bool some = sold && strtol(strchr(sold, ' '), NULL, 10) > 0;
    fx_reply_free(&reply);
    return some;
}

static void a_rolling_restart_fails_no_buy(void **state)
{
    (void)state;
    need_engine();
    start_sale("combined");
    fx_crowd *crowd = fx_crowd_start(proxy, 8);
    static const char *const restarts[] = {"restart flashsale-1", "restart flashsale-2",
                                           "restart flashsale-3"};
    for (int i = 0; i < FX_INSTANCES; i++) {
        assert_sells(crowd);
        assert_int_equal(compose(restarts[i], COMPOSE_MS), 0);
        assert_true(fx_wait_until(is_ready, instance[i], RECOVERY_MS));
        assert_true(fx_wait_until(has_sold, instance[i], RECOVERY_MS)); /* the proxy knows it */
    }
    assert_sells(crowd);
    fx_crowd_sum sum = fx_crowd_stop(crowd);
    print_message("rolling restart: %d bought, longest gap %d ms\n", sum.bought,
                  sum.longest_gap_ms);
    if (sum.refused + sum.unknown + sum.other > 0)
        fail_msg("%d bought, %d refused, %d unknown, %d other: %s", sum.bought, sum.refused,
                 sum.unknown, sum.other, sum.last_failure);
    assert_int_equal(orders(), sum.bought);
}

/* Kills a container under load, starts it again, and holds the ledger against what was told. */
static void survive_kill(const char *container, bool others_sell_on)
{
    char kill_it[64], start_it[64];
    snprintf(kill_it, sizeof(kill_it), "kill %s", container);
    snprintf(start_it, sizeof(start_it), "up -d %s", container);
    start_sale("combined");
    fx_crowd *crowd = fx_crowd_start(proxy, 8);
    assert_sells(crowd);
    assert_int_equal(compose(kill_it, COMPOSE_MS), 0);
    if (others_sell_on)
        assert_sells(crowd);
    assert_int_equal(compose(start_it, COMPOSE_MS), 0);
    assert_sells(crowd);
    fx_crowd_sum sum = fx_crowd_stop(crowd);
    int made = orders();
    print_message("%s killed: %d orders, %d bought, %d refused, %d unknown, longest gap %d ms\n",
                  container, made, sum.bought, sum.refused, sum.unknown, sum.longest_gap_ms);
    assert_int_equal(sum.other, 0);
    assert_in_range(made, sum.bought, sum.bought + sum.unknown);
}

static void a_killed_instance_loses_no_order(void **state)
{
    (void)state;
    need_engine();
    survive_kill("flashsale-2", true);
}

static void a_killed_redis_loses_no_order(void **state)
{
    (void)state;
    need_engine();
    survive_kill("redis", false);
}

/* Killed after the grace period, each would have left with 137. */
static void everything_stops_in_order(void **state)
{
    (void)state;
    need_engine();
    assert_int_equal(compose("stop", COMPOSE_MS), 0);
    assert_int_equal(fx_shell(COMPOSE
                              "codes=$(docker inspect -f '{{.Name}} {{.State.ExitCode}}'"
                              " $(docker ps -aq --filter \"label=com.docker.compose.project="
                              "$COMPOSE_PROJECT_NAME\"));"
                              "[ $(echo \"$codes\" | grep -c ' 0$') = 5 ] || {"
                              "  echo \"$codes\" >&2; exit 1; }",
                              NULL, 20000),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_up_healthy),
        cmocka_unit_test(the_images_are_small),
        cmocka_unit_test(the_containers_are_confined),
        cmocka_unit_test(the_host_can_compare_strategies),
        cmocka_unit_test(the_profile_leaves_its_report_in_the_folder),
        cmocka_unit_test(prometheus_scrapes_the_instances_and_the_proxy),
        cmocka_unit_test(a_rolling_restart_fails_no_buy),
        cmocka_unit_test(a_killed_instance_loses_no_order),
        cmocka_unit_test(a_killed_redis_loses_no_order),
        cmocka_unit_test(everything_stops_in_order),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
