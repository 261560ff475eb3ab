/* The threads of the library. */
#ifndef DLOCK_REDIS_THREAD_H
#define DLOCK_REDIS_THREAD_H

#include <stdatomic.h>

#include "dlock_redis.h"

/* Starts a thread that takes no signals but those of its own faults: a program may block a signal
 * in its threads and wait for it with a signalfd. False: the system has no more threads. */
bool dlock_thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);

/* Where one thread sleeps; zero at first. A sleep has three steps: the thread gets ready under the
 * lock that others hold when they rouse it, releases the lock, and waits. A condition would end the
 * sleep with a wait for the mutex. */
typedef atomic_uint dlock_sleeper;

void dlock_sleeper_ready(dlock_sleeper *at);
void dlock_sleeper_wait(dlock_sleeper *at, dlock_time until); /* may return early */

/* The three steps for a thread that needs the lock again. */
void dlock_sleeper_nap(dlock_sleeper *at, pthread_mutex_t *lock, dlock_time until);

/* Wakes the thread, if it sleeps or is ready to. */
void dlock_sleeper_rouse(dlock_sleeper *at);

/* Wakes it for the last time; needs no lock. The thread may be gone at once, and `at` with it. */
void dlock_sleeper_end(dlock_sleeper *at);
bool dlock_sleeper_ended(const dlock_sleeper *at);

#endif
