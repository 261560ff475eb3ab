/*
 * A grant is one ownership in Redis, with its validity by our own clock. A hold is a caller's use
 * of a grant.
 *
 * A grant is HELD until dlock_grant_end() changes that, once and for all. In a cohort it passes
 * from hold to hold.
 */
#ifndef DLOCK_CORE_GRANT_H
#define DLOCK_CORE_GRANT_H

#include "core/lock.h"
#include "core/timers.h"

typedef enum grant_state {
    GRANT_HELD,
    GRANT_EXPIRED,  /* lost: the lease ran out, or renewal was impossible until it must have */
    GRANT_TAKEN,    /* lost: Redis says that the lock is not ours */
    GRANT_UNSURE,   /* lost: the script that should release it got no reply; it may run later */
    GRANT_RELEASED, /* released, or being released */
} grant_state;

#define GRANT_IS_OVER 0

typedef struct grant {
    dlock_lock *lock; /* (a reference) */
    char token[TOKEN_LEN];
    uint64_t fence;
    int64_t lease_ms, renew_ms;     /* its own, the same in all its holds */
    dlock_time since;               /* before the acquire was sent */
    dlock_time ends;                /* max_hold */
    int passed;                     /* hand-offs inside the cohort */
    bool apart;                     /* acquired without a thread, so not in its lock's cohort */
    atomic_int state;               /* grant_state; changed by dlock_grant_end() only */
    _Atomic int64_t valid_until_us; /* GRANT_IS_OVER: it was seen to be over */
    _Atomic int64_t extended_us;    /* when the last request for a whole lease was sent */
    bool claimed; /* the lease runs; under the watchdog's mutex, once that knows the grant */
    atomic_bool orphaned;  /* not renewed any more: its thread has ended */
    atomic_bool releasing; /* a guarded call that releases it is under way: not held any more,
                              unless the call fails */
    atomic_bool doubtful;  /* a guarded script may arrive late, and Redis would take it for the
                              next holder's: never passed on */
    atomic_int refs;

    pthread_mutex_t holder_lock; /* guards holder and changes of state, and with them the
                                    hold's life while it is told of a loss */
    dlock_hold *holder;

    timer event;    /* the watchdog's: the next renewal, or the end of validity */
    bool renewing;  /* the watchdog's: a renewal is not concluded */
    uint32_t lacks; /* the watchdog's: quorum servers that refused the last one, one bit each */
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
 * changed it. It tells the holder of a loss (eventfd, callback), and reports it. A caller that gets
 * true must call dlock_cohort_next(), so that the next one in the cohort asks Redis: after a loss
 * at once, because the holder may never come back; after RELEASED when Redis has been told. */
bool dlock_grant_end(grant *g, grant_state to);

/* A request acquired or confirmed the grant; `asked` was taken before it was sent. The grant is
 * valid for `lease_ms` from then on, less the allowance for drift, and not beyond max_hold. False:
 * it was over before it was confirmed, and stays so. */
void dlock_grant_begin(grant *g, dlock_time asked, int64_t lease_ms);
bool dlock_grant_confirm(grant *g, dlock_time asked, int64_t lease_ms);
int64_t dlock_grant_validity_us(int64_t lease_ms); /* a lease less 1 % + 2 ms for drift */
bool dlock_grant_alive(grant *g);
int64_t dlock_grant_left_ms(const grant *g);
void dlock_grant_set_holder(grant *g, dlock_hold *holder);

#endif
