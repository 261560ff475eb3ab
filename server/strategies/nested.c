/*
 * nested - one thread acquires three locks in turn, on the buyer, the item and the buyer again, and
 * releases them in reverse order. (Article 002.)
 *
 * The lock on the buyer serializes the requests of one user, the lock on the item those of all
 * users. The third acquisition re-enters the first lock and sends nothing to Redis. If another
 * holder has a lock, the buyer is refused at once, as in the article, unless wait_ms is set.
 */
#include <stdio.h>

#include "server/selling/locked_section.h"
#include "server/selling/read_then_write.h"

/* The buyer's own lock, in the item's slot. NULL: out of memory. */
static dlock_lock *buyer_lock(const open_sale *sale, const char *user)
{
    char name[KEY_MAX + USER_MAX + 16], err[128];
    dlock_lock *lock = NULL;
    snprintf(name, sizeof(name), "%s:buyer:%s:lock", sale->keys->base, user);
    if (sale_lock_new(sale, &sale->strategy->lock, name, &lock, err, sizeof(err)) != DLOCK_OK)
        return NULL;
    return lock;
}

static void sell_in_locks(const open_sale *sale, dlock_lock *buyer, dlock_lock *item,
                          const purchase *request, purchase_result *result)
{
    dlock_hold *outer, *middle, *inner;
    if (!locked_section_take(sale, buyer, request, &outer, result))
        return;
    if (locked_section_take(sale, item, request, &middle, result)) {
        if (locked_section_take(sale, buyer, request, &inner, result)) {
            fs_section section = {.fence = dlock_fence(middle), .locked = true};
            read_then_write(sale, request, section, result);
            dlock_release(inner);
        }
        dlock_release(middle);
    }
    dlock_release(outer);
}

static void nested_buy(const open_sale *sale, void *item, const purchase *request,
                       purchase_result *result)
{
    dlock_lock *buyer = buyer_lock(sale, request->user);
    purchase_answer(result, BUY_UNAVAILABLE);
    if (buyer)
        sell_in_locks(sale, buyer, item, request, result);
    dlock_lock_free(buyer);
}

const fs_strategy strategy_nested = {
    .name = "nested",
    .summary = "locks the buyer, the item, and the buyer again by re-entry; fails fast",
    .source = "article 002",
    .weakness = "two locks to ask for; fails buyers while stock is left; not renewed; "
                "oversells when a holder stops or a write comes late",
    .place = 6,
    .locked = true,
    .lease_ms = 10000,
    .lock = {.kind = DLOCK_STRING, .renew_ms = DLOCK_NEVER, .poll_ms = 10},
    .open = locked_section_open,
    .buy = nested_buy,
    .close = locked_section_close,
};
