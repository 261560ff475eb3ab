/*
 * setnx - SET NAME token NX PX lease; released by compare-and-delete. (Article 003.)
 *
 * A buyer that finds the lock held is refused at once, as in the article; with wait_ms it polls
 * every few milliseconds. The lease is not renewed: a critical section that outlasts it continues
 * without protection, and does not notice.
 */
#include "server/selling/locked_section.h"

const fs_strategy strategy_setnx = {
    .name = "setnx",
    .summary = "SET NX PX and a token; compare-and-delete; fails fast",
    .source = "article 003",
    .weakness = "fails buyers while stock is left; not renewed; "
                "oversells when a holder stops or a write comes late",
    .place = 2,
    .locked = true,
    .lease_ms = 15000,
    .lock = {.kind = DLOCK_STRING, .renew_ms = DLOCK_NEVER, .poll_ms = 10},
    .open = locked_section_open,
    .buy = locked_section_buy,
    .close = locked_section_close,
};
