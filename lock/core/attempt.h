/*
 * One attempt to acquire a lock: its requests to Redis, one after the other, and the result of
 * their answers. Blocking and pending acquisitions differ in how they ask and sleep in between.
 */
#ifndef DLOCK_CORE_ATTEMPT_H
#define DLOCK_CORE_ATTEMPT_H

#include "core/grant.h"

typedef struct attempt {
    dlock_time deadline;
    entry_mode entry;
    bool unknown;   /* a request is unanswered: the lock may be ours without our knowing */
    bool left_over; /* something of this waiter may be left in Redis */
    int unanswered; /* requests in a row */
    foreign_pace pace;
    int64_t foreign_ms; /* until the next question, beside another library's holder; 0 = none */
} attempt;

void dlock_attempt_begin(attempt *at, const dlock_wait *wait);

/* To be called after each request, with its result. OK: granted. DLOCK_PENDING: sleep, then ask
 * again. Otherwise the attempt ends with this status. */
dlock_status dlock_attempt_judge(attempt *at, dlock_lock *lock, waiter *w, dlock_status status,
                                 const answer *a, bool cancelled);

/* When to ask again, unless woken before. */
dlock_time dlock_attempt_next(const attempt *at, const dlock_lock *lock, const answer *a);

/* The wait is over or cancelled while the attempt sleeps. In a queue, its entry must be removed, or
 * the grant that came at this moment. DLOCK_PENDING: kinds without a queue ask once more. */
dlock_status dlock_attempt_give_up(const attempt *at, const dlock_lock *lock, bool cancelled);

/* A grant that came with the wake-up, in *a. False: there was none, so ask. */
bool dlock_attempt_given(dlock_lock *lock, waiter *w, answer *a);

/* The grant that the answer brought; the watchdog has it. NULL: out of memory; release the lock. */
grant *dlock_attempt_grant(dlock_lock *lock, const waiter *w, const answer *a);

#endif
