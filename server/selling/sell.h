/*
 * sell.h - the script that sells, to one buyer or many, with or without a lock's guard.
 *
 * The script decides and writes atomically. With a hold, the lock library's guard runs it only if
 * that hold is still the owner and its fence is the last one issued.
 *
 * In a sale with reservations (reservations.h), a request to confirm or cancel is a "buyer" too.
 */
#ifndef FLASHSALE_SELL_H
#define FLASHSALE_SELL_H

#include "server/selling/open_sale.h"

/* The most buyers per call. So many orders fit into one Lua call, and take Redis about 1 ms. */
#define SELL_MAX 128

typedef struct sell_buyer {
    const purchase *request; /* (borrowed) */
    purchase_result *result; /* where the answer goes (borrowed) */
} sell_buyer;

/* The lock to sell under; all-zero: none. */
typedef struct sell_lock {
    dlock_hold *hold; /* held; if the guard refuses it, all buyers get BUY_STALE. Always call
                         dlock_release() afterwards */
    bool release; /* the call also releases the hold. Only then it waits for replicas, never while
                     the lock is held */
    dlock_lock *free; /* not held: the call acquires it, sells and releases it */
} sell_lock;

/* Sells from the stock under `keys` to `count` buyers, up to SELL_MAX, in their order. Units of
 * expired reservations return first, even if there are no buyers. Fills in every result by
 * `deadline`. False: the `free` lock is held or has waiters, and nothing was done: acquire it. */
bool sell(const open_sale *sale, const sale_keys *keys, sell_lock lock, const sell_buyer *buyers,
          int count, dlock_time deadline);

#endif
