/*
 * reentrant - a hash owner -> 1, renewed in the background. (Article 001, the hand-made lock.)
 *
 * A buyer that finds the lock held polls every 50 ms. The first poll after a release gets the lock,
 * whoever has waited longest: some buyers starve while others buy several times in a row.
 */
#include "server/selling/locked_section.h"

const fs_strategy strategy_reentrant = {
    .name = "reentrant",
    .summary = "a hash with the owner; waiters ask every 50 ms; renewed every lease / 3",
    .source = "article 001, hand-made",
    .weakness = "the lock is idle until a waiter polls; unfair; "
                "oversells when a holder stops or a write comes late",
    .place = 5,
    .locked = true,
    .renews = true,
    .lease_ms = 10000,
    .wait_ms = 10000,
    .lock = {.kind = DLOCK_HASH, .poll_ms = 50},
    .open = locked_section_open,
    .buy = locked_section_buy,
    .close = locked_section_close,
};
