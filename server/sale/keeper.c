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
#include "server/base/ticker.h"
#include "server/sale/admission.h"
#include "server/store/server_check.h"

#define LOOK_MS      250
#define LOOK_MOST_MS 1000 /* for the answers to one look */
#define CONNECT_MS   200  /* after a run of the server was admitted */
#define CHECKS       64 /* sales compared at a look: of so many each one, of more one after another */
#define PROBE_TAGS   20000 /* tried until one is found that is the server's */

/* One server, as the keeper has it. */
typedef struct kept_node {
    keeper *k;
    fs_node *node;
    bool serves; /* when the pulse was last felt */
    admission admission;
    dlock_redis_conn *conn; /* of the looks; NULL: none as yet */
    bool logged[TROUBLES];
    atomic_bool warned;       /* of a policy that may evict, and is allowed to */
    atomic_bool warned_alone; /* of a server that takes writes without its replicas */
    ticker *pulse;
} kept_node;

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

/* ---- what is said of it in the log ----------------------------------------------------------- */

/* A line when it begins, and one when it is over. */
static void log_trouble(kept_node *n, store_trouble trouble)
{
    static const char *const begins[] = {"redis_lost", "redis_refuses", "store_may_evict",
                                         "durability_lost", "replicas_lost"};
    static const char *const ends[] = {"redis_back", "redis_accepts", "store_keeps_all",
                                       "durability_back", "replicas_back"};
    char number[12];
    store_complaint why;
    bool found = health_why(&n->node->health, trouble, &why);
    if (found == n->logged[trouble])
        return;
    n->logged[trouble] = found;
    if (found)
        log_event(LOG_WARN, begins[trouble], "redis", why.redis, "detail", why.detail, "server",
                  store_server_name(n->k->store, n->node, number), NULL);
    else
        log_event(LOG_INFO, ends[trouble], "server",
                  store_server_name(n->k->store, n->node, number), NULL);
}

/* ---- one server ------------------------------------------------------------------------------ */

/* What the sales here ask of a server. */
typedef struct wishes {
    bool disk;
    int replicas; /* the most */
} wishes;

static void see_wishes(void *arg, fs_sale *sale)
{
    wishes *all = arg;
    const sale_terms *terms = &sale->open_sale.terms;
    all->disk = all->disk || terms->durability == DURABILITY_DISK;
    if (terms->min_replicas > all->replicas)
        all->replicas = terms->min_replicas;
}

/* A primary that is cut off, and does not notice, sells on; its buyers hear "unknown", but the
 * stock that it takes is only back when it is a replica itself. Said once. */
static void warn_of_alone(kept_node *n, const server_check *check, const wishes *all)
{
    char number[12];
    bool warn = all->replicas > 0 && check->accepts_alone;
    if (!atomic_exchange(&n->warned_alone, warn) && warn)
        log_event(LOG_WARN, "replicas_not_required", "detail",
                  "a sale is 'replicated', but the server takes writes without its replicas; its "
                  "buyers would hear 504 unknown: set min-replicas-to-write 1 and "
                  "min-replicas-max-lag 3 on every server, or let the service's user CONFIG GET",
                  "server", store_server_name(n->k->store, n->node, number), NULL);
}

/* A policy that may evict, and is allowed to, is said once. */
static void allow_eviction(kept_node *n, server_check *check)
{
    char number[12];
    bool evicts = check->found[TROUBLE_MAY_EVICT];
    if (!atomic_exchange(&n->warned, evicts) && evicts)
        log_event(LOG_WARN, "eviction_allowed", "detail", check->why[TROUBLE_MAY_EVICT].detail,
                  "server", store_server_name(n->k->store, n->node, number), NULL);
    check->found[TROUBLE_MAY_EVICT] = false;
}

/* A key that is the server's; if none is found, one that is not, of which it says so. */
static void find_probe_key(const kept_node *n, char ret[32])
{
    snprintf(ret, 32, "fs:{probe}:sale");
    for (int i = 0; i < PROBE_TAGS && store_node(n->k->store, ret) != n->node; i++)
        snprintf(ret, 32, "fs:{probe%d}:sale", i);
}

static void note_trouble(store_health *health, const server_check *check, store_trouble t)
{
    health_note(health, t, check->found[t] ? &check->why[t] : NULL);
}

/* Whether the server is one to sell from. What it does not answer stays as it was; when it answers
 * nothing, the pulse says so. */
static bool check_server(kept_node *n, dlock_redis_conn *conn, const wishes *all)
{
    char key[32];
    server_check check;
    store_health *health = &n->node->health;
    server_wish wish = {.had_disk = !health_has(health, TROUBLE_NO_DISK),
                        .min_replicas = all->replicas > 0 ? all->replicas : 1};
    find_probe_key(n, key);
    if (!server_ask(conn, key, &wish, dlock_in_ms(LOOK_MOST_MS), &check)) {
        store_log_failure(n->k->store, "look at the server", "not answered");
        return false;
    }
    if (n->k->store->allow_eviction)
        allow_eviction(n, &check);
    note_trouble(health, &check, TROUBLE_REFUSES);
    if (check.busy)
        return true;
    for (store_trouble t = TROUBLE_REFUSES + 1; t < TROUBLES; t++)
        note_trouble(health, &check, t);
    atomic_store(&health->replicas, check.replicas);
    warn_of_alone(n, &check, all);
    return true;
}

/* ---- the pulse ------------------------------------------------------------------------------- */

/* A connection that was refused as another run's holds the next ones back for a moment. What the
 * run that was admitted keeps is asked before anything is sold from it. */
static void connect_again(kept_node *n)
{
    fs_node *node = n->node;
    dlock_redis *redis = n->k->store->redis;
    dlock_time until = dlock_in_ms(CONNECT_MS);
    while (!node_connect(node, redis, &node->clock_conn, until) && !dlock_passed(until))
        dlock_sleep(dlock_in_ms(10));
    wishes all = {.replicas = 0};
    sale_table_each(n->k->sales, see_wishes, &all);
    if (node->clock_conn)
        check_server(n, node->clock_conn, &all);
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
    n->admission.seen[0] = '\0';
    dlock_redis_readmit(n->k->store->redis);
    dlock_redis_readmit(n->k->store->telling);
    dlock_redis_readmit(n->k->store->looking);
    log_event(LOG_INFO, "server_left", "server", store_server_name(n->k->store, n->node, number),
              "detail", "keys are not routed to it any more", NULL);
    n->logged[TROUBLE_SILENT] = false;
}

static void feel_pulse(void *arg)
{
    kept_node *n = arg;
    fs_store *store = n->k->store;
    if (!store_serves(store, n->node->server)) {
        leave(n);
        return;
    }
    n->serves = true;
    node_sync_clock(n->node, store->redis);
    if (!node_reachable(n->node) && admission_look(&n->admission, store, n->node, n->k->sales))
        connect_again(n);
    if (n->admission.seen[0] == '\0') /* otherwise it does answer, and is being compared */
        log_trouble(n, TROUBLE_SILENT);
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
    log_trouble(&k->unknown, TROUBLE_SILENT);
}

/* The servers that were met since. What can not be had now is tried again at the next look. */
static void meet_servers(keeper *k)
{
    if (k->count == 0 && dlock_redis_servers(k->store->redis) == 0)
        ask_for_servers(k);
    while (k->count < dlock_redis_servers(k->store->redis)) {
        kept_node *n = &k->nodes[k->count];
        *n = (kept_node){.k = k, .node = store_node_at(k->store, k->count)};
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
    return store_serves(n->k->store, n->node->server) && node_reachable(n->node);
}

static bool look_at_server(kept_node *n, const wishes *all)
{
    if (!is_worth_a_look(n) ||
        !node_connect(n->node, n->k->store->redis, &n->conn, dlock_in_ms(LOOK_MOST_MS)) ||
        !check_server(n, n->conn, all))
        return false;
    log_trouble(n, TROUBLE_REFUSES);
    log_trouble(n, TROUBLE_MAY_EVICT);
    if (all->disk)
        log_trouble(n, TROUBLE_NO_DISK);
    if (all->replicas > 0)
        log_trouble(n, TROUBLE_NO_REPLICAS);
    return true;
}

static bool look_at_servers(keeper *k)
{
    bool told = false;
    wishes all = {.replicas = 0};
    sale_table_each(k->sales, see_wishes, &all);
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
    if (!is_worth_a_look(n) || !node_connect(n->node, n->k->store->redis, &n->conn, deadline) ||
        !terms_in_force_all(n->conn, items->found, asked, deadline))
        return false;
    for (int i = 0; i < items->count; i++) {
        if (items->servers[i] != n->node->server)
            continue;
        const sale_pointer *known = &items->known[i], *found = &items->found[seen++];
        if (found->status != known->status || strcmp(found->id, known->id) != 0)
            sale_table_refresh(n->k->sales, found->item, dlock_in_ms(LOOK_MOST_MS));
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
            sale_table_refresh(k->sales, item, dlock_in_ms(LOOK_MOST_MS));
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
    k->unknown = (kept_node){.k = k, .node = store_node_at(store, -1)};
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
    }
    free(k);
}
