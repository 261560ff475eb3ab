/*
 * worker.h - a thread that moves many users by epoll and libcurl's multi handle. A slot holds one
 * of them:
 *
 *                      closed, flash                         open
 *     a slot is        a user                                a connection, nobody in particular
 *     waits            in a queue by due time                on its target's stack, last used first
 *     is woken         when its think time is over           when a request is due; targets take
 *                                                            turns
 *     if none waits    -                                     the request joins the backlog
 */
#ifndef LOADTEST_WORKER_H
#define LOADTEST_WORKER_H

#include "loadtest/load/run_state.h"

typedef struct lt_worker lt_worker;

/* Worker `number` of `count`. Its users are neighbours, so no two workers write to one cache
 * line. NULL when memory or descriptors are short. */
lt_worker *worker_new(lt_run_state *state, int number, int count);
void worker_free(lt_worker *worker);

/* The thread's function: opens the connections, waits at the gate, works until the run is over. */
void *worker_main(void *self);

/* Makes a waiting worker notice that state->cut is set. From any thread. */
void worker_wake(lt_worker *worker);

#endif
