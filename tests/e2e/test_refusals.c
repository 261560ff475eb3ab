/*
 * test_refusals.c - Redis refuses everything for half a second, or a cluster does while one of its
 * primaries is replaced. What was asked meanwhile leaves nothing behind: every instance sells every
 * item again soon afterwards.
 *
 *     REFUSALS_RUNS=10   each refusal so many times
 */
#include <stdio.h>
#include <stdlib.h>

#include "lock/dlock_redis.h"
#include "tests/support/service.h"
#include "tests/support/topology.h"

enum {
    ITEMS = 12,
    INSTANCES = 2,
    REFUSED_MS = 500,
    SOON_MS = 10000,    /* for what takes a few hundred ms */
    PATIENCE_MS = 60000 /* for a failover */
};

/* So that a script is soon called endless, and loading lasts for as long as it is to. */
#define SETTINGS                                                                                   \
    "--busy-reply-threshold", "1", "--enable-debug-command", "yes", "--rdbcompression", "no",      \
        "--loading-process-events-interval-bytes", "1024"
#define FILL          "DEBUG POPULATE 3000 filler 200"
#define LOAD_SLOWLY   "CONFIG SET key-load-delay 3000"
#define LOAD_FAST     "CONFIG SET key-load-delay 0"
#define LOOP_FOR_EVER "EVAL while\ttrue\tdo\tend 0"

static int64_t now_ms(void)
{
    return dlock_now().us / 1000;
}

static int runs(void)
{
    const char *said = getenv("REFUSALS_RUNS");
    return said ? (int)strtol(said, NULL, 10) : 1;
}

/* ---- the servers, each asked directly -------------------------------------------------------- */

static int ports[FX_MEMBERS_MAX], ports_len;

static redisContext *connect_to(int port)
{
    redisContext *c = redisConnect("127.0.0.1", port);
    if (!c || c->err)
        fail_msg("port %d: %s", port, c ? c->errstr : "out of memory");
    return c;
}

/* Frees it. */
static void is_no_error(redisReply *reply, const char *what)
{
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", what, reply ? reply->str : "no answer");
    freeReplyObject(reply);
}

/* To all that take writes. */
static void tell_all(const char *command)
{
    for (int i = 0; i < ports_len; i++) {
        redisContext *c = connect_to(ports[i]);
        is_no_error(redisCommand(c, command), command);
        redisFree(c);
    }
}

/* Sends it to all, and does not wait for their answers. */
static void begin_at_all(const char *command, redisContext *ret[FX_MEMBERS_MAX])
{
    for (int i = 0; i < ports_len; i++) {
        int sent = 0;
        ret[i] = connect_to(ports[i]);
        redisAppendCommand(ret[i], command);
        while (!sent)
            assert_int_equal(redisBufferWrite(ret[i], &sent), REDIS_OK);
    }
}

static void find_primaries(void)
{
    fx_topology *t = fx_redis_topology(fx.redis);
    ports_len = 0;
    for (int i = 0; t && i < fx_topology_size(t); i++) {
        redisReply *role = fx_topology_is_sentinel(t, i) ? NULL : fx_topology_ask(t, i, "ROLE");
        if (role && role->elements > 0 && strcmp(role->element[0]->str, "master") == 0)
            ports[ports_len++] = fx_topology_port(t, i);
        freeReplyObject(role);
    }
    if (!t)
        ports[ports_len++] = fx_redis_port(fx.redis);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void start_on(const char *kind, const char *const *redis_args)
{
    char item[16];
    const char *ids[ITEMS];
    setenv("FX_REDIS", kind, 1);
    setenv("FX_FAILOVER", "yes", 1);
    fx = (fx_service){.plan = {.instances = INSTANCES, .redis_args = redis_args}};
    fx_service_start(NULL);
    find_primaries();
    for (int i = 0; i < ITEMS; i++) {
        snprintf(item, sizeof(item), "R%d", i);
        ids[i] = strdup(
            fx_start_sale(fx.server[i % INSTANCES], item, "'stock':100000,'strategy':'atomic'"));
    }
    for (int i = 0; i < ITEMS; i++) {
        snprintf(item, sizeof(item), "R%d", i);
        fx_wait_in_force(item, ids[i]);
        free((char *)ids[i]);
    }
}

static int end_service(void **state)
{
    fx_service_stop(state);
    fx = (fx_service){.plan = {0}};
    return 0;
}

static bool sells(int instance, int item)
{
    return fx_status(fx.server[instance], "POST /buy?item=R%d&user=u", item) == 201;
}

/* By instance and item, what has been sold since; or is of no interest. */
typedef struct sold {
    bool at[INSTANCES][ITEMS];
} sold;

static bool all_sell(void *arg)
{
    sold *s = arg;
    bool all = true;
    for (int i = 0; i < INSTANCES; i++)
        for (int k = 0; k < ITEMS; k++)
            all = (s->at[i][k] = s->at[i][k] || sells(i, k)) && all;
    return all;
}

static void expect_to_sell(sold *s, const char *which, const char *what)
{
    int64_t begun = now_ms();
    if (!fx_wait_until(all_sell, s, SOON_MS))
        for (int i = 0; i < INSTANCES * ITEMS; i++)
            if (!s->at[i / ITEMS][i % ITEMS])
                fail_msg("%s after %s: instance %d, item R%d: %s", fx_redis_kind(), what, i / ITEMS,
                         i % ITEMS,
                         fx_refused(fx.server[i / ITEMS], 503, NULL, "POST /buy?item=R%d&user=u",
                                    i % ITEMS));
    print_message("%s after %s: %s items sell %lld ms later\n", fx_redis_kind(), what, which,
                  (long long)(now_ms() - begun));
}

/* Whether each instance has been refused something. */
static bool all_are_refused(void *arg)
{
    bool *refused = arg, all = true;
    for (int i = 0; i < INSTANCES; i++)
        all = (refused[i] = refused[i] || !sells(i, 0)) && all;
    return all;
}

/* For the time that a refusal lasts. */
static void let_be_refused(void)
{
    bool refused[INSTANCES] = {false};
    int64_t begun = now_ms();
    assert_true(fx_wait_until(all_are_refused, refused, SOON_MS));
    int64_t left = REFUSED_MS - (now_ms() - begun);
    if (left > 0)
        fx_let_pass((int)left);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static const struct refusal {
    const char *name;
    const char *begin, *end; /* told to each server; `begin` may be answered at the end */
} refusals[] = {
    {"BUSY", LOOP_FOR_EVER, "SCRIPT KILL"},
    {"NOPERM", "ACL SETUSER default -@read", "ACL SETUSER default +@read"},
    {"LOADING", "DEBUG RELOAD", LOAD_FAST},
};

static void refuse(const struct refusal *r)
{
    redisContext *begun[FX_MEMBERS_MAX];
    tell_all(LOAD_SLOWLY);
    begin_at_all(r->begin, begun);
    let_be_refused();
    tell_all(r->end);
    for (int i = 0; i < ports_len; i++) {
        redisReply *reply = NULL;
        assert_int_equal(redisGetReply(begun[i], (void **)&reply), REDIS_OK);
        freeReplyObject(reply); /* an error, of the script that was killed */
        redisFree(begun[i]);
    }
    expect_to_sell(&(sold){0}, "all", r->name);
}

static void refuse_each(void)
{
    tell_all(FILL);
    for (int run = 0; run < runs(); run++)
        for (size_t i = 0; i < COUNT(refusals); i++)
            refuse(&refusals[i]);
}

static void refusals_of_one_server_pass(void **state)
{
    (void)state;
    start_on("single", FX_ARGS(SETTINGS));
    refuse_each();
}

static void refusals_of_a_primary_with_sentinels_pass(void **state)
{
    (void)state;
    start_on("sentinel", FX_ARGS(SETTINGS));
    refuse_each();
}

/* ---- a cluster ------------------------------------------------------------------------------- */

/* Every server that runs says that all slots are served. */
static bool is_well(void *arg)
{
    fx_topology *t = arg;
    bool well = true;
    for (int i = 0; well && i < fx_topology_size(t); i++) {
        redisReply *info = fx_topology_ask(t, i, "CLUSTER INFO"); /* NULL: it was killed */
        well = !info || strstr(info->str, "cluster_state:ok");
        freeReplyObject(info);
    }
    return well;
}

static bool is_on(fx_topology *t, int item, int primary)
{
    char key[64];
    snprintf(key, sizeof(key), "fs:{R%d}:sale", item);
    return fx_topology_primary(t, key) == primary;
}

/* Its replica has everything, so nothing is forgotten. The other servers' items are sold as soon as
 * those serve again; its own when all instances have looked at the new primary. */
static void lose_a_primary(const char *what)
{
    const char *key = "fs:{R0}:sale";
    fx_topology *t = fx_redis_topology(fx.redis);
    fx_topology_settle(t, PATIENCE_MS);
    sold others = {0};
    int refused = 0, asked = 0, primary = fx_topology_primary(t, key);
    for (int k = 0; k < ITEMS; k++)
        for (int i = 0; i < INSTANCES; i++)
            others.at[i][k] = is_on(t, k, primary);
    fx_topology_kill(t, primary);
    for (int64_t killed = now_ms();
         fx_topology_primary(t, key) < 0 && now_ms() - killed < PATIENCE_MS; asked++) {
        sold now = others;
        refused += !all_sell(&now);
    }
    print_message("%d of %d times the other servers' items were not all sold\n", refused, asked);
    assert_true(fx_wait_until(is_well, t, PATIENCE_MS));
    expect_to_sell(&others, "the other servers'", what);
    expect_to_sell(&(sold){0}, "all", what);
    fx_topology_restart(t, primary);
}

/* With Redis's default a slot without a server stops them all: CLUSTERDOWN. */
static void set_coverage(const char *full)
{
    fx_redis_do(fx.redis, "CONFIG SET cluster-require-full-coverage %s", full);
}

static void refusals_of_a_cluster_pass(void **state)
{
    (void)state;
    start_on("cluster", FX_ARGS(SETTINGS));
    refuse_each();
    for (int run = 0; run < runs(); run++) {
        set_coverage("yes");
        lose_a_primary("a primary was replaced, full coverage");
        set_coverage("no");
        lose_a_primary("a primary was replaced, no full coverage");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(refusals_of_one_server_pass, end_service),
        cmocka_unit_test_teardown(refusals_of_a_primary_with_sentinels_pass, end_service),
        cmocka_unit_test_teardown(refusals_of_a_cluster_pass, end_service),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
