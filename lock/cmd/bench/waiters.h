/*
 * Many waiters of one process, in two forms: pending calls in one thread's event loop, or threads
 * that wait in dlock_acquire(). See pending.c.
 */
#ifndef DLOCK_CMD_BENCH_WAITERS_H
#define DLOCK_CMD_BENCH_WAITERS_H

#include "cmd/bench/bench.h"

typedef struct waiters_plan {
    const bench_run *run;
    int64_t total;   /* acquisitions, each released at once */
    int64_t locks;   /* on so many locks in turn */
    int64_t threads; /* that wait; 0: pending calls */
} waiters_plan;

/* What they cost. A plain value, in memory that processes share. */
typedef struct waiters_cost {
    int64_t waiting;              /* so many at once, when the next four were read: */
    int64_t threads, connections; /* of the whole process */
    int64_t resident, added;      /* bytes; the whole process's, and what came with the waiters */
    double seconds, cpu_us;       /* from the first lock given back until all were granted */
    int64_t grants, errors;
} waiters_cost;

/* The name of one of its locks. */
void waiters_lock_name(const bench_run *run, int64_t index, char *ret, size_t ret_len);

/* Lets them wait for locks that are taken, then gives the locks back. 0, or the exit code after a
 * complaint. */
int waiters_run(const waiters_plan *plan, waiters_cost *ret);

#endif
