/*
 * The cohort of a lock: one thread of this process asks Redis. The others that want the lock wait
 * in line, and pass the grant on to each other. Does nothing for locks without cohort_max.
 */
#ifndef DLOCK_CORE_COHORT_H
#define DLOCK_CORE_COHORT_H

#include "core/grant.h"

/* Waits in line. DLOCK_OK with w->handed (a grant from inside) or without (this thread's turn to
 * ask Redis); BUSY at `until`, CANCELLED. */
dlock_status dlock_cohort_enter(dlock_lock *lock, waiter *w, const dlock_wait *wait,
                                dlock_time until);

/* Hands the grant to the first in line, if there is one and the budget allows it. */
bool dlock_cohort_pass(dlock_lock *lock, grant *g);

/* Lets the first in line ask Redis. To be called once for each grant that ended, and for each turn
 * that brought no grant. */
void dlock_cohort_next(dlock_lock *lock);

/* dlock_grant_end(), then dlock_cohort_next() if this call changed the state. */
bool dlock_cohort_end(grant *g, grant_state to);

#endif
