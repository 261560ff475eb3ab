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

struct worker;

/* Worker `number` of `count`, for users number, number + count, ... NULL when memory is short. */
struct worker *worker_new(struct course *course, struct tally *tally, struct receipts *receipts,
                          int number, int count);
void worker_free(struct worker *worker);

/* The thread's function; `arg` is the worker. */
void *worker_main(void *arg);

/* From any thread: makes a sleeping worker look at the course again. */
void worker_wake(struct worker *worker);

#endif
