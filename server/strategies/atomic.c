/*
 * atomic - one script per buyer checks the stock and writes the order in one step. This control has
 * no lock: it shows what a lock can still add when Redis itself decides.
 */
#include "server/base/fail_point.h"
#include "server/selling/sell.h"
#include "server/selling/strategy.h"

static void atomic_buy(const open_sale *sale, void *state, const purchase *request,
                       purchase_result *result)
{
    (void)state;
    sell_buyer buyer = {request, result};
    FAIL_POINT("in-section");
    sell(sale, sale->keys, (sell_lock){.hold = NULL}, &buyer, 1, request->deadline);
    FAIL_POINT("written");
}

const fs_strategy strategy_atomic = {
    .name = "atomic",
    .summary = "one script a buyer: check, take and record in one step",
    .source = "control",
    .weakness = "one call to Redis per buyer; all checks must fit into a script",
    .place = 12,
    .replayable = true,
    .guarded = true,
    .reserves = true,
    .buy = atomic_buy,
};
