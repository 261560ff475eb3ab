/*
 * A grant: one ownership in Redis, with its validity by our own clock; and the hold, a caller's use
 * of a grant.
 *
 * A grant is HELD until dlock_grant_end() says otherwise, once and for ever. In a cohort it goes
 * from hold to hold.
 */
#ifndef DLOCK_CORE_GRANT_H
#define DLOCK_CORE_GRANT_H

#include "core/lock.h"
#include "core/timers.h"

typedef enum grant_state {
    GRANT_HELD,
    GRANT_EXPIRED, /* lost: the lease ran out, or renewal was impossible until it must have */
    GRANT_TAKEN,   /* lost: Redis says that the lock is not ours */
    GRANT_UNSURE, /* lost: the script that was to release it got no reply. Released or not, or later
                   */
    GRANT_RELEASED, /* given back, or being given back */
} grant_state;

#define GRANT_IS_OVER 0

typedef struct grant {
    dlock_lock *lock; /* (a reference) */
    char token[TOKEN_LEN];
    uint64_t fence;
    dlock_time since;               /* before the acquiring question was sent */
    dlock_time ends;                /* max_hold */
    int passed;                     /* hand-offs inside the cohort */
    bool apart;                     /* got without a thread, and so not in its lock's cohort */
    atomic_int state;               /* grant_state; changed by dlock_grant_end() only */
    _Atomic int64_t valid_until_us; /* GRANT_IS_OVER: it was seen to be over */
    _Atomic int64_t extended_us;    /* the last question that sets the whole lease was sent then */
    bool claimed; /* the lease runs; under the watchdog's mutex, once that knows the grant */
    atomic_bool orphaned;  /* not renewed any more: its thread has ended */
    atomic_bool releasing; /* a guarded call is under way that releases it: not held any more,
                              unless it fails */
    atomic_bool doubtful;  /* a guarded script may come late, and would pass for the next
                             holder's: never passed on */
    atomic_int refs;

    pthread_mutex_t holder_lock; /* guards holder and changes of state, and with them the
                                    hold's life while it is told of a loss */
    dlock_hold *holder;

    timer event;    /* the watchdog's: the next renewal, or the end of validity */
    bool renewing;  /* likewise: a renewal is not concluded */
    uint32_t lacks; /* likewise: which servers of the quorum refused the last one, a bit each */
} grant;

struct dlock_hold {
    dlock_lock *lock; /* (borrowed) */
    grant *grant;     /* (a reference) */
    uint64_t context;
    bool of_thread; /* context is a thread's number */
    int count;
    atomic_int lost_fd; /* -1: none yet */
    dlock_time since;
    dlock_hold *next; /* registry */
};

/* A grant with one reference, GRANT_HELD. NULL: out of memory. */
grant *dlock_grant_new(dlock_lock *lock, const char *token);
void dlock_grant_ref(grant *g);
void dlock_grant_unref(grant *g);

/* The only function that changes the state: from HELD to one of the others, once. True: this call
 * changed it. A loss is told to the holder (eventfd, callback) and reported. Whoever gets true
 * calls dlock_cohort_next(), so that the next one in the cohort asks Redis: after a loss at once,
 * since the holder may never come back; after RELEASED when Redis has been told. */
bool dlock_grant_end(grant *g, grant_state to);

/* Got, or confirmed, by a question that was asked at `asked` (taken before it was sent): valid for
 * `lease_ms` from then on, less the allowance for drift, and not beyond max_hold. False: it was
 * over before it was confirmed, and stays so. */
void dlock_grant_begin(grant *g, dlock_time asked, int64_t lease_ms);
bool dlock_grant_confirm(grant *g, dlock_time asked, int64_t lease_ms);
int64_t dlock_grant_validity_us(int64_t lease_ms); /* a lease less 1 % + 2 ms for drift */
bool dlock_grant_alive(grant *g);
int64_t dlock_grant_left_ms(const grant *g);
void dlock_grant_set_holder(grant *g, dlock_hold *holder);

#endif
