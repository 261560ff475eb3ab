/*
 * dlock.h - distributed locks over Redis.
 *
 * The shortest program
 *
 *     #include <dlock.h>
 *     #include <signal.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         const char *url = "redis://127.0.0.1:6379";
 *         char err[256] = "";
 *         dlock_client *client = NULL; // one per process is enough
 *         dlock_lock *lock = NULL;     // one per name; cheap, keep it
 *         dlock_hold *hold;            // one per acquisition
 *
 *         signal(SIGPIPE, SIG_IGN); // a broken connection must not end the program
 *         dlock_status status = dlock_client_open(url, NULL, &client, err, sizeof(err));
 *         if (status == DLOCK_OK)
 *             status = dlock_lock_new(client, "stock:42", NULL, &lock, err, sizeof(err));
 *         if (status == DLOCK_OK)
 *             status = dlock_acquire(lock, NULL, &hold); // NULL: one try, without a wait
 *         if (status == DLOCK_OK) {
 *             puts("ours");        // dlock_held(hold) tells whether it still is
 *             dlock_release(hold); // always, even if the lock was lost
 *         } else {
 *             if (lock) // it was made, so the reason came from Redis
 *                 dlock_last_error(client, err, sizeof(err));
 *             fprintf(stderr, "%s. %s\n", dlock_status_text(status), err);
 *         }
 *         dlock_lock_free(lock);
 *         dlock_client_free(client);
 *         return status == DLOCK_OK ? 0 : 1;
 *     }
 *
 *   Options that are all zero mean the defaults. The default kind, STRING, is the simplest: it has
 *   no queue, and no connection that listens. But its waiters poll, and are served in no order. If
 *   several may wait at once, set `kind` to DLOCK_FAIR.
 *
 * The promise
 *
 *   A lock is a name. At most one holder has it at a time, among all processes that use the same
 *   Redis. (A read/write lock has one writer or many readers, a semaphore as many holders as
 *   permits.) Each holder has a lease of its own, which a watchdog thread renews. If the holder
 *   dies, its lease ends, and the next one gets the lock. Only the holder can release it, or
 *   whoever calls dlock_force_release().
 *   The kinds with a queue serve waiters in the order of arrival, and hand the lock to the next
 *   one directly. While waiters sleep, they cost Redis one heartbeat per process and lock. A
 *   process that is silent for two seconds while others are not loses its places.
 *
 * What a lease cannot promise
 *
 *   A lease is a bet on time. A holder that is stopped for longer than its lease (by the scheduler,
 *   a swap storm, a debugger) still believes in a lock that another one has by then. A failover to
 *   a replica that has not received the lock gives it away twice; a server whose clock is
 *   set ahead does too. No lock service can prevent the first. Redis does not prevent the others.
 *   So check what matters where it is written. Every hold has a fence, a number that rises with
 *   every grant. dlock_guard_call() runs a write only if this hold is the owner at that moment and
 *   its fence is the last one issued. Use the lock to avoid wasted work. Use the guard, or the
 *   fence at the resource, for safety.
 *   The fence goes back only if Redis loses the counter and its clock is set back as well. The
 *   guard's owner check still holds then.
 *
 * Life cycle
 *
 *   A hold belongs to the caller from DLOCK_OK until dlock_release(), which frees it, whatever it
 *   returns. Free a lock only when it has no holds and no waiters, and a client only when it has no
 *   locks.
 *
 * Threads
 *
 *   Any number of threads may use a client or a lock. A hold may be passed between threads, but
 *   only one may use it at a time; dlock_held(), dlock_validity_ms(), dlock_fence() and
 *   dlock_lost_fd() may be called from any thread while it exists. Callbacks run on the library's
 *   own threads, several of which may report at the same time, or on the thread whose call found
 *   out. A callback must not block, may call no function of the library but those four, and
 *   returns: no longjmp(), and no exception of C++. The same is true of dlock_with()'s body.
 *   After fork() the child holds nothing: every call on an inherited client, lock or hold returns
 *   DLOCK_FORKED (or false, or 0), and the parent's lock is left alone. Processes that a holder has
 *   started do not end with it. A program that lets others work under its lock must end them before
 *   the lease is over, even if it dies itself, as `dlock run` does (dlock(1)).
 *   If a thread ends while it holds a per-thread lock, that is reported (DLOCK_REPORT_ORPHANED).
 *   Its renewal stops, so that the lease ends by itself. If the grant is passed on in a cohort, the
 *   next thread's hold is renewed again.
 *
 * Errors
 *
 *   Functions return a dlock_status. The compiler warns where one is overlooked, unless it is a
 *   release's. "Held by another" is an answer, DLOCK_BUSY. A request that was sent but not answered
 *   is DLOCK_UNKNOWN, never success and never failure. The library then tries in the background to
 *   release what it may have acquired, until the lease must have ended.
 *   Redis refuses an acquire that arrives when nobody waits for its reply any more: io_ms after it
 *   was sent, by Redis's clock. A client knows that clock from its first grant on. There are two
 *   gaps, in which a late acquire keeps the lock from everybody for one lease: before the client's
 *   first grant; and within io_ms, if a repetition got the lock meanwhile and released it.
 *   In kind QUORUM a late acquire keeps one server only, and the clock of each server is learned
 *   before its first vote. But a server that restarts empty must stay away for one lease, or write
 *   its votes to disk (appendfsync always): otherwise it votes again for a lock that is still held.
 *   The second renewal after such a server is back takes its vote again, if nobody else has it; so
 *   a hold outlives restarts of all servers in turn. If the release overtakes such a renewal, which
 *   then still arrives in time, that server is kept for one lease.
 *   The library never logs, exits or aborts.
 *
 * Layout in Redis
 *
 *   NAME itself is the lock:
 *
 *   - Kinds STRING, FAIR and QUORUM: a string with the owner's token. It is the layout of redis-py,
 *     redsync and node-redlock, so these exclude each other.
 *   - Kind HASH: a hash with the field owner -> 1. It is Redisson's layout, and its channel, so a
 *     Java RLock and this one exclude and wake each other.
 *   - Kinds READ, WRITE and SEMAPHORE: a sorted set with the token of each holder, scored with the
 *     end of its lease in ms of Redis's clock. A writer's token ends in "*w", one of K permits in
 *     "*K".
 *   - A latch: a hash.
 *
 *   A key of another type at NAME counts as held by a stranger.
 *   A lock's companion keys are dlock:{NAME}:ROLE, or dlock:{TAG}:ROLE:NAME if NAME has the hash
 *   tag TAG. So they live in NAME's slot, and belong to one lock alone. Names that begin with
 *   "dlock:" are DLOCK_INVALID, and so is a NAME with a brace but without a hash tag. Roles: fence,
 *   queue, beats, wake (one channel for each process, whose id is appended), permits, open (a
 *   latch's channel), ran.
 *   `dlock run --at-least` leaves a name taken under the token "<client id>:k<number>". Nobody
 *   renews or releases it: its time to live ends it, or a forced release. The role ran belongs to
 *   --once-per: it has the start of the last successful run, in us of Redis's clock, until the
 *   period is over. If the key is deleted, the next run may begin at once.
 *   The fence is stored with the token that it was issued to, and with the family of kinds: STRING
 *   and FAIR, HASH, READ and WRITE, or SEMAPHORE. While one family holds a name, the others are
 *   refused with DLOCK_FAILED, and dlock_last_error() says what the name is in use as. Families
 *   with a queue are also refused while another one waits in it. Kind QUORUM and other libraries
 *   have no such companions: what they hold counts as held by another.
 *
 * In a cluster
 *
 *   A name needs no hash tag: the companion keys follow it to its slot. The names of a multi-lock
 *   must share a slot, and so must the lock and the keys of a guarded call; a hash tag in the
 *   lock's name does that. Waiters listen at the lock's server, and move along with its slot and to
 *   its successor. While the slot moves key by key, the lock can be neither acquired nor released,
 *   and a lease may end because it could not be renewed.
 *
 *   A failover keeps a lock only if the replica had received it; see wait_replicas. Renewals do not
 *   wait for replicas. A replica that was cut off after the grant, and is then promoted, may let
 *   the lock end while its hold still counts as valid, until the next renewal is refused.
 *
 * How this interface grows
 *
 *   A program works with every later libdlock.so.0 without being compiled again. One that was
 *   compiled with a later header works with an earlier library unless it uses what is new. What
 *   may come:
 *
 *   - Functions and macros. None is removed, none changes.
 *   - Members, in the room that structs keep for them: no size changes. In a struct that callers
 *     fill (dlock_options, dlock_client_options, dlock_wait, dlock_election_options,
 *     dlock_redis_options) `reserved` must be zero, and zero is the default of whatever takes its
 *     place. The library checks that: an option that it does not know is DLOCK_INVALID, never
 *     ignored. In a struct that the library fills (dlock_info, dlock_holder, dlock_stats,
 *     dlock_histogram) `reserved` is set to zero.
 *   - Values at the end of enums. If an acquire returns a status that the program does not know,
 *     nothing is held; in other respects treat it as DLOCK_UNKNOWN. dlock_status_text() has its
 *     words. The same holds for a dlock_redis_outcome. Ignore a dlock_report that you do not know.
 *
 *   So set the whole struct to zero, then members by name: `= {.wait_ms = 500}` in C, `= {}` and
 *   assignments in C++. dlock_args and dlock_script are public only because they stand on stacks
 *   and in static storage: their reserved room is the library's own. dlock_time, which is passed by
 *   value, and dlock_named_arg, of which callers make arrays, cannot grow: what would need more
 *   gets a type and a function of its own.
 *
 *   liburing does the same (reserved members, refused unless zero). libgit2 begins each struct with
 *   a version that a macro sets; with that, or a size, all-zero would no longer mean the defaults,
 *   and each caller would have one more member to forget.
 */
#ifndef DLOCK_H
#define DLOCK_H

#include "dlock_redis.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dlock_client dlock_client;
typedef struct dlock_lock dlock_lock;
typedef struct dlock_hold dlock_hold;
typedef struct dlock_cancel dlock_cancel;

/* ---- status ---------------------------------------------------------------------------------- */

typedef enum dlock_status {
    DLOCK_OK = 0,
    DLOCK_BUSY,        /* another has it; the wait is over. Nothing is held. */
    DLOCK_CANCELLED,   /* dlock_cancel_now() ended the wait. Nothing is held. */
    DLOCK_EXPIRED,     /* this hold's lease had ended before; nothing was released */
    DLOCK_NOT_OWNER,   /* Redis says that the lock is not this hold's (any more) */
    DLOCK_STALE,       /* guard: not the owner, or a later fence was issued; nothing was run */
    DLOCK_UNAVAILABLE, /* Redis was not reached, or refused. Definitely nothing was done. */
    DLOCK_UNKNOWN,     /* sent, no reply: done or not. See "Errors" above. */
    DLOCK_FAILED,      /* Redis answered with an error; dlock_last_error() has the sentence */
    DLOCK_INVALID,     /* bad argument: template, name, option */
    DLOCK_NO_MEMORY,   /* out of memory, or of descriptors */
    DLOCK_FORKED,      /* called in a forked child */
    DLOCK_PENDING      /* ..._finish(): not decided yet */
} dlock_status;

/* The status in words, for example "held by another". Never NULL. */
DLOCK_API const char *dlock_status_text(dlock_status status);

/* ---- client ---------------------------------------------------------------------------------- */

typedef enum dlock_report {
    DLOCK_REPORT_LOST,     /* a hold was lost; text names lock and reason */
    DLOCK_REPORT_ORDER,    /* locks A and B were taken in both orders: possible deadlock */
    DLOCK_REPORT_ORPHANED, /* a thread ended while it held a lock */
    DLOCK_REPORT_RELEASE   /* Redis answered a retried release, or the library gave it up */
} dlock_report;

/* All-zero means the defaults; dlock_client_new() needs `redis` or `quorum`. No time is above a
 * year, 31,536,000,000 ms. */
typedef struct dlock_client_options {
    dlock_redis *redis; /* the server (borrowed; outlives the client) */
    dlock_redis *const
        *quorum;        /* independent servers for kind QUORUM (array and servers borrowed) */
    int quorum_len;     /* 0..16 */
    int64_t io_ms;      /* limit of one request to Redis, 0 = 1,000 */
    int64_t claim_ms;   /* fair: a waiter has this time and four round trips, as measured, to take
                           up a grant that this client hands on; then the next one gets it.
                           0 = 250. The shorter one of both clients' counts; never longer than
                           the lock's lease_ms */
    int64_t recheck_ms; /* no wait sleeps longer without asking Redis, 0 = 100; at most 1,000 */
    bool check_order;   /* debugging: report locks taken in opposite orders */
    void (*report)(void *arg, dlock_report what, const char *text);
    void *report_arg;
    const char *label;    /* for people: which job is this? Copied to the beginning of the client's
                             id, 24 bytes at most; all but letters, digits, '.', '_' and '-' becomes
                             '_'. All holds of the client have it. NULL: none */
    uint64_t reserved[7]; /* must be zero */
} dlock_client_options;

/* Makes a client of the server, or servers, at this URL (see dlock_redis.h), with connections of
 * its own. It does not connect yet. `options` may be NULL; its `redis` must be NULL. DLOCK_INVALID:
 * err says why. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_client_open(const char *url,
                                                          const dlock_client_options *options,
                                                          dlock_client **ret, char *err,
                                                          size_t err_len);

/* The same, for servers that the caller has opened, and closes after the client. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_client_new(const dlock_client_options *options,
                                                         dlock_client **ret, char *err,
                                                         size_t err_len);

/* The server, for your own commands and scripts; NULL if the client has only those of a quorum.
 * (borrowed) Valid until the client is freed. */
DLOCK_API dlock_redis *dlock_client_redis(const dlock_client *client);

/* Waits for background releases, and stops the threads. If a server is silent, that takes about
 * three times io_ms. NULL is allowed. */
DLOCK_API void dlock_client_free(dlock_client *client);

/* This client's part of every owner id: "<host>/<pid>/<random>", or
 * "<label>@<host>/<pid>/<random>". It never changes. */
DLOCK_API const char *dlock_client_id(const dlock_client *client);

/* The last Redis failure as a sentence, copied into buf; empty if there was none. */
DLOCK_API void dlock_last_error(dlock_client *client, char *buf, size_t buf_len);

/* ---- locks ----------------------------------------------------------------------------------- */

typedef enum dlock_kind {
    DLOCK_STRING = 0, /* SET NX PX + token; waiters poll */
    DLOCK_HASH,       /* Redisson's hash; its broadcast wakes a waiter in each process */
    DLOCK_FAIR,       /* FIFO queue; waiters are handed the lock one by one */
    DLOCK_QUORUM,     /* Redlock: majority of independent servers; waiters poll; no fence, guard */
    DLOCK_READ,       /* the two sides of a read/write lock: as many readers ... */
    DLOCK_WRITE,      /* ... or one writer; one FIFO queue for both. See "read/write locks" */
    DLOCK_SEMAPHORE   /* permits, with a FIFO queue. See "semaphores" */
} dlock_kind;

#define DLOCK_NEVER   (-1) /* for renew_ms */
#define DLOCK_FOREVER (-1) /* for wait_ms */

/* All-zero means the defaults. Every kind takes every option, except that kinds with several
 * holders (READ, SEMAPHORE) refuse cohort_max, and QUORUM refuses wait_replicas. No time is above a
 * year. */
typedef struct dlock_options {
    dlock_kind kind;  /* 0 = STRING; if several may wait at once, choose FAIR */
    int64_t lease_ms; /* 0 = 10,000; at least 10 */
    int64_t renew_ms; /* period of renewal; 0 = lease / 3; DLOCK_NEVER: none, the lease just ends */
    int64_t
        max_hold_ms; /* cap on one grant's total time, renewals and hand-offs included; 0 = none */
    int64_t poll_ms; /* > 0: waiters ask every poll_ms instead of the kind's own way of waking;
                        kinds with a queue ask at least every claim_ms / 2
                        and every second */
    bool not_reentrant; /* default: a thread (or context) that holds the lock gets it again */
    int cohort_max;     /* > 0: one waiter in Redis for all threads of this client; a grant is
                           passed on inside the process, at most so many times in a row ... */
    int64_t cohort_ms;  /* ... and for so long; 0 = 10 */
    int wait_replicas;  /* > 0: a grant (not a renewal) counts only after so many replicas
                           have it (WAIT). Not for kind QUORUM */
    void (*lost)(void *arg, dlock_hold *hold); /* once, when a hold is lost. See "Threads" */
    void *lost_arg;
    int64_t permits;      /* SEMAPHORE: how many there are, if Redis has no number yet: 1 to
                             1,000,000,000. Other kinds: 0 */
    uint64_t reserved[8]; /* must be zero */
} dlock_options;

/* `options` may be NULL and is copied. The same name and options give the same lock again: all its
 * waiters share one queue. DLOCK_INVALID: err says why. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_lock_new(dlock_client *client, const char *name,
                                                       const dlock_options *options,
                                                       dlock_lock **ret, char *err, size_t err_len);

/* One lock made of several names: all or nothing, in one script. In a cluster the names must share
 * a slot. Kind STRING only; 1..64 names. It excludes the holders of each single name, even in the
 * same context: neither a multi-lock nor one of its names is re-entered. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_multi_new(dlock_client *client,
                                                        const char *const *names, int names_len,
                                                        const dlock_options *options,
                                                        dlock_lock **ret, char *err,
                                                        size_t err_len);

DLOCK_API void dlock_lock_free(dlock_lock *lock); /* once for each new; NULL is allowed */

/* ---- acquire and release --------------------------------------------------------------------- */

/* All-zero: do not wait, the calling thread is the context, no cancellation. */
typedef struct dlock_wait {
    int64_t wait_ms;  /* 0: one try; DLOCK_FOREVER: until it is acquired, cancelled or invalid */
    uint64_t context; /* who may re-enter: 0 = the calling thread; otherwise your own id */
    dlock_cancel *cancel; /* (borrowed) NULL: none */
    int64_t permits;      /* SEMAPHORE: how many to take, all or none; 0 = 1. Other kinds: 0 */
    int64_t lease_ms;     /* of this acquisition; 0 = the lock's; at least 10 */
    uint64_t reserved[6]; /* must be zero */
} dlock_wait;

/*
 * Acquires the lock. `wait` may be NULL (all-zero). *ret is written only with DLOCK_OK.
 *
 * A context that still holds the lock gets it again at once, without asking Redis: the same
 * dlock_hold, to be released as often, in any order with other locks (A, B, A). "The lock" is a
 * name on the same servers in kinds of one family; so a QUORUM lock and one on the client's redis
 * do not re-enter each other. If the hold's lease is over, or its lock is not_reentrant, this is a
 * new acquisition.
 *
 * wait.lease_ms gives the hold a lease of its own, in every kind. The period of renewal grows or
 * shrinks in proportion. Re-entering a hold does not change its lease. In a cohort, a grant is
 * passed on only to a waiter that wants the same lease.
 *
 * DLOCK_BUSY, _CANCELLED: nothing is held, and the waiter has left the queue.
 * DLOCK_UNAVAILABLE: Redis was out of reach for the whole wait.
 * DLOCK_UNKNOWN: a request was not answered by the end of the wait, perhaps the one that leaves the
 * queue. What may have been acquired is released in the background.
 * DLOCK_FAILED: Redis answered with an error, or kinds of another family use the name.
 * DLOCK_INVALID: wait_ms is below DLOCK_FOREVER, `reserved` is not zero, permits or lease_ms are
 * out of range, or permits are given and the kind is not SEMAPHORE. Also if the context would wait
 * for itself, because it holds less than it asks for: it reads and wants to write (see "read/write
 * locks"), or its grant waited for fewer replicas than this lock's wait_replicas.
 *
 * The call may last longer than the wait, by requests that are under way. If Redis falls silent,
 * that is io_ms for the last request, and io_ms for the subscription before it.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_acquire(dlock_lock *lock, const dlock_wait *wait,
                                                      dlock_hold **ret);

/*
 * Gives up one level of the hold. At the last level it releases the lock and frees the hold. In
 * every case the caller is done with that level.
 *
 * DLOCK_OK: released, or one level less, or passed on to the next in the cohort. Passing on does
 * not ask Redis, so it is true as far as this process can know.
 * DLOCK_EXPIRED: the lease was over.
 * DLOCK_NOT_OWNER: another one has the lock already, or nobody.
 * DLOCK_UNKNOWN, DLOCK_UNAVAILABLE: Redis did not answer this release, or the guarded call that was
 * to release. The library tries again in the background until the lease must have ended. Nothing is
 * passed on: the next in the cohort asks Redis. A silent Redis keeps the caller for io_ms.
 */
DLOCK_API dlock_status dlock_release(dlock_hold *hold);

/* Ends waits from another thread: it wakes them at once. One may be used for many waits; once
 * fired, it stays fired. Free it when all waits that use it have ended. */
DLOCK_API dlock_cancel *dlock_cancel_new(void); /* NULL: out of memory */
DLOCK_API void dlock_cancel_now(dlock_cancel *cancel);
DLOCK_API void dlock_cancel_free(dlock_cancel *cancel);

/* ---- a hold ---------------------------------------------------------------------------------- */

/* Whether the hold is still ours, as far as this process can know without asking: it was not
 * reported lost, and its lease is not over. False stays false. */
DLOCK_API bool dlock_held(const dlock_hold *hold);

/* Milliseconds for which the hold is surely ours, counted from before the last confirmed request
 * was sent, less the allowance for clock drift (1 % + 2 ms). 0 when lost. No I/O. A hold of kind
 * FAIR that was handed over has only the rest of the claim window until its first renewal is
 * answered. That renewal, for the whole lease, was given to the kernel before the acquire returned.
 * So in Redis the lease is whole, with two exceptions: the message is lost; or Redis has forgotten
 * its scripts (SCRIPT FLUSH, another server), and this process stops before it repeats the renewal.
 */
DLOCK_API int64_t dlock_validity_ms(const dlock_hold *hold);

/* The fence: strictly greater than that of every earlier grant of this name; the same for
 * re-entries and for hand-offs inside a cohort. It is max(last + 1, Redis's clock in us). 0: none
 * (QUORUM). A reader has the last writer's: what it reads is at least as new. Each renewal keeps
 * the counter for a day longer than the lease. */
DLOCK_API uint64_t dlock_fence(const dlock_hold *hold);

/* This grant's owner token in Redis: "<client id>:<number>", followed by "*w" or "*K" as "Layout"
 * says. */
DLOCK_API const char *dlock_owner(const dlock_hold *hold);

/* An eventfd, readable once the hold is lost. (borrowed) Closed with the hold. -1: out of
 * descriptors. */
DLOCK_API int dlock_lost_fd(dlock_hold *hold);

/* ---- read/write locks ------------------------------------------------------------------------ */

/*
 * Two locks of one name, of kind READ and of kind WRITE, are the two sides of one read/write lock:
 * any number of readers hold it, or one writer. All wait in one FIFO queue. A waiting writer stops
 * the readers that come after it. The readers between two writers come in together. Each reader has
 * a lease of its own, so a dead reader delays a writer by one lease at most.
 *
 * Only writers issue fences, and only a writer's hold can be guarded (not by a section). A context
 * that holds the lock for writing and asks for reading gets its write hold again. One that holds it
 * for reading and asks for writing would wait for itself: DLOCK_INVALID at once.
 */

/*
 * Exchanges a write hold for a read hold in one script, so that no writer comes between. `read` is
 * the lock of kind READ with the same name, of the same client. Waiting readers come in as well, up
 * to the next writer.
 *
 * DLOCK_OK: *ret is the read hold, in the same context, with the write hold's fence and the lease
 * of `read`; `hold` is released. DLOCK_EXPIRED, _NOT_OWNER: the write lease was over; nothing is
 * held. DLOCK_UNAVAILABLE, _UNKNOWN, _FAILED, _NO_MEMORY: nothing is held, and what may be left in
 * Redis is released in the background. In all these cases the caller is done with `hold`.
 * DLOCK_INVALID: `hold` is not of kind WRITE, or was re-entered, or `read` is not its other side;
 * `hold` stays as it is.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_downgrade(dlock_hold *hold, dlock_lock *read,
                                                        dlock_hold **ret);

/* ---- semaphores ------------------------------------------------------------------------------ */

/*
 * A lock of kind SEMAPHORE has options.permits permits. An acquire takes wait.permits of them at
 * once, and waits in a FIFO queue until there are as many. A waiter that wants fewer does not
 * overtake, unless the one before it wants more than the semaphore has at all. Each hold has a
 * lease of its own; a dead holder's permits are freed when its lease ends. A semaphore is not
 * reentrant: each acquire takes more permits. Each grant has a fence. There is no guard, because
 * the last fence issued may be another holder's.
 *
 * Redis keeps the number. options.permits counts only if Redis has none: the number was never set,
 * or nobody has used the semaphore for a day. Permits are not counted if readers use the same name.
 */

/* Sets the number of permits, 0 to 1,000,000,000, and hands new ones to waiters. Permits that are
 * held stay held: if more are held than there are, nobody gets one until enough are released. A
 * waiter that wants more than there are is passed over until there are as many. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_semaphore_set(dlock_lock *lock, int64_t permits);

/* ---- guarded scripts ------------------------------------------------------------------------- */

/* Your script, with the check before it and the release after it. Make it once and keep it. `body`
 * is a Lua function body that sees its own KEYS and ARGV from 1, and the local `fence`, the
 * grant's, as a string of decimal digits. It must check everything before its first write.
 *
 *     set = dlock_guard_new("set", "return redis.call('SET', KEYS[1], ARGV[1])");
 *     dlock_args_init(&args);
 *     dlock_args_text(&args, "{stock}:left"); // a key in the slot of the lock, "{stock}" for one
 *     dlock_args_text(&args, "7");
 *     status = dlock_guard_call(hold, set, 1, &args, false, dlock_in_ms(1000), NULL);
 *     dlock_args_free(&args);
 */
typedef struct dlock_guard dlock_guard;

/* Composes the script. `name`, for errors, and `body` are copied. NULL: out of memory. */
DLOCK_API dlock_guard *dlock_guard_new(const char *name, const char *body);
DLOCK_API void dlock_guard_free(dlock_guard *guard);

/*
 * Runs the guard's body, atomically, only if this hold is the owner at that moment and its fence is
 * the last one issued. `args` has `keys` keys, in the lock's slot, then the arguments. With
 * `release`, the same call releases the lock (and hands it on) once the body has returned; call
 * dlock_release() nevertheless, which then does not ask Redis. Once a call with `release` is sent,
 * dlock_held() says no, unless the call fails.
 *
 * `ret` may be NULL. Otherwise *ret is the body's reply or error, which the caller frees by
 * freeReplyObject(), or NULL.
 *
 * DLOCK_OK: the body was run, its reply is in *ret. (If the release then fails inside Redis, the
 * hold is lost, and dlock_release() says DLOCK_UNKNOWN.)
 * DLOCK_STALE: nothing was run, the hold is lost.
 * DLOCK_UNKNOWN: the body was run, or not, or may be run later. Without `release` the hold stays,
 * and the body may still run. dlock_release() then releases the lock in Redis, which ends that
 * possibility, and passes it on to nobody. With `release` the hold is lost at once, as at the end
 * of its lease, because the lock may be free at any moment. The release is tried again in the
 * background, which also keeps the body from running later; dlock_release() says DLOCK_UNKNOWN.
 * DLOCK_FAILED: the body raised an error, or returned one; the lock is then not released.
 * DLOCK_INVALID: a lock of several names (each has a fence), kind QUORUM, READ or SEMAPHORE, or
 * `release` of a hold that was re-entered.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_guard_call(dlock_hold *hold, dlock_guard *guard,
                                                         int keys, const dlock_args *args,
                                                         bool release, dlock_time deadline,
                                                         redisReply **ret);

/* The same, then WAIT for at least `replicas` replicas, as in dlock_redis_eval_wait(): so a
 * failover does not undo the write. With `release` the lock is free before the wait for replicas.
 * Without it the next holder waits for them too. DLOCK_UNKNOWN with the body's reply in *ret: the
 * body was run, and the lock is as after DLOCK_OK, but too few replicas have acknowledged the write
 * by the deadline. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_guard_call_wait(dlock_hold *hold, dlock_guard *guard,
                                                              int keys, const dlock_args *args,
                                                              bool release, int replicas,
                                                              dlock_time deadline,
                                                              redisReply **ret);

/* As dlock_guard_call() with `release`, but it runs the body even if the lock is not this hold's
 * any more, and releases only this hold. It guards nothing. Use it for the last of several steps,
 * which must follow once the earlier ones were made: step and release take one round trip. If the
 * lock was not ours any more, that is DLOCK_OK too, and dlock_release() says DLOCK_NOT_OWNER. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_guard_finish(dlock_hold *hold, dlock_guard *guard,
                                                           int keys, const dlock_args *args,
                                                           dlock_time deadline, redisReply **ret);

/*
 * Runs the body as a whole critical section, in one round trip: if nobody has the lock and nobody
 * waits for it, one script acquires the lock, runs the body and releases the lock. The grant has a
 * fence like any other, so every earlier holder is stale. It is in *fence, unless `fence` is NULL.
 *
 * DLOCK_BUSY: somebody has the lock or waits for it; nothing was run. Acquire the lock instead, and
 * wait for your turn. (Waiters that poll leave no trace, so they are not seen.)
 * DLOCK_UNKNOWN without a reply: the body was run, or not, or may be run later, whenever the lock
 * is free. The body must allow for that, for example by a time limit of its own. DLOCK_INVALID: a
 * lock of several names, or a kind other than STRING, HASH and FAIR. Otherwise as
 * dlock_guard_call_wait().
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_guard_section(dlock_lock *lock, dlock_guard *guard,
                                                            int keys, const dlock_args *args,
                                                            int replicas, dlock_time deadline,
                                                            uint64_t *fence, redisReply **ret);

/* ---- without a thread ------------------------------------------------------------------------ */

/*
 * For programs with an event loop: the client's own threads work on what is started here. For
 * acquisitions and releases the client starts two more, and one for each server, however much is
 * pending. Whatever else blocks goes through dlock_call_start(). A pending call costs some memory
 * and a file descriptor, which becomes readable once the call is decided. Only one thread may use
 * it at a time. Free a lock or client only when nothing of it is pending.
 *
 *     dlock_acquire_start(lock, &wait, &pending);
 *     ... add dlock_pending_fd(pending) to the loop; when it is readable:
 *     status = dlock_acquire_finish(pending, &hold);
 *
 * The ..._finish() that decides closes the descriptor. A hold that was acquired so may be used in a
 * dlock_call_start(). To stop, cancel what is pending, and go on with the loop until all of it is
 * finished; then release, and free.
 *
 * An acquisition so started does not enter a cohort's line. Kind QUORUM and wait_replicas have no
 * such form: DLOCK_INVALID. Acquire those in a dlock_call_start().
 */
typedef struct dlock_pending dlock_pending;

/* Starts an acquisition; never waits for Redis. As dlock_acquire(), except that with wait.context 0
 * nothing is re-entered: each call is a context of its own. Once it is decided with DLOCK_OK, the
 * lock is held and renewed, even before ..._finish(). If the user may not publish or subscribe, a
 * hand-off takes up to recheck_ms. DLOCK_OK and *ret, which must be finished; DLOCK_NO_MEMORY (of
 * descriptors too), _INVALID, _FORKED. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_acquire_start(dlock_lock *lock,
                                                            const dlock_wait *wait,
                                                            dlock_pending **ret);

/* DLOCK_PENDING until it is decided. Then what dlock_acquire() would have returned, with *ret as
 * there; `pending` is freed and its descriptor closed. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_acquire_finish(dlock_pending *pending,
                                                             dlock_hold **ret);

/* Starts a release; never waits for Redis. With DLOCK_OK the hold belongs to the library. A hold
 * that was re-entered goes one level down at once. DLOCK_INVALID (kind QUORUM), _NO_MEMORY,
 * _FORKED: it still belongs to the caller. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_release_start(dlock_hold *hold, dlock_pending **ret);

/* DLOCK_PENDING until it is decided. Then what dlock_release() would have returned; `pending` is
 * freed. */
DLOCK_API dlock_status dlock_release_finish(dlock_pending *pending);

/*
 * Runs call(arg) on a thread of the client; never waits for Redis itself. `call` may block and may
 * use the library freely, for example for a guarded call and then dlock_release(). It returns: no
 * longjmp(), no pthread_exit(), and no exception of C++. With wait.context 0, each `call` is a
 * context of its own: only `call` itself re-enters what it acquires. Its hold may outlive it, and
 * is renewed until it is released.
 *
 * At most 32 run at a time for each client; the others wait in line, in order. So in `call` do not
 * wait without a limit for what another one does: 32 that wait for a lock would keep back the one
 * that releases it. The threads are started as needed, end a second after their last call, and have
 * the default stack size. They take no signals; a program that `call` starts inherits that mask.
 *
 * DLOCK_OK and *ret, which must be finished; DLOCK_NO_MEMORY (of descriptors or threads too),
 * _FORKED: `call` does not run.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_call_start(dlock_client *client,
                                                         dlock_status (*call)(void *arg), void *arg,
                                                         dlock_pending **ret);

/* DLOCK_PENDING until `call` has returned, or was cancelled. Then its status, and `pending` is
 * freed. DLOCK_PENDING or DLOCK_FORKED from `call` would look undecided: it becomes DLOCK_INVALID.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_call_finish(dlock_pending *pending);

/* Readable once it is decided. (borrowed) */
DLOCK_API int dlock_pending_fd(const dlock_pending *pending);

/* Ends an acquisition soon, with DLOCK_CANCELLED unless it was decided before. A `call` that has
 * not begun ends so at once, and never runs; one that runs goes on, so give a dlock_cancel of your
 * own to what waits in it. A release is not affected. All must still be finished. */
DLOCK_API void dlock_pending_cancel(dlock_pending *pending);

/* ---- count-down latches ---------------------------------------------------------------------- */

/*
 * A latch opens when it has been counted down to zero, and stays open for the rest of its life. A
 * message on the channel dlock:{NAME}:open tells the waiters. They also look every recheck_ms, in
 * case it was lost. Each set begins a new round: if a latch opens and is set again before a waiter
 * looks, that waiter is told that it has opened.
 * To give a latch up, delete NAME: its waiters get DLOCK_EXPIRED. dlock_client_stats() does not
 * count latches.
 */
typedef struct dlock_latch dlock_latch;

/* `name` follows the rules for locks, but no lock may use it. DLOCK_INVALID: err says why. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_new(dlock_client *client, const char *name,
                                                        dlock_latch **ret, char *err,
                                                        size_t err_len);
DLOCK_API void dlock_latch_free(dlock_latch *latch); /* no waiters may be left; NULL is allowed */

/* Sets the count, 1 to 1,000,000,000. The latch lives for life_ms after that and after every
 * count-down that counted, 0 = a day. DLOCK_BUSY: it is set and has not opened yet. DLOCK_UNKNOWN:
 * it was set or not; if it was, a second call is DLOCK_BUSY. DLOCK_NOT_OWNER: NAME is no latch. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_set(dlock_latch *latch, int64_t count,
                                                        int64_t life_ms);

/*
 * Counts down by one; an open latch stays as it is. *left is what is left; `left` may be NULL.
 * `who` names the caller, 1 to 128 bytes. Each `who` counts once per round, so the call may be
 * repeated after DLOCK_UNKNOWN, and by a worker that was started again. NULL: each call counts. If
 * Redis does not reply, the library repeats the request until io_ms are over, at least once.
 * DLOCK_EXPIRED: the latch is not set, or its life is over. DLOCK_NOT_OWNER: NAME is no latch.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_count_down(dlock_latch *latch, const char *who,
                                                               int64_t *left);

/* *left is what is left; 0: it is open. DLOCK_EXPIRED: it is not set. DLOCK_NOT_OWNER: NAME is no
 * latch. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_left(dlock_latch *latch, int64_t *left);

/*
 * Waits until the latch is open, also if it is not set yet. `wait` may be NULL; its context,
 * permits and lease_ms are not used. The threads that wait by one dlock_latch share a connection.
 * DLOCK_OK: it has opened. DLOCK_BUSY: it did not open by the end of the wait. DLOCK_EXPIRED: it
 * was set, and is gone: its life ended before it opened, or Redis has lost it. DLOCK_NOT_OWNER:
 * NAME is no latch. DLOCK_UNAVAILABLE, _UNKNOWN: Redis did not answer at the end. DLOCK_FAILED:
 * Redis answered with an error. Or DLOCK_CANCELLED.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_wait(dlock_latch *latch,
                                                         const dlock_wait *wait);

/* ---- declarative use ------------------------------------------------------------------------- */

typedef struct dlock_named_arg {
    const char *name;
    const char *value;
} dlock_named_arg;

/* Fills a key template: "stock:{item}" with item = 42 gives "stock:42"; "{{" and "}}" are literal
 * braces. `args` ends with a NULL name. DLOCK_INVALID: an argument is missing or empty, or braces
 * are unbalanced; err says which. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_template(const char *key_template,
                                                       const dlock_named_arg *args, char *ret,
                                                       size_t ret_len, char *err, size_t err_len);

/* Runs body(arg, hold) under the lock named by the template, and releases it whatever body
 * returns. DLOCK_OK: body ran, its value is in *body_ret, and the lock was ours until its end.
 * DLOCK_EXPIRED, DLOCK_NOT_OWNER: body ran, but the lock was lost meanwhile. Otherwise body did not
 * run. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_with(dlock_client *client, const char *key_template,
                                                   const dlock_named_arg *args,
                                                   const dlock_options *options,
                                                   const dlock_wait *wait,
                                                   int (*body)(void *arg, dlock_hold *hold),
                                                   void *arg, int *body_ret);

/* ---- introspection --------------------------------------------------------------------------- */

typedef struct dlock_info {
    bool held;
    char owner[160];  /* token, or Redisson's field; empty if free, or if the key has another type.
                         A token begins with "<label>@" if its client has a label */
    char host[64];    /* from the owner's token, if it is this library's; otherwise empty */
    int64_t pid;      /* likewise; 0 = not known */
    int64_t since_us; /* Unix time of the grant, from the fence; 0 = not known: READ, SEMAPHORE */
    int64_t ttl_ms;   /* -1: no expiry; -2: free */
    uint64_t fence;   /* last one issued; 0 = none */
    int64_t waiters;  /* entries in the queue; 0 for kinds that have none */
    int64_t holders;  /* how many; the members above describe the one whose lease ends first */
    int64_t permits;  /* SEMAPHORE: how many there are; -1: no number yet, or another kind */
    int64_t taken;    /* SEMAPHORE: how many permits are taken; 0 for the other kinds */
    uint64_t reserved[5];
} dlock_info;

DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_inspect(dlock_lock *lock, dlock_info *ret);

/* One of the holders of a name. */
typedef struct dlock_holder {
    char owner[160];
    char host[64];   /* as in dlock_info */
    int64_t pid;     /* likewise */
    int64_t ttl_ms;  /* likewise */
    int64_t permits; /* SEMAPHORE: how many it has; a reader has 1; all others have 0 */
    uint64_t reserved[4];
} dlock_holder;

/* The holders, sorted by the end of their lease: ret has up to `max` of them, *ret_len says how
 * many there are. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_holders(dlock_lock *lock, dlock_holder *ret, int max,
                                                      int *ret_len);

/* Takes the lock away from its holders, raises the fence so that their guarded writes are refused,
 * and hands the lock on, or wakes waiters. A holder learns it at its next renewal. Until then its
 * dlock_held() is true, and it works beside the next one. DLOCK_OK, or DLOCK_NOT_OWNER: it was
 * free. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_force_release(dlock_lock *lock);

/* A histogram of durations: bucket i counts those below 2^i us, the last bucket the rest. */
#define DLOCK_HISTOGRAM_BUCKETS 28
typedef struct dlock_histogram {
    uint64_t count, sum_us, bucket[DLOCK_HISTOGRAM_BUCKETS];
    uint64_t reserved[2];
} dlock_histogram;

/* Counters since the client's start, or since the lock's. */
typedef struct dlock_stats {
    uint64_t acquired, reentered, passed_on; /* grants; re-entries; hand-offs inside a cohort */
    uint64_t busy, cancelled, unavailable, unknown;
    uint64_t released, expired, not_owner;
    uint64_t renewals, renewals_failed, lost;
    uint64_t guarded, stale;
    uint64_t held_now, waiting_now;
    uint64_t reserved[16];
    dlock_histogram wait_us, hold_us;
} dlock_stats;

DLOCK_API void dlock_client_stats(dlock_client *client, dlock_stats *ret);

/* Of this lock alone: how long this process waits for it and holds it, and how often it is busy or
 * lost. Locks that are the same lock (see dlock_lock_new) have the same counters, from the first
 * new to the last free, or for a second longer. dlock_inspect() tells how many wait in all
 * processes. */
DLOCK_API void dlock_lock_stats(dlock_lock *lock, dlock_stats *ret);

/* Calls `each` with every lock of the client that is in use, in no order: which of them is fought
 * over? A multi-lock has its first name. `each` must not call the library. */
DLOCK_API void
dlock_client_locks(dlock_client *client,
                   void (*each)(void *arg, const char *name, const dlock_stats *stats), void *arg);

/* ---- leader election ------------------------------------------------------------------------- */

/*
 * The leader of NAME is the holder of the lock NAME of kind FAIR. Its lease is renewed, and the
 * candidates wait in the order of arrival. When a leader resigns, the next one leads at once. When
 * it dies or is stopped, the next one leads after its lease, at most a recheck_ms later; if that
 * one has died too, at most a claim_ms and a recheck_ms more. Leading is a bet on time like holding
 * a lock, and ends in the same ways: see "What a lease cannot promise". So guard what a leader
 * writes, with dlock_guard_call(), or check the fence where it is written.
 *
 * A dlock_election is one candidate, or an observer that never campaigns. A campaign lasts until
 * the candidate leads or resigns, or its wait is over or cancelled. If Redis is silent, the
 * campaign goes on: it asks again until Redis answers, and finds out then whether it leads. An
 * error that would not go away ends it (DLOCK_FAILED, DLOCK_NO_MEMORY). After a loss the library
 * starts nothing by itself: end what only a leader may do, then campaign again.
 *
 *     dlock_election_new(client, "scheduler", NULL, &me, err, sizeof(err));
 *     dlock_election_start(me, NULL);
 *     ... add dlock_election_fd(me) to the loop; when it is readable:
 *     switch (dlock_election_status(me)) {
 *     case DLOCK_OK:      work, with dlock_election_hold(me) for the guard and the fence
 *     case DLOCK_PENDING: not yet
 *     default:            stop working; after a loss, status = dlock_election_start(me, NULL)
 *     }
 *
 * Any thread may use a candidate. The hold belongs to the election: never release it, and use it on
 * one thread at a time. It lives, lost or not, until the candidate starts again or resigns, so stop
 * using it before. Resign also after a guarded call that released it. After fork() the child
 * neither leads nor campaigns: every call returns DLOCK_FORKED, NULL or -1, and freeing does
 * nothing. Free a client only after its elections.
 */
typedef struct dlock_election dlock_election;

/* All-zero means the defaults. The rules of "Threads" hold for the callbacks: they must not block,
 * and may call only dlock_held(), dlock_validity_ms(), dlock_fence() and dlock_lost_fd(). They
 * never run at the same time. For each hold `elected` runs first. */
typedef struct dlock_election_options {
    int64_t lease_ms; /* 0 = 10,000; at least 10; renewed after each third */
    void (*elected)(void *arg, dlock_hold *hold); /* it leads, at first for a whole lease */
    void (*lost)(void *arg, dlock_hold *hold);    /* it leads no more; once, not if it resigned; at
                                                     the latest within the next start */
    void *arg;
    uint64_t reserved[8]; /* must be zero */
} dlock_election_options;

/* A candidate that does not campaign yet. `options` may be NULL, and is copied. DLOCK_INVALID: err
 * says why, as for a lock; DLOCK_NO_MEMORY (of descriptors too). */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_new(dlock_client *client, const char *name,
                                                           const dlock_election_options *options,
                                                           dlock_election **ret, char *err,
                                                           size_t err_len);

/* Resigns, and frees; no other thread may use it any more. NULL is allowed. */
DLOCK_API void dlock_election_free(dlock_election *election);

/* Starts a campaign; never waits for Redis. The callbacks, dlock_election_fd() and
 * dlock_election_status() tell how it ends. `wait` is as in dlock_acquire(), its lease_ms too, but
 * its context is not used; NULL: no limit. DLOCK_INVALID: it campaigns or leads already, or `wait`
 * is not valid; DLOCK_NO_MEMORY. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_start(dlock_election *election,
                                                             const dlock_wait *wait);

/* The same, and waits for its end; returns what dlock_election_status() then says. DLOCK_OK: it
 * leads. To end it from another thread, resign there. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_campaign(dlock_election *election,
                                                                const dlock_wait *wait);

/*
 * The candidate's state, as far as this process can know without asking. This call also makes the
 * descriptor unreadable again.
 * DLOCK_OK: it leads. DLOCK_PENDING: it campaigns. DLOCK_EXPIRED, DLOCK_NOT_OWNER: it has lost the
 * leadership: its lease was over, or Redis says that the lock is not its own. DLOCK_CANCELLED: it
 * has resigned, was cancelled, or has not campaigned yet. DLOCK_BUSY: the wait ended while another
 * one led. DLOCK_UNAVAILABLE, DLOCK_UNKNOWN: the wait ended while Redis did not answer; what may
 * have been acquired is released in the background. DLOCK_FAILED: Redis answered with an error; see
 * dlock_last_error(). DLOCK_INVALID, DLOCK_NO_MEMORY: the last start was refused; nothing began.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_status(dlock_election *election);

/* The hold, for dlock_guard_call(), dlock_fence() and the like; NULL unless it leads. (borrowed) */
DLOCK_API dlock_hold *dlock_election_hold(dlock_election *election);

/* An eventfd, readable if the status has changed since the last dlock_election_status(). Closed
 * with the election. (borrowed) */
DLOCK_API int dlock_election_fd(const dlock_election *election);

/* Ends the campaign, or gives the leadership to the next candidate; waits for Redis as
 * dlock_release() does. DLOCK_OK: this candidate holds nothing any more. DLOCK_EXPIRED,
 * DLOCK_NOT_OWNER: it had lost the leadership. DLOCK_UNKNOWN, DLOCK_UNAVAILABLE: Redis did not
 * answer; the library tries again in the background until the lease must have ended. In every case
 * it may campaign again. */
DLOCK_API dlock_status dlock_election_resign(dlock_election *election);

/* Asks Redis who leads: owner, host, pid, since_us, ttl_ms and fence are the leader's, `waiters` is
 * how many candidates wait; a dead one counts for a minute or two more. DLOCK_OK also if nobody
 * leads; then `held` is false. Another holder of NAME, of kind STRING say, is told like a leader.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_leader(dlock_election *election,
                                                              dlock_info *ret);

#ifdef __cplusplus
}
#endif

#endif
