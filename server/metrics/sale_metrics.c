/* sale_metrics.c - the sales are copied under the table's lock, then written metric by metric. */
#include "server/metrics/metrics.h"

#include <stdio.h>

/* In the order of `units` below. */
enum { INITIAL, REMAINING, ORDERED, OVERSOLD, LOST, UNITS };

typedef struct sale_row {
    char item[IDENT_MAX + 1], sale[IDENT_MAX + 1];
    const char *strategy; /* NULL: the sale can not be opened here */
    bool halted, sellable, counted;
    int64_t units[UNITS]; /* if counted */
} sale_row;

typedef struct sale_rows {
    int items, halted; /* of all */
    int count;
    sale_row rows[SALE_METRICS_ITEMS];
} sale_rows;

static bool is_in_trouble(const sale_row *row)
{
    return !row->sellable || row->units[OVERSOLD] > 0 || row->units[LOST] > 0;
}

/* One that is in trouble takes the place of one that is not. */
static void put_row(sale_rows *all, const sale_row *row)
{
    all->items++;
    all->halted += row->halted;
    if (all->count < SALE_METRICS_ITEMS) {
        all->rows[all->count++] = *row;
        return;
    }
    for (int i = 0; i < all->count && is_in_trouble(row); i++) {
        if (!is_in_trouble(&all->rows[i])) {
            all->rows[i] = *row;
            return;
        }
    }
}

static void see_sale(void *arg, fs_sale *sale)
{
    const open_sale *open = &sale->open_sale;
    int64_t initial = open->terms.initial;
    ledger_numbers seen;
    sale_row row = {.strategy = open->strategy->name, .counted = sale_last_seen(open, &seen)};
    snprintf(row.item, sizeof(row.item), "%s", open->terms.item);
    snprintf(row.sale, sizeof(row.sale), "%s", open->terms.id);
    row.halted = fs_sale_state(sale) == STATE_HALTED;
    row.sellable = fs_sale_state(sale) == STATE_OPEN;
    if (row.counted) {
        row.units[INITIAL] = initial;
        row.units[REMAINING] = seen.remaining;
        row.units[ORDERED] = seen.units;
        row.units[OVERSOLD] = ledger_oversold(initial, &seen);
        row.units[LOST] = ledger_lost(initial, &seen);
    }
    put_row(arg, &row);
}

static void see_unopened(void *arg, const char *item)
{
    sale_row row = {.halted = true};
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

static void write_flags(const sale_rows *all, fs_text *out)
{
    static const char sellable[] = "flashsale_sale_sellable", halted[] = "flashsale_sale_halted";
    metric_head(out, sellable, "gauge",
                "Whether the sale's data allow it to be sold from, as far as is known here.");
    for (int i = 0; i < all->count; i++)
        text_printf(out, "%s{item=\"%s\"} %d\n", sellable, all->rows[i].item,
                    all->rows[i].sellable);
    metric_head(out, halted, "gauge", "Whether the sale is halted.");
    for (int i = 0; i < all->count; i++)
        text_printf(out, "%s{item=\"%s\"} %d\n", halted, all->rows[i].item, all->rows[i].halted);
}

static void write_units(const sale_rows *all, fs_text *out)
{
    static const char *const units[UNITS][2] = {
        {"flashsale_sale_initial_units", "Units that the sale began with."},
        {"flashsale_sale_remaining_units", "Units left in stock."},
        {"flashsale_sale_ordered_units", "Units in orders."},
        {"flashsale_sale_oversold_units", "Units in orders beyond those that the sale began with."},
        {"flashsale_sale_lost_update_units", "Units in orders that were not taken from the stock."},
    };
    for (int u = 0; u < UNITS; u++) {
        metric_head(out, units[u][0], "gauge", units[u][1]);
        for (int i = 0; i < all->count; i++)
            if (all->rows[i].counted)
                text_printf(out, "%s{item=\"%s\"} %lld\n", units[u][0], all->rows[i].item,
                            (long long)all->rows[i].units[u]);
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
    write_flags(&all, out);
    write_units(&all, out);
}
