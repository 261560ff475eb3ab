/*
 * driver.h - what the threads of the engine do, in two kinds.
 *
 * user_thread: one user a thread, which blocks in libcurl. Exact concurrency, and the cheapest
 * request.
 *
 * worker: many users a thread, moved by epoll and libcurl's multi handle. A slot holds one of them:
 *
 *                      closed, flash                         open
 *     a slot is        a user                                a connection, nobody in particular
 *     waits            in a queue by due time                on its target's stack, last used first
 *     is woken         when its think time is over           when a request is due; targets take
 *                                                            turns
 *     if none waits    -                                     the request joins the backlog
 */
#ifndef LOADTEST_DRIVER_H
#define LOADTEST_DRIVER_H

#include "loadtest/load/run_state.h"

typedef struct lt_driver {
    /* What thread `number` of `count` works on; the users number, number + count, ... are its. NULL
     * when memory is short. */
    void *(*make)(lt_run_state *state, int number, int count);
    void (*free)(void *work);

    /* The thread's function. */
    void *(*main)(void *work);

    /* From any thread, once state->cut is set: makes a blocked thread look at it. */
    void (*wake)(void *work);
} lt_driver;

extern const lt_driver driver_user_thread, driver_worker;

#endif
