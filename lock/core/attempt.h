/*
 * One attempt to get a lock: its questions to Redis, one after the other, and what their answers
 * come to. Blocking and pending acquisitions differ in how they ask and sleep in between.
 */
#ifndef DLOCK_CORE_ATTEMPT_H
#define DLOCK_CORE_ATTEMPT_H

#include "core/grant.h"

typedef struct attempt {
    dlock_time deadline;
    entry_mode entry;
    bool unknown;   /* a question is open: the lock may be ours without our knowing */
    bool left_over; /* something of this waiter may be left in Redis */
    int unanswered; /* questions in a row */
    foreign_pace pace;
    int64_t foreign_ms; /* until the next question, beside another library's holder; 0 = none */
} attempt;

void dlock_attempt_begin(attempt *at, const dlock_wait *wait);

/* After each question, and what it came to. OK: granted. DLOCK_PENDING: to be asked again after a
 * sleep. Otherwise it ends so. */
dlock_status dlock_attempt_judge(attempt *at, dlock_lock *lock, waiter *w, dlock_status status,
                                 const answer *a, bool cancelled);

/* When to ask again, unless woken before. */
dlock_time dlock_attempt_next(const attempt *at, const dlock_lock *lock, const answer *a);

/* Its time is over, or it is cancelled, while it sleeps. Of a queue its entry is to be taken back,
 * or what it was granted this moment. DLOCK_PENDING: others ask once more. */
dlock_status dlock_attempt_give_up(const attempt *at, const dlock_lock *lock, bool cancelled);

/* A grant that came with the wake-up, in *a. False: it must be asked for. */
bool dlock_attempt_given(dlock_lock *lock, waiter *w, answer *a);

/* The grant that the answer brought, watched over. NULL: out of memory; it is to be given back. */
grant *dlock_attempt_grant(dlock_lock *lock, const waiter *w, const answer *a);

#endif
