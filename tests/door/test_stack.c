/*
 * test_stack.c - docker/compose.yaml on a real container engine: it comes up healthy, sells right,
 * and survives restarts and kills under load.
 *
 * `make stack` runs it. It is skipped in `make test`, because building images takes minutes and
 * the stack's ports are fixed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/crowd.h"
#include "tests/support/site.h"

#define DOOR     "http://127.0.0.1:8080"
#define INSTANCE "http://127.0.0.1:7000"

enum { COMPOSE_MS = 900000, RECOVERY_MS = 10000 };

static const char *missing; /* why nothing can be tested; NULL = all is there */

/* compose ARGUMENTS, with either generation of the command. */
static int compose(const char *arguments)
{
    return fx_shell("compose='docker compose'; $compose version >/dev/null 2>&1 ||"
                    "compose=docker-compose; $compose -f docker/compose.yaml $1 >/dev/null",
                    arguments, COMPOSE_MS);
}

static bool door_is_ready(void *arg)
{
    (void)arg;
    fx_reply reply;
    int status = fx_http("GET", DOOR "/readyz", NULL, NULL, 2000, &reply);
    fx_reply_free(&reply);
    return status == 200;
}

static int setup(void **state)
{
    (void)state;
    if (getenv("FLASHSALE_STACK") == NULL)
        missing = "make stack runs this";
    else if (fx_shell("docker info >/dev/null 2>&1", NULL, 20000) != 0)
        missing = "no container engine runs here";
    if (missing)
        return 0;
    setenv("FLASHSALE_ADDRESS_REQUESTS", "1000000", 1); /* our crowd has one address */
    if (compose("up -d --build") != 0 || !fx_wait_until(door_is_ready, NULL, 60000))
        return -1;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return missing ? 0 : compose("down -v");
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
                                                   "docker exec $(docker ps -qf publish=7000) "
                                                   "cat /run/flashsale/admin-token",
                                                   NULL},
                             true);
    assert_int_equal(fx_process_wait(p, 20000), 0);
    snprintf(buf, len, "%s", fx_process_stdout(p));
    fx_process_free(p);
    assert_true(strlen(buf) >= 32);
}

static void start_sale(const char *strategy)
{
    char secret[128], header[160], body[160];
    fx_reply reply;
    token(secret, sizeof(secret));
    snprintf(header, sizeof(header), "Authorization: Bearer %s", secret);
    snprintf(body, sizeof(body), "{\"item\":\"P0001\",\"stock\":1000000,\"strategy\":\"%s\"}",
             strategy);
    const char *const headers[] = {header, NULL};
    if (fx_http("POST", INSTANCE "/sales", headers, body, 10000, &reply) != 201)
        fail_msg("POST /sales: %d %s%s", reply.status, reply.body, reply.error);
    fx_reply_free(&reply);
}

static int orders(void)
{
    fx_reply reply;
    assert_int_equal(fx_http("GET", DOOR "/stock?item=P0001", NULL, NULL, 5000, &reply), 200);
    cJSON *stock = fx_reply_json(&reply);
    int n = (int)fx_json_number(stock, "orders");
    assert_int_equal((int)fx_json_number(stock, "oversold"), 0);
    cJSON_Delete(stock);
    fx_reply_free(&reply);
    return n;
}

typedef struct progress {
    fx_crowd *crowd;
    int from;
} progress;

static bool has_sold_more(void *arg)
{
    progress *p = arg;
    return fx_crowd_look(p->crowd).bought > p->from + 100;
}

static void assert_sells(fx_crowd *crowd)
{
    progress p = {crowd, fx_crowd_look(crowd).bought};
    if (!fx_wait_until(has_sold_more, &p, RECOVERY_MS))
        fail_msg("not selling again after %d ms: %s", RECOVERY_MS,
                 fx_crowd_look(crowd).last_failure);
}

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
                                "http://127.0.0.1:7000",
                                "--target",
                                "http://127.0.0.1:7001",
                                "--target",
                                "http://127.0.0.1:7002",
                                NULL};
    fx_process *p = fx_spawn(argv, true);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    if (fx_process_wait(p, 120000) != 0)
        fail_msg("loadtest: %s%s", fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
}

static void a_rolling_restart_fails_no_buy(void **state)
{
    (void)state;
    need_engine();
    start_sale("combined");
    fx_crowd *crowd = fx_crowd_start(DOOR, 8);
    static const char *const restarts[] = {"restart flashsale-1", "restart flashsale-2",
                                           "restart flashsale-3"};
    for (int i = 0; i < 3; i++) {
        assert_sells(crowd);
        assert_int_equal(compose(restarts[i]), 0);
        assert_true(fx_wait_until(door_is_ready, NULL, RECOVERY_MS));
        assert_int_equal(fx_shell("until [ \"$(curl -s -o /dev/null -w '%{http_code}' "
                                  "127.0.0.1:$1/readyz)\" = 200 ]; do sleep 0.1; done; sleep 1",
                                  (const char *const[]){"7000", "7001", "7002"}[i], 20000),
                         0);
    }
    assert_sells(crowd);
    fx_crowd_sum sum = fx_crowd_stop(crowd);
    if (sum.refused + sum.unknown + sum.other > 0)
        fail_msg("%d bought, %d refused, %d unknown, %d other: %s", sum.bought, sum.refused,
                 sum.unknown, sum.other, sum.last_failure);
    assert_int_equal(orders(), sum.bought);
}

/* Kills a service under load, starts it again, and holds the books against what was told. */
static void survive_kill(const char *service)
{
    char kill_it[64], start_it[64];
    snprintf(kill_it, sizeof(kill_it), "kill %s", service);
    snprintf(start_it, sizeof(start_it), "up -d %s", service);
    start_sale("combined");
    fx_crowd *crowd = fx_crowd_start(DOOR, 8);
    assert_sells(crowd);
    assert_int_equal(compose(kill_it), 0);
    assert_int_equal(compose(start_it), 0);
    assert_sells(crowd);
    fx_crowd_sum sum = fx_crowd_stop(crowd);
    print_message("%s killed: %d bought, %d refused, %d unknown, longest gap %d ms\n", service,
                  sum.bought, sum.refused, sum.unknown, sum.longest_gap_ms);
    assert_int_equal(sum.other, 0);
    assert_in_range(orders(), sum.bought, sum.bought + sum.unknown);
}

static void a_killed_instance_loses_no_order(void **state)
{
    (void)state;
    need_engine();
    survive_kill("flashsale-2");
}

static void a_killed_redis_loses_no_order(void **state)
{
    (void)state;
    need_engine();
    survive_kill("redis");
}

static void the_images_are_small_and_the_containers_confined(void **state)
{
    (void)state;
    need_engine();
    assert_int_equal(
        fx_shell("for image in server redis proxy loadtest; do"
                 "  size=$(docker image inspect -f '{{.Size}}' flashsale-$image);"
                 "  [ $size -lt 120000000 ] || { echo $image: $size >&2; exit 1; };"
                 "done;"
                 "for c in $(docker ps -q --filter publish=7000 --filter publish=8080); do"
                 "  set -- $(docker inspect -f '{{.HostConfig.ReadonlyRootfs}} {{.Config.User}}"
                 " {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}' $c);"
                 "  [ \"$*\" = 'true 10001:10001 [ALL] [no-new-privileges:true]' ] ||"
                 "    { echo \"$*\" >&2; exit 1; };"
                 "done",
                 NULL, 60000),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_images_are_small_and_the_containers_confined),
        cmocka_unit_test(the_host_can_compare_strategies),
        cmocka_unit_test(a_rolling_restart_fails_no_buy),
        cmocka_unit_test(a_killed_instance_loses_no_order),
        cmocka_unit_test(a_killed_redis_loses_no_order),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
