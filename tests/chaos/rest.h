/*
 * rest.h - what there was before the first buyer and when all has come to rest: threads,
 * descriptors, locks, waiters, orders, units. All of it goes into the journal, for buycheck.
 */
#ifndef TESTS_CHAOS_REST_H
#define TESTS_CHAOS_REST_H

#include "tests/chaos/cell.h"

/* Entries of /proc/PID/WHAT, "fd" or "task". */
int rest_entries(pid_t pid, const char *what);

void rest_before(cell *c);

/* Waits (to a deadline) until locks, waiters, threads and descriptors are gone; closes the sale, so
 * that no write can follow; has every doubt resolved; writes down what Redis has of the sale. */
void rest_after(cell *c);

#endif
