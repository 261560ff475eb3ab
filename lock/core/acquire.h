/* What blocking and pending acquisitions begin and end with. */
#ifndef DLOCK_CORE_ACQUIRE_H
#define DLOCK_CORE_ACQUIRE_H

#include "core/grant.h"

/* All that is looked at before Redis is asked. DLOCK_OK: *ret is the hold that was re-entered, or a
 * new one without a grant. `of_thread` is the context's number where wait->context is 0. */
dlock_status dlock_acquire_begin(dlock_lock *lock, const dlock_wait *wait, uint64_t of_thread,
                                 dlock_hold **ret);

/* A hold without a grant. NULL: out of memory. */
dlock_hold *dlock_acquire_hold(dlock_lock *lock, uint64_t context, bool of_thread);

/* The new hold's token. */
void dlock_acquire_token(const dlock_lock *lock, const dlock_wait *wait, char ret[TOKEN_LEN]);

/* It has waited since `since`, and been counted among stats.waiting_now: it has its grant with
 * DLOCK_OK, and is freed otherwise. */
void dlock_acquire_end(dlock_hold *hold, dlock_status status, dlock_time since);

/* It has its grant: from here on it is the caller's. */
void dlock_acquire_has(dlock_hold *hold);

#endif
