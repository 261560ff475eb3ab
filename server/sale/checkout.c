/*
 * checkout.c - chooses the sale, retries, and decides what the buyer may be told.
 *
 * A strategy answers for one try. This file ensures, for all strategies, that a buyer is never told
 * "no" while an earlier try could still become an order.
 */
#include "server/sale/checkout.h"

#include <stdio.h>
#include <string.h>

#include "server/sale/sale_find.h"
#include "server/selling/sell.h"
#include "server/store/replicas.h"
#include "server/strategies/registry.h"

#define SOLD_OUT_MS  100
#define STALE_TRIES  20 /* grants lost in a row before a buyer is told "busy" */
#define RETRY_MS     20 /* pause before asking again what became of an unknown try */
#define RETRIES      3
#define NEXT_SALE_MS 10   /* pause while the next sale is not quite there yet */
#define CLOSED_MS    1000 /* a sale that is in force and yet closed for so long is damaged */

/* ---- in one sale ----------------------------------------------------------------------------- */

/* Whether another try can still help, and pauses before it. */
static bool worth_another(const open_sale *sale, const purchase *request, purchase_outcome outcome,
                          int tries)
{
    if (dlock_left_ms(request->deadline) <= RETRY_MS)
        return false;
    if (outcome == BUY_STALE)
        return tries < STALE_TRIES;
    if (outcome != BUY_UNKNOWN || !sale->strategy->replayable || tries >= RETRIES)
        return false;
    dlock_sleep(dlock_in_ms(RETRY_MS));
    return true;
}

static bool known_sold_out(fs_sale *sale)
{
    int64_t seen = atomic_load_explicit(&sale->sold_out_us, memory_order_relaxed);
    return seen != 0 && dlock_now().us - seen < SOLD_OUT_MS * 1000;
}

/* Refuses; but a retry is told of its order, in whichever segment, or that it may have one. */
static void refuse(const open_sale *sale, const purchase *request, purchase_outcome why,
                   purchase_result *result)
{
    purchase_answer(result, why);
    if (request->keyed)
        ledger_answer(sale->store, &sale->terms, request, LEDGER_LOOK, result);
}

/* If Redis told this thread nothing, as when another thread's finding ended the wait for a lock,
 * the reason is what the keeper was told. */
static void add_reason(fs_node *node, purchase_result *result)
{
    store_complaint why;
    if (result->outcome != BUY_UNAVAILABLE || result->redis[0] != '\0')
        return;
    if (atomic_load(&node->run_changed))
        snprintf(result->redis, sizeof(result->redis), DLOCK_NOT_ADMITTED);
    else if (health_why(&node->health, TROUBLE_SILENT, &why) ||
             health_why(&node->health, TROUBLE_REFUSES, &why))
        memcpy(result->redis, why.redis, sizeof(result->redis));
}

/* If the lock was not acquired, or the wait was ended, the server may be the reason. */
static void blame_server(const fs_node *node, purchase_result *result)
{
    bool ended = result->outcome == BUY_UNAVAILABLE && result->redis[0] == '\0';
    if (result->outcome == BUY_BUSY && !node_reachable(node))
        purchase_answer(result, BUY_UNAVAILABLE);
    else if ((result->outcome == BUY_BUSY || ended) && node_reachable(node) &&
             !node_takes_writes(node))
        purchase_answer(result, BUY_WRITES_PAUSED);
}

/* In a replicated sale an order that a failover may undo is neither told nor a reason to refuse. A
 * batch has already waited for its replicas; for others this waits, after the lock is released. */
static void confirm_told(const open_sale *sale, const purchase *request, purchase_result *result)
{
    int k = result->segment;
    bool sold = result->outcome == BUY_SOLD;
    bool refused = result->outcome == BUY_EXPIRED || result->outcome == BUY_WAS_CANCELLED ||
                   result->outcome == BUY_WAS_SOLD;
    if (sale->terms.durability != DURABILITY_REPLICATED || result->replicated ||
        (!sold && !refused))
        return;
    if (!ledger_confirm(sale->store, &sale->terms, k, request->request, request->deadline))
        purchase_answer(result, sold ? BUY_UNKNOWN : BUY_NOT_DURABLE);
    else if (sold)
        sale_saw_order(sale, &sale->keys[k], &result->order);
}

/* Whether the order that a later attempt has met was made by an earlier attempt of this try: it is
 * not older than the try, as far as Redis's clock is known. */
static bool is_of_this_try(fs_node *node, const purchase *request, const purchase_result *result)
{
    enum { CLOCK_ERROR_US = 5000 };
    return result->outcome == BUY_SOLD &&
           result->order.time_us + CLOCK_ERROR_US >= node_redis_us(node, request->received);
}

/* Tries as often as another try can help. Returns whether one of them is in doubt. */
static bool try_to_sell(fs_sale *sale, const purchase *request, purchase_result *result)
{
    const open_sale *open = &sale->open_sale;
    bool doubt = false;
    int tries = 0;
    do {
        open->strategy->buy(open, sale->strategy, request, result);
        doubt = doubt || result->outcome == BUY_UNKNOWN;
    } while (result->outcome != BUY_SOLD && worth_another(open, request, result->outcome, ++tries));
    return doubt;
}

/* A refusal that passes may hide an order. A Redis that takes no writes (full, or a replica) still
 * tells of it, and so does one whose lock was not acquired in time. "Sold out" from a strategy that
 * writes in steps may be due to an earlier try, whose order is still on its way. So the request is
 * made void if it has no order. */
static void look_behind_refusal(const open_sale *sale, const purchase *request, const fs_node *node,
                                purchase_result *result)
{
    purchase_outcome why = result->outcome;
    bool silent = why == BUY_UNAVAILABLE && result->redis[0] == '\0';
    bool may_hide = outcome_table[why].again == AGAIN_YES && !silent && node_reachable(node);
    if (!request->keyed)
        return;
    if (why == BUY_TOO_LATE || may_hide) /* too late in one segment */
        ledger_answer(sale->store, &sale->terms, request, LEDGER_LOOK, result);
    if (result->outcome == BUY_SOLD_OUT && !sale->strategy->replayable)
        ledger_answer(sale->store, &sale->terms, request, LEDGER_VOID, result);
}

/* Decides what to tell a buyer who bought nothing. */
static void explain(const open_sale *sale, const purchase *request, bool doubt,
                    purchase_result *result)
{
    fs_node *node = sale_node(sale, result->segment);
    add_reason(node, result);
    look_behind_refusal(sale, request, node, result);
    if (doubt && !outcome_table[result->outcome].definite)
        purchase_answer(result, BUY_UNKNOWN);
    else if (result->outcome == BUY_STALE)
        purchase_answer(result, BUY_BUSY);
    blame_server(node, result);
    add_reason(node, result);
}

/* Why not to try; BUY_SOLD: no reason. `node` has the sale's first keys. */
static purchase_outcome find_obstacle(const open_sale *sale, fs_node *node, const purchase *request)
{
    /* a sharded sale is checked segment by segment, later */
    purchase_outcome why = sale->strategy->sharded ? BUY_SOLD : sale_missing_promise(sale, 0, node);
    int64_t most_s = sale->terms.reserve_max_s;
    if (request->reserve_s > most_s)
        why = BUY_NOT_OFFERED;
    else if (request->action != PURCHASE_BUY && most_s == 0) /* unless it has an order */
        why = BUY_NO_ORDER;
    else if (why == BUY_SOLD && request->own_time &&
             request->not_after_us < node_redis_us(node, dlock_now()))
        why = BUY_TOO_LATE; /* so it takes no lock */
    return why;
}

static void sell_in(fs_sale *sale, fs_node *node, const purchase *request, purchase_result *result)
{
    const open_sale *open = &sale->open_sale;
    if (!request->keyed && known_sold_out(sale)) {
        purchase_answer(result, BUY_SOLD_OUT);
        result->remaining = 0;
        return;
    }
    purchase_outcome why = find_obstacle(open, node, request);
    if (why != BUY_SOLD) {
        refuse(open, request, why, result);
        if (result->outcome == why)
            result->redis[0] = '\0'; /* what Redis told this thread was about something else */
        add_reason(node, result);
        return;
    }
    bool doubt = try_to_sell(sale, request, result);
    confirm_told(open, request, result);
    if (result->outcome != BUY_SOLD)
        explain(open, request, doubt, result);
    if (!request->keyed ||
        (doubt && is_of_this_try(sale_node(open, result->segment), request, result)))
        result->replayed = false;
    if (result->outcome == BUY_SOLD_OUT && result->remaining == 0 && result->reserved < 0)
        atomic_store_explicit(&sale->sold_out_us, dlock_now().us, memory_order_relaxed);
}

/* ---- in the right sale ----------------------------------------------------------------------- */

/* After "closed": makes the next look find what Redis says. True: it says that this sale is in
 * force, and whole. */
static bool look_for_next_sale(sale_table *table, const fs_sale *closed, dlock_time deadline)
{
    fs_sale *now;
    bool same = true;
    const char *item = closed->open_sale.terms.item;
    bool whole = sale_refresh(table, item, deadline) == SALE_OK;
    if (sale_find(table, item, deadline, &now) == SALE_OK) {
        same = now == closed;
        sale_table_put(now);
    }
    if (same)
        dlock_sleep(dlock_in_ms(NEXT_SALE_MS));
    return same && whole;
}

static void name_sale(checkout_answer *ret, const sale_terms *terms)
{
    memcpy(ret->sale, terms->id, sizeof(ret->sale));
    ret->sharded = terms->segments > 0;
    ret->per_user_limit = terms->per_user_limit;
}

/* Confirms or cancels in a sale that is over. It needs no lock, as that sale sells nothing. */
static void settle_after(fs_store *store, const sale_terms *terms, const purchase *request,
                         purchase_result *result)
{
    open_sale old;
    const sell_buyer buyer = {request, result};
    purchase_answer(result, BUY_BUSY);
    if (!sale_open(&old, terms, strategy_find(terms->strategy), store))
        return;
    purchase_outcome why = find_obstacle(&old, sale_node(&old, 0), request);
    if (why != BUY_SOLD) {
        refuse(&old, request, why, result);
    } else {
        sell(&old, old.keys, (sell_lock){.hold = NULL}, &buyer, 1, request->deadline);
        confirm_told(&old, request, result);
        if (result->outcome == BUY_CLOSED) /* the sale that has followed is halted */
            refuse(&old, request, BUY_ROLLED_BACK, result);
    }
    sale_close(&old);
}

/* The wanted sale is not the current one. False: look again. */
static bool ask_wanted(const open_sale *now, const char *wanted, const purchase *request,
                       checkout_answer *ret)
{
    sale_terms other;
    sale_status status =
        terms_read(now->store, now->terms.item, wanted, request->deadline, &other, NULL, 0);
    if (status == SALE_OK && !strategy_find(other.strategy))
        status = SALE_UNREADABLE;
    if (status == SALE_OK && strcmp(wanted, now->terms.id) > 0)
        return false; /* the next sale is not in force here yet */
    if (status == SALE_UNAVAILABLE)
        purchase_answer(&ret->result, BUY_UNAVAILABLE);
    else if (status != SALE_OK && status != SALE_NONE) /* it may have an order */
        purchase_answer(&ret->result, BUY_DAMAGED);
    if (status != SALE_OK || !request->keyed)
        return true;
    if (request->action != PURCHASE_BUY) {
        name_sale(ret, &other);
        settle_after(now->store, &other, request, &ret->result);
        return true;
    }
    ledger_status found = ledger_answer(now->store, &other, request, LEDGER_LOOK, &ret->result);
    if (found == LEDGER_NOT_YET) {
        sale_keys keys;
        terms_keys(&other, 0, &keys);
        if (!replicas_missing(now->store, &other, &keys))
            return false; /* not all of its segments are closed */
        purchase_answer(&ret->result, BUY_NOT_DURABLE);
    }
    if (found != LEDGER_OVER)
        name_sale(ret, &other);
    return true;
}

/* Redis has answered that data are missing: is the sale halted, or does it go on? False: look
 * again. */
static bool look_into_trouble(sale_table *table, fs_sale *sale, const purchase *request,
                              purchase_result *result)
{
    fs_sale *now;
    const char *item = sale->open_sale.terms.item;
    sale_status is = sale_refresh(table, item, store_read_deadline(request->deadline));
    if (is == SALE_UNAVAILABLE && result->outcome == BUY_DAMAGED) /* until it is found sound */
        sale_table_change(
            table, item,
            &(sale_news){.event = EVENT_DAMAGED, .of = sale, .detail = "found by a buyer"});
    if (sale_find(table, item, request->deadline, &now) != SALE_OK)
        return true;
    bool same = now == sale;
    sale_table_put(now);
    if (same && fs_sale_state(sale) == STATE_HALTED)
        refuse(&sale->open_sale, request, BUY_ROLLED_BACK, result);
    return same;
}

/* Buys in this sale, if it is the right one. False: look again which one is. */
static bool buy_in(sale_table *table, fs_sale *sale, const char *wanted, purchase *request,
                   checkout_answer *ret)
{
    const open_sale *open = &sale->open_sale;
    fs_node *node = sale_node(open, 0);
    name_sale(ret, &open->terms);
    purchase_set_not_after(request, node_redis_us(node, request->deadline));
    purchase_answer(&ret->result, BUY_CLOSED);
    if (wanted[0] != '\0' && strcmp(wanted, open->terms.id) != 0)
        return ask_wanted(open, wanted, request, ret);
    if (fs_sale_state(sale) == STATE_DAMAGED && /* what is mended is sold at once */
        !look_into_trouble(table, sale, request, &ret->result))
        return false;
    sale_state state = fs_sale_state(sale);
    if (state != STATE_OPEN) { /* a buyer with an order still gets it */
        refuse(open, request, sale_state_outcome(state), &ret->result);
        return true;
    }
    sell_in(sale, node, request, &ret->result);
    if (ret->result.outcome == BUY_NO_ORDER && wanted[0] == '\0' &&
        open->terms.previous[0] != '\0') {
        ask_wanted(open, open->terms.previous, request, ret);
        if (ret->result.outcome == BUY_NO_ORDER)
            name_sale(ret, &open->terms);
    }
    if (ret->result.outcome == BUY_DAMAGED || ret->result.outcome == BUY_ROLLED_BACK)
        return look_into_trouble(table, sale, request, &ret->result);
    return ret->result.outcome != BUY_CLOSED;
}

/* Whether the sale is closed, and yet in force, for too long: since *since (.us 0 = it was not). */
static bool contradicts_itself(bool in_force, dlock_time *since)
{
    if (!in_force)
        since->us = 0;
    else if (since->us == 0)
        *since = dlock_now();
    return in_force && dlock_now().us - since->us > CLOSED_MS * 1000;
}

sale_status checkout(sale_table *table, const char *item, const char *wanted, purchase *request,
                     checkout_answer *ret)
{
    bool done = false;
    dlock_time since = {0};
    for (bool first = true; !done; first = false) {
        fs_sale *sale;
        sale_status status = sale_find(table, item, request->deadline, &sale);
        if (status != SALE_OK)
            return status;
        if (first)
            request->deadline.us = request->received.us + sale->open_sale.request_ms * 1000;
        done = buy_in(table, sale, wanted, request, ret);
        if (!done && dlock_passed(request->deadline)) {
            purchase_answer(&ret->result, BUY_BUSY);
            done = true;
        }
        if (!done &&
            contradicts_itself(look_for_next_sale(table, sale, request->deadline), &since)) {
            purchase_answer(&ret->result, BUY_DAMAGED);
            done = true;
        }
        sale_table_put(sale);
    }
    return SALE_OK;
}
