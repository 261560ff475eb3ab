/*
 * fenced - the fair lock, and a write that checks it: safety does not rest on the lock any more.
 *
 * The lock keeps buyers from being in each other's way; inside this process it is passed from
 * thread to thread (cohort). The write is one script that runs only if this very grant still is
 * the last one. A buyer whose grant went stale meanwhile tries again with a new one.
 */
#include "server/base/fail_point.h"
#include "server/selling/locked_section.h"
#include "server/selling/sell.h"

#define COHORT_MAX 64

static int fenced_open(const sale_terms *terms, void **state, char *err, size_t err_len)
{
    dlock_options options = {.kind = DLOCK_FAIR, .cohort_max = COHORT_MAX};
    return locked_open(terms, &options, state, err, err_len);
}

static void fenced_buy(void *state, const buy_request *request, buy_result *result)
{
    const fs_locked *sale = state;
    dlock_hold *hold;
    if (!locked_take(sale, request, &hold, result))
        return;
    sell_buyer buyer = {request, result};
    locked_dwell(sale->terms, request->deadline);
    FAIL_POINT("in-section");
    sell_guarded(sale->terms, sale->terms->shelves, hold, false, &buyer, 1, request->deadline);
    dlock_release(hold);
}

const fs_strategy strategy_fenced = {
    .name = "fenced",
    .summary = "the fair lock, passed on inside the process; one guarded write a buyer",
    .source = "ours: fair + cohort + fence",
    .weakness = "one call to Redis for every buyer, one after the other",
    .locked = true,
    .renews = true,
    .replayable = true,
    .guarded = true,
    .lease_ms = 3000, /* short costs no safety here: the write is guarded */
    .wait_ms = 5000,
    .open = fenced_open,
    .buy = fenced_buy,
    .close = locked_close,
};
