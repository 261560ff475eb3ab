/*
 * One connection to a server for all threads: calls are put behind one another, and their answers
 * come in the same order. Not for commands that block, WAIT, or those with long answers: these use
 * the pool.
 */
#ifndef DLOCK_REDIS_SHARED_H
#define DLOCK_REDIS_SHARED_H

#include "redis/shared_call.h"

shared *dlock_shared_new(dlock_redis *redis); /* NULL: out of memory */
void dlock_shared_free(shared *s);            /* ends every call. NULL is allowed */

/* Until it is answered, or its deadline. dlock_redis_said() is as after any call. */
void dlock_shared_ask(shared *s, int server, shared_call *a);

/* Sends it at once, if that takes no waiting. `a` belongs to `s` until it is done, which it may be
 * before this returns. */
void dlock_shared_put(shared *s, int server, shared_call *a);

/* Closes connections without a call that must not be used any more; `server` is left for good. */
void dlock_shared_readmit(shared *s);
void dlock_shared_leave(shared *s, int server);

/* Calls that are sent and not answered, on the connection in use. */
int dlock_shared_in_flight(shared *s, int server);

/* The round trip to the farthest server, as measured; 0: none is yet. */
int64_t dlock_shared_rtt_us(const shared *s);

#endif
