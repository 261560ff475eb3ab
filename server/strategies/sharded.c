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
#include <stdio.h>
#include <stdlib.h>

#include "server/selling/locked_batch.h"
#include "server/store/ledger.h"
#include "server/store/outcome.h"

typedef struct sharded {
    const sale_terms *terms; /* (borrowed) */
    int count;
    fs_combine *segments[];
} sharded;

/* FNV-1a: the same in every process and version. */
static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c != '\0'; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

static void sharded_close(void *state)
{
    sharded *sale = state;
    for (int k = 0; k < sale->count; k++)
        combine_close(sale->segments[k]);
    free(sale);
}

static int sharded_open(const sale_terms *terms, void **state, char *err, size_t err_len)
{
    sharded *sale = calloc(1, sizeof(*sale) + (size_t)terms->shelf_count * sizeof(fs_combine *));
    snprintf(err, err_len, "out of memory");
    if (!sale)
        return -1;
    sale->terms = terms;
    for (; sale->count < terms->shelf_count; sale->count++) {
        fs_combine *segment = combine_open(terms, &terms->shelves[sale->count], err, err_len);
        if (!segment) {
            sharded_close(sale);
            return -1;
        }
        sale->segments[sale->count] = segment;
    }
    *state = sale;
    return 0;
}

/* A refusal that does not tell whether there is an order: on the segment that said it there is
 * none. What is void on one segment is made so on all, for the answer was, or will be, given for
 * good. */
static void look_on_all(const sharded *sale, const buy_request *request, buy_result *result)
{
    ledger_entry entry;
    ledger_how how = result->outcome == BUY_VOID ? LEDGER_VOID : LEDGER_LOOK;
    ledger_status status =
        ledger_find(sale->terms, request->request, how, request->deadline, &entry);
    if (status == LEDGER_FOUND)
        outcome_of_earlier(&entry.order, entry.segment, request, result);
    else if (status == LEDGER_UNAVAILABLE)
        buy_answer(result, BUY_UNAVAILABLE);
}

static void sharded_buy(void *state, const buy_request *request, buy_result *result)
{
    const sharded *sale = state;
    int64_t remaining = 0;
    uint32_t start = hash_of(request->request);
    for (int i = 0; i < sale->count; i++) {
        combine_buy(sale->segments[(start + (uint32_t)i) % (uint32_t)sale->count], request, result);
        if (result->outcome == BUY_VOID || result->outcome == BUY_CLOSED)
            look_on_all(sale, request, result);
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
    .locked = true,
    .renews = true,
    .replayable = true,
    .guarded = true,
    .sharded = true,
    .lease_ms = 3000, /* short costs no safety here: the write is guarded */
    .wait_ms = 5000,
    .open = sharded_open,
    .buy = sharded_buy,
    .close = sharded_close,
};
