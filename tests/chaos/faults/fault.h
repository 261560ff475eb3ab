/*
 * fault.h - a column of the matrix: something that goes wrong while a sale is on.
 *
 * A fault is one `const fault fault_NAME` in a file of its family, and a line in faults.c. Its
 * inject() runs with buyers around (unless it is `alone`), does its harm, undoes it where it can
 * be undone, and returns; the cell sells the rest. It proves that the harm was done:
 *
 *     static void inject(cell *c)
 *     {
 *         cell_begin_fault(c);
 *         int before = atomic_load(&crew.busy);
 *         ... break something; wait until it was met ...
 *         ... undo it ...
 *         cell_healed(c);
 *         cell_landed(c, atomic_load(&crew.busy) - before);
 *     }
 *
 * Where the harm has parts, each of which has to be met, cell_met() says so of each.
 *
 * Not by the clock: it waits for what it wants to have happened, with a deadline, and lands 0 when
 * that did not happen. What can not be done at all fails the cell (fail_msg), which then is
 * INCONCLUSIVE with these words.
 */
#ifndef TESTS_CHAOS_FAULTS_FAULT_H
#define TESTS_CHAOS_FAULTS_FAULT_H

#include <stdatomic.h>

#include "tests/chaos/cell.h"
#include "tests/support/sale/crew.h"
#include "tests/support/service.h"
#include "tests/support/topology.h"

typedef enum fault_needs {
    NEEDS_PROXY = 1,       /* cell.proxy between the instances and Redis */
    NEEDS_FAIL_POINTS = 2, /* instances that stop at named points: cell_arm() */
    NEEDS_SENTINEL = 4,    /* a primary, two replicas, three sentinels that fail over quickly */
    NEEDS_LOCK = 8,        /* nothing to do to a strategy without one */
    NEEDS_CLUSTER = 16,    /* three primaries with a replica each, likewise */
    NEEDS_STEADY = 32,     /* ... but neither of them because a member is silent */
    NEEDS_GUARD = 64       /* nothing to do to a strategy whose write is not guarded */
} fault_needs;

/* Whether it happens to sales whose buyers reserve. */
typedef enum fault_reservations {
    RESERVED_NOT = 0,
    RESERVED_TOO, /* beside others */
    RESERVED_ONLY /* there is nothing to do to others */
} fault_reservations;

typedef struct fault {
    const char *name;   /* of the column, "lost-reply" */
    const char *says;   /* what happens, a sentence for the table's reader */
    const char *counts; /* what `landed` counts, in the plural */
    unsigned needs;     /* fault_needs, or-ed */
    bool alone;         /* no crew: inject() does its own buys, by crew_ask() */
    bool final;         /* nothing can be undone: the sale is over, and nobody is healed */
    bool same_run;      /* no server is replaced, or started again: orders are of one epoch */
    bool moves_clocks;  /* of Redis, or of an instance */

    int lease_ms; /* of the sales, and so how soon they must sell again; 0 = CELL_LEASE_MS */

    int recovery_ms; /* how soon they must sell again where that is later than the lease and a
                        second; the reason stands beside it. 0: it is not */

    int buyers; /* of its own, at once at one instance */

    fault_reservations reservations;
    int reserve_s; /* for so long; 0 = CELL_RESERVE_S */

    unsigned covered;  /* the durabilities with which every acknowledged order survives it, or-ed;
                          0 = none does */
    unsigned also;     /* durabilities that have rows, too, where memory covers it */
    const char *cover; /* what covers it where the durability does not: a setting, in words */

    const char *const *redis_args; /* further settings of Redis, ending with NULL; NULL = none */
    const char *(*unfit)(const cell *c); /* why not here or not with this row; NULL = it fits */
    void (*prepare)(cell *c);            /* before Redis and the instances are started */
    const char *(*redis_url)(const cell *c, int instance); /* where an instance looks for Redis */
    const char *(*listen)(const cell *c, int instance);    /* and where it listens */
    void (*inject)(cell *c);
    void (*clean_up)(cell *c); /* whatever became of the cell */
} fault;

/* All of them, in the order of the columns, ending with NULL. */
extern const fault *const faults[];

const fault *fault_find(const char *name); /* NULL = none */

#endif
