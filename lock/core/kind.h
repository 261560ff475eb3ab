/*
 * A kind of lock: how it asks Redis. Each kind has a file in kinds/ or shares/; the core uses this
 * descriptor. Only lock.c, extras/guard.c and extras/inspect.c name kinds: the list of them, and
 * what each can do.
 */
#ifndef DLOCK_CORE_KIND_H
#define DLOCK_CORE_KIND_H

#include "core/identity.h"

/* The result of a try. */
typedef struct answer {
    bool granted;
    bool claimed;     /* the lease runs; else the claim window, until the first renewal */
    bool foreign;     /* not granted: another library has it */
    bool left_over;   /* not granted, but a server may have the token */
    uint64_t fence;   /* the grant's; if not granted, the last one issued, 0 = not told */
    dlock_time asked; /* before the request was sent; for a wake-up: when it was read */
    int64_t retry_ms; /* not granted: the rest of the lease, -1 = not known */

    /* Granted, not claimed: the grant expires window_ms after it was given, as the giver has set
     * it. It was given later than `without`. */
    int64_t window_ms;
    dlock_time without;
} answer;

/* What a try leaves in Redis if the lock is not granted: nothing, an entry in the queue, or an
 * entry unless there is one already (fair_acquire.lua knows the numbers). */
typedef enum entry_mode { ENTRY_NONE, ENTRY_NEW, ENTRY_AGAIN } entry_mode;

/* Who asks. Only an acquire or a renewal uses the lease, only an acquire the entry. */
typedef struct asker {
    const char *token;
    int64_t lease_ms;
    entry_mode entry;
} asker;

/* A script of a kind, and its words: `args` adds the keys and then the arguments, and returns the
 * number of keys. */
typedef struct kind_call {
    dlock_script *script;
    int (*args)(const dlock_lock *lock, const asker *who, dlock_args *args);
} kind_call;

/* How to ask all servers of the client's quorum; a majority decides. ask.h has the results. */
typedef struct kind_everywhere {
    dlock_status (*acquire)(dlock_lock *lock, const asker *who, answer *ret);
    dlock_status (*release)(dlock_lock *lock, const char *token);
    dlock_status (*leave)(dlock_lock *lock, const char *token);

    /* A renewal's words for one server; returns the number of keys. Until `takes` the renewal may
     * take a vote that nobody has; 0 = it may not. read_vote() reads the answer to what was asked
     * at `asked`: 1: renewed, 0: not ours. False: the answer has another shape. */
    int (*renew_args)(const dlock_lock *lock, const asker *who, int server, dlock_time takes,
                      dlock_args *args);
    bool (*read_vote)(const dlock_lock *lock, int server, dlock_time asked, const redisReply *reply,
                      int64_t *ret);
} kind_everywhere;

typedef struct kind {
    kind_family family;
    bool queues;           /* a waiter leaves an entry in Redis, which `leave` removes */
    bool permits;          /* an acquire may take several permits: the token's end says how many */
    const char *token_end; /* how every token ends; NULL: no special end */

    /* The requests to the lock's server. ask.c has the replies, and adds the last argument of an
     * acquire: the moment after which it does nothing. A renewal replies 1: renewed, 0: not ours.
     */
    kind_call acquire, release, leave, renew;

    /* Not NULL: a quorum is asked this way. Of the above only the script of `renew` is used. */
    const kind_everywhere *everywhere;

    /* The channel that wakes waiters, in ret; NULL: they poll. heard() passes a message to the wait
     * set; it is called under the subscriber's mutex. */
    void (*channel)(const dlock_lock *lock, char *ret, size_t ret_len);
    void (*heard)(dlock_lock *lock, const char *message);

    /* A heartbeat, for kinds that queue: `token` is the process; the tokens of its sleeping waiters
     * follow. beaten() passes the reply, to what was asked at `asked`, to the wait set, and returns
     * in how many ms the next heartbeat is due. */
    kind_call beat;
    int64_t (*beaten)(dlock_lock *lock, dlock_time asked, const redisReply *reply);
} kind;

extern const kind dlock_kind_string, dlock_kind_hash, dlock_kind_fair, dlock_kind_quorum,
    dlock_kind_read, dlock_kind_write, dlock_kind_semaphore;

#endif
