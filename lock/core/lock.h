/*
 * A lock: one identity (or several at once) with its options, and its waiters in this process.
 * waiting.h and cohort.h say what waiters do.
 */
#ifndef DLOCK_CORE_LOCK_H
#define DLOCK_CORE_LOCK_H

#include <stdatomic.h>
#include <stddef.h>

#include "core/kind.h"
#include "redis/thread.h"

enum {
    TOKEN_LEN = 160, /* "<client id>:<number>", perhaps "*w" or "*<permits>", and NUL */
    CHANNEL_LEN = 2 * NAME_MAX_LEN + 192, /* a name, its tag, a client id, and words */
};

#define PERMITS_MAX INT64_C(1000000000)

/* A waiting thread (this struct is on its stack), or a pending acquisition. */
typedef struct waiter {
    char token[TOKEN_LEN];
    int64_t lease_ms; /* that it asks for */
    void (*on_wake)(
        struct waiter *w); /* pending: instead of rousing `place`; under the set's lock */
    dlock_sleeper place;
    bool asleep;              /* wait set: in dlock_wait_set_wait() */
    bool woken;               /* wait set: take `given`, or ask Redis now */
    struct lock_watch *watch; /* wait set: wakes it; NULL = none */
    bool chosen;              /* wait set: asks for all waiters; until it has an answer */
    answer given;             /* wait set: the grant that the wake-up brought, if granted */
    dlock_time without;       /* wait set: last known to be without the lock when this was asked; */
    uint64_t without_fence;   /* ... this was the last fence issued then */
    struct grant *handed;     /* cohort: yours; NULL at its turn: go and ask Redis */
    struct waiter *next, *prev;
} waiter;

/* In the order of arrival. */
typedef struct waiter_list {
    waiter *first, *last;
} waiter_list;

/* How soon to look again if the holder is of another library, and so wakes nobody: soon after each
 * of its grants, then less and less often while it keeps the lock. */
typedef struct foreign_pace {
    int64_t left_ms, step_ms; /* of its lease, when it was looked at last; until the next look */
} foreign_pace;

/* The next step, if `left_ms` of the holder's lease are left; at most `most`. */
int64_t dlock_lock_foreign_step(foreign_pace *pace, int64_t left_ms, int64_t most);

/* The waiters of this process that ask Redis for one lock. */
typedef struct wait_set {
    pthread_mutex_t lock; /* guards the rest, and the waiters' marks */
    waiter_list waiters;
    waiter *called;           /* chosen and woken, but not up yet */
    struct lock_watch *watch; /* NULL = none */
    foreign_pace pace;        /* the watch's alone */
} wait_set;

/* Threads of this process in line behind the one that holds the lock or asks Redis for it. */
typedef struct cohort {
    pthread_mutex_t lock;
    waiter_list line;
    bool busy; /* a thread holds the lock or asks for it */
} cohort;

struct dlock_lock {
    dlock_client *client; /* (borrowed) */
    atomic_int refs;      /* the caller's, and those of grants and retried releases */
    const kind *kind;
    dlock_options options; /* defaults filled in */
    int ids_len;           /* more than one: a multi-lock */
    lock_identity *ids;
    wait_set wait_set;
    cohort cohort;
    dlock_stats stats;       /* under the client's stats_lock */
    dlock_lock *next, *prev; /* in its bucket of the client's */
};

/* Where the client lists the locks that may have this one's first name. Under its locks_lock. */
dlock_lock **dlock_lock_bucket(const dlock_lock *lock);

/* Adds to a counter of dlock_stats, or the time since then to one of its histograms: to the lock's
 * and to its client's. */
#define dlock_lock_count(lock, counter, more)                                                      \
    dlock_lock_count_at(lock, offsetof(dlock_stats, counter), more)
#define dlock_lock_time(lock, histogram, since)                                                    \
    dlock_lock_time_at(lock, offsetof(dlock_stats, histogram), since)
void dlock_lock_count_at(dlock_lock *lock, size_t counter, int more);
void dlock_lock_time_at(dlock_lock *lock, size_t histogram, dlock_time since);

void dlock_lock_ref(dlock_lock *lock);
void dlock_lock_unref(dlock_lock *lock); /* the last one frees it */

/* The claim window of a grant that is given now: the client's claim_ms and four round trips, so
 * that a distant waiter can take it up, or the lease if that is shorter. */
int64_t dlock_lock_claim_ms(const dlock_lock *lock);

/* Name number i; 0 is the lock's. */
const char *dlock_lock_name(const dlock_lock *lock, int i);

#endif
