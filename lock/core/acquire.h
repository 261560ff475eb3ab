/* What blocking and pending acquisitions begin and end with. */
#ifndef DLOCK_CORE_ACQUIRE_H
#define DLOCK_CORE_ACQUIRE_H

#include "core/grant.h"

/* The checks before Redis is asked. DLOCK_OK: *ret is the hold that was re-entered, or a new one
 * without a grant. `of_thread` is the context's number if wait->context is 0. */
dlock_status dlock_acquire_begin(dlock_lock *lock, const dlock_wait *wait, uint64_t of_thread,
                                 dlock_hold **ret);

/* A hold without a grant. NULL: out of memory. */
dlock_hold *dlock_acquire_hold(dlock_lock *lock, uint64_t context, bool of_thread);

/* Gives the waiter the new hold's token, and the lease that it asks for. */
void dlock_acquire_waiter(const dlock_lock *lock, const dlock_wait *wait, waiter *ret);

/* The hold has waited since `since`, and was counted in stats.waiting_now. With DLOCK_OK it has its
 * grant; otherwise it is freed. */
void dlock_acquire_end(dlock_hold *hold, dlock_status status, dlock_time since);

/* The hold has its grant: from now on it belongs to the caller. */
void dlock_acquire_has(dlock_hold *hold);

#endif
