/*
 * keeper.c - the looks, in their order. Each is a function of the table at the end: to look at
 * something more, write one and name it there.
 */
#include "server/sale/keeper.h"

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

struct keeper {
    fs_store *store;
    sale_table *sales;
    admission admission;
    int checked;            /* place in the list of items where the next comparisons begin */
    dlock_redis_conn *conn; /* NULL: none as yet */
    bool logged[TROUBLES];
    bool warned;       /* of a policy that may evict, and is allowed to */
    bool warned_alone; /* of a server that takes writes without its replicas */
    atomic_bool looked;
    ticker *pulse, *looks;
};

/* ---- what is said of it in the log ----------------------------------------------------------- */

/* A line when it begins, and one when it is over. */
static void log_trouble(keeper *k, store_trouble trouble)
{
    static const char *const begins[] = {"redis_lost", "redis_refuses", "store_may_evict",
                                         "durability_lost", "replicas_lost"};
    static const char *const ends[] = {"redis_back", "redis_accepts", "store_keeps_all",
                                       "durability_back", "replicas_back"};
    store_complaint why;
    bool found = health_why(&k->store->health, trouble, &why);
    if (found == k->logged[trouble])
        return;
    k->logged[trouble] = found;
    if (found)
        log_event(LOG_WARN, begins[trouble], "redis", why.redis, "detail", why.detail, NULL);
    else
        log_event(LOG_INFO, ends[trouble], NULL);
}

/* ---- the pulse ------------------------------------------------------------------------------- */

/* A connection that was refused as another run's holds the next ones back for a moment. */
static void connect_again(fs_store *store)
{
    dlock_time until = dlock_in_ms(CONNECT_MS);
    store_sync_clock(store);
    while (!store_reachable(store) && !dlock_passed(until)) {
        dlock_sleep(dlock_in_ms(10));
        store_sync_clock(store);
    }
}

static void feel_pulse(void *arg)
{
    keeper *k = arg;
    store_sync_clock(k->store);
    if (!store_reachable(k->store) && admission_look(&k->admission, k->store, k->sales))
        connect_again(k->store);
    if (k->admission.seen[0] == '\0') /* otherwise it does answer, and is being compared */
        log_trouble(k, TROUBLE_SILENT);
}

/* ---- the looks ------------------------------------------------------------------------------- */

/* False: there is no sense in looking further this time. */
typedef bool look(keeper *k);

/* What the sales here ask of the server. */
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
static void warn_of_alone(keeper *k, const server_check *check, const wishes *all)
{
    bool warn = all->replicas > 0 && check->accepts_alone;
    if (warn && !k->warned_alone)
        log_event(LOG_WARN, "replicas_not_required", "detail",
                  "a sale is 'replicated', but the server takes writes without its replicas; its "
                  "buyers would hear 504 unknown: set min-replicas-to-write 1 and "
                  "min-replicas-max-lag 3 on every server, or let the service's user CONFIG GET",
                  NULL);
    k->warned_alone = warn;
}

/* A policy that may evict, and is allowed to, is said once. */
static void allow_eviction(keeper *k, server_check *check)
{
    bool evicts = check->found[TROUBLE_MAY_EVICT];
    if (evicts && !k->warned)
        log_event(LOG_WARN, "eviction_allowed", "detail", check->why[TROUBLE_MAY_EVICT].detail,
                  NULL);
    k->warned = evicts;
    check->found[TROUBLE_MAY_EVICT] = false;
}

/* Whether the server is one to sell from. When it does not answer, that stays as it was: the pulse
 * says so. */
static bool look_at_server(keeper *k)
{
    server_check check;
    wishes all = {.replicas = 0};
    sale_table_each(k->sales, see_wishes, &all);
    server_wish wish = {.had_disk = !health_has(&k->store->health, TROUBLE_NO_DISK),
                        .min_replicas = all.replicas > 0 ? all.replicas : 1};
    dlock_time deadline = dlock_in_ms(LOOK_MOST_MS);
    if (!store_connect(k->store, &k->conn, deadline) ||
        !server_ask(k->conn, &wish, deadline, &check))
        return false;
    if (k->store->allow_eviction)
        allow_eviction(k, &check);
    for (store_trouble t = TROUBLE_REFUSES; t < TROUBLES; t++)
        health_note(&k->store->health, t, check.found[t] ? &check.why[t] : NULL);
    atomic_store(&k->store->health.replicas, check.replicas);
    log_trouble(k, TROUBLE_REFUSES);
    log_trouble(k, TROUBLE_MAY_EVICT);
    if (all.disk)
        log_trouble(k, TROUBLE_NO_DISK);
    if (all.replicas > 0)
        log_trouble(k, TROUBLE_NO_REPLICAS);
    warn_of_alone(k, &check, &all);
    return true;
}

/* Which sale is each item's current one. */
static bool look_at_sales(keeper *k)
{
    int count;
    dlock_time deadline = dlock_in_ms(LOOK_MOST_MS);
    sale_pointer *known = sale_table_pointers(k->sales, &count);
    sale_pointer *found = calloc((size_t)count + 1, sizeof(*found));
    bool told = known && found && store_connect(k->store, &k->conn, deadline);
    if (told) {
        memcpy(found, known, (size_t)count * sizeof(*found));
        told = terms_in_force_all(k->conn, found, count, deadline);
    }
    for (int i = 0; told && i < count; i++)
        if (found[i].status != known[i].status || strcmp(found[i].id, known[i].id) != 0)
            sale_table_refresh(k->sales, found[i].item, dlock_in_ms(LOOK_MOST_MS));
    free(found);
    free(known);
    return told;
}

/* Whether Redis still has what is remembered of the sales, whether it is damaged, and whether it
 * has been mended. */
static bool look_at_memory(keeper *k)
{
    int count;
    sale_pointer *all = sale_table_pointers(k->sales, &count);
    for (int i = 0; all && i < count && i < CHECKS; i++)
        sale_table_refresh(k->sales, all[k->checked++ % count].item, dlock_in_ms(LOOK_MOST_MS));
    k->checked = count > 0 ? k->checked % count : 0;
    free(all);
    return all;
}

static look *const looks[] = {look_at_server, look_at_sales, look_at_memory};

static void look_around(void *arg)
{
    keeper *k = arg;
    bool go_on = true;
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
    server_run_guard(&store->run);
    k->pulse = ticker_start(feel_pulse, k, LOOK_MS);
    k->looks = k->pulse ? ticker_start(look_around, k, LOOK_MS) : NULL;
    if (k->looks)
        return k;
    keeper_stop(k);
    return NULL;
}

void keeper_wait(keeper *k, dlock_time deadline)
{
    while ((!atomic_load(&k->looked) || !store_reachable(k->store)) && !dlock_passed(deadline))
        dlock_sleep(dlock_in_ms(1));
}

void keeper_stop(keeper *k)
{
    if (!k)
        return;
    ticker_stop(k->pulse);
    ticker_stop(k->looks);
    dlock_redis_hang_up(k->conn);
    free(k);
}
