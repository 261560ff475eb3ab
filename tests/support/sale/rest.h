/*
 * rest.h - what there was before the first buyer and when all has come to rest: threads,
 * descriptors, locks, waiters, orders, units. All of it goes into the histories, for the judge.
 */
#ifndef TESTS_SUPPORT_SALE_REST_H
#define TESTS_SUPPORT_SALE_REST_H

#include "tests/support/sale/crew.h"

enum { REST_SERVERS = 3 };

typedef struct rest_plan {
    fx_redis *lock_servers[REST_SERVERS]; /* that have the locks, if not fx.redis */
    int servers;     /* that a sale's keys may be on, of a cluster; 0: fx.redis alone */
    int more_buyers; /* at once, beside the crew */
    bool over; /* what was done can not be undone: nobody can close the sales, or resolve doubt */
} rest_plan;

/* Entries of /proc/PID/WHAT, "fd" or "task". */
int rest_entries(pid_t pid, const char *what);

/* A small sale like this comes first: its buyers make the threads and connections that stay. */
void rest_before(const fx_terms *terms);

/* Ends the crew; closes its sales, so that no write can follow; has every doubt resolved, and looks
 * at every instance; waits (to a deadline) until locks, waiters, threads and descriptors are gone;
 * writes down what Redis has of each sale. */
void rest_after(const rest_plan *plan);

/* After crew_end(): fails unless no instance was halted, no answer was an odd one, and the history
 * is SAFE. Closes the crew. */
void rest_expect_undisturbed(const char *history);

#endif
