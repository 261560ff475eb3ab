/*
 * batched - combining without a lock: one script sells for all who wait in this process. The
 * control that shows what of `combined` is the batching, and what the lock.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/base/fail_point.h"
#include "server/selling/batch.h"

typedef struct batched {
    const sale_terms *terms;
    fs_batch *batch;
} batched;

static void batched_serve(void *state, fs_batch *batch)
{
    const batched *sale = state;
    batch_taken taken;
    batch_take(batch, &taken);
    if (taken.count > 0) {
        FAIL_POINT("in-section");
        sell(sale->terms, sale->terms->shelves, taken.buyers, taken.count, taken.deadline);
    }
    batch_answer(batch, &taken);
}

static void batched_close(void *state)
{
    batched *sale = state;
    batch_close(sale->batch);
    free(sale);
}

static int batched_open(const sale_terms *terms, void **state, char *err, size_t err_len)
{
    batched *sale = calloc(1, sizeof(*sale));
    if (sale) {
        sale->terms = terms;
        sale->batch = batch_open(batched_serve, sale);
    }
    if (!sale || !sale->batch) {
        snprintf(err, err_len, "out of memory or threads");
        free(sale);
        return -1;
    }
    *state = sale;
    return 0;
}

static void batched_buy(void *state, const buy_request *request, buy_result *result)
{
    const batched *sale = state;
    batch_buy(sale->batch, sale->terms->wait_ms, request, result);
}

const fs_strategy strategy_batched = {
    .name = "batched",
    .summary = "one script sells for everybody waiting in the process; no lock",
    .source = "control",
    .weakness = "only what fits into a script can be sold so",
    .replayable = true,
    .guarded = true,
    .wait_ms = 5000,
    .open = batched_open,
    .buy = batched_buy,
    .close = batched_close,
};
