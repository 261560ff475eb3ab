/* item_view.c - one question after the other, as GET /stock, GET /locks and GET /orders ask them.
 */
#include "server/dashboard/item_view.h"

#include <stdio.h>
#include <string.h>

#include "server/sale/sale_find.h"

void view_init(item_view *view, const char *item)
{
    memset(view, 0, sizeof(*view));
    snprintf(view->item, sizeof(view->item), "%s", item);
}

static const char *state_of(const fs_sale *sale, ledger_status status)
{
    sale_state state = fs_sale_state(sale);
    return sale_state_name(state == STATE_OPEN && status == LEDGER_DAMAGED ? STATE_DAMAGED : state);
}

/* What is damaged has no numbers. */
static bool read_numbers(item_view *view, const fs_sale *sale, dlock_time deadline)
{
    ledger_numbers numbers;
    const open_sale *open = &sale->open_sale;
    ledger_status status =
        ledger_count(open->store, &open->terms, open->strategy->guarded, deadline, &numbers);
    if (status == LEDGER_UNAVAILABLE)
        return false;
    if (strcmp(view->terms.id, open->terms.id) != 0)
        view_init(view, open->terms.item);
    view->terms = open->terms;
    view->state = state_of(sale, status);
    if (status == LEDGER_FOUND) {
        view->numbers = numbers;
        view->read = dlock_now();
    }
    return true;
}

static bool read_locks(item_view *view, const open_sale *sale)
{
    dlock_info info;
    int count = sale->strategy->locked ? sale->key_sets : 0;
    for (int k = 0; k < count; k++) {
        if (!sale_lock_look(sale, sale->strategy->lock.kind, k, &info))
            return false;
        view->lock[k] = info;
    }
    view->locks = count;
    return true;
}

/* ---- the latest orders ----------------------------------------------------------------------- */

typedef struct latest_orders {
    int count;
    latest_order all[VIEW_ORDERS];
} latest_orders;

/* Keeps the latest, in their order. Those of one segment come from the oldest on. */
static void keep_latest(void *arg, int segment, const char *request, const fs_order *order)
{
    latest_orders *kept = arg;
    int i = 0;
    (void)request;
    while (i < kept->count && kept->all[i].order.time_us > order->time_us)
        i++;
    if (i == VIEW_ORDERS)
        return;
    kept->count += kept->count < VIEW_ORDERS;
    memmove(&kept->all[i + 1], &kept->all[i], (size_t)(kept->count - i - 1) * sizeof(kept->all[0]));
    kept->all[i] = (latest_order){segment, *order};
}

static bool read_latest(item_view *view, const open_sale *sale, dlock_time deadline)
{
    latest_orders kept = {.count = 0};
    for (int k = 0; k < sale->key_sets; k++)
        if (ledger_read_last(sale->store, &sale->terms, k, VIEW_ORDERS, deadline, keep_latest,
                             &kept) == LEDGER_UNAVAILABLE)
            return false;
    view->orders = kept.count;
    memcpy(view->latest, kept.all, sizeof(kept.all));
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool answers(const open_sale *sale)
{
    bool all = true;
    for (int k = 0; k < sale->key_sets; k++)
        all = all && node_reachable(sale_node(sale, k));
    return all;
}

void view_read(item_view *view, sale_table *sales)
{
    fs_sale *sale;
    dlock_time deadline = dlock_in_ms(STORE_READ_MS);
    view->up = false;
    sale_status status = sale_find(sales, view->item, deadline, &sale);
    view->over = status != SALE_OK && status != SALE_UNAVAILABLE;
    if (status != SALE_OK)
        return;
    const open_sale *open = &sale->open_sale;
    view->up = answers(open) && read_numbers(view, sale, deadline) && read_locks(view, open) &&
               read_latest(view, open, deadline);
    sale_table_put(sale);
}
