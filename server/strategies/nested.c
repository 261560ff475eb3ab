/*
 * nested - different locks in turn by one thread: the buyer, the item, the buyer again, given back
 * in the opposite order. (Article 002.)
 *
 * The lock on the buyer keeps one user's requests apart, that on the item everybody's. The third
 * acquisition is a re-entry: it finds the first one alive and asks Redis nothing. A lock that
 * somebody else has fails the buyer at once, as in the article, unless wait_ms says otherwise.
 */
#include "server/selling/locked_section.h"

#include <stdio.h>

static const dlock_options lock_options = {
    .kind = DLOCK_STRING, .renew_ms = DLOCK_NEVER, .poll_ms = 10};

static int nested_open(const sale_terms *terms, void **state, char *err, size_t err_len)
{
    return locked_open(terms, &lock_options, state, err, err_len);
}

/* The buyer's own lock, in the item's slot. NULL: out of memory. */
static dlock_lock *buyer_lock(const sale_terms *terms, const char *user)
{
    char name[KEY_MAX + 2 * IDENT_MAX], companion[KEY_MAX + IDENT_MAX], err[128];
    dlock_lock *lock = NULL;
    snprintf(companion, sizeof(companion), "%s:buyer:%s", terms->shelves->base, user);
    snprintf(name, sizeof(name), "%s:lock", companion);
    dlock_options options = lock_options;
    options.lease_ms = terms->lease_ms;
    options.companion = companion;
    if (dlock_lock_new(terms->store->locks, name, &options, &lock, err, sizeof(err)) != DLOCK_OK)
        return NULL;
    return lock;
}

static void sell_in_locks(const fs_locked *sale, dlock_lock *buyer, const buy_request *request,
                          buy_result *result)
{
    dlock_hold *outer, *middle, *inner;
    if (!locked_take_one(sale->terms, buyer, 0, request, &outer, result))
        return;
    if (locked_take_one(sale->terms, sale->lock, 0, request, &middle, result)) {
        if (locked_take_one(sale->terms, buyer, 0, request, &inner, result)) {
            fs_section section = {.fence = dlock_fence(middle), .locked = true};
            read_then_write(sale->terms, request, section, result);
            dlock_release(inner);
        }
        dlock_release(middle);
    }
    dlock_release(outer);
}

static void nested_buy(void *state, const buy_request *request, buy_result *result)
{
    const fs_locked *sale = state;
    dlock_lock *buyer = buyer_lock(sale->terms, request->user);
    buy_answer(result, BUY_UNAVAILABLE);
    if (buyer)
        sell_in_locks(sale, buyer, request, result);
    dlock_lock_free(buyer);
}

const fs_strategy strategy_nested = {
    .name = "nested",
    .summary = "locks the buyer, the item, and the buyer again by re-entry; fails fast",
    .source = "article 002",
    .weakness = "two locks to ask for; fails buyers while stock is left; no renewal",
    .locked = true,
    .renews = false,
    .lease_ms = 10000,
    .wait_ms = 0,
    .open = nested_open,
    .buy = nested_buy,
    .close = locked_close,
};
