/*
 * worker.h - one thread of the event-driven engine, with its share of the users.
 *
 *                      closed, flash                         open
 *     a seat is        a user                                a connection, nobody in particular
 *     waits            in a queue by due time                on its target's stack, last used first
 *     is woken         when its think time is over           when a request is due; targets take
 * turns if none waits    -                                     the request joins the backlog
 */
#ifndef LOADTEST_WORKER_H
#define LOADTEST_WORKER_H

#include "loadtest/load/run_state.h"

typedef struct lt_worker lt_worker;

/* Worker `number` of `count`, for users number, number + count, ... NULL when memory is short. */
lt_worker *worker_new(lt_run_state *state, lt_tally *tally, lt_receipts *receipts, int number,
                      int count);
void worker_free(lt_worker *worker);

/* The thread's function; `arg` is the worker. */
void *worker_main(void *arg);

/* From any thread: makes a sleeping worker look at the run again. */
void worker_wake(lt_worker *worker);

#endif
