/*
 * combined - group commit under a lock: the holder sells to all buyers who wait in its process.
 *
 * It takes the lock of `fair` and makes the guarded write of `fenced`, once per batch. If the lock
 * is free, one call acquires it, sells and releases it. If it is not, the leader joins the queue,
 * and the call that sells also hands the lock to the next process. So a sale costs a fraction of a
 * call to Redis. A lock that each buyer acquires alone costs three or four calls.
 */
#include "server/selling/batch_section.h"

const fs_strategy strategy_combined = {
    .name = "combined",
    .summary = "the holder of the fair lock sells to all who wait in its process, in one write",
    .source = "ours: fenced + combining",
    .weakness = "a buyer waits for its batch; batches gain nothing at low load",
    .place = 11,
    .locked = true,
    .renews = true,
    .replayable = true,
    .guarded = true,
    .reserves = true,
    .lease_ms = 3000, /* short costs no safety here: the write is guarded */
    .wait_ms = 5000,
    .lock = {.kind = DLOCK_FAIR},
    .open = batch_section_open,
    .buy = batch_section_buy,
    .close = batch_section_close,
};
