/* locked_batch.c - see locked_batch.h. */
#include "server/selling/locked_batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/base/fail_point.h"
#include "server/selling/batch.h"
#include "server/store/outcome.h"

/* The leader asks for the lock in such pieces of time, so that it notices when nobody is left who
 * wants to buy. */
#define PATIENCE_MS 1000

struct fs_combine {
    const sale_terms *terms; /* (borrowed) */
    const fs_shelf *shelf;   /* (borrowed) */
    dlock_lock *lock;
    fs_batch *batch;
};

static void combine_serve(void *state, fs_batch *batch)
{
    const fs_combine *c = state;
    dlock_hold *hold;
    batch_taken taken;
    dlock_wait wait = {.wait_ms = PATIENCE_MS, .cancel = store_outage_cancel(c->terms->store)};
    dlock_status status = dlock_acquire(c->lock, &wait, &hold);
    if (status != DLOCK_OK) {
        if (status != DLOCK_BUSY)
            batch_refuse(batch, outcome_of_lock(c->terms->store, status));
        return;
    }
    if (batch_call(batch, c->terms->hold_ms)) {
        batch_take(batch, &taken);
        if (taken.count > 0) {
            FAIL_POINT("in-section");
            sell_guarded(c->terms, c->shelf, hold, true, taken.buyers, taken.count, taken.deadline);
        }
        batch_answer(batch, &taken);
    }
    dlock_release(hold);
}

fs_combine *combine_open(const sale_terms *terms, const fs_shelf *shelf, char *err, size_t err_len)
{
    dlock_options options = {
        .kind = DLOCK_FAIR, .lease_ms = terms->lease_ms, .companion = shelf->base};
    fs_combine *c = calloc(1, sizeof(*c));
    snprintf(err, err_len, "out of memory or threads");
    if (!c)
        return NULL;
    c->terms = terms;
    c->shelf = shelf;
    if (dlock_lock_new(terms->store->locks, shelf->lock, &options, &c->lock, err, err_len) !=
            DLOCK_OK ||
        !(c->batch = batch_open(combine_serve, c))) {
        combine_close(c);
        return NULL;
    }
    return c;
}

void combine_close(fs_combine *c)
{
    if (!c)
        return;
    batch_close(c->batch);
    dlock_lock_free(c->lock);
    free(c);
}

void combine_buy(fs_combine *c, const buy_request *request, buy_result *result)
{
    batch_buy(c->batch, c->terms->wait_ms, request, result);
}
