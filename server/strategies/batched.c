/*
 * batched - group commit without a lock: one script sells to all buyers who wait in this process.
 * This control shows how much of `combined` is due to batching, and how much to the lock.
 */
#include "server/selling/batch_section.h"

const fs_strategy strategy_batched = {
    .name = "batched",
    .summary = "one script sells to all buyers who wait in the process; no lock",
    .source = "control",
    .weakness = "all checks must fit into a script",
    .place = 13,
    .replayable = true,
    .guarded = true,
    .reserves = true,
    .wait_ms = 5000,
    .open = batch_section_open,
    .buy = batch_section_buy,
    .close = batch_section_close,
};
