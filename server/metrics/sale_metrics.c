/* sale_metrics.c - the sales are copied under the table's lock, then written metric by metric. */
#include "server/metrics/sale_metrics.h"

#include <stdio.h>

#include "server/metrics/metric_text.h"

typedef struct sale_row {
    char item[IDENT_MAX + 1], sale[IDENT_MAX + 1];
    const char *strategy; /* NULL: the sale can not be opened here */
    bool halted, sellable, counted;
    int64_t initial;
    ledger_numbers numbers; /* if counted */
} sale_row;

typedef struct sale_rows {
    int items, halted; /* of all */
    int count;
    sale_row rows[SALE_METRICS_ITEMS];
} sale_rows;

static bool is_in_trouble(const sale_row *row)
{
    return !row->sellable || (row->counted && (ledger_oversold(row->initial, &row->numbers) > 0 ||
                                               ledger_lost(row->initial, &row->numbers) > 0));
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
    sale_row row = {.strategy = open->strategy->name, .initial = open->terms.initial};
    snprintf(row.item, sizeof(row.item), "%s", open->terms.item);
    snprintf(row.sale, sizeof(row.sale), "%s", open->terms.id);
    row.halted = fs_sale_state(sale) == STATE_HALTED;
    row.sellable = fs_sale_state(sale) == STATE_OPEN;
    row.counted = sale_last_seen(open, &row.numbers);
    put_row(arg, &row);
}

static void see_unopened(void *arg, const char *item)
{
    sale_row row = {.halted = true};
    snprintf(row.item, sizeof(row.item), "%s", item);
    put_row(arg, &row);
}

static void write_flag(const sale_rows *all, fs_text *out, const char *name, const char *help,
                       bool (*is)(const sale_row *row))
{
    metric_head(out, name, "gauge", help);
    for (int i = 0; i < all->count; i++)
        text_printf(out, "%s{item=\"%s\"} %d\n", name, all->rows[i].item, is(&all->rows[i]));
}

static bool is_halted(const sale_row *row)
{
    return row->halted;
}

static bool is_sellable(const sale_row *row)
{
    return row->sellable;
}

static void write_units(const sale_rows *all, fs_text *out, const char *name, const char *help,
                        int64_t (*units)(int64_t initial, const ledger_numbers *numbers))
{
    metric_head(out, name, "gauge", help);
    for (int i = 0; i < all->count; i++) {
        const sale_row *row = &all->rows[i];
        if (row->counted)
            text_printf(out, "%s{item=\"%s\"} %lld\n", name, row->item,
                        (long long)units(row->initial, &row->numbers));
    }
}

static int64_t units_initial(int64_t initial, const ledger_numbers *numbers)
{
    (void)numbers;
    return initial;
}

static int64_t units_remaining(int64_t initial, const ledger_numbers *numbers)
{
    (void)initial;
    return numbers->remaining;
}

static int64_t units_ordered(int64_t initial, const ledger_numbers *numbers)
{
    (void)initial;
    return numbers->units;
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

void sale_metrics_write(sale_table *sales, fs_text *out)
{
    sale_rows all = {.items = 0};
    sale_table_each(sales, see_sale, &all);
    sale_table_each_unopened(sales, see_unopened, &all);
    metric_gauge(out, "flashsale_items", "Items that this instance knows a sale of.", all.items);
    metric_gauge(out, "flashsale_items_halted",
                 "Those of them whose sale is halted until the admin decides.", all.halted);
    write_info(&all, out);
    write_flag(&all, out, "flashsale_sale_sellable",
               "Whether the sale's data allow it to be sold from, as far as is known here.",
               is_sellable);
    write_flag(&all, out, "flashsale_sale_halted", "Whether the sale is halted.", is_halted);
    write_units(&all, out, "flashsale_sale_initial_units", "Units that the sale began with.",
                units_initial);
    write_units(&all, out, "flashsale_sale_remaining_units", "Units left in stock.",
                units_remaining);
    write_units(&all, out, "flashsale_sale_ordered_units", "Units in orders.", units_ordered);
    write_units(&all, out, "flashsale_sale_oversold_units",
                "Units in orders beyond those that the sale began with.", ledger_oversold);
    write_units(&all, out, "flashsale_sale_lost_update_units",
                "Units in orders that were not taken from the stock.", ledger_lost);
}
