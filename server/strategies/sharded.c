/*
 * sharded - the stock is split into segments, each with its own lock and sold as `combined` sells.
 * (Article 000's closing remark. In a cluster the tags spread the segments over the servers.)
 *
 * A request starts at the segment that its id hashes to, and walks the ring in a fixed order. It
 * goes on only after a definite "sold out", which in a replicated sale the replicas must have. A
 * retry has the same id, so it walks the same way and meets its first record before it can buy
 * anything else. If the sale is over or the request is void, the walk stops early, and an order may
 * still exist in a later segment: then all segments are searched. No stock moves between segments,
 * so a large quantity can be refused although the segments together have enough.
 *
 * While the server of a segment is away, buyers who meet that segment are refused; others still
 * buy. A damaged segment stops the whole sale (sale/sale_state.h).
 */
#include "server/selling/batch_section.h"
#include "server/store/ledger.h"

/* The segment that refused has no order, but another one may have it. A request that is void in one
 * segment is made void in all, because that answer is final. */
static void look_in_all(const open_sale *sale, const purchase *request, purchase_result *result)
{
    ledger_how how = result->outcome == BUY_VOID ? LEDGER_VOID : LEDGER_LOOK;
    ledger_answer(sale->store, &sale->terms, request, how, result);
}

/* Refuses without a call to Redis, so there is no error of Redis to quote. */
static void refuse(purchase_result *result, purchase_outcome missing)
{
    purchase_answer(result, missing);
    result->redis[0] = '\0';
}

/* A failover of the segment's server may undo sales there. A retry would then buy those units,
 * although it may have an order in a later segment. */
static bool may_come_back(const open_sale *sale, const purchase_result *result)
{
    return sale->terms.durability == DURABILITY_REPLICATED && result->outcome == BUY_SOLD_OUT &&
           !result->replicated;
}

/* Buys in one segment, by the clock of its server. False: the answer is the buyer's. */
static bool sold_out_in(const open_sale *sale, void *state, int k, const purchase *request,
                        purchase_result *result)
{
    purchase there = *request;
    fs_node *node = sale_node(sale, k);
    purchase_outcome missing = sale_missing_promise(sale, k, node);
    purchase_set_not_after(&there, node_redis_us(node, request->deadline));
    if (missing == BUY_SOLD)
        batch_section_buy_in(sale, state, k, &there, result);
    else
        refuse(result, missing);
    if (may_come_back(sale, result))
        refuse(result, BUY_NOT_DURABLE);
    result->segment = k;
    if (result->outcome == BUY_VOID || result->outcome == BUY_CLOSED)
        look_in_all(sale, request, result);
    return result->outcome == BUY_SOLD_OUT;
}

static void sharded_buy(const open_sale *sale, void *state, const purchase *request,
                        purchase_result *result)
{
    int64_t remaining = 0;
    uint32_t start = text_hash(request->request), count = (uint32_t)sale->key_sets;
    for (uint32_t i = 0; i < count; i++) {
        if (!sold_out_in(sale, state, (int)((start + i) % count), request, result))
            return;
        remaining += result->remaining;
    }
    result->remaining = remaining;
}

const fs_strategy strategy_sharded = {
    .name = "sharded",
    .summary = "the stock in segments, each with its own lock and sold as combined",
    .source = "article 000's closing remark",
    .weakness = "the last units are spread over segments; no limit per user",
    .place = 14,
    .locked = true,
    .renews = true,
    .replayable = true,
    .guarded = true,
    .sharded = true,
    .lease_ms = 3000, /* short costs no safety here: the write is guarded */
    .wait_ms = 5000,
    .lock = {.kind = DLOCK_FAIR},
    .open = batch_section_open,
    .buy = sharded_buy,
    .close = batch_section_close,
};
