/*
 * combined - group commit under a lock: the holder sells for everybody waiting in its process.
 *
 * The lock is the fair one, the write is the guarded one of `fenced`, but one a batch; and the
 * same call gives the lock to the next process. So a sale costs a fraction of a call to Redis,
 * instead of the three or four of a lock that each buyer takes alone.
 */
#include "server/selling/locked_batch.h"

static int combined_open(const sale_terms *terms, void **state, char *err, size_t err_len)
{
    *state = combine_open(terms, terms->shelves, err, err_len);
    return *state ? 0 : -1;
}

static void combined_buy(void *state, const buy_request *request, buy_result *result)
{
    combine_buy(state, request, result);
}

static void combined_close(void *state)
{
    combine_close(state);
}

const fs_strategy strategy_combined = {
    .name = "combined",
    .summary = "the holder of the fair lock sells for all who wait in its process, in one write",
    .source = "ours: fenced + combining",
    .weakness = "a buyer waits for its batch; at a low load that gains nothing",
    .locked = true,
    .renews = true,
    .replayable = true,
    .guarded = true,
    .lease_ms = 3000, /* short costs no safety here: the write is guarded */
    .wait_ms = 5000,
    .open = combined_open,
    .buy = combined_buy,
    .close = combined_close,
};
