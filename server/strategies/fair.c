/*
 * fair - first come, first served: a queue in Redis, and the lock handed to its head.
 *
 * Every waiting thread is an entry of the queue. Release names the next holder in the same step
 * and wakes that one alone, so the lock is never idle and nobody is overtaken.
 */
#include "server/selling/locked_section.h"

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
    .buy = locked_section_buy,
    .close = locked_section_close,
};
