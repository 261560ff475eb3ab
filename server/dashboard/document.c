/* document.c - reads the data with the calls of GET /stock, GET /locks and GET /orders, and writes
 * the members in order. */
#include "server/dashboard/document.h"

#include <stdio.h>
#include <string.h>

#include "server/sale/sale_find.h"

void document_init(document *doc, const char *item)
{
    *doc = (document){.up = false};
    snprintf(doc->item, sizeof(doc->item), "%s", item);
}

static const char *state_of(const fs_sale *sale, ledger_status status)
{
    sale_state state = fs_sale_state(sale);
    return sale_state_name(state == STATE_OPEN && status == LEDGER_DAMAGED ? STATE_DAMAGED : state);
}

/* What is damaged has no numbers. */
static bool read_numbers(document *doc, const fs_sale *sale, dlock_time deadline)
{
    ledger_numbers numbers;
    const open_sale *open = &sale->open_sale;
    ledger_status status =
        ledger_count(open->store, &open->terms, open->strategy->guarded, deadline, &numbers);
    if (status == LEDGER_UNAVAILABLE)
        return false;
    if (strcmp(doc->terms.id, open->terms.id) != 0)
        document_init(doc, open->terms.item);
    doc->terms = open->terms;
    doc->state = state_of(sale, status);
    if (status == LEDGER_FOUND) {
        doc->numbers = numbers;
        doc->read = dlock_now();
    }
    return true;
}

/* Keeps the latest, in their order. Those of one segment come from the oldest on. */
static void keep_latest(void *arg, int segment, const char *request, const fs_order *order)
{
    latest_orders *kept = arg;
    int i = 0;
    (void)request;
    while (i < kept->count && kept->of[i].order.time_us > order->time_us)
        i++;
    if (i == LATEST_ORDERS)
        return;
    kept->count += kept->count < LATEST_ORDERS;
    memmove(&kept->of[i + 1], &kept->of[i], (size_t)(kept->count - i - 1) * sizeof(kept->of[0]));
    kept->of[i].segment = segment;
    kept->of[i].order = *order;
}

static bool read_sets(document *doc, const open_sale *sale, dlock_time deadline)
{
    latest_orders latest = {.count = 0};
    bool locked = sale->strategy->locked;
    for (int k = 0; k < sale->key_sets; k++) {
        dlock_info info = {.held = false};
        if ((locked && !sale_lock_look(sale, sale->strategy->lock.kind, k, &info)) ||
            ledger_read(sale->store, &sale->terms, k, -LATEST_ORDERS, -1, deadline, keep_latest,
                        &latest, NULL) == LEDGER_UNAVAILABLE)
            return false;
        doc->lock[k] = info;
    }
    doc->locks = locked ? sale->key_sets : 0;
    doc->latest = latest;
    return true;
}

void document_ask(document *doc, sale_table *sales)
{
    fs_sale *sale;
    dlock_time deadline = dlock_in_ms(STORE_READ_MS);
    sale_status status = sale_find(sales, doc->item, deadline, &sale);
    bool up = status == SALE_OK;
    doc->over = !up && status != SALE_UNAVAILABLE;
    if (up) {
        const open_sale *open = &sale->open_sale;
        for (int k = 0; k < open->key_sets; k++)
            up = up && node_reachable(sale_node(open, k));
        up = up && read_numbers(doc, sale, deadline) && read_sets(doc, open, deadline);
        sale_table_put(sale);
    }
    doc->up = up;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void put_sale(fs_text *out, const document *doc)
{
    const sale_terms *terms = &doc->terms;
    if (doc->read.us == 0) {
        text_put(out, AS_IS("sale", "null"));
        return;
    }
    text_put(out, AS_IS("sale", "{"), STRING("sale", terms->id),
             STRING("strategy", terms->strategy), STRING("state", doc->state),
             NUMBER("initial", terms->initial), NUMBER("remaining", doc->numbers.remaining),
             NUMBER("orders", doc->numbers.orders), NUMBER("units", doc->numbers.units),
             NUMBER("reserved", doc->numbers.reserved), NUMBER("sold", doc->numbers.sold),
             NUMBER("reserve_max_s", terms->reserve_max_s),
             NUMBER("oversold", ledger_oversold(terms->initial, &doc->numbers)),
             NUMBER("lost_updates", ledger_lost(terms->initial, &doc->numbers)),
             NUMBER("hold_ms", terms->hold_ms), NUMBER("lease_ms", terms->lease_ms));
    text_add(out, "}");
}

static void put_locks(fs_text *out, const document *doc, const instances *in)
{
    text_put(out, AS_IS("locks", "["));
    for (int k = 0; k < doc->locks; k++) {
        const dlock_info *lock = &doc->lock[k];
        text_next(out, "{");
        text_put(out, NUMBER("segment", k), FLAG("held", lock->held),
                 STRING("instance", instances_owner(in, lock->owner)),
                 NUMBER("fence", (int64_t)lock->fence),
                 NUMBER("ttl_ms", lock->held ? lock->ttl_ms : 0), NUMBER("waiting", lock->waiters));
        text_add(out, "}");
    }
    text_add(out, "]");
}

static void put_feed(fs_text *out, const document *doc, const instances *in)
{
    const feed_told *feed = instances_feed(in, doc->item, doc->terms.id);
    text_put(out, AS_IS("feed", feed ? "{" : "null"));
    if (!feed)
        return;
    text_put(out, NUMBER("orders", feed->orders), NUMBER("behind", feed->behind),
             NUMBER("asked_us", feed->asked_us));
    text_add(out, "}");
}

static bool holds_one(const document *doc, const instance *one, const instances *in)
{
    bool holds = false;
    for (int k = 0; k < doc->locks; k++)
        holds = holds || instances_owner(in, doc->lock[k].owner) == one->name;
    return holds;
}

static void put_outcomes(fs_text *out, const int64_t *outcomes)
{
    text_put(out, AS_IS("outcomes", "{"));
    for (int o = 0; o < BUY_OUTCOMES; o++)
        text_put(out, NUMBER(outcome_table[o].name, outcomes[o]));
    text_add(out, "}");
}

static void put_instance(fs_text *out, const instance *one, bool holds, int64_t now_ms)
{
    static const char *const states[] = {
        [INSTANCE_UP] = "up", [INSTANCE_DRAINING] = "draining", [INSTANCE_DOWN] = "down"};
    const int64_t *numbers = one->record.numbers;
    text_next(out, "{");
    text_put(out, STRING("name", one->name), STRING("state", states[one->state]),
             NUMBER("seen_ms", now_ms > one->told_ms ? now_ms - one->told_ms : 0),
             FLAG("holds", holds), NUMBER("in_flight", numbers[TOLD_IN_FLIGHT]),
             NUMBER("waiting", numbers[TOLD_WAITING]), NUMBER("batches", numbers[TOLD_BATCHES]),
             NUMBER("batched", numbers[TOLD_BATCHED]),
             NUMBER("largest_batch", numbers[TOLD_LARGEST_BATCH]));
    put_outcomes(out, &numbers[TOLD_COUNTS]);
    text_add(out, "}");
}

static void put_instances(fs_text *out, const document *doc, const instances *in, int64_t now_ms)
{
    int64_t sum[BUY_OUTCOMES] = {0};
    text_put(out, AS_IS("instances", "["));
    for (int i = 0; i < in->count; i++) {
        const instance *one = &in->all[i];
        put_instance(out, one, holds_one(doc, one, in), now_ms);
        for (int o = 0; o < BUY_OUTCOMES; o++)
            sum[o] += one->record.numbers[TOLD_COUNTS + o];
    }
    text_add(out, "]");
    put_outcomes(out, sum);
}

static void put_latest(fs_text *out, const document *doc)
{
    text_put(out, AS_IS("latest", "["));
    for (int i = 0; i < doc->latest.count; i++) {
        const fs_order *order = &doc->latest.of[i].order;
        text_next(out, "{\"order\":\"");
        order_put_id(out, doc->terms.id, doc->terms.segments > 0 ? doc->latest.of[i].segment : -1,
                     order);
        text_add(out, "\"");
        text_put(out, NUMBER("quantity", order->quantity), NUMBER("remaining", order->remaining),
                 NUMBER("fence", (int64_t)order->fence), STRING("instance", order->instance),
                 STRING("state", order_state_name(order->state)));
        text_add(out, "}");
    }
    text_add(out, "]");
}

void document_write(fs_text *out, const document *doc, const instances *in)
{
    int64_t now_ms = instances_now_ms(in);
    text_put(out, STRING("item", doc->item), STRING("redis", doc->up ? "up" : "down"),
             NUMBER("now_ms", now_ms));
    put_sale(out, doc);
    put_feed(out, doc, in);
    put_locks(out, doc, in);
    put_instances(out, doc, in, now_ms);
    text_put(out, AS_IS("minute", ""));
    minute_write(&in->minute, now_ms, out);
    put_latest(out, doc);
}
