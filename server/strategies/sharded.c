/*
 * sharded - the stock in segments, each with a lock of its own and sold as `combined` sells.
 * (Article 000's closing remark; over the servers of a cluster the segments spread by their tags.)
 *
 * A request starts at the segment that its id hashes to and walks the ring in fixed order; it goes
 * on only after a definite "sold out", in a replicated sale one that the replicas have. A retry has
 * the same id, so it walks the same way and meets its first record before anything else could be
 * sold to it. Where it is stopped on its way,
 * because the sale is over or the request void, it still may have an order further on. No stock
 * moves between segments, so a large quantity can be refused although the segments together have
 * enough.
 *
 * A segment whose server is away is answered for by nobody: its buyers are refused, the others are
 * sold to. A damaged one stops the whole sale (sale/sale_state.h).
 */
#include "server/selling/batch_section.h"
#include "server/store/ledger.h"

/* A refusal that does not tell whether there is an order: in the segment that said it there is
 * none. What is void in one segment is made so in all, for the answer was, or will be, given for
 * good. */
static void look_in_all(const open_sale *sale, const purchase *request, purchase_result *result)
{
    ledger_how how = result->outcome == BUY_VOID ? LEDGER_VOID : LEDGER_LOOK;
    ledger_answer(sale->store, &sale->terms, request, how, result);
}

/* Nothing was said to this thread. */
static void refuse(purchase_result *result, purchase_outcome missing)
{
    purchase_answer(result, missing);
    result->redis[0] = '\0';
}

/* A failover of the segment's server may bring units back that were sold there: a retry would buy
 * them, whatever it has further on. */
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
    .weakness = "the last units lie in different segments; no limit a user can be kept",
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
