/*
 * fenced - the lock of `fair`, and a write that checks it: safety no longer depends on the lock.
 *
 * The lock only prevents contention. Inside this process it passes from thread to thread (cohort).
 * The write is one script, which runs only if this grant is still the last one issued. A buyer
 * whose grant has become stale acquires a new one and tries again.
 */
#include "server/base/fail_point.h"
#include "server/selling/locked_section.h"
#include "server/selling/sell.h"

static void fenced_buy(const open_sale *sale, void *lock, const purchase *request,
                       purchase_result *result)
{
    dlock_hold *hold;
    if (!locked_section_take(sale, lock, request, &hold, result))
        return;
    sell_buyer buyer = {request, result};
    FAIL_POINT("locked");
    sale_hold(sale, request->deadline);
    FAIL_POINT("in-section");
    sell(sale, sale->keys, (sell_lock){.hold = hold}, &buyer, 1, request->deadline);
    FAIL_POINT("written");
    dlock_release(hold);
}

const fs_strategy strategy_fenced = {
    .name = "fenced",
    .summary = "the fair lock, passed on inside the process; one guarded write a buyer",
    .source = "ours: fair + cohort + fence",
    .weakness = "one call to Redis for every buyer, one after the other",
    .place = 10,
    .locked = true,
    .renews = true,
    .replayable = true,
    .guarded = true,
    .reserves = true,
    .lease_ms = 3000, /* short costs no safety here: the write is guarded */
    .wait_ms = 5000,
    .lock = {.kind = DLOCK_FAIR, .cohort_max = 64},
    .open = locked_section_open,
    .buy = fenced_buy,
    .close = locked_section_close,
};
