/*
 * keeper.c - the looks, in their order. Each is a function of the table at the end: to look at
 * something more, write one and name it there.
 */
#include "server/sale/keeper.h"

#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/base/ticker.h"

#define LOOK_MS      250
#define LOOK_MOST_MS 1000 /* for the answers to one look */

struct keeper {
    fs_store *store;
    sale_table *sales;
    bool was_reachable;
    dlock_redis_conn *conn; /* NULL: none as yet */
    ticker *ticker;
};

/* False: there is no sense in looking further this time. */
typedef bool look(keeper *k);

static bool look_at_clock(keeper *k)
{
    bool reachable = store_sync_clock(k->store);
    if (reachable != k->was_reachable)
        log_event(reachable ? LOG_INFO : LOG_WARN, reachable ? "redis_back" : "redis_lost", NULL);
    k->was_reachable = reachable;
    return reachable;
}

/* A connection for the looks, which asks many things at once. */
static bool connected(keeper *k)
{
    if (k->conn && dlock_redis_broken(k->conn)) {
        dlock_redis_hang_up(k->conn);
        k->conn = NULL;
    }
    return k->conn || dlock_redis_dial(k->store->redis, NULL, dlock_in_ms(LOOK_MOST_MS),
                                       &k->conn) == DLOCK_REDIS_OK;
}

/* Which sale is each item's current one. */
static bool look_at_sales(keeper *k)
{
    int count;
    dlock_time deadline = dlock_in_ms(LOOK_MOST_MS);
    sale_pointer *known = sale_table_pointers(k->sales, &count);
    sale_pointer *found = calloc((size_t)count + 1, sizeof(*found));
    bool told = known && found && connected(k);
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

static look *const looks[] = {look_at_clock, look_at_sales};

static void look_around(void *arg)
{
    bool go_on = true;
    for (size_t i = 0; go_on && i < sizeof(looks) / sizeof(looks[0]); i++)
        go_on = looks[i](arg);
}

keeper *keeper_start(fs_store *store, sale_table *sales)
{
    keeper *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    k->store = store;
    k->sales = sales;
    k->was_reachable = true;
    k->ticker = ticker_start(look_around, k, LOOK_MS);
    if (k->ticker)
        return k;
    free(k);
    return NULL;
}

void keeper_stop(keeper *k)
{
    if (!k)
        return;
    ticker_stop(k->ticker);
    dlock_redis_hang_up(k->conn);
    free(k);
}
