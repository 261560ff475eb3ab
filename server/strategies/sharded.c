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
 * sold to. Once a buyer has met a segment that is damaged, nothing is sold from the others either,
 * until all segments are whole again.
 */
#include <stdlib.h>

#include "server/selling/batch_section.h"
#include "server/store/ledger.h"

typedef struct sharded_state {
    void *batches;       /* of batch_section.h */
    atomic_bool damaged; /* a segment was, when it was last looked at */
} sharded_state;

static int sharded_open(const open_sale *sale, void **ret, char *err, size_t err_len)
{
    sharded_state *state = calloc(1, sizeof(*state));
    if (!state || batch_section_open(sale, &state->batches, err, err_len) != 0) {
        free(state);
        return -1;
    }
    *ret = state;
    return 0;
}

static void sharded_close(void *state)
{
    sharded_state *all = state;
    batch_section_close(all->batches);
    free(all);
}

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
    else if (status == LEDGER_UNCONFIRMED || (how == LEDGER_VOID && status == LEDGER_NOT_YET))
        purchase_answer(result, BUY_UNKNOWN);
    else if (status == LEDGER_DAMAGED || status == LEDGER_UNAVAILABLE)
        purchase_answer(result, status == LEDGER_DAMAGED ? BUY_DAMAGED : BUY_UNAVAILABLE);
}

/* False: a segment is damaged still, and `result` says so, or has the order of an earlier try. */
static bool is_whole(const open_sale *sale, sharded_state *state, const purchase *request,
                     purchase_result *result)
{
    ledger_numbers numbers;
    if (!atomic_load(&state->damaged))
        return true;
    if (ledger_count(sale->store, &sale->terms, true, request->deadline, &numbers) ==
        LEDGER_FOUND) {
        atomic_store(&state->damaged, false);
        return true;
    }
    purchase_answer(result, BUY_DAMAGED);
    if (request->keyed)
        look_in_all(sale, request, result);
    return false;
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
static bool sold_out_in(const open_sale *sale, sharded_state *state, int k, const purchase *request,
                        purchase_result *result)
{
    purchase there = *request;
    purchase_outcome missing = sale_missing_promise(sale, k);
    purchase_set_not_after(&there, node_redis_us(sale_node(sale, k), request->deadline));
    if (missing == BUY_SOLD)
        batch_section_buy_in(sale, state->batches, k, &there, result);
    else
        refuse(result, missing);
    if (may_come_back(sale, result))
        refuse(result, BUY_NOT_DURABLE);
    result->segment = k;
    if (result->outcome == BUY_VOID || result->outcome == BUY_CLOSED)
        look_in_all(sale, request, result);
    if (result->outcome == BUY_DAMAGED)
        atomic_store(&state->damaged, true);
    return result->outcome == BUY_SOLD_OUT;
}

static void sharded_buy(const open_sale *sale, void *state, const purchase *request,
                        purchase_result *result)
{
    int64_t remaining = 0;
    if (!is_whole(sale, state, request, result))
        return;
    uint32_t start = hash_of(request->request), count = (uint32_t)sale->key_sets;
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
    .open = sharded_open,
    .buy = sharded_buy,
    .close = sharded_close,
};
