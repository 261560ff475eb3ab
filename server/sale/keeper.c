/*
 * keeper.c - the looks, in order, and the log lines about each server.
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
#include "server/sale/sale_find.h"
#include "server/store/replicas.h"

#define LOOK_MS      250
#define LOOK_MOST_MS 1000  /* for the answers to one look */
#define CONNECT_MS   200   /* after a run of the server was admitted */
#define CHECKS       64    /* sales compared per look; if there are more, in turn */
#define PROBE_TAGS   20000 /* tags tried to find one of the server's */

/* One server. Its settings and its writes are checked on two connections, because it answers about
 * its settings even while writes are paused. */
typedef struct kept_node {
    fs_store *store;   /* (borrowed) */
    sale_table *sales; /* (borrowed) */
    fs_node *node;     /* (borrowed) */
    ticker *pulse;
    bool serves; /* at the last pulse */
    admission admission;
    write_probe probe;      /* of the pulse */
    char probe_key[32];     /* routed to the server, if one was found */
    dlock_redis_conn *conn; /* of the looks; NULL: none as yet */
    bool logged[TROUBLES];
    atomic_bool warned;        /* of a policy that may evict, and is allowed to */
    atomic_bool warned_alone;  /* of a server that takes writes without its replicas */
    atomic_bool warned_denied; /* of a right that is missing to hear who could be promoted */
} kept_node;

typedef struct wishes {
    bool disk;
    int replicas; /* the most */
} wishes;

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

/* ---- what the log says of a server ----------------------------------------------------------- */

/* Logs when the trouble begins, and when it is over. */
static void log_trouble(kept_node *n, store_trouble trouble)
{
    static const char *const events[TROUBLES][2] = {
        [TROUBLE_SILENT] = {"redis_back", "redis_lost"},
        [TROUBLE_REFUSES] = {"redis_accepts", "redis_refuses"},
        [TROUBLE_WRITES_PAUSED] = {"writes_resumed", "writes_paused"},
        [TROUBLE_MAY_EVICT] = {"store_keeps_all", "store_may_evict"},
        [TROUBLE_NO_DISK] = {"durability_back", "durability_lost"},
        [TROUBLE_NO_REPLICAS] = {"replicas_back", "replicas_lost"},
    };
    store_complaint why;
    const char *server = store_server_name(n->store, n->node);
    bool found = health_why(&n->node->health, trouble, &why);
    if (found == n->logged[trouble])
        return;
    n->logged[trouble] = found;
    if (found)
        log_event(LOG_WARN, events[trouble][1], "redis", why.redis[0] != '\0' ? why.redis : NULL,
                  "detail", why.detail, "server", server, NULL);
    else
        log_event(LOG_INFO, events[trouble][0], "server", server, NULL);
}

/* Logs a warning once, when it begins. */
static void warn(const kept_node *n, atomic_bool *warned, bool found, const char *event,
                 const char *detail)
{
    if (!atomic_exchange(warned, found) && found)
        log_event(LOG_WARN, event, "detail", detail, "server", store_server_name(n->store, n->node),
                  NULL);
}

/* A primary that is cut off without noticing sells on. Its buyers get "unknown", and its stock is
 * right again only when it has become a replica. Without the right it is unknown which replicas can
 * no longer be promoted, so none ever leaves the set. */
static void warn_of_replicas(kept_node *n, const server_check *check, const wishes *all)
{
    char detail[200];
    warn(n, &n->warned_alone, all->replicas > 0 && check->accepts_alone, "replicas_not_required",
         "a sale is 'replicated', but the server takes writes without its replicas; its buyers "
         "would hear 504 unknown: set min-replicas-to-write 1 and min-replicas-max-lag 3 on every "
         "server");
    snprintf(detail, sizeof(detail),
             "a sale is 'replicated', and this user lacks the right %s: sales wait for "
             "a lost replica until it is back; grant +%s",
             check->denied, check->denied);
    warn(n, &n->warned_denied, all->replicas > 0 && check->denied[0] != '\0', "promotions_untold",
         detail);
}

/* ---- what a server is asked ------------------------------------------------------------------ */

static void see_wishes(void *arg, fs_sale *sale)
{
    wishes *all = arg;
    const sale_terms *terms = &sale->open_sale.terms;
    all->disk = all->disk || terms->durability == DURABILITY_DISK;
    if (terms->min_replicas > all->replicas)
        all->replicas = terms->min_replicas;
}

/* Checks the server's settings. What it does not answer stays as it was; if it answers nothing, the
 * pulse says so. False: no answer. */
static bool check_settings(kept_node *n, dlock_redis_conn *conn, const wishes *all)
{
    server_check check;
    if (!replicas_ask(n->store, n->node, conn, all->replicas, dlock_in_ms(LOOK_MOST_MS), &check)) {
        store_log_failure(n->store, "look at the server", "not answered");
        return false;
    }
    if (check.busy)
        return true;
    if (n->store->allow_eviction) {
        warn(n, &n->warned, check.found[TROUBLE_MAY_EVICT], "eviction_allowed",
             check.why[TROUBLE_MAY_EVICT].detail);
        check.found[TROUBLE_MAY_EVICT] = false;
    }
    for (store_trouble t = TROUBLE_MAY_EVICT; t < TROUBLES; t++)
        health_note(&n->node->health, t, check.found[t] ? &check.why[t] : NULL);
    warn_of_replicas(n, &check, all);
    return true;
}

/* Finds a key of the server. If it finds none, the key is another server's, as Redis will say. */
static void find_probe_key(kept_node *n)
{
    char *key = n->probe_key;
    if (key[0] != '\0' && store_node(n->store, key) == n->node) /* mostly it still is */
        return;
    snprintf(key, sizeof(n->probe_key), "fs:{probe}:sale");
    for (int i = 0; i < PROBE_TAGS && store_node(n->store, key) != n->node; i++)
        snprintf(key, sizeof(n->probe_key), "fs:{probe%d}:sale", i);
}

/* Whether it takes writes. Does not wait for the answer. */
static void probe_writes(kept_node *n)
{
    find_probe_key(n);
    if (!write_probe_look(&n->probe, n->store->redis, n->node, n->probe_key))
        return;
    log_trouble(n, TROUBLE_REFUSES);
    log_trouble(n, TROUBLE_WRITES_PAUSED);
}

/* ---- the pulse ------------------------------------------------------------------------------- */

/* A connection that was refused for its run holds the next ones back for a moment. Before anything
 * is sold from the admitted run, its settings are asked for. */
static void connect_again(kept_node *n)
{
    fs_node *node = n->node;
    dlock_redis *redis = n->store->redis;
    dlock_time until = dlock_in_ms(CONNECT_MS);
    while (!node_connect(node, redis, &node->clock_conn, until) && !dlock_passed(until))
        dlock_sleep(dlock_in_ms(10));
    wishes all = {0};
    sale_table_each(n->sales, see_wishes, &all);
    if (node->clock_conn)
        check_settings(n, node->clock_conn, &all);
    probe_writes(n);
    node_sync_clock(node, redis);
}

/* A server of a cluster serves no keys any more. If it comes back in the same run, it may know less
 * than the one that served them meanwhile. */
static void leave(kept_node *n)
{
    if (!n->serves)
        return;
    n->serves = false;
    node_forget(n->node);
    write_probe_drop(&n->probe);
    n->admission.seen[0] = '\0';
    dlock_redis_readmit(n->store->redis);
    dlock_redis_readmit(n->store->telling);
    dlock_redis_readmit(n->store->looking);
    log_event(LOG_INFO, "server_left", "server", store_server_name(n->store, n->node), "detail",
              "keys are not routed to it any more", NULL);
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
        probe_writes(n);
    if (n->admission.seen[0] == '\0') /* otherwise it answers, and is being compared */
        log_trouble(n, TROUBLE_SILENT);
}

/* No server is known, as of a cluster whose nodes refuse our password: notes why. */
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

/* Adds servers that were discovered since. What fails now is retried at the next look. */
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

/* Connects for a look. One that does not answer is not waited for. */
static bool reach(kept_node *n, dlock_time deadline)
{
    return store_serves(n->store, n->node->server) && node_reachable(n->node) &&
           node_connect(n->node, n->store->redis, &n->conn, deadline);
}

static bool look_at_server(kept_node *n, const wishes *all)
{
    if (!reach(n, dlock_in_ms(LOOK_MOST_MS)) || !check_settings(n, n->conn, all))
        return false;
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
    wishes all = {0};
    sale_table_each(k->sales, see_wishes, &all);
    for (int i = 0; i < k->count; i++)
        told = look_at_server(&k->nodes[i], &all) || told;
    return told;
}

/* Looks at all sales whose tag is the server's, in one go. `found` is work space. */
static bool look_at_sales_on(kept_node *n, const sale_pointer *known, int count,
                             sale_pointer *found)
{
    int asked = 0;
    dlock_time deadline = dlock_in_ms(LOOK_MOST_MS);
    for (int i = 0; i < count; i++)
        if (known[i].server == n->node->server)
            found[asked++] = known[i];
    if (!reach(n, deadline) || !terms_in_force_all(n->conn, found, asked, deadline))
        return false;
    for (int i = 0; i < count; i++) {
        if (known[i].server != n->node->server)
            continue;
        if (found->status != known[i].status || strcmp(found->id, known[i].id) != 0)
            sale_refresh(n->sales, found->item, dlock_in_ms(LOOK_MOST_MS));
        found++;
    }
    return true;
}

static bool look_at_sales(keeper *k)
{
    int count;
    bool told = false;
    sale_pointer *known = sale_table_pointers(k->sales, &count);
    sale_pointer *found = calloc((size_t)count + 1, sizeof(*found));
    for (int i = 0; known && found && i < k->count; i++)
        told = look_at_sales_on(&k->nodes[i], known, count, found) || told;
    free(known);
    free(found);
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

/* A server without an answer is not asked further in this look. */
static void look_around(void *arg)
{
    keeper *k = arg;
    meet_servers(k);
    if (look_at_servers(k) && look_at_sales(k) && look_at_memory(k))
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
    k->unknown = (kept_node){.store = store, .node = store_node_at(store, -1)};
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
