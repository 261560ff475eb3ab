/*
 * Waiting for a lock that is held elsewhere: the wait set of a lock, and cancellation. Cancelling
 * is an event, not a state that waiters poll.
 *
 * A waiter is in the set from before its first question to Redis until its last, since a wake-up
 * may come before an answer.
 */
#ifndef DLOCK_CORE_WAITING_H
#define DLOCK_CORE_WAITING_H

#include "core/lock.h"

void dlock_wait_set_enter(wait_set *set, waiter *w);
void dlock_wait_set_leave(wait_set *set, waiter *w);

/* Sleeps until woken, cancelled, or `until`. True: woken. */
bool dlock_wait_set_wait(dlock_lock *lock, waiter *w, const dlock_wait *wait, dlock_time until);

/* Under the set's mutex: takes the wake-up of a waiter, and whether there was one. It sleeps on
 * only if there was none, and it is not to `get_up`. */
bool dlock_wait_set_rise(wait_set *set, waiter *w, bool get_up);

/* Wakes the waiter with this token; `given` is what it gets, NULL: it must ask. How long the grant
 * is sure to last is settled here: the waiter may read it much later. One whose fence is not above
 * the last that the waiter knows of has lapsed before, and is not given. False: no such waiter. */
bool dlock_wait_set_wake(wait_set *set, const char *token, const answer *given);

/* The same in the wait set of any lock of the client of this lock's identity. */
bool dlock_wait_set_wake_shared(dlock_lock *lock, const char *token, const answer *given);

/* The lock may be free: one of them is to ask. */
void dlock_wait_set_wake_one(wait_set *set);

/* All waiters but the one with this token were without the lock, asked at `asked`, when `fence` was
 * the last one issued. */
void dlock_wait_set_without(wait_set *set, const char *token, dlock_time asked, uint64_t fence);

/* Lists of waiters, for wait sets and cohorts. Under their mutex. */
void dlock_waiter_append(waiter_list *list, waiter *w);
void dlock_waiter_unlink(waiter_list *list, waiter *w);

/* Whether dlock_cancel_now() has ended this wait. */
bool dlock_cancelled(const dlock_wait *wait);

/* Has `fired` called by dlock_cancel_now(), under the token's mutex. */
typedef struct cancel_listener {
    void (*fired)(struct cancel_listener *l);
    struct cancel_listener *next, **before;
} cancel_listener;

/* From the one to the other the token is in use; after the other `fired` is not running either. */
void dlock_cancel_listen(dlock_cancel *cancel, cancel_listener *l);
void dlock_cancel_forget(dlock_cancel *cancel, cancel_listener *l);

#endif
