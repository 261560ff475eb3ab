/*
 * fair - first come, first served: a queue in Redis, and the lock handed to its head.
 *
 * Every waiting thread is an entry of the queue. Release names the next holder in the same step
 * and wakes that one alone, so the lock is never idle and nobody is overtaken. That step is also
 * the one that records the order: every round trip of the holder is one that all others wait for.
 */
#include "server/selling/locked_section.h"
#include "server/selling/read_then_write.h"

static void fair_buy(const open_sale *sale, void *lock, const purchase *request,
                     purchase_result *result)
{
    dlock_hold *hold;
    if (!locked_section_take(sale, lock, request, &hold, result))
        return;
    fs_section section = {.fence = dlock_fence(hold), .locked = true, .last = hold};
    read_then_write(sale, request, section, result);
    dlock_release(hold);
}

const fs_strategy strategy_fair = {
    .name = "fair",
    .summary = "a queue in Redis; release hands the lock to the first in it",
    .source = "the field's best: FIFO with addressed hand-off",
    .weakness = "one hand-off through Redis for every buyer; "
                "oversells when a holder stops or a write comes late",
    .place = 9,
    .locked = true,
    .renews = true,
    .lease_ms = 10000,
    .wait_ms = 5000,
    .lock = {.kind = DLOCK_FAIR},
    .open = locked_section_open,
    .buy = fair_buy,
    .close = locked_section_close,
};
