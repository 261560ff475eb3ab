/*
 * dlock.h - distributed locks over Redis.
 *
 * The promise
 *
 *   A lock is a name that at most one holder has at a time, among all processes that use the same
 *   Redis. Its holder has it for a lease, which a watchdog thread renews. When the holder dies,
 *   the lease runs out and somebody else gets the lock. Only the holder can release it.
 *   A waiter of the fair kind gets the lock in the order of arrival, is handed it directly, and
 *   costs Redis nothing while it sleeps but a heartbeat per process and lock. (A process that is
 *   silent for two seconds while others are not loses its places.)
 *   Some names have several holders by design: a read/write lock as many readers, or one writer; a
 *   semaphore as many as there are permits. Each holder has a lease of its own, and all of them
 *   wait in one queue.
 *
 * What a lease can not promise
 *
 *   A lease is a bet on time. A holder that is stopped (by the scheduler, a swap storm, a
 *   debugger) for longer than its lease goes on believing in a lock that another has by then.
 *   A failover to a replica that had not yet heard of the lock gives it away twice. No lock
 *   service can prevent the first; Redis does not prevent the second.
 *   Therefore what matters must be checked where it is written: every hold carries a fence, a
 *   number that rises with every grant, and dlock_guard_call() runs a write only if, at that very
 *   moment, this hold is still the owner and its fence the last one issued. Use the lock to avoid
 *   wasted work; use the guard, or the fence at the resource, for safety.
 *   The fence itself goes back only if Redis loses the counter and its clock is set back as well;
 *   the guard's owner check still holds then.
 *
 * Life cycle
 *
 *     #include <dlock.h>
 *     #include <signal.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         const char *url = "redis://127.0.0.1:6379";
 *         char err[256] = "";
 *         dlock_client *client = NULL; // one a process is enough
 *         dlock_lock *lock = NULL;     // one a name; cheap, keep it
 *         dlock_hold *hold;
 *         static dlock_wait wait; // all-zero: the defaults
 *         wait.wait_ms = 500;
 *
 *         signal(SIGPIPE, SIG_IGN); // a connection that breaks must not end the program
 *         dlock_status status = dlock_client_open(url, NULL, &client, err, sizeof(err));
 *         if (status == DLOCK_OK)
 *             status = dlock_lock_new(client, "stock:42", NULL, &lock, err, sizeof(err));
 *         if (status == DLOCK_OK)
 *             status = dlock_acquire(lock, &wait, &hold);
 *         if (status == DLOCK_OK) {
 *             puts("ours");        // dlock_held(hold) tells whether it still is
 *             dlock_release(hold); // always, whatever happened to the lock
 *         } else {
 *             if (lock) // what Redis said, if it is Redis's fault
 *                 dlock_last_error(client, err, sizeof(err));
 *             fprintf(stderr, "%s. %s\n", dlock_status_text(status), err);
 *         }
 *         dlock_lock_free(lock);
 *         dlock_client_free(client);
 *         return status == DLOCK_OK ? 0 : 1;
 *     }
 *
 *   A hold belongs to the caller from DLOCK_OK until dlock_release(), which frees it, whatever it
 *   returns. A lock may be freed only when it has no holds and no waiters, a client only when it
 *   has no locks.
 *
 * Threads
 *
 *   Clients and locks may be used by any number of threads. A hold may be passed between threads,
 *   but is used by one at a time; dlock_held(), dlock_validity_ms(), dlock_fence(), dlock_lost_fd()
 *   may be called from any thread while it exists. Callbacks run on the library's own threads,
 *   several of which may report at the same time, or on the thread whose call found out; they must
 *   neither block nor call back into the library, except for the functions just named.
 *   After fork() the child holds nothing: every call on an inherited client, lock or hold returns
 *   DLOCK_FORKED (or false, or 0), and the parent's lock is left alone. What a holder has started
 *   does not end with it: a program that has others work under its lock must end them before the
 *   lease is over, whatever becomes of itself, as `dlock run` does (lock/cmd/supervisor.h).
 *   A thread that ends while it holds a per-thread lock is reported (DLOCK_REPORT_ORPHANED); its
 *   renewal stops, so that the lease ends by itself. Who gets the grant after it in a cohort is
 *   renewed again.
 *
 * Errors
 *
 *   Functions return a dlock_status. "Held by another" is an answer, DLOCK_BUSY. Whatever was sent
 *   without a reply is DLOCK_UNKNOWN, never success and never failure; the library then goes on by
 *   itself to release what it may have acquired, until the lease must have ended.
 *   An acquire that reaches Redis when nobody waits for its reply any more, io_ms after it was
 *   sent, is refused there, by Redis's clock; a client knows that clock from its first grant on.
 *   One that comes late but sooner, after its lock was got by a repetition and released, keeps
 *   the lock from everybody for one lease; so does any late one before the first grant. In kind
 *   QUORUM it keeps one server, of which there are others; there the clock of each server is
 *   learned before its first vote.
 *   In kind QUORUM a server that comes back empty must stay away for one lease first, or write its
 *   votes to disk (appendfsync always): it gives a lock again that somebody still has. A renewal
 *   takes the vote of a server again that has lost it or never gave it, the second one after that
 *   server is back, if nobody has the lock there; so a hold outlives restarts of all servers in
 *   turn. One that is overtaken by the release, and still comes in time, keeps that server for one
 *   lease.
 *   The library never logs, exits or aborts.
 *
 * Layout in Redis
 *
 *   NAME itself is the lock: a string with the owner's token (kinds STRING, FAIR, QUORUM; the
 *   layout of redis-py, redsync, node-redlock, so they exclude each other), or a hash with the
 *   field owner -> 1 (kind HASH; Redisson's layout and channel, so a Java RLock and this one
 *   exclude and wake each other), or a sorted set with the token of each holder, scored with the
 *   end of its lease in ms of Redis's clock (READ, WRITE, SEMAPHORE; a writer's token ends in "*w",
 *   one of K permits in "*K"). A latch is a hash too. A key of another type at NAME counts as held
 *   by a stranger.
 *   A lock's companion keys are dlock:{NAME}:ROLE, or dlock:{TAG}:ROLE:NAME where NAME has the hash
 *   tag TAG. So they live in NAME's slot, and belong to one lock alone; names that begin with
 *   "dlock:" are DLOCK_INVALID. Roles: fence, queue, beats, wake (a channel for each process, whose
 *   id is appended), permits, open (a latch's channel), ran. A NAME with a brace but without a hash
 *   tag is DLOCK_INVALID.
 *   `dlock run --at-least` leaves a name taken under the token "<client id>:k<number>". Nobody
 *   renews or releases that: it ends with its time to live, or is taken away. The role ran is that
 *   of --once-per: when the last run that succeeded began, in us of Redis's clock. It lives until
 *   its period is over; who deletes it lets the next run begin at once.
 *   The fence is stored with the token that it was issued to, and with the family of kinds: STRING
 *   and FAIR, HASH, READ and WRITE, or SEMAPHORE. While one family holds a name the others are
 *   refused with DLOCK_FAILED, and dlock_last_error() says what the name is in use as; families
 *   with a queue are refused, too, while another one waits in it. Kind QUORUM and other libraries
 *   have no such companions: what they hold is held by another.
 *
 * In a cluster
 *
 *   A name needs no hash tag: the companion keys follow it to its slot. What a script is given
 *   together must share a slot: the names of a multi-lock, and the keys of a guarded call, all by
 *   the hash tag of the lock's name. Waiters listen at the lock's
 *   server, and move along with its slot and to its successor. While the slot moves key by key, the
 *   lock can be neither taken nor given back, and a lease may end that could not be renewed.
 *
 *   A failover keeps a lock only if the replica had heard of it; see wait_replicas. Renewals are
 *   not waited for: a replica that was cut off after the grant, and is promoted then, may let the
 *   lock end while its hold still counts as valid, until the next renewal is refused.
 *
 * How this interface grows
 *
 *   A program goes on working with every later libdlock.so.0 without being compiled again, and one
 *   that was compiled with a later header works with an earlier library unless it uses what is
 *   new. What may come:
 *
 *   - Functions and macros. None goes, none changes.
 *   - Members, in the room that structs keep for them: no size changes. In a struct that callers
 *     fill (dlock_options, dlock_client_options, dlock_wait, dlock_election_options,
 *     dlock_redis_options) `reserved` must be zero, and zero is the default of whatever takes its
 *     place. That is checked: an option that is newer than the library is DLOCK_INVALID, and never
 *     overlooked. In a struct that the library fills (dlock_info, dlock_holder, dlock_stats,
 *     dlock_histogram) it is set to zero.
 *   - Values at the end of enums. An acquire that returns a status which the program does not know
 *     gave it no hold; beyond that such a status says no more than DLOCK_UNKNOWN, and
 *     dlock_status_text() has its words. Likewise a dlock_redis_outcome. A dlock_report that the
 *     program does not know may be ignored.
 *
 *   So set the whole of a struct to zero, and then members by name: `= {.wait_ms = 500}` in C,
 *   `= {}` and assignments in C++. dlock_args and dlock_script stand on stacks and in static
 *   storage, and are public for that alone: their room is the library's own. dlock_time, which is
 *   passed by value, and dlock_named_arg, of which callers make arrays, can not grow: what would
 *   need more gets a type and a function of its own.
 *
 *   liburing decided so too (reserved members, refused unless zero). libgit2 begins each struct
 *   with a version that a macro sets; with that, or a size, all-zero would not mean the defaults
 *   any more, and each caller would have one more member to forget.
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
    DLOCK_EXPIRED,     /* this hold's time was over before: nothing was released */
    DLOCK_NOT_OWNER,   /* Redis says the lock is not this hold's (any more) */
    DLOCK_STALE,       /* guard: not the owner, or a later fence was issued; nothing was run */
    DLOCK_UNAVAILABLE, /* Redis could not be asked, or refused. Definitely nothing was done. */
    DLOCK_UNKNOWN,     /* asked, no reply: done or not. See "Errors" above. */
    DLOCK_FAILED,      /* Redis answered with an error; dlock_last_error() has the sentence */
    DLOCK_INVALID,     /* bad argument: template, name, option */
    DLOCK_NO_MEMORY,   /* or no descriptor to be had */
    DLOCK_FORKED,      /* called in a forked child */
    DLOCK_PENDING      /* ..._finish(): not decided as yet */
} dlock_status;

/* The status as words, "held by another" for one. Never NULL. */
DLOCK_API const char *dlock_status_text(dlock_status status);

/* ---- client ---------------------------------------------------------------------------------- */

typedef enum dlock_report {
    DLOCK_REPORT_LOST,     /* a hold was lost; text names lock and reason */
    DLOCK_REPORT_ORDER,    /* locks A and B were taken in both orders: possible deadlock */
    DLOCK_REPORT_ORPHANED, /* a thread ended while it held a lock */
    DLOCK_REPORT_RELEASE   /* a retried release was answered, or given up */
} dlock_report;

/* All-zero means the defaults; dlock_client_new() needs `redis` or `quorum`. No time is above a
 * year, 31,536,000,000 ms. */
typedef struct dlock_client_options {
    dlock_redis *redis; /* the server (borrowed; outlives the client) */
    dlock_redis *const
        *quorum;        /* independent servers for kind QUORUM (array and servers borrowed) */
    int quorum_len;     /* 0..16 */
    int64_t io_ms;      /* limit of one question to Redis, 0 = 1,000 */
    int64_t claim_ms;   /* fair: a grant given by this client and not taken up in this time goes
                           and four round trips, as measured, goes on, 0 = 250; who gets it goes
                           by the shorter one of both clients' */
    int64_t recheck_ms; /* no wait sleeps longer without asking Redis, 0 = 100; at most 1,000 */
    bool check_order;   /* debugging: report locks taken in opposite orders */
    void (*report)(void *arg, dlock_report what, const char *text);
    void *report_arg;
    uint64_t reserved[8]; /* must be zero */
} dlock_client_options;

/* A client of the server, or servers, at this URL (see dlock_redis.h), with connections of its own.
 * It does not connect yet. `options` may be NULL; `redis` in it must be. DLOCK_INVALID with a
 * sentence in err. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_client_open(const char *url,
                                                          const dlock_client_options *options,
                                                          dlock_client **ret, char *err,
                                                          size_t err_len);

/* The same, of servers that the caller has opened, and closes after the client. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_client_new(const dlock_client_options *options,
                                                         dlock_client **ret, char *err,
                                                         size_t err_len);

/* The server, for commands and scripts of one's own; NULL where there are only those of a quorum.
 * (borrowed) Valid until the client is freed. */
DLOCK_API dlock_redis *dlock_client_redis(const dlock_client *client);

/* Waits for background releases, and stops the threads; beside a silent server that takes about
 * three times io_ms. NULL is allowed. */
DLOCK_API void dlock_client_free(dlock_client *client);

/* This process's part of every owner id: "<host>/<pid>/<random>", the same for life. */
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

/* All-zero means the defaults. Every option goes with every kind, but for cohort_max, which kinds
 * with several holders (READ, SEMAPHORE) refuse, and wait_replicas, which QUORUM refuses. No time
 * is above a year. */
typedef struct dlock_options {
    dlock_kind kind;
    int64_t lease_ms; /* 0 = 10,000; at least 10 */
    int64_t renew_ms; /* renewal's period; 0 = lease / 3; DLOCK_NEVER: none, the lease just ends */
    int64_t
        max_hold_ms; /* cap on one grant's total time, renewals and hand-offs included; 0 = none */
    int64_t poll_ms; /* > 0: waiters ask every poll_ms instead of the kind's own way of waking;
                        kinds with a queue: every claim_ms / 2 and
                        every second at least */
    bool not_reentrant; /* default: a thread (or context) that holds the lock gets it again */
    int cohort_max;     /* > 0: one waiter in Redis for all threads of this client; a grant is
                           passed on inside the process up to so many times in a row ... */
    int64_t cohort_ms;  /* ... and so long; 0 = 10 */
    int wait_replicas;  /* > 0: a grant (not a renewal) counts only after so many replicas
                           have it (WAIT). Not for kind QUORUM */
    void (*lost)(void *arg, dlock_hold *hold); /* once, when a hold is lost. See "Threads" */
    void *lost_arg;
    int64_t permits;      /* SEMAPHORE: how many there are, where Redis has no number yet: 1 to
                             1,000,000,000. Other kinds: 0 */
    uint64_t reserved[8]; /* must be zero */
} dlock_options;

/* `options` may be NULL and is copied. The same name and options again give the same lock once
 * more: its waiters share one queue, whoever made it. DLOCK_INVALID with a sentence in err. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_lock_new(dlock_client *client, const char *name,
                                                       const dlock_options *options,
                                                       dlock_lock **ret, char *err, size_t err_len);

/* One lock made of several names, in a cluster of one slot: all or nothing, in one script. Kind
 * STRING only; 1..64 names. It excludes holders of each single name, of the same context too:
 * neither a multi-lock nor one of its names is re-entered. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_multi_new(dlock_client *client,
                                                        const char *const *names, int names_len,
                                                        const dlock_options *options,
                                                        dlock_lock **ret, char *err,
                                                        size_t err_len);

DLOCK_API void dlock_lock_free(dlock_lock *lock); /* once for each new; NULL is allowed */

/* ---- acquire and release --------------------------------------------------------------------- */

/* All-zero: do not wait, the calling thread is the context, no cancellation. */
typedef struct dlock_wait {
    int64_t wait_ms;      /* 0: one try; DLOCK_FOREVER: until it is had, cancelled or invalid */
    uint64_t context;     /* who re-enters: 0 = the calling thread, otherwise the caller's own id */
    dlock_cancel *cancel; /* (borrowed) NULL: none */
    int64_t permits;      /* SEMAPHORE: how many to take, all or none; 0 = 1. Other kinds: 0 */
    uint64_t reserved[7]; /* must be zero */
} dlock_wait;

/*
 * Acquires the lock. `wait` may be NULL (all-zero). *ret is written only with DLOCK_OK.
 *
 * A context that holds the lock alive gets it again at once, without a word to Redis: the same
 * dlock_hold, to be released as often, in any order with other locks (A, B, A). "The lock" is a
 * name on the same servers in kinds of one family; so a QUORUM lock and one on the client's redis
 * do not re-enter each other. A hold whose time is over, or whose lock is not_reentrant, never
 * counts: then this is a new acquisition.
 *
 * DLOCK_BUSY, _CANCELLED: nothing is held, the queue is left. DLOCK_UNAVAILABLE: Redis stayed out
 * of reach for the whole wait. DLOCK_UNKNOWN: a question stayed unanswered until the end, be it the
 * one that leaves the queue; what may have been acquired is released in the background.
 * DLOCK_FAILED: Redis answered with an error, or the name is in use by kinds of another family.
 * DLOCK_INVALID: wait_ms is below DLOCK_FOREVER, `reserved` is not zero, permits are out of range
 * or asked of another kind than SEMAPHORE; or the context would wait for itself, since it holds
 * less than it asks for: it reads and wants to write (see "read/write locks"), or its grant has
 * waited for fewer replicas than this lock's wait_replicas. The wait may be outlasted by the
 * questions under way: a Redis that falls silent costs io_ms more for the last question, and once
 * more for the listening before it.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_acquire(dlock_lock *lock, const dlock_wait *wait,
                                                      dlock_hold **ret);

/*
 * Gives up one level of the hold, and at the last one the lock; frees the hold then.
 *
 * DLOCK_OK: released (or one level less), or passed on to the next in the cohort: that asks Redis
 * nothing, so it is true as far as this process can know. DLOCK_EXPIRED: its time was over.
 * DLOCK_NOT_OWNER: another had it already. DLOCK_UNKNOWN, DLOCK_UNAVAILABLE: Redis did not answer,
 * or not the guarded call that was to release; tried again in the background until the lease must
 * have ended. Then nothing is passed on: the next in the cohort asks Redis. In every case the
 * caller is done with it.
 */
DLOCK_API dlock_status dlock_release(dlock_hold *hold);

/* A way to end waits from another thread: it wakes them at once. May be used for many waits; once
 * fired it stays so. Freed when all waits that use it have ended. */
DLOCK_API dlock_cancel *dlock_cancel_new(void); /* NULL: out of memory */
DLOCK_API void dlock_cancel_now(dlock_cancel *cancel);
DLOCK_API void dlock_cancel_free(dlock_cancel *cancel);

/* ---- a hold ---------------------------------------------------------------------------------- */

/* Whether the hold still is ours as far as this process can know without asking: not reported
 * lost and its lease not over. False stays false. */
DLOCK_API bool dlock_held(const dlock_hold *hold);

/* Milliseconds for which the hold is sure to be ours, counted from before the last confirmed
 * question was sent, less the allowance for clock drift (1 % + 2 ms). 0 when lost. No I/O. A hold
 * of kind FAIR that was handed over has what is left of the claim window until the answer to its
 * first renewal has come. That renewal, for the whole lease, was given to the kernel before the
 * acquire returned: so in Redis the lease is whole, unless the message is lost, or Redis has
 * forgotten its scripts since (SCRIPT FLUSH, another server) and this process stops before it has
 * repeated it. */
DLOCK_API int64_t dlock_validity_ms(const dlock_hold *hold);

/* The fence: strictly greater than that of every earlier grant of this name; the same for
 * re-entries and for hand-offs inside a cohort. max(last + 1, Redis's clock in us). 0: none
 * (QUORUM). A reader's is the last writer's: what was read is at least as new. Its counter lives
 * for a day longer than the lease; every renewal sees to that. */
DLOCK_API uint64_t dlock_fence(const dlock_hold *hold);

/* This grant's owner token as it stands in Redis: "<client id>:<number>", with "*w" or "*K" behind
 * it as "Layout" says. */
DLOCK_API const char *dlock_owner(const dlock_hold *hold);

/* An eventfd, readable once the hold is lost. (borrowed) Closed with the hold. -1: none to be had.
 */
DLOCK_API int dlock_lost_fd(dlock_hold *hold);

/* ---- read/write locks ------------------------------------------------------------------------ */

/*
 * Two locks of one name, of kind READ and of kind WRITE, are the two sides of one read/write lock:
 * any number of readers hold it, or one writer. All wait in one queue, first come, first served: a
 * writer that waits stops the readers that come after it, and the readers between two writers come
 * in together. Each reader's lease is its own, so a dead one keeps a writer waiting for a lease at
 * most.
 *
 * Only writers issue fences, and only a writer's hold can be guarded (not by a section). A context
 * that holds the lock for writing and asks for reading gets its write hold again. One that holds it
 * for reading and asks for writing would wait for itself: DLOCK_INVALID at once.
 */

/*
 * Exchanges a write hold for a read hold: in one script, so that no writer comes between. `read` is
 * the lock of kind READ with the same name, of the same client. Readers that wait come in as well,
 * up to the next writer.
 *
 * DLOCK_OK: *ret is the read hold, in the same context, with the write hold's fence; `hold` is
 * released. DLOCK_EXPIRED, _NOT_OWNER: the write hold's time was over; nothing is held.
 * DLOCK_UNAVAILABLE, _UNKNOWN, _FAILED, _NO_MEMORY: nothing is held, and what may be left in Redis
 * is given back in the background. In all these cases the caller is done with `hold`.
 * DLOCK_INVALID: `hold` is not one of kind WRITE, or was re-entered, or `read` is not its other
 * side; it stays as it is.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_downgrade(dlock_hold *hold, dlock_lock *read,
                                                        dlock_hold **ret);

/* ---- semaphores ------------------------------------------------------------------------------ */

/*
 * A lock of kind SEMAPHORE has options.permits permits; an acquire takes wait.permits of them at
 * once, and waits in a queue, first come, first served, until there are as many: who wants fewer
 * does not overtake, except those who want more than there are at all. Each hold has a lease
 * of its own; the permits of a dead holder come back with its end. It is not reentrant: each
 * acquire takes more. There is a fence for each grant, and no guard, since the last one issued may
 * be another holder's.
 *
 * The number is Redis's, once it has one: options.permits counts only where it has none, for it
 * was never set or nobody has used the semaphore for a day. Permits are not counted where readers
 * use the same name.
 */

/* Sets the number of permits, 0 to 1,000,000,000, and hands new ones on. Those that are held stay
 * held: below their number nobody gets one until enough have come back. A waiter that wants more
 * than there are is passed over until there are as many. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_semaphore_set(dlock_lock *lock, int64_t permits);

/* ---- guarded scripts ------------------------------------------------------------------------- */

/* A caller's script together with the check before it and the release behind it. Define it once
 * with static storage, as a dlock_script; `body` is a Lua function body that sees its own KEYS and
 * ARGV from 1, and the grant's `fence` in decimal digits. It must check everything before its first
 * write. */
typedef struct dlock_guard dlock_guard;

/* Composes the script. `name` and `body` are copied. NULL: out of memory. */
DLOCK_API dlock_guard *dlock_guard_new(const char *name, const char *body);
DLOCK_API void dlock_guard_free(dlock_guard *guard);

/*
 * Runs the guard's body if, and only if, this hold is the owner and its fence the last one issued,
 * at that moment and atomically. `args` holds `keys` keys, in the lock's slot, then the arguments.
 * With `release`, the same call releases the lock (and hands it on) once the body has returned;
 * dlock_release() is still due, and then asks Redis nothing.
 *
 * DLOCK_OK with the body's reply in *ret. (Should releasing fail inside Redis after that, the hold
 * is lost, and dlock_release() says DLOCK_UNKNOWN.) From the moment at which a call with `release`
 * is sent, dlock_held() says no, unless the call fails. DLOCK_STALE: nothing was run, the hold is
 * lost.
 * DLOCK_UNKNOWN: run or not, or later. Without `release` the hold stays, and so may a later run of
 * the body; dlock_release() then gives the lock back to Redis, where it is refused, and passes it
 * on to nobody. With `release` the hold is lost at once, as after the end of its lease, since the
 * lock may be free at any moment; the release is tried again in the background, which also keeps
 * the body from running later, and dlock_release() says DLOCK_UNKNOWN. DLOCK_FAILED: the body
 * raised an error, or returned one; the lock is then not released. DLOCK_INVALID: a lock of several
 * names (their fences are as many), kind QUORUM, READ or SEMAPHORE, or `release` of a hold that was
 * re-entered.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_guard_call(dlock_hold *hold, dlock_guard *guard,
                                                         int keys, const dlock_args *args,
                                                         bool release, dlock_time deadline,
                                                         redisReply **ret);

/* The same, and behind it WAIT as in dlock_redis_eval_wait(), for at least `replicas` replicas: so
 * a failover does not undo the write. With `release` the lock is free before the replicas are
 * waited for; what is done under a hold that stays keeps the others waiting that long.
 * DLOCK_UNKNOWN with the body's reply in *ret: it was run, and the lock is as after DLOCK_OK, but
 * too few replicas have acknowledged the write by the deadline. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_guard_call_wait(dlock_hold *hold, dlock_guard *guard,
                                                              int keys, const dlock_args *args,
                                                              bool release, int replicas,
                                                              dlock_time deadline,
                                                              redisReply **ret);

/* As dlock_guard_call() with `release`, but the body is run whether the lock is this hold's or not,
 * and what is released is this hold's alone: the last of several steps, which has to follow when
 * the earlier ones were made, and the release in one round trip. It guards nothing. Where the lock
 * was not ours any more that is DLOCK_OK too, and dlock_release() says DLOCK_NOT_OWNER. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_guard_finish(dlock_hold *hold, dlock_guard *guard,
                                                           int keys, const dlock_args *args,
                                                           dlock_time deadline, redisReply **ret);

/*
 * Runs the body as a critical section of its own, in one round trip: where nobody has the lock and
 * nobody waits for it, as if the lock were acquired, the body run under it, and the lock released,
 * all in one script. The grant has a fence as any other, told in *fence if that is not NULL, so
 * whoever had the lock before is stale.
 *
 * DLOCK_BUSY: somebody has the lock or waits for it; nothing was run. Acquire it, then, and wait
 * for your turn. (Waiters of the kinds that poll leave no trace: those are not seen.) DLOCK_UNKNOWN
 * without a reply: run or not, or later, whenever the lock is free by then; the body must bear
 * that, by a time limit of its own for one. DLOCK_INVALID: a lock of several names, or a kind other
 * than STRING, HASH and FAIR.
 * Otherwise as dlock_guard_call_wait().
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_guard_section(dlock_lock *lock, dlock_guard *guard,
                                                            int keys, const dlock_args *args,
                                                            int replicas, dlock_time deadline,
                                                            uint64_t *fence, redisReply **ret);

/* ---- without a thread ------------------------------------------------------------------------ */

/*
 * For programs with an event loop: what is started here is worked on by the client's own threads,
 * two and one for each server beside those that it has anyhow, however much is pending. A pending
 * call has a file descriptor that becomes readable once it is decided; that and some memory is what
 * it costs. It is used by one thread at a time. A lock or client may be freed only when nothing of
 * it is pending. Whatever else asks Redis (downgrades, latches, guarded calls) has no such form,
 * and is waited for by the calling thread.
 *
 *     dlock_acquire_start(lock, &wait, &pending);
 *     ... add dlock_pending_fd(pending) to the loop; when it is readable:
 *     status = dlock_acquire_finish(pending, &hold);
 *
 * Not for kind QUORUM, nor with wait_replicas: DLOCK_INVALID. A cohort's line is not entered.
 */
typedef struct dlock_pending dlock_pending;

/* Starts an acquisition; never waits for Redis. As dlock_acquire(), except that with wait.context 0
 * nothing is re-entered: each is a context of its own. What is decided DLOCK_OK is held from that
 * moment on, and renewed, finished or not. Where a user may not publish or subscribe, a hand-on
 * takes up to a re-check. DLOCK_OK and *ret, which must be finished; DLOCK_NO_MEMORY (of
 * descriptors too), _INVALID, _FORKED. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_acquire_start(dlock_lock *lock,
                                                            const dlock_wait *wait,
                                                            dlock_pending **ret);

/* DLOCK_PENDING as long as it is not decided. Otherwise what dlock_acquire() would have returned,
 * with *ret as there; `pending` is freed and its descriptor closed. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_acquire_finish(dlock_pending *pending,
                                                             dlock_hold **ret);

/* Starts a release; never waits for Redis. From DLOCK_OK on the hold is the library's. A hold that
 * was re-entered goes one level down at once. DLOCK_INVALID (kind QUORUM), _NO_MEMORY, _FORKED: it
 * is the caller's still. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_release_start(dlock_hold *hold, dlock_pending **ret);

/* DLOCK_PENDING as long as it is not decided. Otherwise what dlock_release() would have returned;
 * `pending` is freed. */
DLOCK_API dlock_status dlock_release_finish(dlock_pending *pending);

/* Readable once it is decided. (borrowed) */
DLOCK_API int dlock_pending_fd(const dlock_pending *pending);

/* Has an acquisition end soon, in DLOCK_CANCELLED unless it is decided otherwise before. It must be
 * finished still. Nothing happens to a release. */
DLOCK_API void dlock_pending_cancel(dlock_pending *pending);

/* ---- count-down latches ---------------------------------------------------------------------- */

/*
 * A latch opens when it has been counted down to zero, and stays open for the rest of its life.
 * Waiters are told by a message, and look every recheck_ms whether one was lost. Each set is a
 * round of its own: who waits in one whose latch was opened, and set anew before the waiter looked,
 * is told that it has opened.
 * Whoever gives a latch up deletes NAME: its waiters are told DLOCK_EXPIRED. The message goes to
 * the channel dlock:{NAME}:open. dlock_client_stats() does not count latches.
 */
typedef struct dlock_latch dlock_latch;

/* DLOCK_INVALID with a sentence in err: names are those of locks, but of no lock in use. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_new(dlock_client *client, const char *name,
                                                        dlock_latch **ret, char *err,
                                                        size_t err_len);
DLOCK_API void dlock_latch_free(dlock_latch *latch); /* no waiters may be left; NULL is allowed */

/* Sets the count, 1 to 1,000,000,000. The latch lives for life_ms after that and after every
 * count-down that counted, 0 = a day. DLOCK_BUSY: it is set and has not opened yet. DLOCK_UNKNOWN:
 * set or not; asked again, it is DLOCK_BUSY if it was. DLOCK_NOT_OWNER: NAME is no latch. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_set(dlock_latch *latch, int64_t count,
                                                        int64_t life_ms);

/*
 * One less, of an open one nothing; what is left is in *left (which may be NULL). `who` names who
 * counts down, 1 to 128 bytes: once a round, so that it may be repeated after DLOCK_UNKNOWN, and by
 * a worker that was started again. NULL: this very call. Without a reply it is asked again by
 * itself until io_ms are over, once at least. DLOCK_EXPIRED: the latch is not set, or its life was
 * over. DLOCK_NOT_OWNER: NAME is no latch.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_count_down(dlock_latch *latch, const char *who,
                                                               int64_t *left);

/* What is left; 0: it is open. DLOCK_EXPIRED: it is not set. DLOCK_NOT_OWNER: NAME is no latch. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_left(dlock_latch *latch, int64_t *left);

/*
 * Waits until the latch is open; one that is not set is waited for as well. `wait` may be NULL; its
 * context and permits are not used. DLOCK_OK: it has opened. DLOCK_BUSY: not by the end of the
 * wait. DLOCK_EXPIRED: it was set, and is gone: its life was over before it opened, or Redis has
 * lost it. DLOCK_NOT_OWNER: NAME is no latch. DLOCK_CANCELLED; DLOCK_UNAVAILABLE, _UNKNOWN: Redis
 * did not answer at the end. DLOCK_FAILED: Redis answered with an error. The threads that wait by
 * one dlock_latch share a connection.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_latch_wait(dlock_latch *latch,
                                                         const dlock_wait *wait);

/* ---- declarative use ------------------------------------------------------------------------- */

typedef struct dlock_named_arg {
    const char *name;
    const char *value;
} dlock_named_arg;

/* Fills a key template: "stock:{item}" with item = 42 gives "stock:42"; "{{" and "}}" are literal
 * braces. DLOCK_INVALID with a sentence in err for an argument that is missing or empty, and for
 * unbalanced braces. `args` ends with a NULL name. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_template(const char *key_template,
                                                       const dlock_named_arg *args, char *ret,
                                                       size_t ret_len, char *err, size_t err_len);

/* Runs body(arg, hold) under the lock named by the template, and releases it whatever body
 * returns. DLOCK_OK: body ran, its value is in *body_ret, and the lock was ours to its end.
 * DLOCK_EXPIRED, DLOCK_NOT_OWNER: body ran, but the lock was lost meanwhile. Other: it did not. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_with(dlock_client *client, const char *key_template,
                                                   const dlock_named_arg *args,
                                                   const dlock_options *options,
                                                   const dlock_wait *wait,
                                                   int (*body)(void *arg, dlock_hold *hold),
                                                   void *arg, int *body_ret);

/* ---- introspection --------------------------------------------------------------------------- */

typedef struct dlock_info {
    bool held;
    char owner[160];  /* token, or Redisson's field; empty when free or of a strange type */
    char host[64];    /* from the owner, when it is one of this library's; otherwise empty */
    int64_t pid;      /* likewise; 0 = not known */
    int64_t since_us; /* Unix time of the grant, from the fence; 0 = not known: READ, SEMAPHORE */
    int64_t ttl_ms;   /* -1: no expiry; -2: free */
    uint64_t fence;   /* last one issued; 0 = none */
    int64_t waiters;  /* entries in the queue; 0 for kinds that have none */
    int64_t holders;  /* how many; the members above tell of the one whose lease ends first */
    int64_t permits;  /* SEMAPHORE: how many there are; -1: it has no number yet, or is none */
    int64_t taken;    /* SEMAPHORE: how many of them are; 0 for the other kinds */
    uint64_t reserved[5];
} dlock_info;

DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_inspect(dlock_lock *lock, dlock_info *ret);

/* One of the holders of a name. */
typedef struct dlock_holder {
    char owner[160];
    char host[64];   /* as in dlock_info */
    int64_t pid;     /* likewise */
    int64_t ttl_ms;  /* likewise */
    int64_t permits; /* SEMAPHORE: how many it has; a reader's 1; a writer's, or any other's, 0 */
    uint64_t reserved[4];
} dlock_holder;

/* The holders, those first whose lease ends first: up to `max` of them in ret, and in *ret_len how
 * many there are. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_holders(dlock_lock *lock, dlock_holder *ret, int max,
                                                      int *ret_len);

/* Takes the lock away from whoever has it, raises the fence so that the holder's guarded writes
 * are refused, and hands on or wakes. DLOCK_OK, or DLOCK_NOT_OWNER: it was free. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_force_release(dlock_lock *lock);

/* A histogram of durations: bucket i counts those below 2^i us; the last one counts the rest. */
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
 * new to the last free. dlock_inspect() tells how many wait in all processes. */
DLOCK_API void dlock_lock_stats(dlock_lock *lock, dlock_stats *ret);

/* Calls `each` with every lock of the client that is in use, in no order: which of them is fought
 * over? A multi-lock has its first name. `each` must not call the library. */
DLOCK_API void dlock_client_locks(dlock_client *client,
                                  void (*each)(void *arg, const char *name,
                                               const dlock_stats *stats),
                                  void *arg);

/* ---- leader election ------------------------------------------------------------------------- */

/*
 * The leader of NAME is the holder of the lock NAME of kind FAIR, for a lease that is renewed; the
 * candidates wait for it in the order of arrival. One that resigns hands over at once; one that
 * dies or stands still is followed when its lease has ended, at most a recheck_ms later. Leading is
 * a bet on time as holding is, and ends in the same ways: see "What a lease can not promise". So
 * what a leader writes is guarded, dlock_guard_call(), or fenced where it goes to.
 *
 * A dlock_election is one candidate, or an observer that never campaigns. A campaign lasts until
 * the candidate leads or resigns, or its wait is over or cancelled. Silence of Redis does not end
 * it: it is asked again until it answers, and whether it has done what it was asked then. An error
 * that asking again would not mend does end it (DLOCK_FAILED, DLOCK_NO_MEMORY). After a loss
 * nothing is begun by itself: end what only a leader may do, and then campaign again.
 *
 *     dlock_election_new(client, "scheduler", NULL, &me, err, sizeof(err));
 *     dlock_election_start(me, NULL);
 *     ... add dlock_election_fd(me) to the loop; when it is readable:
 *     switch (dlock_election_status(me)) {
 *     case DLOCK_OK:      work, with dlock_election_hold(me) for the guard and the fence
 *     case DLOCK_PENDING: not yet
 *     default:            stop working; after a loss, dlock_election_start(me, NULL)
 *     }
 *
 * Any thread may use a candidate. The hold is the election's, never to be released by the caller,
 * and used by one thread at a time; it lives, lost or not, until the candidate starts again or
 * resigns, so end its use before. Resign, too, after a guarded call that released it. After fork()
 * the child neither leads nor campaigns: every call is DLOCK_FORKED, NULL or -1 there, and freeing
 * does nothing. A client may be freed only after its elections.
 */
typedef struct dlock_election dlock_election;

/* All-zero means the defaults. The callbacks keep to the rules of "Threads": they neither block nor
 * call the library, this section included, but for dlock_held(), dlock_validity_ms(), dlock_fence()
 * and dlock_lost_fd(). They never run at the same time, and of a hold `elected` is first. */
typedef struct dlock_election_options {
    int64_t lease_ms; /* 0 = 10,000; at least 10; renewed after each third */
    void (*elected)(void *arg, dlock_hold *hold); /* it leads, for a whole lease at first */
    void (*lost)(void *arg, dlock_hold *hold);    /* once, when that is over, unless it resigned; at
                                                     the latest within the next start */
    void *arg;
    uint64_t reserved[8]; /* must be zero */
} dlock_election_options;

/* A candidate that does not campaign yet. `options` may be NULL, and is copied. DLOCK_INVALID with
 * a sentence in err, as for a lock; DLOCK_NO_MEMORY (of descriptors too). */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_new(dlock_client *client, const char *name,
                                                           const dlock_election_options *options,
                                                           dlock_election **ret, char *err,
                                                           size_t err_len);

/* Resigns, and frees; no other thread may use it any more. NULL is allowed. */
DLOCK_API void dlock_election_free(dlock_election *election);

/* Starts a campaign; never waits for Redis. What becomes of it is told by the callbacks, by
 * dlock_election_fd() and dlock_election_status(). `wait` is as in dlock_acquire(), its context not
 * used; NULL: for ever. DLOCK_INVALID: it campaigns or leads already, or `wait` is not valid;
 * DLOCK_NO_MEMORY. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_start(dlock_election *election,
                                                             const dlock_wait *wait);

/* The same, and waits for what becomes of it, as dlock_election_status() tells. DLOCK_OK: it leads.
 * To end it from another thread, resign there. */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_campaign(dlock_election *election,
                                                                const dlock_wait *wait);

/*
 * What the candidate is as far as this process can know without asking. DLOCK_OK: it leads.
 * DLOCK_PENDING: it campaigns. DLOCK_EXPIRED, DLOCK_NOT_OWNER: it has led, and lost that: its lease
 * was over, or Redis says that the lock is not its own. DLOCK_CANCELLED: it has resigned, was
 * cancelled, or has not campaigned yet. DLOCK_BUSY: the wait was over while another led.
 * DLOCK_UNAVAILABLE, DLOCK_UNKNOWN: ... while Redis did not answer; what may have been acquired is
 * released in the background. DLOCK_FAILED: Redis answered with an error; dlock_last_error().
 * DLOCK_INVALID, DLOCK_NO_MEMORY: the last start was refused, and nothing begun. Whoever asks takes
 * the news off the descriptor.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_status(dlock_election *election);

/* The hold, for dlock_guard_call(), dlock_fence() and the like; NULL unless it leads. (borrowed) */
DLOCK_API dlock_hold *dlock_election_hold(dlock_election *election);

/* An eventfd, readable when the status has changed since dlock_election_status() was asked. Closed
 * with the election. (borrowed) */
DLOCK_API int dlock_election_fd(const dlock_election *election);

/* Ends the campaign, or gives the leadership to the next candidate; waits for Redis as
 * dlock_release() does. DLOCK_OK: this candidate has nothing any more. DLOCK_EXPIRED,
 * DLOCK_NOT_OWNER: it had lost the leadership. DLOCK_UNKNOWN, DLOCK_UNAVAILABLE: Redis did not
 * answer; tried again in the background, until the lease must have ended. It may campaign again in
 * any case. */
DLOCK_API dlock_status dlock_election_resign(dlock_election *election);

/* Asks Redis who leads: owner, host, pid, since_us, ttl_ms and fence are the leader's, `waiters` is
 * how many candidates wait, one that died for a minute or two more. DLOCK_OK, too, where nobody
 * leads: `held` is false then. Another holder of NAME, of kind STRING say, is told like a leader.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_status dlock_election_leader(dlock_election *election,
                                                              dlock_info *ret);

#ifdef __cplusplus
}
#endif

#endif
