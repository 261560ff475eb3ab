/*
 * locked_section.c - acquires the lock, sells, releases it.
 *
 * A buyer that acquired the lock at the last moment could not use it. So the wait ends early
 * enough for the section to fit into the rest of the request's time.
 */
#include "server/selling/locked_section.h"

#include "server/selling/read_then_write.h"

/* Of a request's time, so much is kept beyond hold_ms for the sale itself when the lock comes late.
 */
#define SELL_RESERVE_MS 250

int locked_section_open(const open_sale *sale, void **ret, char *err, size_t err_len)
{
    dlock_lock *lock;
    if (sale_lock_new(sale, &sale->strategy->lock, sale->keys->lock, &lock, err, err_len) !=
        DLOCK_OK)
        return -1;
    *ret = lock;
    return 0;
}

void locked_section_close(void *lock)
{
    dlock_lock_free(lock);
}

bool locked_section_take(const open_sale *sale, dlock_lock *lock, const purchase *request,
                         dlock_hold **ret, purchase_result *result)
{
    int64_t room_ms = dlock_left_ms(request->deadline) - sale->terms.hold_ms;
    if (room_ms <= 0) { /* the section would last too long */
        purchase_answer(result, BUY_BUSY);
        return false;
    }
    int64_t left_ms = room_ms - SELL_RESERVE_MS;
    int64_t wait_ms = sale->terms.wait_ms < left_ms ? sale->terms.wait_ms : left_ms;
    dlock_wait wait = {.wait_ms = wait_ms > 0 ? wait_ms : 0,
                       .cancel = node_outage_cancel(sale_node(sale, 0))};
    dlock_status status = dlock_acquire(lock, &wait, ret);
    if (status == DLOCK_OK)
        return true;
    purchase_answer(result, purchase_lock_failed(sale->store, status));
    return false;
}

void locked_section_buy(const open_sale *sale, void *lock, const purchase *request,
                        purchase_result *result)
{
    dlock_hold *hold;
    if (!locked_section_take(sale, lock, request, &hold, result))
        return;
    fs_section section = {.fence = dlock_fence(hold), .locked = true};
    read_then_write(sale, request, section, result);
    dlock_release(hold);
}
