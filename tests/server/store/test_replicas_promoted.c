/*
 * test_replicas_promoted.c - durability `replicated` where somebody promotes replicas, Sentinel or
 * a cluster: no planned failover undoes an order that was acknowledged, and a lost replica stops
 * the sale as long as it could be promoted, and no longer.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lock/dlock_redis.h"
#include "tests/support/service.h"
#include "tests/support/topology.h"

enum {
    NOTICED_MS = 30000, /* seconds are promised; a busy machine may take its time */
    SENTINEL = 3,       /* the first of three */
    DOWN_AFTER_MS = 1000,
    RULE_MS = 10 * DOWN_AFTER_MS,
    ROUNDS = 4,
    BUYERS = 4,
    ORDERS_MAX = 16384
};

static fx_topology *stage;

/* ---- the stage ------------------------------------------------------------------------------- */

static void tell(int member, const char *command, const char *answer)
{
    redisReply *reply = fx_topology_ask(stage, member, command);
    assert_non_null(reply);
    if (reply->str && strncmp(reply->str, answer, strlen(answer)) != 0)
        fail_msg("%s: %s", command, reply->str);
    freeReplyObject(reply);
}

static void tell_sentinels(const char *command)
{
    for (int i = SENTINEL; i < SENTINEL + 3; i++)
        tell(i, command, "OK");
}

static void start_servers(void)
{
    for (int i = 0; i < 2; i++)
        fx.server[i] = fx_server_start(fx_topology_url(stage), FX_ARGS("--drain-delay", "0"));
}

static int start_sentinel(void **state)
{
    (void)state;
    char command[96];
    stage = fx_topology_start("sentinel", FX_ARGS("--repl-diskless-sync-delay", "0"));
    snprintf(command, sizeof(command), "SENTINEL SET mymaster down-after-milliseconds %d",
             DOWN_AFTER_MS);
    tell_sentinels(command);
    start_servers();
    return 0;
}

/* Their user may not ask for the replicas. */
static int start_denied(void **state)
{
    (void)state;
    stage = fx_topology_start("sentinel", FX_ARGS("--repl-diskless-sync-delay", "0"));
    tell_sentinels("ACL SETUSER default -sentinel|replicas");
    start_servers();
    return 0;
}

static int start_cluster(void **state)
{
    (void)state;
    setenv("FX_REPLICAS", "2", 1);
    stage =
        fx_topology_start("cluster", FX_ARGS("--repl-diskless-sync-delay", "0", "--repl-timeout",
                                             "5", "--repl-ping-replica-period", "1",
                                             "--cluster-replica-validity-factor", "1"));
    unsetenv("FX_REPLICAS");
    start_servers();
    return 0;
}

static int end_stage(void **state)
{
    fx_service_stop(state);
    fx_topology_stop(stage);
    stage = NULL;
    return 0;
}

static void await(const char *request, int status, const char *part, int ms)
{
    fx_await(fx.server[0], request, status, part, ms);
}

static bool is_logged(void *event)
{
    return strstr(fx_process_stderr(fx_server_process(fx.server[0])), event) != NULL;
}

static void await_log(const char *event)
{
    if (!fx_wait_until(is_logged, (void *)event, NOTICED_MS))
        fail_msg("not logged: %s", event);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long long since(int64_t start_ms)
{
    return (long long)(now_ms() - start_ms);
}

/* ---- planned failovers ----------------------------------------------------------------------- */

typedef struct buyer {
    int number, count;
    char requests[ORDERS_MAX][24];
} buyer;

static atomic_bool closed;
static atomic_int sold;

static void *buy_on(void *arg)
{
    buyer *mine = arg;
    for (int i = 0; mine->count < ORDERS_MAX && !atomic_load(&closed); i++) {
        char request[24];
        snprintf(request, sizeof(request), "r%d-%d", mine->number, i);
        if (fx_status(fx.server[mine->number % 2], "POST /buy?item=F1&user=u&request=%s",
                      request) == 201) {
            memcpy(mine->requests[mine->count++], request, sizeof(request));
            atomic_fetch_add(&sold, 1);
        }
        fx_let_pass(3); /* each of four: one of them is always under way, and the check is brief */
    }
    return NULL;
}

static bool has_sold_more(void *arg)
{
    return atomic_load(&sold) > *(int *)arg + 200;
}

static bool fails_over(void *arg)
{
    (void)arg;
    redisReply *reply = fx_topology_ask(stage, SENTINEL, "SENTINEL FAILOVER mymaster");
    bool begun = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return begun;
}

/* Sentinel gives a failover up that takes longer than its failover-timeout, 5 s. */
typedef struct failover {
    int old;
    dlock_time again;
} failover;

static bool has_failed_over(void *arg)
{
    failover *f = arg;
    int now = fx_topology_primary(stage, NULL);
    if (now < 0 || now != f->old || !dlock_passed(f->again))
        return now >= 0 && now != f->old;
    fails_over(NULL);
    f->again = dlock_in_ms(10000);
    return false;
}

static void fail_over_while_it_sells(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int before = atomic_load(&sold);
        failover f = {.old = fx_topology_primary(stage, NULL)};
        if (!fx_wait_until(has_sold_more, &before, NOTICED_MS))
            fail_msg("round %d: nothing is sold: %s", round,
                     fx_process_stderr(fx_server_process(fx.server[0])));
        assert_true(fx_wait_until(fails_over, NULL, NOTICED_MS));
        f.again = dlock_in_ms(10000);
        assert_true(fx_wait_until(has_failed_over, &f, NOTICED_MS));
    }
}

static int lost(const buyer *b, const char *sale)
{
    int count = 0, primary = fx_topology_primary(stage, NULL);
    for (int i = 0; i < b->count; i++) {
        redisReply *reply =
            fx_topology_ask(stage, primary, "HEXISTS fs:{F1}:%s:orders %s", sale, b->requests[i]);
        assert_non_null(reply);
        count += reply->integer != 1;
        freeReplyObject(reply);
    }
    return count;
}

static void a_planned_failover_undoes_no_order(void **state)
{
    (void)state;
    char sale[80];
    pthread_t threads[BUYERS];
    buyer *buyers = calloc(BUYERS, sizeof(*buyers));
    int undone = 0;
    assert_non_null(buyers);
    await("GET /readyz", 200, "ready", NOTICED_MS);
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "F1", "'stock':1000000,'durability':'replicated'"));
    atomic_store(&closed, false);
    atomic_store(&sold, 0);
    for (int i = 0; i < BUYERS; i++) {
        buyers[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, buy_on, &buyers[i]), 0);
    }
    fail_over_while_it_sells();
    int before = atomic_load(&sold);
    assert_true(fx_wait_until(has_sold_more, &before, NOTICED_MS));
    atomic_store(&closed, true);
    for (int i = 0; i < BUYERS; i++)
        pthread_join(threads[i], NULL);
    fx_topology_settle(stage, NOTICED_MS);
    for (int i = 0; i < BUYERS; i++)
        undone += lost(&buyers[i], sale);
    print_message("%d failovers, %d acknowledged, %d lost\n", ROUNDS, atomic_load(&sold), undone);
    free(buyers);
    assert_int_equal(undone, 0);
}

/* ---- a replica is lost ----------------------------------------------------------------------- */

/* Two replicas: the first is to be lost. */
static int find_replica(void)
{
    return fx_topology_primary(stage, NULL) == 2 ? 1 : 2;
}

static void start_selling(const char *item)
{
    char request[64];
    fx_start_sale(fx.server[0], item, "'stock':100000,'durability':'replicated'");
    snprintf(request, sizeof(request), "POST /buy?item=%s&user=u", item);
    await(request, 201, "", NOTICED_MS);
}

static bool has_joined_again(void *arg)
{
    (void)arg;
    const char *left = NULL;
    for (const char *at = fx_process_stderr(fx_server_process(fx.server[0]));
         (at = strstr(at, "\"replica_left_set\"")); at++)
        left = at;
    return left && strstr(left, "\"replica_joined\"");
}

static void a_lost_one_is_waited_for_as_long_as_it_may_be_promoted(void **state)
{
    (void)state;
    char name[64];
    int replica = find_replica();
    start_selling("L1");
    int64_t start = now_ms();
    fx_topology_kill(stage, replica);
    snprintf(name, sizeof(name), "127.0.0.1:%d (away for ", fx_topology_port(stage, replica));
    await("POST /buy?item=L1&user=u", 503, "\"code\":\"durability_lost\"", NOTICED_MS);
    await("GET /readyz", 503, name, NOTICED_MS);
    await("POST /buy?item=L1&user=u", 201, "", RULE_MS + NOTICED_MS);
    print_message("sold again after %lld ms, by a rule of %d ms\n", since(start), RULE_MS);
    assert_true(since(start) > RULE_MS);
    await_log("\"replica_left_set\"");

    fx_topology_restart(stage, replica);
    fx_topology_settle(stage, NOTICED_MS);
    assert_true(fx_wait_until(has_joined_again, NULL, NOTICED_MS));
    await("GET /readyz", 200, "ready", NOTICED_MS);
    fx_topology_kill(stage, replica);
    await("POST /buy?item=L1&user=u", 503, "\"code\":\"durability_lost\"", NOTICED_MS);
    fx_topology_restart(stage, replica);
    start = now_ms();
    await("POST /buy?item=L1&user=u", 201, "", NOTICED_MS);
    print_message("sold again %lld ms after it was back\n", since(start));
}

static void without_most_of_the_sentinels_nobody_leaves(void **state)
{
    (void)state;
    int replica = find_replica();
    start_selling("M1");
    fx_topology_signal(stage, SENTINEL + 1, SIGSTOP);
    fx_topology_signal(stage, SENTINEL + 2, SIGSTOP);
    fx_topology_kill(stage, replica);
    await("POST /buy?item=M1&user=u", 503, "\"code\":\"durability_lost\"", NOTICED_MS);
    fx_let_pass(RULE_MS + 6000); /* what is shown is that time alone changes nothing */
    fx_refused(fx.server[0], 503, "durability_lost", "POST /buy?item=M1&user=u");
    fx_topology_signal(stage, SENTINEL + 1, SIGCONT);
    fx_topology_signal(stage, SENTINEL + 2, SIGCONT);
    await("POST /buy?item=M1&user=u", 201, "", NOTICED_MS);
}

static void priority_0_leaves_at_once(void **state)
{
    (void)state;
    int replica = find_replica();
    start_selling("P1");
    tell(replica, "CONFIG SET replica-priority 0", "OK");
    await_log("\"replica_left_set\"");
    fx_topology_kill(stage, replica);
    await("POST /buy?item=P1&user=u", 201, "", RULE_MS / 2);
}

static void a_right_that_is_missing_is_told(void **state)
{
    (void)state;
    int replica = find_replica();
    tell_sentinels("ACL SETUSER default -sentinel|replicas");
    start_selling("R1");
    await_log("\"promotions_untold\"");
    await_log("sentinel|replicas");
    fx_topology_kill(stage, replica);
    await("POST /buy?item=R1&user=u", 503, "\"code\":\"durability_lost\"", NOTICED_MS);
    tell_sentinels("ACL SETUSER default +sentinel|replicas");
    fx_topology_restart(stage, replica);
    await("POST /buy?item=R1&user=u", 201, "", NOTICED_MS);
}

static void nothing_is_sold_before_the_replicas_are_told(void **state)
{
    (void)state;
    await("GET /readyz", 200, "ready", NOTICED_MS); /* other sales are sold */
    fx_has(fx_refused(fx.server[0], 409, "durability_unavailable",
                      "POST /sales {'item':'Q1','stock':5,'durability':'replicated'}"),
           "grant +sentinel|replicas");
    tell_sentinels("ACL SETUSER default +sentinel|replicas");
    await("POST /sales {'item':'Q1','stock':5,'durability':'replicated'}", 201, "", NOTICED_MS);
    await("POST /buy?item=Q1&user=u", 201, "", NOTICED_MS);
}

/* ---- in a cluster ---------------------------------------------------------------------------- */

static void a_cluster_waits_for_a_lost_one_too(void **state)
{
    (void)state;
    enum { CLUSTER_RULE_MS = 5000 + 1000 + 2 * 2000 }; /* twice the node's timeout is in it */
    char name[64];
    start_selling("C1");
    int primary = fx_topology_primary(stage, "fs:{C1}:sale");
    int replica = primary + 3;
    assert_in_range(primary, 0, 2);
    int64_t start = now_ms();
    fx_topology_kill(stage, replica);
    snprintf(name, sizeof(name), "127.0.0.1:%d (away for ", fx_topology_port(stage, replica));
    await("POST /buy?item=C1&user=u", 503, "\"code\":\"durability_lost\"", NOTICED_MS);
    await("GET /readyz", 503, name, NOTICED_MS);
    await("POST /buy?item=C1&user=u", 201, "", NOTICED_MS);
    print_message("sold again after %lld ms, by a rule of %d ms\n", since(start), CLUSTER_RULE_MS);
    assert_true(since(start) > CLUSTER_RULE_MS);
    fx_topology_restart(stage, replica);
    await_log("\"it is in step\"");
}

/* The primary before is a replica at once, and both are in step again within a moment. */
static void a_planned_failover_of_a_cluster_is_brief(void **state)
{
    (void)state;
    static const char key[] = "fs:{K1}:sale";
    start_selling("K1");
    for (int round = 0; round < 2; round++) {
        int old = fx_topology_primary(stage, key), next = old < 3 ? old + 3 : old - 3;
        tell(next, "CLUSTER FAILOVER", "OK");
        fx_topology_next_primary(stage, key, old, NOTICED_MS);
        int64_t start = now_ms();
        await("POST /buy?item=K1&user=u", 201, "", NOTICED_MS);
        await("GET /readyz", 200, "ready", NOTICED_MS);
        print_message("sold again %lld ms after the failover\n", since(start));
        fx_topology_settle(stage, NOTICED_MS);
    }
}

int main(void)
{
#define STAGE(test, start) cmocka_unit_test_setup_teardown(test, start, end_stage)
    const struct CMUnitTest tests[] = {
        STAGE(a_planned_failover_undoes_no_order, start_sentinel),
        STAGE(a_lost_one_is_waited_for_as_long_as_it_may_be_promoted, start_sentinel),
        STAGE(without_most_of_the_sentinels_nobody_leaves, start_sentinel),
        STAGE(priority_0_leaves_at_once, start_sentinel),
        STAGE(a_right_that_is_missing_is_told, start_sentinel),
        STAGE(nothing_is_sold_before_the_replicas_are_told, start_denied),
        STAGE(a_cluster_waits_for_a_lost_one_too, start_cluster),
        STAGE(a_planned_failover_of_a_cluster_is_brief, start_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
