/*
 * keeper.c - the looks, in their order. Each is a function of the table at the end: to look at
 * something more, write one and name it there.
 *
 *     keeper ---- looks: one thread, at all servers that answer
 *        `------- pulse of server 0, 1, ...: a thread each, so that none waits for a silent one
 */
#include "server/sale/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/sale/kept_node.h"
#include "server/sale/sale_find.h"

#define LOOK_MS      250
#define LOOK_MOST_MS 1000 /* for the answers to one look */
#define CONNECT_MS   200  /* after a run of the server was admitted */
#define CHECKS       64 /* sales compared at a look: of so many each one, of more one after another */

struct keeper {
    fs_store *store;
    sale_table *sales;
    int checked; /* place in the list of items where the next comparisons begin */
    atomic_bool looked;
    ticker *looks;
    kept_node unknown; /* stands for the servers until one is met */
    int count;         /* of servers that were met */
    kept_node nodes[DLOCK_SERVERS_MAX];
};

/* ---- the pulse ------------------------------------------------------------------------------- */

/* A connection that was refused as another run's holds the next ones back for a moment. What the
 * run that was admitted keeps is asked before anything is sold from it. */
static void connect_again(kept_node *n)
{
    fs_node *node = n->node;
    dlock_redis *redis = n->store->redis;
    dlock_time until = dlock_in_ms(CONNECT_MS);
    while (!node_connect(node, redis, &node->clock_conn, until) && !dlock_passed(until))
        dlock_sleep(dlock_in_ms(10));
    server_wishes all = kept_wishes(n->sales);
    if (node->clock_conn)
        kept_node_check(n, node->clock_conn, &all, dlock_in_ms(LOOK_MOST_MS));
    kept_node_probe(n);
    node_sync_clock(node, redis);
}

/* A server of a cluster that serves no keys any more. If it comes back, it may know less than the
 * one that served them meanwhile, in the same run. */
static void leave(kept_node *n)
{
    char number[12];
    if (!n->serves)
        return;
    n->serves = false;
    node_forget(n->node);
    write_probe_drop(&n->probe);
    n->admission.seen[0] = '\0';
    dlock_redis_readmit(n->store->redis);
    dlock_redis_readmit(n->store->telling);
    dlock_redis_readmit(n->store->looking);
    log_event(LOG_INFO, "server_left", "server", store_server_name(n->store, n->node, number),
              "detail", "keys are not routed to it any more", NULL);
    n->logged[TROUBLE_SILENT] = false;
}

static void feel_pulse(void *arg)
{
    kept_node *n = arg;
    fs_store *store = n->store;
    if (!store_serves(store, n->node->server)) {
        leave(n);
        return;
    }
    n->serves = true;
    node_sync_clock(n->node, store->redis);
    if (!node_reachable(n->node) && admission_look(&n->admission, store, n->node, n->sales))
        connect_again(n);
    if (node_reachable(n->node))
        kept_node_probe(n);
    if (n->admission.seen[0] == '\0') /* otherwise it does answer, and is being compared */
        kept_node_log(n, TROUBLE_SILENT);
}

/* No server is known, as of a cluster whose nodes refuse our password: why not is noted. */
static void ask_for_servers(keeper *k)
{
    char answer[256];
    store_complaint why;
    dlock_redis_conn *conn;
    dlock_redis *redis = k->store->redis;
    if (dlock_redis_dial(redis, NULL, dlock_in_ms(LOOK_MOST_MS), &conn) == DLOCK_REDIS_OK) {
        dlock_redis_hang_up(conn);
        return;
    }
    dlock_redis_last_error(redis, answer, sizeof(answer));
    complain(&why, answer);
    health_note(&k->unknown.node->health, TROUBLE_SILENT, &why);
    kept_node_log(&k->unknown, TROUBLE_SILENT);
}

/* The servers that were met since. What can not be had now is tried again at the next look. */
static void meet_servers(keeper *k)
{
    if (k->count == 0 && dlock_redis_servers(k->store->redis) == 0)
        ask_for_servers(k);
    while (k->count < dlock_redis_servers(k->store->redis)) {
        kept_node *n = &k->nodes[k->count];
        *n = (kept_node){
            .store = k->store, .sales = k->sales, .node = store_node_at(k->store, k->count)};
        n->pulse = ticker_start(feel_pulse, n, LOOK_MS);
        if (!n->pulse)
            return;
        k->count++;
    }
}

/* ---- the looks ------------------------------------------------------------------------------- */

/* False: there is no sense in looking further this time. */
typedef bool look(keeper *k);

/* One that does not answer is not waited for. */
static bool is_worth_a_look(const kept_node *n)
{
    return store_serves(n->store, n->node->server) && node_reachable(n->node);
}

static bool look_at_server(kept_node *n, const server_wishes *all)
{
    if (!is_worth_a_look(n) ||
        !node_connect(n->node, n->store->redis, &n->conn, dlock_in_ms(LOOK_MOST_MS)) ||
        !kept_node_check(n, n->conn, all, dlock_in_ms(LOOK_MOST_MS)))
        return false;
    kept_node_log(n, TROUBLE_MAY_EVICT);
    if (all->disk)
        kept_node_log(n, TROUBLE_NO_DISK);
    if (all->replicas > 0)
        kept_node_log(n, TROUBLE_NO_REPLICAS);
    return true;
}

static bool look_at_servers(keeper *k)
{
    bool told = false;
    server_wishes all = kept_wishes(k->sales);
    for (int i = 0; i < k->count; i++)
        told = look_at_server(&k->nodes[i], &all) || told;
    return told;
}

/* The items of a look, and the server of each. */
typedef struct items_known {
    int count;
    sale_pointer *known, *found; /* `found` is to work with */
    int *servers;
} items_known;

static bool list_items(keeper *k, items_known *ret)
{
    ret->known = sale_table_pointers(k->sales, &ret->count);
    ret->found = calloc((size_t)ret->count + 1, sizeof(*ret->found));
    ret->servers = calloc((size_t)ret->count + 1, sizeof(*ret->servers));
    if (!ret->known || !ret->found || !ret->servers)
        return false;
    for (int i = 0; i < ret->count; i++)
        ret->servers[i] = terms_node(k->store, ret->known[i].item)->server;
    return true;
}

/* All that are the server's, in one go. */
static bool look_at_sales_on(kept_node *n, items_known *items)
{
    int asked = 0, seen = 0;
    dlock_time deadline = dlock_in_ms(LOOK_MOST_MS);
    for (int i = 0; i < items->count; i++)
        if (items->servers[i] == n->node->server)
            items->found[asked++] = items->known[i];
    if (!is_worth_a_look(n) || !node_connect(n->node, n->store->redis, &n->conn, deadline) ||
        !terms_in_force_all(n->conn, items->found, asked, deadline))
        return false;
    for (int i = 0; i < items->count; i++) {
        if (items->servers[i] != n->node->server)
            continue;
        const sale_pointer *known = &items->known[i], *found = &items->found[seen++];
        if (found->status != known->status || strcmp(found->id, known->id) != 0)
            sale_refresh(n->sales, found->item, dlock_in_ms(LOOK_MOST_MS));
    }
    return true;
}

/* Which sale is each item's current one. */
static bool look_at_sales(keeper *k)
{
    bool told = false;
    items_known items = {0};
    bool listed = list_items(k, &items);
    for (int i = 0; listed && i < k->count; i++)
        told = look_at_sales_on(&k->nodes[i], &items) || told;
    free(items.known);
    free(items.found);
    free(items.servers);
    return told;
}

/* Whether one of the item's servers is silent: the others are compared when it is back. */
static bool is_out_of_reach(keeper *k, const char *item)
{
    for (int i = 0; i < k->count; i++)
        if (!node_reachable(k->nodes[i].node) && sale_table_is_on(k->sales, item, k->nodes[i].node))
            return true;
    return false;
}

/* Whether Redis still has what is remembered of the sales, whether it is damaged, and whether it
 * has been mended. */
static bool look_at_memory(keeper *k)
{
    int count;
    sale_pointer *all = sale_table_pointers(k->sales, &count);
    for (int i = 0; all && i < count && i < CHECKS; i++) {
        const char *item = all[k->checked++ % count].item;
        if (!is_out_of_reach(k, item))
            sale_refresh(k->sales, item, dlock_in_ms(LOOK_MOST_MS));
    }
    k->checked = count > 0 ? k->checked % count : 0;
    free(all);
    return all;
}

static look *const looks[] = {look_at_servers, look_at_sales, look_at_memory};

static void look_around(void *arg)
{
    keeper *k = arg;
    bool go_on = true;
    meet_servers(k);
    for (size_t i = 0; go_on && i < sizeof(looks) / sizeof(looks[0]); i++)
        go_on = looks[i](arg);
    if (go_on)
        atomic_store(&k->looked, true);
}

/* ---- its life -------------------------------------------------------------------------------- */

keeper *keeper_start(fs_store *store, sale_table *sales)
{
    keeper *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    k->store = store;
    k->sales = sales;
    k->unknown = (kept_node){.store = store, .sales = sales, .node = store_node_at(store, -1)};
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        server_run_guard(&store_node_at(store, i)->run);
    k->looks = ticker_start(look_around, k, LOOK_MS);
    if (k->looks)
        return k;
    keeper_stop(k);
    return NULL;
}

void keeper_wait(keeper *k, dlock_time deadline)
{
    while (!atomic_load(&k->looked) && !dlock_passed(deadline))
        dlock_sleep(dlock_in_ms(1));
}

void keeper_stop(keeper *k)
{
    if (!k)
        return;
    ticker_stop(k->looks);
    for (int i = 0; i < k->count; i++) {
        ticker_stop(k->nodes[i].pulse);
        dlock_redis_hang_up(k->nodes[i].conn);
        write_probe_drop(&k->nodes[i].probe);
    }
    free(k);
}
