/*
 * keeper.c - the looks, in their order. Each is a function of the table at the end: to look at
 * something more, write one and name it there.
 */
#include "server/sale/keeper.h"

#include <stdlib.h>

#include "server/base/log.h"
#include "server/base/ticker.h"

#define LOOK_MS 250

struct keeper {
    fs_store *store;
    sale_table *sales;
    bool was_reachable;
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

/* Which sale is each item's current one. */
static bool look_at_sales(keeper *k)
{
    int count;
    sale_table_item *items = sale_table_items(k->sales, &count);
    for (int i = 0; i < count; i++)
        sale_table_refresh(k->sales, items[i].name);
    free(items);
    return true;
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
    free(k);
}
