/* document.c - the members, in their order. */
#include "server/dashboard/document.h"

static void put_number(fs_text *out, const char *before, int64_t value)
{
    text_add(out, before);
    text_add_int(out, value);
}

static void put_sale(fs_text *out, const item_view *view)
{
    const sale_terms *terms = &view->terms;
    if (view->read.us == 0) {
        text_add(out, ",\"sale\":null");
        return;
    }
    text_add_all(out, ",\"sale\":{\"sale\":\"", terms->id, "\",\"strategy\":\"", terms->strategy,
                 "\",\"state\":\"", view->state, "\"");
    put_number(out, ",\"initial\":", terms->initial);
    put_number(out, ",\"remaining\":", view->numbers.remaining);
    put_number(out, ",\"orders\":", view->numbers.orders);
    put_number(out, ",\"units\":", view->numbers.units);
    put_number(out, ",\"oversold\":", ledger_oversold(terms->initial, &view->numbers));
    put_number(out, ",\"lost_updates\":", ledger_lost(terms->initial, &view->numbers));
    put_number(out, ",\"hold_ms\":", terms->hold_ms);
    put_number(out, ",\"lease_ms\":", terms->lease_ms);
    text_add(out, "}");
}

static void put_locks(fs_text *out, const item_view *view, const instances *in)
{
    text_add(out, ",\"locks\":[");
    for (int k = 0; k < view->locks; k++) {
        const dlock_info *lock = &view->lock[k];
        put_number(out, k > 0 ? ",{\"segment\":" : "{\"segment\":", k);
        text_add_all(out, ",\"held\":", lock->held ? "true" : "false", ",\"instance\":\"",
                     instances_owner(in, lock->owner), "\"");
        put_number(out, ",\"fence\":", (int64_t)lock->fence);
        put_number(out, ",\"ttl_ms\":", lock->held ? lock->ttl_ms : 0);
        put_number(out, ",\"waiting\":", lock->waiters);
        text_add(out, "}");
    }
    text_add(out, "]");
}

/* ---- instances ------------------------------------------------------------------------------- */

/* Of the item's locks. */
static bool holds_one(const item_view *view, const instance *one, const instances *in)
{
    bool holds = false;
    for (int k = 0; k < view->locks; k++)
        holds = holds || instances_owner(in, view->lock[k].owner) == one->name;
    return holds;
}

static void put_outcomes(fs_text *out, const int64_t *outcomes)
{
    text_add(out, "\"outcomes\":{");
    for (int o = 0; o < BUY_OUTCOMES; o++) {
        text_add_all(out, o > 0 ? ",\"" : "\"", purchase_outcome_name((purchase_outcome)o), "\"");
        put_number(out, ":", outcomes[o]);
    }
    text_add(out, "}");
}

static void put_instance(fs_text *out, const instance *one, bool holds, int64_t now_ms)
{
    static const char *const states[] = {
        [INSTANCE_UP] = "up", [INSTANCE_DRAINING] = "draining", [INSTANCE_DOWN] = "down"};
    const instance_record *record = &one->record;
    text_add_all(out, "{\"name\":\"", one->name, "\",\"state\":\"", states[one->state], "\"");
    put_number(out, ",\"seen_ms\":", now_ms > one->told_ms ? now_ms - one->told_ms : 0);
    text_add_all(out, ",\"holds\":", holds ? "true" : "false");
    put_number(out, ",\"in_flight\":", record->in_flight);
    put_number(out, ",\"waiting\":", record->waiting);
    put_number(out, ",\"batches\":", record->batches);
    put_number(out, ",\"batched\":", record->batched);
    put_number(out, ",\"largest_batch\":", record->largest_batch);
    text_add(out, ",");
    put_outcomes(out, record->counts.outcomes);
    text_add(out, "}");
}

static void put_instances(fs_text *out, const item_view *view, const instances *in, int64_t now_ms)
{
    int64_t sum[BUY_OUTCOMES] = {0};
    text_add(out, ",\"instances\":[");
    for (int i = 0; i < in->count; i++) {
        const instance *one = &in->all[i];
        text_add(out, i > 0 ? "," : "");
        put_instance(out, one, holds_one(view, one, in), now_ms);
        for (int o = 0; o < BUY_OUTCOMES; o++)
            sum[o] += one->record.counts.outcomes[o];
    }
    text_add(out, "],");
    put_outcomes(out, sum);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void put_order(fs_text *out, const sale_terms *terms, const latest_order *latest)
{
    const fs_order *order = &latest->order;
    text_add(out, "{\"order\":\"");
    order_put_id(out, terms->id, terms->segments > 0 ? latest->segment : -1, order);
    put_number(out, "\",\"quantity\":", order->quantity);
    put_number(out, ",\"remaining\":", order->remaining);
    put_number(out, ",\"fence\":", (int64_t)order->fence);
    text_add(out, ",\"instance\":");
    text_json(out, order->instance);
    text_add(out, "}");
}

static void put_latest(fs_text *out, const item_view *view)
{
    text_add(out, ",\"latest\":[");
    for (int i = 0; i < view->orders; i++) {
        text_add(out, i > 0 ? "," : "");
        put_order(out, &view->terms, &view->latest[i]);
    }
    text_add(out, "]");
}

void document_write(fs_text *out, const item_view *view, const instances *in)
{
    int64_t now_ms = instances_now_ms(in);
    text_add_all(out, "\"item\":\"", view->item, "\",\"redis\":\"", view->up ? "up" : "down", "\"");
    put_number(out, ",\"now_ms\":", now_ms);
    put_sale(out, view);
    put_locks(out, view, in);
    put_instances(out, view, in, now_ms);
    text_add(out, ",\"minute\":");
    minute_write(&in->minute, now_ms, out);
    put_latest(out, view);
    text_add(out, "}\n");
}
