/*
 * pubsub - Redisson's lock: its hash, its channel, its watchdog. (Article 001, the second half.)
 *
 * Each release is published to all processes, and one waiter per process then tries to acquire the
 * lock. One of them succeeds, the others fail. Waiters wake faster than by polling, but each
 * release costs Redis one call from every waiting process (a thundering herd).
 */
#include "server/selling/locked_section.h"

const fs_strategy strategy_pubsub = {
    .name = "pubsub",
    .summary = "Redisson's layout: a hash, and a broadcast that wakes a waiter in every process",
    .source = "article 001, Redisson",
    .weakness = "every release wakes all processes for one winner; "
                "oversells when a holder stops or a write comes late",
    .place = 7,
    .locked = true,
    .renews = true,
    .lease_ms = 30000,
    .wait_ms = 10000,
    .lock = {.kind = DLOCK_HASH},
    .open = locked_section_open,
    .buy = locked_section_buy,
    .close = locked_section_close,
};
