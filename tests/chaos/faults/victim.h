/*
 * victim.h - a buyer whose write is held back on its way to Redis while something goes wrong.
 *
 * What a fault does to somebody who is between two steps is not left to chance: the fault proxy
 * stops the very request, silently, and passes it on once it is told to. A guarded strategy is
 * stopped before its one write; one that takes the unit in one step and records the order in the
 * next, before either. Needs NEEDS_PROXY.
 */
#ifndef TESTS_CHAOS_FAULTS_VICTIM_H
#define TESTS_CHAOS_FAULTS_VICTIM_H

#include "tests/chaos/cell.h"
#include "tests/support/sale/crew.h"

/* The proxy's words for the write that takes the unit, and for the one that records the order. Both
 * are the same one of a strategy that is guarded, a transaction's EXEC for one. */
const char *write_of_stock(const cell *c);
#define WRITE_OF_ORDER "match write :orders"

/* A buyer at instance `at` is stopped before the command that matches; nobody else buys any more
 * when it returns. False: it never came there. */
bool victim_hold(cell *c, crew_buyer *victim, int at, const char *match);

/* Its command goes on. */
void victim_let_go(cell *c);

#endif
