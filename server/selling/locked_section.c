/* locked_section.c - see locked_section.h. */
#include "server/selling/locked_section.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/store/outcome.h"

/* Of a request's time, so much is kept beyond hold_ms for the sale itself when the lock comes late.
 */
#define SELL_RESERVE_MS 250

int locked_open(const sale_terms *terms, const dlock_options *options, void **state, char *err,
                size_t err_len)
{
    fs_locked *locked = malloc(sizeof(*locked));
    if (!locked) {
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    dlock_options all = *options;
    all.lease_ms = terms->lease_ms;
    all.companion = terms->shelves->base;
    locked->terms = terms;
    if (dlock_lock_new(terms->store->locks, terms->shelves->lock, &all, &locked->lock, err,
                       err_len) != DLOCK_OK) {
        free(locked);
        return -1;
    }
    *state = locked;
    return 0;
}

void locked_close(void *state)
{
    fs_locked *locked = state;
    dlock_lock_free(locked->lock);
    free(locked);
}

bool locked_take_one(const sale_terms *terms, dlock_lock *lock, uint64_t context,
                     const buy_request *request, dlock_hold **ret, buy_result *result)
{
    int64_t room_ms = dlock_left_ms(request->deadline) - terms->hold_ms;
    if (room_ms <= 0) { /* the section would last too long */
        buy_answer(result, BUY_BUSY);
        return false;
    }
    int64_t left_ms = room_ms - SELL_RESERVE_MS;
    int64_t wait_ms = terms->wait_ms < left_ms ? terms->wait_ms : left_ms;
    dlock_wait wait = {.wait_ms = wait_ms > 0 ? wait_ms : 0,
                       .context = context,
                       .cancel = store_outage_cancel(terms->store)};
    dlock_status status = dlock_acquire(lock, &wait, ret);
    if (status == DLOCK_OK)
        return true;
    buy_answer(result, outcome_of_lock(terms->store, status));
    return false;
}

bool locked_take(const fs_locked *locked, const buy_request *request, dlock_hold **ret,
                 buy_result *result)
{
    return locked_take_one(locked->terms, locked->lock, 0, request, ret, result);
}

void locked_buy(void *state, const buy_request *request, buy_result *result)
{
    const fs_locked *sale = state;
    dlock_hold *hold;
    if (!locked_take(sale, request, &hold, result))
        return;
    fs_section section = {.fence = dlock_fence(hold), .locked = true};
    read_then_write(sale->terms, request, section, result);
    dlock_release(hold);
}

void locked_dwell(const sale_terms *terms, dlock_time deadline)
{
    int64_t left_ms = dlock_left_ms(deadline);
    int64_t ms = terms->hold_ms < left_ms ? terms->hold_ms : left_ms;
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (ms > 0 && nanosleep(&left, &left) != 0) {
    }
}
