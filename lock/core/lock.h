/*
 * A lock: one name (or several at once) with its options, the names of its keys, and who of this
 * process waits for it. What waiters do is in waiting.h and cohort.h.
 */
#ifndef DLOCK_CORE_LOCK_H
#define DLOCK_CORE_LOCK_H

#include <stdatomic.h>

#include "core/kind.h"

enum {
    TOKEN_LEN = 160, /* "<host>/<pid>/<random>:<number>", perhaps "*w" or "*<permits>", and NUL */
    NAME_MAX_LEN = 512,
    CHANNEL_LEN = NAME_MAX_LEN + 128, /* a name with prefix, or with a client id */
};

#define PERMITS_MAX INT64_C(1000000000)

/* One waiting thread, on whose stack it lives; or a pending acquisition. */
typedef struct waiter {
    char token[TOKEN_LEN];
    void (*on_wake)(
        struct waiter *w); /* pending: called in place of `cond`, under the set's lock */
    pthread_cond_t cond;
    bool asleep;            /* wait set: in dlock_wait_set_wait() */
    bool woken;             /* wait set: take `given`, or ask Redis now */
    bool chosen;            /* wait set: to ask for all who wait; until it has an answer */
    answer given;           /* wait set: the grant that the wake-up brought, if granted */
    dlock_time without;     /* wait set: last known to be without the lock when this was asked; */
    uint64_t without_fence; /* ... this was the last fence issued then */
    bool your_turn;         /* cohort: go and ask Redis */
    struct grant *handed;   /* cohort: yours */
    struct waiter *next, *prev;
} waiter;

/* In the order of arrival. */
typedef struct waiter_list {
    waiter *first, *last;
} waiter_list;

/* Waiting threads of this process that ask Redis for one lock. One of them, the leader, listens
 * for all. */
typedef struct wait_set {
    pthread_mutex_t lock; /* guards waiters, leader, and the waiters' marks */
    waiter_list waiters;
    waiter *leader;
    dlock_redis_conn *conn; /* this and the rest: the leader's alone */
    bool listened;          /* listen() has heard something, or silence, on conn */
    bool subscribed;        /* hash: conn is subscribed */
    dlock_time beat_at;     /* fair: next heartbeat */
} wait_set;

/* Threads of this process in line behind the one that holds the lock or asks Redis for it. */
typedef struct cohort {
    pthread_mutex_t lock;
    waiter_list line;
    bool busy; /* there is such a one */
} cohort;

struct dlock_lock {
    dlock_client *client; /* (borrowed) */
    atomic_int refs;      /* the caller's, and those of grants and retried releases */
    const kind *kind;
    dlock_options options; /* defaults filled in */
    int64_t claim_ms;      /* the client's claim window, or the lease if that is shorter */
    int names_len;
    char **names;  /* names[0] is the lock's name */
    char **fences; /* the fence counter of each */
    char *queue, *beats, *wake, *channel, *permits;
    wait_set wait_set;
    cohort cohort;
    struct vigil *vigil;     /* of those that wait without a thread; the engine's alone */
    dlock_lock *next, *prev; /* among all locks of the client */
};

void dlock_lock_ref(dlock_lock *lock);
void dlock_lock_unref(dlock_lock *lock); /* the last one frees it */

/* What is wrong with a name; NULL: nothing. */
const char *dlock_lock_check_name(const char *name);

/* The base of the companion keys' names, in the slot of `name`: `chosen`, unless that is NULL. To
 * be freed; NULL: out of memory. */
char *dlock_lock_companion(const char *name, const char *chosen);

/* Adds the first `keys` of: name number `name`, its fence counter, queue, beats, wake-up lists'
 * prefix, channel. Scripts know them in this order. */
void dlock_lock_add_keys(const dlock_lock *lock, int name, int keys, dlock_args *args);

#endif
