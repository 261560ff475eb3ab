/*
 * The watch over one lock, for all waiters of this process: each sleeps until the watch wakes it.
 * The first waiter starts the watch; it ends a while after the last one has gone.
 */
#ifndef DLOCK_CORE_WATCH_H
#define DLOCK_CORE_WATCH_H

#include "core/attempt.h"
#include "core/engine.h"

typedef struct lock_watch lock_watch;

/* Until when a waiter in the wait set sleeps unless it is woken. Normally the lock's watch wakes
 * it, and this is the waiter's deadline. Threads of kinds that poll, and pollers of a queue, have
 * no watch. From any thread. */
dlock_time dlock_lock_watch_sleep(const attempt *at, dlock_lock *lock, waiter *w, const answer *a);

/* The waiter waits no more. */
void dlock_lock_watch_leave(dlock_lock *lock, waiter *w);

#endif
