/*
 * The cohort of a lock: of all threads of this process that want it, one asks Redis; the others
 * wait in line and get the grant from each other. Does nothing for locks without cohort_max.
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

/* The first in line is to ask Redis. Once for each grant that ended and each turn that brought
 * none. */
void dlock_cohort_next(dlock_lock *lock);

/* dlock_grant_end(), and what is due after it when this call changed the state. */
bool dlock_cohort_end(grant *g, grant_state to);

#endif
