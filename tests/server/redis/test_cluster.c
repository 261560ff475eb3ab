/*
 * test_cluster.c - a cluster of three primaries and their replicas: what befalls one server
 * concerns the sales that have keys there, and no others.
 *
 * One primary is the victim; what is called spared lies on another.
 */
#include <string.h>

#include "server/store/terms.h"
#include "tests/server/nodes.h"
#include "tests/support/service.h"
#include "tests/support/topology.h"

enum { PRIMARIES = 3, INSTANCES = 2, SEGMENTS = 6, WAIT_MS = 60000, STOCK = 3000 };

static fx_topology *cluster;
static fx_server *instance[INSTANCES];
static char hit[32], spared[32]; /* items, each of one server */
static char spread[32];          /* a sharded one, on all servers */
static int victim, request;

/* ---- the shop -------------------------------------------------------------------------------- */

static int primary_of(const char *item, int segment)
{
    char key[64];
    if (segment < 0)
        snprintf(key, sizeof(key), "fs:{%s}:sale", item);
    else
        snprintf(key, sizeof(key), "fs:{%s#%d}:sale", item, segment);
    return fx_topology_primary(cluster, key);
}

static void name_item(char ret[32], bool on_victim)
{
    static int number;
    do
        snprintf(ret, 32, "A%d", number++);
    while ((primary_of(ret, -1) == victim) != on_victim);
}

static bool is_everywhere(const char *item)
{
    bool has[PRIMARIES] = {false};
    for (int k = 0; k < SEGMENTS; k++)
        has[primary_of(item, k)] = true;
    return has[0] && has[1] && has[2];
}

static int setup(void **state)
{
    (void)state;
    /* Not Redis's default: what lies on the other servers is sold while one is dead. */
    cluster = fx_topology_start("cluster", FX_ARGS("--cluster-require-full-coverage", "no"));
    victim = fx_topology_primary(cluster, "fs:{A0}:sale");
    name_item(hit, true);
    name_item(spared, false);
    for (int i = 0; i == 0 || !is_everywhere(spread); i++)
        snprintf(spread, sizeof(spread), "S%d", i);
    for (int i = 0; i < INSTANCES; i++)
        instance[i] = fx_server_start(fx_topology_url(cluster), NULL);
    fx_start_sale(instance[0], hit, "'stock':%d,'strategy':'combined'", STOCK);
    fx_start_sale(instance[0], spared, "'stock':%d,'strategy':'fair'", STOCK);
    fx_start_sale(instance[0], spread, "'stock':%d,'strategy':'sharded','segments':%d", STOCK,
                  SEGMENTS);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < INSTANCES; i++)
        fx_server_kill(instance[i]);
    memset(instance, 0, sizeof(instance));
    fx_topology_stop(cluster);
    return 0;
}

/* The status. Each request has an id of its own, and so a segment. */
static int buy(fx_server *from, const char *item)
{
    return fx_status(from, "POST /buy?item=%s&user=u1&request=r%d", item, request++);
}

typedef struct offer {
    fx_server *server;
    const char *item;
} offer;

static bool is_sold(void *arg)
{
    const offer *o = arg;
    return buy(o->server, o->item) == 201;
}

static void await_sold(const char *item)
{
    for (int i = 0; i < INSTANCES; i++) {
        offer o = {instance[i], item};
        assert_true(fx_wait_until(is_sold, &o, WAIT_MS));
    }
}

/* Buys everywhere, as soon as everything can be sold. */
static void sell_all(void)
{
    await_sold(hit);
    await_sold(spared);
    for (int i = 0; i < 2 * SEGMENTS; i++)
        await_sold(spread);
}

/* The books are right: nothing was sold twice, nothing got lost. */
static void assert_sound(const char *item)
{
    cJSON *stock = cJSON_Parse(fx_expect(instance[0], 200, "GET /stock?item=%s", item));
    assert_non_null(stock);
    assert_int_equal((int)fx_json_number(stock, "remaining") + (int)fx_json_number(stock, "units"),
                     STOCK);
    assert_int_equal((int)fx_json_number(stock, "oversold"), 0);
    assert_int_equal((int)fx_json_number(stock, "lost_updates"), 0);
    cJSON_Delete(stock);
}

static bool names_the_hit_one_alone(void *arg)
{
    const char *ready = fx_expect(arg, 200, "GET /readyz");
    char line[64];
    snprintf(line, sizeof(line), "not sold: %s store_unavailable\n", hit);
    return strstr(ready, line) && !strstr(ready, spared);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* And the log names each server by its number. */
static void an_items_node_has_its_terms_and_pointer(void **state)
{
    (void)state;
    enum { ITEMS = 50 };
    char err[256], item[32], key[64];
    int on[DLOCK_SERVERS_MAX] = {0};
    fs_store store;
    assert_int_equal(store_open(&store, fx_topology_url(cluster), NULL, "i", err, sizeof(err)), 0);
    nodes_make_well(&store);
    for (int i = 0; i < ITEMS; i++) {
        snprintf(item, sizeof(item), "A%d", i);
        snprintf(key, sizeof(key), "fs:{%s}:sale", item);
        fs_node *node = terms_node(&store, item);
        assert_ptr_equal(node, store_node(&store, key));
        assert_in_range(node->server, 0, DLOCK_SERVERS_MAX - 1);
        on[node->server]++;
    }
    for (int i = 0; i < PRIMARIES; i++) {
        char number[12];
        snprintf(number, sizeof(number), "%d", i);
        assert_in_range(on[i], 1, ITEMS);
        assert_string_equal(store_server_name(&store, store_node_at(&store, i)), number);
    }
    assert_null(store_server_name(&store, store_node_at(&store, -1)));
    store_close(&store);
}

static void every_strategy_sells_on_a_cluster(void **state)
{
    (void)state;
    char list[4096];
    cJSON *json = cJSON_Parse(fx_expect(instance[0], 200, "GET /strategies"));
    const cJSON *each;
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(json, "strategies")) {
        const char *strategy = fx_json_text(each, "name");
        snprintf(list, sizeof(list), "I-%s", strategy);
        fx_start_sale(instance[0], list, "'stock':3,'strategy':'%s'", strategy);
        for (int i = 0; i < 3; i++)
            fx_expect(instance[0], 201, "POST /buy?item=%s&user=u%d&request=r%d", list, i, i);
        fx_refused(instance[0], 409, "sold_out", "POST /buy?item=%s&user=u3&request=r3", list);
        fx_expect(instance[0], 201, "POST /buy?item=%s&user=u1&request=r1", list);
    }
    cJSON_Delete(json);
}

/* A primary dies, its replica takes over, and gives the place back later. */
static void a_dead_server_stops_what_lies_there_until_its_replica_takes_over(void **state)
{
    (void)state;
    int sold = 0, refused = 0;
    sell_all();
    fx_expect(instance[0], 201, "POST /buy?item=%s&user=u1&request=first", hit);
    fx_topology_settle(cluster, WAIT_MS);

    fx_topology_kill(cluster, victim);
    fx_refused(instance[0], 503, NULL, "POST /buy?item=%s&user=u1&request=none", hit);
    assert_int_equal(buy(instance[0], spared), 201);
    assert_int_equal(buy(instance[1], spared), 201);
    for (int i = 0; i < 200 && (sold == 0 || refused == 0); i++) {
        int status = buy(instance[0], spread);
        assert_true(status == 201 || status == 503);
        sold += status == 201;
        refused += status == 503;
    }
    assert_true(sold > 0 && refused > 0);
    assert_true(fx_wait_until(names_the_hit_one_alone, instance[0], WAIT_MS));

    int heir = fx_topology_next_primary(cluster, "fs:{A0}:sale", victim, WAIT_MS);
    sell_all();
    fx_expect(instance[1], 201, "POST /buy?item=%s&user=u1&request=first", hit);
    assert_non_null(strstr(fx_expect(instance[1], 200, "GET /stock?item=%s", hit), hit));

    fx_topology_restart(cluster, victim); /* as a replica; then it takes over again */
    fx_topology_settle(cluster, WAIT_MS);
    fx_topology_kill(cluster, heir);
    assert_int_equal(buy(instance[1], spared), 201);
    assert_int_equal(fx_topology_next_primary(cluster, "fs:{A0}:sale", heir, WAIT_MS), victim);
    sell_all();
    assert_sound(hit);
    assert_sound(spared);
    assert_sound(spread);
}

/* A replica takes over while its primary is there. */
static void hand_over(int from, int to)
{
    freeReplyObject(fx_topology_ask(cluster, to, "CLUSTER FAILOVER"));
    assert_int_equal(fx_topology_next_primary(cluster, "fs:{A0}:sale", from, WAIT_MS), to);
    fx_topology_settle(cluster, WAIT_MS);
    sell_all();
}

/* It has been running all the time, and may know less than the one in between. */
static void a_server_that_was_left_and_comes_back_is_compared(void **state)
{
    (void)state;
    char run[128], line[160];
    sell_all();
    redisReply *info = fx_topology_ask(cluster, victim, "INFO server");
    assert_non_null(info);
    const char *id = strstr(info->str, "\nrun_id:");
    assert_non_null(id);
    snprintf(run, sizeof(run), "%.40s", id + strlen("\nrun_id:"));
    freeReplyObject(info);
    snprintf(line, sizeof(line), "\"redis_changed\",\"run\":\"%s", run);

    hand_over(victim, victim + PRIMARIES);
    for (int i = 0; i < INSTANCES; i++)
        assert_null(strstr(fx_process_stderr(fx_server_process(instance[i])), line));
    hand_over(victim + PRIMARIES, victim);
    for (int i = 0; i < INSTANCES; i++)
        assert_non_null(strstr(fx_process_stderr(fx_server_process(instance[i])), line));
    assert_sound(hit);
}

typedef struct asked_shop {
    void *server;
    const char *item;
} asked_shop;

static bool is_halted(void *arg)
{
    fx_reply reply;
    const asked_shop *asked = arg;
    fx_ask(asked->server, &reply, "POST /buy?item=%s&user=u1&request=r%d", asked->item, request++);
    bool halted = reply.status == 503 && strstr(reply.body, "sale_rolled_back");
    if (reply.status == 201 && asked->item == hit)
        fail_msg("sold by a server that has forgotten: %s", reply.body);
    fx_reply_free(&reply);
    return halted;
}

/* A replica that has forgotten takes over: the instances remember. */
static void a_replica_that_knows_less_sells_nothing(void **state)
{
    (void)state;
    sell_all();
    fx_topology_settle(cluster, WAIT_MS);
    int heir = victim + PRIMARIES;
    freeReplyObject(fx_topology_ask(cluster, heir, "CONFIG SET replica-read-only no"));
    redisReply *reply = fx_topology_ask(cluster, heir, "FLUSHALL");
    assert_non_null(reply);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);

    fx_topology_kill(cluster, victim);
    assert_int_equal(fx_topology_next_primary(cluster, "fs:{A0}:sale", victim, WAIT_MS), heir);
    for (int i = 0; i < INSTANCES; i++)
        assert_true(fx_wait_until(is_halted, &(asked_shop){instance[i], hit}, WAIT_MS));
    await_sold(spared);
    for (int i = 0; i < INSTANCES; i++) /* until it is, the segments elsewhere sell on */
        assert_true(fx_wait_until(is_halted, &(asked_shop){instance[i], spread}, WAIT_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_items_node_has_its_terms_and_pointer, setup, teardown),
        cmocka_unit_test_setup_teardown(every_strategy_sells_on_a_cluster, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_dead_server_stops_what_lies_there_until_its_replica_takes_over, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_that_was_left_and_comes_back_is_compared, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_replica_that_knows_less_sells_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
