/* sale_metrics.c - the sales are copied under the table's lock, then written metric by metric. */
#include "server/metrics/metrics.h"

#include <stdio.h>

#include "server/sale/feed_seen.h"

enum {
    SELLABLE,
    HALTED,
    INITIAL,
    REMAINING,
    ORDERED,
    RESERVED,
    OVERSOLD,
    LOST,
    FEED_BEHIND,
    FEED_ASKED,
    GAUGES
};

#define FEED_TOLD_MS (10 * 60000) /* since the last question */

typedef struct sale_row {
    char item[IDENT_MAX + 1], sale[IDENT_MAX + 1];
    const char *strategy; /* NULL: the sale can not be opened here */
    bool counted, fed;
    int64_t values[GAUGES]; /* those from INITIAL on if counted, from FEED_BEHIND on if fed */
} sale_row;

typedef struct sale_rows {
    int items, halted; /* of all */
    int count;
    sale_row rows[SALE_METRICS_ITEMS];
} sale_rows;

static bool is_in_trouble(const sale_row *row)
{
    return !row->values[SELLABLE] || row->values[OVERSOLD] > 0 || row->values[LOST] > 0;
}

/* One that is in trouble takes the place of one that is not. */
static void put_row(sale_rows *all, const sale_row *row)
{
    all->items++;
    all->halted += (int)row->values[HALTED];
    int i = 0;
    if (all->count < SALE_METRICS_ITEMS)
        i = all->count++;
    else
        while (i < all->count && (!is_in_trouble(row) || is_in_trouble(&all->rows[i])))
            i++;
    if (i < all->count)
        all->rows[i] = *row;
}

static void see_sale(void *arg, fs_sale *sale)
{
    const open_sale *open = &sale->open_sale;
    int64_t initial = open->terms.initial;
    ledger_numbers seen;
    sale_row row = {.strategy = open->strategy->name, .counted = sale_last_seen(open, &seen)};
    snprintf(row.item, sizeof(row.item), "%s", open->terms.item);
    snprintf(row.sale, sizeof(row.sale), "%s", open->terms.id);
    row.values[HALTED] = fs_sale_state(sale) == STATE_HALTED;
    row.values[SELLABLE] = fs_sale_state(sale) == STATE_OPEN;
    if (row.counted) {
        row.values[INITIAL] = initial;
        row.values[REMAINING] = seen.remaining;
        row.values[ORDERED] = seen.units;
        row.values[RESERVED] = seen.reserved;
        row.values[OVERSOLD] = ledger_oversold(initial, &seen);
        row.values[LOST] = ledger_lost(initial, &seen);
    }
    feed_lag lag = {.orders = 0};
    row.fed = sale_feed_lag(sale, FEED_TOLD_MS, &lag);
    row.values[FEED_BEHIND] = lag.behind;
    row.values[FEED_ASKED] = lag.asked_us / 1000000;
    put_row(arg, &row);
}

static void see_unopened(void *arg, const char *item, sale_state state)
{
    sale_row row = {.values = {[HALTED] = state == STATE_HALTED}};
    snprintf(row.item, sizeof(row.item), "%s", item);
    put_row(arg, &row);
}

static void write_info(const sale_rows *all, fs_text *out)
{
    const char *name = "flashsale_sale_info";
    metric_head(out, name, "gauge", "The item's current sale and its strategy, as labels.");
    for (int i = 0; i < all->count; i++)
        if (all->rows[i].strategy)
            text_printf(out, "%s{item=\"%s\",sale=\"%s\",strategy=\"%s\"} 1\n", name,
                        all->rows[i].item, all->rows[i].sale, all->rows[i].strategy);
}

static void write_values(const sale_rows *all, fs_text *out)
{
    static const char *const gauges[GAUGES][2] = {
        {"flashsale_sale_sellable",
         "Whether the sale's data allow it to be sold from, as far as is known here."},
        {"flashsale_sale_halted", "Whether the sale is halted."},
        {"flashsale_sale_initial_units", "Units that the sale began with."},
        {"flashsale_sale_remaining_units", "Units left in stock."},
        {"flashsale_sale_ordered_units", "Units in orders that are sold or reserved."},
        {"flashsale_sale_reserved_units", "Units in reservations; one that is over counts until "
                                          "its units have returned."},
        {"flashsale_sale_oversold_units", "Units in orders beyond those that the sale began with."},
        {"flashsale_sale_lost_update_units", "Units in orders that were not taken from the stock."},
        {"flashsale_feed_behind_orders", "Orders that the reader of them does not have, such as a "
                                         "database."},
        {"flashsale_feed_asked_seconds", "Time since it asked this instance the last time."},
    };
    for (int g = 0; g < GAUGES; g++) {
        metric_head(out, gauges[g][0], "gauge", gauges[g][1]);
        for (int i = 0; i < all->count; i++)
            if (g < INITIAL || (g < FEED_BEHIND ? all->rows[i].counted : all->rows[i].fed))
                text_printf(out, "%s{item=\"%s\"} %lld\n", gauges[g][0], all->rows[i].item,
                            (long long)all->rows[i].values[g]);
    }
}

void sale_metrics_write(sale_table *sales, fs_text *out)
{
    sale_rows all = {.items = 0};
    sale_table_each(sales, see_sale, &all);
    sale_table_each_unopened(sales, see_unopened, &all);
    metric_gauge(out, "flashsale_items", "Items that this instance knows a sale of.", all.items);
    metric_gauge(out, "flashsale_items_halted",
                 "Those of them whose sale is halted until the admin decides.", all.halted);
    write_info(&all, out);
    write_values(&all, out);
}
