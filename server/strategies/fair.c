/*
 * fair - FIFO: a queue in Redis, and each release hands the lock to its head.
 *
 * Every waiting thread has an entry in the queue. One script releases the lock, makes the head of
 * the queue the holder and wakes it alone. So the lock is never idle and no waiter is overtaken.
 * The same script records the order, because all waiters wait for each round trip of the holder.
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
