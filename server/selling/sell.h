/*
 * sell.h - the one script that sells: for one buyer or many, behind a lock's guard or without.
 *
 * The script decides and writes in one step, so nothing can come between. With a hold, the lock
 * library's guard runs it only if that hold still is the owner and its fence the last one issued.
 *
 * Whoever confirms or cancels is a buyer here, too: in a sale with reservations (reservations.h).
 */
#ifndef FLASHSALE_SELL_H
#define FLASHSALE_SELL_H

#include "server/selling/open_sale.h"

/* Buyers one call may have: so many orders fit into one Lua call, and take Redis about a
 * millisecond. */
#define SELL_MAX 128

typedef struct sell_buyer {
    const purchase *request; /* (borrowed) */
    purchase_result *result; /* where the answer goes (borrowed) */
} sell_buyer;

/* The lock under which is sold; all-zero: none. */
typedef struct sell_lock {
    dlock_hold *hold; /* held; BUY_STALE for everybody when the guard refuses it. dlock_release() is
                         due afterwards in any case */
    bool release; /* the call gives the hold back as well. Only then replicas are waited for: not
                     while the lock is held */
    dlock_lock *free; /* not held: the call takes it, sells and gives it back */
} sell_lock;

/* Sells from the stock under `keys` to `count` buyers, up to SELL_MAX, in their order; in a sale
 * with reservations the units of those that are over return first, also where there is no buyer.
 * Every result is filled in when it returns, by `deadline` at the latest. False: somebody has the
 * `free` lock or waits for it, and nothing was done; take it, then. */
bool sell(const open_sale *sale, const sale_keys *keys, sell_lock lock, const sell_buyer *buyers,
          int count, dlock_time deadline);

#endif
