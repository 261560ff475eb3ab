/*
 * load.h - what lockload is asked to do, and one process that does it.
 */
#ifndef LOCKLOAD_LOAD_H
#define LOCKLOAD_LOAD_H

#include "lock/dlock.h"

#define LOAD_SERVERS_MAX 8
#define LOAD_LOCKS_MAX   16

/* Times are drawn at random from 0 to their limit. */
typedef struct load_options {
    const char *urls[LOAD_SERVERS_MAX]; /* the first is the server; all of them are the quorum */
    int urls_len;
    const char *locks[LOAD_LOCKS_MAX];
    int locks_len;
    const char *history; /* directory; NULL: none is written */
    int64_t processes, threads, duration_ms;
    int64_t think_ms, hold_ms;
    int64_t fixed; /* think and hold for the limits themselves */
    int64_t wait_ms;
    int64_t reenter, guard; /* percent of the holds that do so */
    int64_t readers,
        downgrade;             /* WRITE: percent of the turns that read, of writers that go on so */
    int64_t take;              /* SEMAPHORE: permits of one turn, from 1 up to so many */
    int64_t io_ms, recheck_ms; /* 0: the library's own */
    int64_t seed;
    dlock_options lock;
} load_options;

/* Runs one process's threads to the end of the duration. 0, or 1 after a complaint. */
int load_run(const load_options *options, int process);

#endif
