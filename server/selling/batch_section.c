/*
 * batch_section.c - group commit: one script sells to all waiting buyers.
 *
 * So a sale costs a fraction of a call to Redis; a lock that each buyer acquires alone costs three
 * or four. If the lock is free, one call is the whole section: it acquires the lock, sells and
 * releases it. If the lock is held or has waiters, the leader joins its queue. Each segment has its
 * own batch, leader and lock.
 */
#include "server/selling/batch_section.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/base/fail_point.h"
#include "server/selling/batch.h"

/* The leader waits for the lock in slices of this length, so it notices when no buyers are left. */
#define PATIENCE_MS 1000

typedef struct batch_segment {
    const open_sale *sale; /* (borrowed) */
    const sale_keys *keys; /* (borrowed) */
    dlock_lock *lock;      /* NULL: the strategy has none */
    fs_batch *batch;
} batch_segment;

typedef struct batched_state {
    int count;
    batch_segment segments[];
} batched_state;

/* ---- the leader ------------------------------------------------------------------------------ */

/* Sells to these buyers: under `hold`, or in one call that also acquires the lock, or without a
 * lock. False: the lock is held or has waiters. */
static bool sell_to(const batch_segment *segment, dlock_hold *hold, const sell_buyer *buyers,
                    int count, dlock_time deadline)
{
    sell_lock lock = {.hold = hold, .release = hold, .free = hold ? NULL : segment->lock};
    FAIL_POINT("in-section");
    bool sold = sell(segment->sale, segment->keys, lock, buyers, count, deadline);
    FAIL_POINT("written");
    return sold;
}

/* Sells to the buyers of the batch's first round. */
static bool sell_round(const batch_segment *segment, fs_batch *batch, dlock_hold *hold)
{
    batch_taken taken;
    batch_take(batch, &taken);
    bool sold =
        taken.count == 0 || sell_to(segment, hold, taken.buyers, taken.count, taken.deadline);
    if (sold)
        batch_answer(batch, &taken);
    else
        batch_put_back(batch, &taken);
    return sold;
}

/* Sells in turn: joins the FIFO queue of the lock. */
static void sell_in_turn(const batch_segment *segment, fs_batch *batch)
{
    fs_store *store = segment->sale->store;
    const fs_node *node = store_node(store, segment->keys->current);
    dlock_hold *hold;
    dlock_wait wait = {.wait_ms = PATIENCE_MS, .cancel = node_outage_cancel(node)};
    dlock_status status = dlock_acquire(segment->lock, &wait, &hold);
    if (status == DLOCK_OK) {
        FAIL_POINT("locked");
        if (batch_call(batch, segment->sale->terms.hold_ms))
            sell_round(segment, batch, hold);
        dlock_release(hold);
    } else if (status != DLOCK_BUSY) {
        batch_refuse(batch, purchase_lock_failed(store, status));
    }
}

/* A section that lasts no time is one call; one that lasts is held by a lock that others see. */
static bool lasts(const batch_segment *segment)
{
    return segment->sale->terms.hold_ms > 0;
}

static void serve(void *arg, fs_batch *batch)
{
    const batch_segment *segment = arg;
    bool at_once = !segment->lock || !lasts(segment);
    if (!at_once || !sell_round(segment, batch, NULL))
        sell_in_turn(segment, batch);
}

/* ---- a lone buyer ---------------------------------------------------------------------------- */

/* A lone buyer skips batching. */
static bool serve_one(void *arg, const purchase *request, purchase_result *result)
{
    const batch_segment *segment = arg;
    const sell_buyer buyer = {request, result};
    return !lasts(segment) && sell_to(segment, NULL, &buyer, 1, request->deadline);
}

/* ---- the frame ------------------------------------------------------------------------------- */

static bool open_segment(batch_segment *segment, const open_sale *sale, int k, char *err,
                         size_t err_len)
{
    segment->sale = sale;
    segment->keys = &sale->keys[k];
    if (sale->strategy->locked && sale_lock_new(sale, &sale->strategy->lock, segment->keys->lock,
                                                &segment->lock, err, err_len) != DLOCK_OK)
        return false;
    segment->batch = batch_open(sale, serve_one, serve, segment);
    return segment->batch;
}

int batch_section_open(const open_sale *sale, void **ret, char *err, size_t err_len)
{
    size_t size = (size_t)sale->key_sets * sizeof(batch_segment);
    batched_state *state = calloc(1, sizeof(*state) + size);
    snprintf(err, err_len, "out of memory");
    if (!state)
        return -1;
    while (state->count < sale->key_sets) {
        int k = state->count++;
        if (!open_segment(&state->segments[k], sale, k, err, err_len)) {
            batch_section_close(state);
            return -1;
        }
    }
    *ret = state;
    return 0;
}

void batch_section_close(void *state)
{
    batched_state *batches = state;
    for (int k = 0; k < batches->count; k++) {
        batch_close(batches->segments[k].batch);
        dlock_lock_free(batches->segments[k].lock);
    }
    free(batches);
}

void batch_section_buy_in(const open_sale *sale, void *state, int segment, const purchase *request,
                          purchase_result *result)
{
    batched_state *batches = state;
    batch_buy(batches->segments[segment].batch, sale->terms.wait_ms, request, result);
}

void batch_section_buy(const open_sale *sale, void *state, const purchase *request,
                       purchase_result *result)
{
    batched_state *batches = state;
    batch_buy(batches->segments[0].batch, sale->terms.wait_ms, request, result);
}
