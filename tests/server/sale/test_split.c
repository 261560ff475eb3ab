/*
 * test_split.c - a split brain: a replica is promoted while the primary goes on, and instances sell
 * on both. What the side that is left does not have is missed, however long its ledger is.
 *
 *     instances 0 and 2 --link--> primary      cut off: the links lead there until it is healed
 *     instance 1 --------link---> replica      promoted
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/service.h"

enum { WAIT_MS = 30000, BEFORE = 3, APART = 2, LEFT = 6, ORDERS_MAX = 64 };

static struct {
    char dir[256];
    fx_redis *promoted; /* fx.redis is the primary */
    fx_server *instance[FX_INSTANCES];
    char orders[ORDERS_MAX][160]; /* the ids that were told */
    int told;
} stage;

/* ---- addresses ------------------------------------------------------------------------------- */

static const char *link_of(int at)
{
    static char link[FX_INSTANCES][300];
    snprintf(link[at], sizeof(link[at]), "%s/%d.sock", stage.dir, at);
    return link[at];
}

/* An address that leads from one server to another, as a name or a balancer does. */
static void lead_to(int at, const fx_redis *redis)
{
    unlink(link_of(at));
    assert_int_equal(symlink(fx_redis_url(redis) + strlen("unix://"), link_of(at)), 0);
}

/* From now on the instance asks the promoted server. */
static void heal(int at)
{
    lead_to(at, stage.promoted);
    fx_redis_do(fx.redis, "CLIENT KILL TYPE normal SKIPME yes");
}

static int count_in_log(int at, const char *text)
{
    int count = 0;
    const char *log = fx_process_stderr(fx_server_process(stage.instance[at]));
    while ((log = strstr(log, text)) != NULL)
        count++, log++;
    return count;
}

static bool has_admitted(void *at)
{
    return count_in_log(*(int *)at, "\"redis_admitted\"") > 0;
}

/* ---- buying ---------------------------------------------------------------------------------- */

/* Buys at an instance, and fails if an id was told before. */
static void buy(int at, int count)
{
    for (int i = 0; i < count; i++) {
        const char *body = fx_expect(stage.instance[at], 201, "POST /buy?item=P0001&user=u");
        char *order = stage.orders[stage.told];
        assert_true(stage.told < ORDERS_MAX);
        fx_copy_member(body, "order", order, sizeof(stage.orders[0]));
        for (int k = 0; k < stage.told; k++)
            if (strcmp(stage.orders[k], order) == 0)
                fail_msg("%s was told twice", order);
        stage.told++;
    }
}

static int lost, at_which; /* of the awaited halt */

static bool is_halted(void *arg)
{
    char words[32];
    fx_reply reply;
    (void)arg;
    snprintf(words, sizeof(words), "\"lost_orders\":%d}", lost);
    int status = fx_ask(stage.instance[at_which], &reply, "POST /buy?item=P0001&user=late");
    bool halted = status == 503 && strstr(reply.body, "sale_rolled_back");
    bool tells = halted && strstr(reply.body, words);
    fx_reply_free(&reply);
    return tells;
}

static void await_halt(int at, int orders)
{
    lost = orders;
    at_which = at;
    if (!fx_wait_until(is_halted, NULL, WAIT_MS))
        fail_msg("instance %d does not say that %d orders are lost: %s", at, orders,
                 fx_expect(stage.instance[at], 503, "POST /buy?item=P0001&user=late"));
}

static bool sells(void *at)
{
    return fx_status(stage.instance[*(int *)at], "POST /buy?item=P0001&user=again") == 201;
}

static void await_sale(int at)
{
    if (!fx_wait_until(sells, &at, WAIT_MS))
        fail_msg("instance %d does not sell again", at);
}

/* ---- the stage ------------------------------------------------------------------------------- */

static bool has_followed(void *sale)
{
    return fx_redis_number(stage.promoted, "LLEN fs:{P0001}:%s:ledger", (char *)sale) == BEFORE;
}

static int begin(void **state)
{
    char url[1024];
    fx_service_start(state);
    fx_dir_make(stage.dir, sizeof(stage.dir));
    stage.promoted = fx_redis_start_single(NULL);
    for (int i = 0; i < FX_INSTANCES; i++) {
        lead_to(i, fx.redis);
        snprintf(url, sizeof(url), "unix://%s", link_of(i));
        stage.instance[i] = fx_server_start(url, FX_ARGS(FX_P0001));
    }
    return 0;
}

static int end(void **state)
{
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_server_kill(stage.instance[i]);
    fx_redis_stop(stage.promoted);
    fx_dir_remove(stage.dir);
    return fx_service_stop(state);
}

/* Both sides sell: the one that is cut off less. */
static void split(const char *sale)
{
    int other = 1;
    buy(0, BEFORE);
    fx_redis_do(stage.promoted, "REPLICAOF 127.0.0.1 %d", fx_redis_port(fx.redis));
    assert_true(fx_wait_until(has_followed, (void *)sale, WAIT_MS));
    fx_redis_do(stage.promoted, "REPLICAOF NO ONE");
    heal(other);
    assert_true(fx_wait_until(has_admitted, &other, WAIT_MS));
    await_sale(0);
    await_sale(1);
    buy(0, APART - 1);
    buy(1, LEFT - 1);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void resume(const char *sale, int orders)
{
    fx_expect(stage.instance[1], 200,
              "POST /sales/resume {'item':'P0001','sale':'%s','lost_orders':%d}", sale, orders);
}

static void what_the_other_side_sold_is_missed_once(void **state)
{
    (void)state;
    char sale[64];
    snprintf(sale, sizeof(sale), "%s", fx_current_sale("P0001"));
    split(sale);
    heal(0);
    await_halt(0, APART);
    await_halt(1, APART);

    buy(2, 1); /* it is cut off still */
    resume(sale, APART);
    await_sale(0);
    await_sale(1);
    buy(1, LEFT);

    heal(2); /* it knows one order more than the admin has accepted */
    await_halt(2, 1);
    await_halt(0, 1);
    resume(sale, 1);
    for (int i = 0; i < FX_INSTANCES; i++) {
        await_sale(i);
        buy(i, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_other_side_sold_is_missed_once),
    };
    fx.plan = (fx_plan){.instances = 0, .one_server = true};
    return cmocka_run_group_tests(tests, begin, end);
}
