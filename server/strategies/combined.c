/*
 * combined - group commit under a lock: the holder sells for everybody waiting in its process.
 *
 * The lock is the fair one, the write is the guarded one of `fenced`, but one a batch. Where the
 * lock is free, one call takes it, sells and gives it back; where it is not, the leader queues up,
 * and its call gives the lock to the next process. So a sale costs a fraction of a call to Redis,
 * instead of the three or four of a lock that each buyer takes alone.
 */
#include "server/selling/batch_section.h"

const fs_strategy strategy_combined = {
    .name = "combined",
    .summary = "the holder of the fair lock sells for all who wait in its process, in one write",
    .source = "ours: fenced + combining",
    .weakness = "a buyer waits for its batch; at a low load that gains nothing",
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
