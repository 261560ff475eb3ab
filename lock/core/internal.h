/*
 * What the files of the lock core share.
 *
 *     dlock_client ── watchdog (thread, connection, heap of grants, unsettled releases)
 *          │       └─ registry (context + name -> hold), order checker, stats
 *     dlock_lock ──── kind (how Redis is asked), wait set (who waits here), cohort (who is next
 * here) │ grant ───────── one ownership in Redis: token, fence, validity. It outlives hand-offs │
 * inside a cohort. dlock_hold ──── one context's use of a grant: count of re-entries, lost eventfd
 *
 * Order of mutexes, outer first: a client's list of locks, wait set or cohort of a lock, registry,
 * grant, watchdog, stats.
 */
#ifndef DLOCK_CORE_INTERNAL_H
#define DLOCK_CORE_INTERNAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "dlock.h"

enum {
    TOKEN_LEN = 160, /* "<host>/<pid>/<random>:<number>" and its NUL */
    CLIENT_ID_LEN = 128,
    NAME_MAX_LEN = 512,
    MULTI_MAX = 64,
};

#define LEASE_DEFAULT_MS   10000
#define LEASE_MIN_MS       10
#define IO_DEFAULT_MS      1000
#define CLAIM_DEFAULT_MS   250
#define RECHECK_DEFAULT_MS 100
#define RECHECK_MAX_MS     1000
#define COHORT_DEFAULT_MS  10

/* ---- grant: one ownership in Redis ----------------------------------------------------------- */

typedef enum grant_state {
    GRANT_HELD,
    GRANT_EXPIRED,  /* lost: the lease ran out, or renewal was impossible until it must have */
    GRANT_TAKEN,    /* lost: Redis says that the lock is not ours */
    GRANT_RELEASED, /* given back, or being given back */
} grant_state;

typedef struct grant {
    dlock_lock *lock; /* (a reference) */
    char token[TOKEN_LEN];
    uint64_t fence;
    int64_t offset_us; /* Redis's clock minus ours */
    dlock_time since;  /* before the acquiring question was sent */
    dlock_time ends;   /* max_hold */
    int64_t others;    /* waiters in Redis, as last told */
    int passed;        /* hand-offs inside the cohort */
    atomic_int state;  /* grant_state; changed by dlock_grant_end() only */
    _Atomic int64_t valid_until_us;
    bool claimed;         /* the lease runs; the watchdog's, once it knows the grant */
    atomic_bool orphaned; /* not renewed any more: its thread has ended */
    atomic_int refs;

    pthread_mutex_t holder_lock; /* guards holder and changes of state, and with them the
                                    hold's life while it is told of a loss */
    dlock_hold *holder;

    int heap_at; /* the watchdog's: place in its heap, -1 = not in it */
    dlock_time due;
} grant;

/* A grant with one reference, GRANT_HELD. NULL: out of memory. */
grant *dlock_grant_new(dlock_lock *lock, const char *token);
void dlock_grant_ref(grant *g);
void dlock_grant_unref(grant *g);

/* The only function that changes the state: from HELD to one of the others, once. True: this call
 * changed it. A loss is told to the holder (eventfd, callback) and reported, and the cohort's next
 * asks Redis at once: the holder may never come back. After RELEASED the caller sees to that. */
bool dlock_grant_end(grant *g, grant_state to);

/* Confirmed at `asked` (taken before the question was sent): valid for `lease_ms` from then on,
 * less 1 % + 2 ms for drift. */
void dlock_grant_confirm(grant *g, dlock_time asked, int64_t lease_ms);
int64_t dlock_grant_validity_us(int64_t lease_ms); /* a lease less the allowance for drift */
bool dlock_grant_alive(const grant *g);
int64_t dlock_grant_left_ms(const grant *g);
void dlock_grant_set_holder(grant *g, dlock_hold *holder);

/* ---- kinds: how Redis is asked --------------------------------------------------------------- */

/* What a try brought. */
typedef struct answer {
    bool granted;
    bool claimed;     /* the lease runs; else the claim window does, until the first renewal */
    uint64_t fence;   /* the grant's; without one the last issued, 0 = not told */
    int64_t redis_us; /* Redis's clock */
    dlock_time asked; /* before the question was sent */
    int64_t others;   /* waiters in Redis */
    int64_t retry_ms; /* not granted: the lease's rest, -1 = not known */
} answer;

/* What a try may leave in Redis when the lock can not be had: nothing, an entry in the queue, or
 * one unless there is one already (fair_acquire.lua knows the numbers). */
typedef enum entry_mode { ENTRY_NONE, ENTRY_NEW, ENTRY_AGAIN } entry_mode;

typedef struct kind {
    const char *name;
    bool queues; /* a waiter leaves an entry in Redis, which leave() takes back */

    /* One question. DLOCK_OK (see answer.granted), UNAVAILABLE, UNKNOWN, FAILED. The token makes
     * it idempotent: asked again after an unknown outcome it finds what it got. */
    dlock_status (*try)(dlock_lock *lock, const char *token, entry_mode entry, answer *ret);

    /* OK, EXPIRED, NOT_OWNER, UNAVAILABLE, UNKNOWN, FAILED. */
    dlock_status (*release)(dlock_lock *lock, const char *token);

    /* Takes back a waiter's entry and whatever it was granted meanwhile. Same answers. */
    dlock_status (*leave)(dlock_lock *lock, const char *token);

    /* The renewal as a script call for the watchdog's pipeline, replying 1 = renewed, 0 = not
     * ours ... */
    dlock_script *renew_script;
    int (*renew_args)(dlock_lock *lock, const char *token, dlock_args *args); /* number of keys */
    /* ... or, where that is NULL, as a function. OK, NOT_OWNER, UNAVAILABLE, UNKNOWN. */
    dlock_status (*renew)(dlock_lock *lock, const char *token);

    /* Waits for wake-ups on the wait set's own connection, until `until` at the latest, and passes
     * them to the set. On a new connection it first sees to what may have been missed. False: it
     * could not; not to be called again at once. NULL: waiters of this kind poll. */
    bool (*listen)(dlock_lock *lock, dlock_time until);
} kind;

extern const kind dlock_kind_string, dlock_kind_hash, dlock_kind_fair, dlock_kind_quorum;

/* ---- lock ------------------------------------------------------------------------------------ */

/* One waiting thread. Lives on its stack. */
typedef struct waiter {
    char token[TOKEN_LEN];
    pthread_cond_t cond;
    bool asleep;        /* wait set: in dlock_wait_set_wait() */
    bool woken;         /* wait set: take `given`, or ask Redis now */
    bool chosen;        /* wait set: to ask for all who wait; until it has an answer */
    answer given;       /* wait set: the grant that the wake-up brought, if granted */
    dlock_time without; /* wait set: the lock was not ours when this was asked; 0 = not known; */
    uint64_t without_fence; /* ... this was the last fence issued then */
    bool your_turn;         /* cohort: go and ask Redis */
    grant *handed;          /* cohort: yours */
    struct waiter *next, *prev;
} waiter;

/* Waiting threads of this process that ask Redis for one lock. One of them, the leader, listens
 * for all. */
typedef struct wait_set {
    pthread_mutex_t lock; /* guards first, last, leader, and the waiters' marks */
    waiter *first, *last;
    waiter *leader;
    dlock_redis_conn *conn; /* this and the rest: the leader's alone */
    bool listened;          /* listen() has heard something, or silence, on conn */
    bool subscribed;        /* hash: conn is subscribed */
    dlock_time beat_at;     /* fair: next heartbeat */
} wait_set;

typedef struct cohort {
    pthread_mutex_t lock;
    waiter *first, *last;
    bool busy; /* somebody of this process holds the lock or asks Redis for it */
} cohort;

struct dlock_lock {
    dlock_client *client; /* (borrowed) */
    atomic_int refs;      /* the caller's, and those of grants and unsettled releases */
    const kind *kind;
    dlock_options options; /* defaults filled in */
    int64_t claim_ms;      /* the client's claim window, or the lease if that is shorter */
    int names_len;
    char **names;  /* names[0] is the lock's name */
    char **fences; /* the fence counter of each */
    char *queue, *beats, *wake, *channel;
    wait_set wait_set;
    cohort cohort;
    struct dlock_lock *next, *prev; /* among all locks of the client */
};

void dlock_lock_ref(dlock_lock *lock);
void dlock_lock_unref(dlock_lock *lock);
/* dlock_wait_set_wake() in the wait set of every lock that has this lock's wake-up list. */
bool dlock_waiter_wake(dlock_lock *lock, const char *token, const answer *given);

/* ---- hold ------------------------------------------------------------------------------------ */

struct dlock_hold {
    dlock_lock *lock; /* (borrowed) */
    grant *grant;
    uint64_t context;
    bool of_thread; /* context is a thread's number */
    int count;
    bool released_by_guard;
    atomic_int lost_fd; /* -1: none yet */
    dlock_time since;
    dlock_hold *next; /* registry */
};

void dlock_hold_tell_lost(dlock_hold *hold);

/* ---- client ---------------------------------------------------------------------------------- */

enum { REGISTRY_BUCKETS = 256 };

typedef struct registry_bucket {
    pthread_mutex_t lock;
    dlock_hold *first;
} registry_bucket;

typedef struct watchdog watchdog;
typedef struct retried_releases retried_releases;
typedef struct lock_order lock_order;

struct dlock_client {
    dlock_client_options options; /* defaults filled in */
    char id[CLIENT_ID_LEN];
    pid_t pid;
    atomic_uint_fast64_t next_number;
    _Atomic int64_t offset_us; /* Redis's clock less ours, at most too large; 0 = not known */
    registry_bucket registry[REGISTRY_BUCKETS];
    watchdog *watchdog;
    retried_releases *retried_releases;
    lock_order *order;
    pthread_mutex_t locks_lock;
    dlock_lock *locks;
    pthread_mutex_t stats_lock;
    dlock_stats stats;
    struct dlock_client *next; /* among all clients of the process */
};

bool dlock_client_forked(const dlock_client *client);
__attribute__((format(printf, 3, 4))) void
dlock_client_report(dlock_client *client, dlock_report what, const char *format, ...);
/* The calling thread's number: never reused. Its end is noticed from now on. */
uint64_t dlock_registry_thread(void);

/* Adds to a counter of client->stats. */
void dlock_client_count(dlock_client *client, uint64_t *counter, int more);
void dlock_client_time(dlock_client *client, dlock_histogram *histogram, dlock_time since);

/* registry.c: the live hold of a context, re-entered (count + 1), or NULL. */
dlock_hold *dlock_registry_reenter(dlock_client *client, const char *name, uint64_t context,
                                   bool of_thread);
void dlock_registry_add(dlock_hold *hold);
/* One level less; true and out of the registry at the last one. */
bool dlock_registry_leave(dlock_hold *hold);
void dlock_registry_thread_ended(dlock_client *client, uint64_t thread);
void dlock_registry_free(dlock_client *client);

/* watchdog.c */
watchdog *dlock_watchdog_new(dlock_client *client);
void dlock_watchdog_free(watchdog *w);
void dlock_watchdog_add(watchdog *w, grant *g, int64_t first_renewal_ms);
void dlock_watchdog_remove(watchdog *w, grant *g);

/* late_release.c: what a release or a waiter's leaving left open is tried again in the background,
 * until the lease must have ended. */
retried_releases *dlock_retried_releases_new(dlock_client *client);
void dlock_retried_releases_free(retried_releases *s); /* waits for what is open, at most io_ms */
void dlock_retried_release_add(dlock_lock *lock, const char *token);

/* waiting.c */
void dlock_wait_set_enter(wait_set *set, waiter *w);
void dlock_wait_set_leave(wait_set *set, waiter *w);
void dlock_wait_set_wait(dlock_lock *lock, waiter *w,
                         dlock_time until); /* until woken, or `until` */
/* Wakes the waiter with this token; `given` is what it gets, NULL: it must ask. False: it is not
 * there. */
bool dlock_wait_set_wake(wait_set *set, const char *token, const answer *given);
void dlock_wait_set_wake_one(wait_set *set); /* the lock may be free: one of them is to ask */
/* All waiters but the one with this token were without the lock, asked at `asked`, when `fence` was
 * the last one issued. */
void dlock_wait_set_without(wait_set *set, const char *token, dlock_time asked, uint64_t fence);

/* cohort.c: OK with w->handed (a grant from inside) or without (this thread's turn to ask Redis).
 */
dlock_status dlock_cohort_enter(dlock_lock *lock, waiter *w, const dlock_wait *wait,
                                dlock_time until);
bool dlock_cohort_pass(dlock_lock *lock, grant *g);
/* Once for each grant that ended and each turn that brought none. */
void dlock_cohort_next(dlock_lock *lock);

/* acquire.c */
bool dlock_cancelled(const dlock_wait *wait);

/* lock_order.c */
lock_order *dlock_lock_order_new(void);
void dlock_lock_order_free(lock_order *book);
void dlock_lock_order_acquiring(const dlock_hold *wanted);
void dlock_lock_order_acquired(const dlock_hold *hold);
void dlock_lock_order_released(const dlock_hold *hold);

/* waiters, as wait sets and cohorts keep them (waiting.c) */
void dlock_waiter_append(waiter **first, waiter **last, waiter *w);
void dlock_waiter_unlink(waiter **first, waiter **last, waiter *w);

/* script_call.c: a script on the client's server, outcome as status. */
dlock_status dlock_script_call(dlock_client *client, dlock_redis *redis, dlock_script *script,
                               int keys, const dlock_args *args, redisReply **ret);
dlock_status dlock_status_of(dlock_redis_outcome outcome);

#endif
