/*
 * A kind of lock: how Redis is asked. One file in kinds/ for each; what lies above asks through
 * this descriptor. Only lock.c, extras/guard.c and extras/inspect.c name kinds: which there are,
 * and what each of them can do.
 */
#ifndef DLOCK_CORE_KIND_H
#define DLOCK_CORE_KIND_H

#include "core/identity.h"

/* What a try brought. */
typedef struct answer {
    bool granted;
    bool claimed;     /* the lease runs; else the claim window does, until the first renewal */
    bool foreign;     /* not granted: another library has it */
    bool left_over;   /* not granted: a server may have the token nevertheless */
    uint64_t fence;   /* the grant's; without one the last issued, 0 = not told */
    dlock_time asked; /* before the question was sent; of a wake-up: when it was read */
    int64_t retry_ms; /* not granted: the lease's rest, -1 = not known */

    /* Granted, not claimed: it expires window_ms after it was given, as the giver has set it; and
     * it was given later than at `without`. */
    int64_t window_ms;
    dlock_time without;
} answer;

/* What a try may leave in Redis when the lock can not be had: nothing, an entry in the queue, or
 * one unless there is one already (fair_acquire.lua knows the numbers). */
typedef enum entry_mode { ENTRY_NONE, ENTRY_NEW, ENTRY_AGAIN } entry_mode;

/* A script of a kind, and what it is given: `args` adds the keys, and returns their number, and
 * then the arguments. `entry` is an acquire's. */
typedef struct kind_call {
    dlock_script *script;
    int (*args)(const dlock_lock *lock, const char *token, entry_mode entry, dlock_args *args);
} kind_call;

/* How all servers of the client's quorum are asked, of which a majority decides; ask.h says what
 * the questions come to. */
typedef struct kind_everywhere {
    dlock_status (*acquire)(dlock_lock *lock, const char *token, answer *ret);
    dlock_status (*release)(dlock_lock *lock, const char *token);
    dlock_status (*leave)(dlock_lock *lock, const char *token);

    /* What one server is asked by a renewal, which may take a vote that is not there until `takes`,
     * 0 = it may not; the number of keys. And its answer to what was asked at `asked`, 1: renewed,
     * 0: not ours. False: it is of another shape. */
    int (*renew_args)(const dlock_lock *lock, const char *token, int server, dlock_time takes,
                      dlock_args *args);
    bool (*read_vote)(const dlock_lock *lock, int server, dlock_time asked, const redisReply *reply,
                      int64_t *ret);
} kind_everywhere;

typedef struct kind {
    kind_family family;
    bool queues;           /* a waiter leaves an entry in Redis, which `leave` takes back */
    bool permits;          /* an acquire may take several permits: the token's end says how many */
    const char *token_end; /* of every token; NULL: nothing */

    /* What the lock's server is asked; ask.c has the replies. An acquire's last argument, the
     * moment after which it is to do nothing, is added there. A renewal replies 1: renewed, 0: not
     * ours. */
    kind_call acquire, release, leave, renew;

    /* Not NULL: asks a quorum so, and of the above by the script of `renew` alone. */
    const kind_everywhere *everywhere;

    /* The channel on which waiters are told, in ret; NULL: they poll. What a message there says is
     * passed to the wait set; called under the subscriber's mutex. */
    void (*channel)(const dlock_lock *lock, char *ret, size_t ret_len);
    void (*heard)(dlock_lock *lock, const char *message);

    /* A heartbeat, of kinds that queue: `token` is the process, and the tokens of its waiters
     * that sleep are to follow. Its reply, to what was asked at `asked`, is passed to the wait set;
     * returned is in how many ms the next one is due. */
    kind_call beat;
    int64_t (*beaten)(dlock_lock *lock, dlock_time asked, const redisReply *reply);
} kind;

extern const kind dlock_kind_string, dlock_kind_hash, dlock_kind_fair, dlock_kind_quorum,
    dlock_kind_read, dlock_kind_write, dlock_kind_semaphore;

#endif
