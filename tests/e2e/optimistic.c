/*
 * optimistic - WATCH, look, MULTI ... EXEC: nothing is locked, and nothing is written when somebody
 * else was faster.
 *
 * A buyer who lost the race looks again, twenty times at most. Each time one of all who race wins.
 */
#include <stdio.h>

#include "server/base/fail_point.h"
#include "server/selling/strategy.h"
#include "server/selling/transaction.h"

static void optimistic_buy(const open_sale *sale, void *state, const purchase *request,
                           purchase_result *result)
{
    (void)state;
    int64_t left;
    char taken[24];
    transaction t;
    if (!transaction_begin(&t, sale, request, &left, result))
        return;
    snprintf(taken, sizeof(taken), "-%lld", (long long)request->quantity);
    transaction_add(&t, WORDS("INCRBY", sale->keys->stock, taken));
    FAIL_POINT("in-section");
    transaction_commit(&t, left);
    FAIL_POINT("written");
}

const fs_strategy strategy_optimistic = {
    .name = "optimistic",
    .summary = "WATCH, look, MULTI and EXEC; nothing is written when somebody was faster",
    .source = "Redis's own manual: optimistic locking",
    .weakness = "of all who race one wins at a time; in a crowd buyers are told busy",
    .replayable = true,
    .guarded = true,
    .buy = optimistic_buy,
};
