/* The threads of the library. */
#ifndef DLOCK_REDIS_THREAD_H
#define DLOCK_REDIS_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that takes no signals but those of its own faults: a program may block a signal
 * in its threads and wait for it with a signalfd. False: the system has no more threads. */
bool dlock_thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);

#endif
