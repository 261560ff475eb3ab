/*
 * atomic - one script a buyer, which checks and writes in one step. The control without a lock:
 * what remains for a lock to do when Redis itself can decide.
 */
#include "server/base/fail_point.h"
#include "server/selling/sell.h"

static int atomic_open(const sale_terms *terms, void **state, char *err, size_t err_len)
{
    (void)err, (void)err_len;
    *state = (void *)terms;
    return 0;
}

static void atomic_buy(void *state, const buy_request *request, buy_result *result)
{
    const sale_terms *terms = state;
    sell_buyer buyer = {request, result};
    FAIL_POINT("in-section");
    sell(terms, terms->shelves, &buyer, 1, request->deadline);
}

static void atomic_close(void *state)
{
    (void)state;
}

const fs_strategy strategy_atomic = {
    .name = "atomic",
    .summary = "one script a buyer: check, take and record in one step",
    .source = "control",
    .weakness = "one call to Redis for every buyer; only what fits into a script can be sold so",
    .replayable = true,
    .guarded = true,
    .open = atomic_open,
    .buy = atomic_buy,
    .close = atomic_close,
};
