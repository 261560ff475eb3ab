/*
 * sharded - the stock in segments, each with a lock of its own and sold as `combined` sells.
 * (Article 000's closing remark; over the servers of a cluster the segments spread by their tags.)
 *
 * A request starts at the segment that its id hashes to and walks the ring in fixed order; it goes
 * on only after a definite "sold out". A retry has the same id, so it walks the same way and meets
 * its first record before anything else could be sold to it. Where it is stopped on its way,
 * because the sale is over or the request void, it still may have an order further on. No stock
 * moves between segments, so a large quantity can be refused although the segments together have
 * enough.
 */

#include "server/selling/batch_section.h"
#include "server/store/ledger.h"

/* FNV-1a: the same in every process and version. */
static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

/* A refusal that does not tell whether there is an order: in the segment that said it there is
 * none. What is void in one segment is made so in all, for the answer was, or will be, given for
 * good. */
static void look_in_all(const open_sale *sale, const purchase *request, purchase_result *result)
{
    ledger_entry entry;
    ledger_how how = result->outcome == BUY_VOID ? LEDGER_VOID : LEDGER_LOOK;
    ledger_status status =
        ledger_find(sale->store, &sale->terms, request->request, how, request->deadline, &entry);
    if (status == LEDGER_FOUND)
        purchase_answer_earlier(result, &entry.order, entry.segment, request);
    else if (status == LEDGER_DAMAGED || status == LEDGER_UNAVAILABLE)
        purchase_answer(result, status == LEDGER_DAMAGED ? BUY_DAMAGED : BUY_UNAVAILABLE);
}

static void sharded_buy(const open_sale *sale, void *state, const purchase *request,
                        purchase_result *result)
{
    int64_t remaining = 0;
    uint32_t start = hash_of(request->request), count = (uint32_t)sale->key_sets;
    for (uint32_t i = 0; i < count; i++) {
        batch_section_buy_in(sale, state, (int)((start + i) % count), request, result);
        if (result->outcome == BUY_VOID || result->outcome == BUY_CLOSED)
            look_in_all(sale, request, result);
        if (result->outcome != BUY_SOLD_OUT)
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
