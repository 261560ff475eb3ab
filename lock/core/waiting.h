/*
 * Waiting for a lock that is held elsewhere: the wait set of a lock, and cancellation. Cancelling
 * is an event, not a state that waiters poll.
 *
 * A waiter is in the set from before its first request to Redis until after its last one, because a
 * wake-up may come before an answer.
 */
#ifndef DLOCK_CORE_WAITING_H
#define DLOCK_CORE_WAITING_H

#include "core/lock.h"

void dlock_wait_set_enter(wait_set *set, waiter *w);
void dlock_wait_set_leave(wait_set *set, waiter *w);

/* Sleeps until woken, cancelled, or `until`. True: woken. */
bool dlock_wait_set_wait(dlock_lock *lock, waiter *w, const dlock_wait *wait, dlock_time until);

/* Under the set's mutex: takes the wake-up of a waiter. True: there was one. The waiter sleeps on
 * only if there was none and `get_up` is false. */
bool dlock_wait_set_rise(wait_set *set, waiter *w, bool get_up);

/* Wakes the waiter with this token. `given` is its grant; NULL: it must ask. How long the grant
 * surely lasts is computed here, because the waiter may read it much later. If the grant's fence is
 * not above the last one that the waiter knows, the grant has lapsed, and is not given. False: no
 * such waiter. */
bool dlock_wait_set_wake(wait_set *set, const char *token, const answer *given);

/* The same, in the wait set of any lock of the client that has this lock's identity. */
bool dlock_wait_set_wake_shared(dlock_lock *lock, const char *token, const answer *given);

/* The lock may be free: wakes one waiter, which asks. */
void dlock_wait_set_wake_one(wait_set *set);

/* A request sent at `asked` showed that no waiter but the one with this token had the lock, and
 * that `fence` was the last one issued. */
void dlock_wait_set_without(wait_set *set, const char *token, dlock_time asked, uint64_t fence);

/* Lists of waiters, for wait sets and cohorts. Under their mutex. */
void dlock_waiter_append(waiter_list *list, waiter *w);
void dlock_waiter_unlink(waiter_list *list, waiter *w);

/* Whether dlock_cancel_now() has ended this wait. */
bool dlock_cancelled(const dlock_wait *wait);

/* dlock_cancel_now() calls `fired`, under the token's mutex. */
typedef struct cancel_listener {
    void (*fired)(struct cancel_listener *l);
    struct cancel_listener *next, **before;
} cancel_listener;

/* Between these two calls the token is in use. After the second one, `fired` is not running. */
void dlock_cancel_listen(dlock_cancel *cancel, cancel_listener *l);
void dlock_cancel_forget(dlock_cancel *cancel, cancel_listener *l);

#endif
