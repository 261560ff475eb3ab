/* kept_node.c - asking one server, noting its troubles, and telling the log of them. */
#include "server/sale/kept_node.h"

#include <stdio.h>

#include "server/base/log.h"
#include "server/store/replicas.h"

#define PROBE_TAGS 20000 /* tried until one is found that is the server's */

/* ---- what is said of it in the log ----------------------------------------------------------- */

void kept_node_log(kept_node *n, store_trouble trouble)
{
    static const char *const begins[TROUBLES] = {
        [TROUBLE_SILENT] = "redis_lost",           [TROUBLE_REFUSES] = "redis_refuses",
        [TROUBLE_WRITES_PAUSED] = "writes_paused", [TROUBLE_MAY_EVICT] = "store_may_evict",
        [TROUBLE_NO_DISK] = "durability_lost",     [TROUBLE_NO_REPLICAS] = "replicas_lost"};
    static const char *const ends[TROUBLES] = {[TROUBLE_SILENT] = "redis_back",
                                               [TROUBLE_REFUSES] = "redis_accepts",
                                               [TROUBLE_WRITES_PAUSED] = "writes_resumed",
                                               [TROUBLE_MAY_EVICT] = "store_keeps_all",
                                               [TROUBLE_NO_DISK] = "durability_back",
                                               [TROUBLE_NO_REPLICAS] = "replicas_back"};
    char number[12];
    store_complaint why;
    bool found = health_why(&n->node->health, trouble, &why);
    if (found == n->logged[trouble])
        return;
    n->logged[trouble] = found;
    if (found)
        log_event(LOG_WARN, begins[trouble], "redis", why.redis[0] != '\0' ? why.redis : NULL,
                  "detail", why.detail, "server", store_server_name(n->store, n->node, number),
                  NULL);
    else
        log_event(LOG_INFO, ends[trouble], "server", store_server_name(n->store, n->node, number),
                  NULL);
}

/* A primary that is cut off, and does not notice, sells on; its buyers hear "unknown", but the
 * stock that it takes is only back when it is a replica itself. Said once. */
static void warn_of_alone(kept_node *n, const server_check *check, const server_wishes *all)
{
    char number[12];
    bool warn = all->replicas > 0 && check->accepts_alone;
    if (!atomic_exchange(&n->warned_alone, warn) && warn)
        log_event(LOG_WARN, "replicas_not_required", "detail",
                  "a sale is 'replicated', but the server takes writes without its replicas; its "
                  "buyers would hear 504 unknown: set min-replicas-to-write 1 and "
                  "min-replicas-max-lag 3 on every server",
                  "server", store_server_name(n->store, n->node, number), NULL);
}

/* Nobody tells which replicas could not be promoted any more, so none ever leaves the set. Said
 * once. */
static void warn_of_denied(kept_node *n, const char *right, const server_wishes *all)
{
    char number[12], detail[200];
    bool warn = all->replicas > 0 && right[0] != '\0';
    if (atomic_exchange(&n->warned_denied, warn) || !warn)
        return;
    snprintf(detail, sizeof(detail),
             "a sale is 'replicated', and this user lacks the right %s: a replica that is lost is "
             "waited for until it is back; grant +%s",
             right, right);
    log_event(LOG_WARN, "promotions_untold", "detail", detail, "server",
              store_server_name(n->store, n->node, number), NULL);
}

/* A policy that may evict, and is allowed to, is said once. */
static void allow_eviction(kept_node *n, server_check *check)
{
    char number[12];
    bool evicts = check->found[TROUBLE_MAY_EVICT];
    if (!atomic_exchange(&n->warned, evicts) && evicts)
        log_event(LOG_WARN, "eviction_allowed", "detail", check->why[TROUBLE_MAY_EVICT].detail,
                  "server", store_server_name(n->store, n->node, number), NULL);
    check->found[TROUBLE_MAY_EVICT] = false;
}

/* ---- its settings ---------------------------------------------------------------------------- */

static void see_wishes(void *arg, fs_sale *sale)
{
    server_wishes *all = arg;
    const sale_terms *terms = &sale->open_sale.terms;
    all->disk = all->disk || terms->durability == DURABILITY_DISK;
    if (terms->min_replicas > all->replicas)
        all->replicas = terms->min_replicas;
}

server_wishes kept_wishes(sale_table *sales)
{
    server_wishes all = {.replicas = 0};
    sale_table_each(sales, see_wishes, &all);
    return all;
}

bool kept_node_check(kept_node *n, dlock_redis_conn *conn, const server_wishes *all,
                     dlock_time deadline)
{
    server_check check;
    store_health *health = &n->node->health;
    server_wish wish = {.had_disk = !health_has(health, TROUBLE_NO_DISK),
                        .min_replicas = all->replicas > 0 ? all->replicas : 1,
                        .cluster = dlock_redis_is_cluster(n->store->redis)};
    if (!server_ask(conn, &wish, deadline, &check)) {
        store_log_failure(n->store, "look at the server", "not answered");
        return false;
    }
    if (check.busy)
        return true;
    if (n->store->allow_eviction)
        allow_eviction(n, &check);
    replicas_note(n->store, n->node, &check);
    for (store_trouble t = TROUBLE_MAY_EVICT; t < TROUBLES; t++)
        health_note(health, t, check.found[t] ? &check.why[t] : NULL);
    warn_of_alone(n, &check, all);
    warn_of_denied(n, check.denied, all);
    return true;
}

/* ---- whether it takes writes ----------------------------------------------------------------- */

/* A key that is the server's; if none is found, one that is not, of which it says so. */
static void find_probe_key(kept_node *n)
{
    char *key = n->probe_key;
    if (key[0] != '\0' && store_node(n->store, key) == n->node) /* mostly it still is */
        return;
    snprintf(key, sizeof(n->probe_key), "fs:{probe}:sale");
    for (int i = 0; i < PROBE_TAGS && store_node(n->store, key) != n->node; i++)
        snprintf(key, sizeof(n->probe_key), "fs:{probe%d}:sale", i);
}

void kept_node_probe(kept_node *n)
{
    find_probe_key(n);
    if (!write_probe_look(&n->probe, n->store->redis, n->node, n->probe_key))
        return;
    kept_node_log(n, TROUBLE_REFUSES);
    kept_node_log(n, TROUBLE_WRITES_PAUSED);
}
