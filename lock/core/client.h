/*
 * A client: its options, its identity, its counters and reports. All parts of the core use it:
 *
 *     dlock_client -- watchdog (thread, heap of grants) -- pipelines: asynchronous script calls
 *          |      |-- retried releases (thread); registry (context + name -> hold);
 *          |      |   lock order checker
 *          |      `-- engine (core/engine.h): what is pending; workers: blocking calls
 *     dlock_lock ---- kind (how Redis is asked), wait set (who waits here),
 *          |          cohort (who is next here)
 *     grant --------- one ownership in Redis: token, fence, validity; it outlives hand-offs
 *          |          inside a cohort
 *     dlock_hold ---- one context's use of a grant: count of re-entries, lost eventfd
 *
 * Order of mutexes, outer first: cohort of a lock, registry, grant, watchdog, pipeline or retried
 * releases, a client's list of locks, wait set of a lock, engine, stats. The lock order checker's
 * is taken alone. No mutex is held during a request to Redis.
 */
#ifndef DLOCK_CORE_CLIENT_H
#define DLOCK_CORE_CLIENT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "dlock.h"
#include "dlock_redis.h"

typedef struct server_clock {
    _Atomic int64_t offset_us; /* the server's clock less ours; 0 = not known */
} server_clock;

/* The moment by the server's clock, in us. 0: its clock is not known yet. */
int64_t dlock_server_clock_at(const server_clock *clock, dlock_time moment);

/* The server's clock showed `server_us` at some time between `asked` and now. */
void dlock_server_clock_learn(server_clock *clock, int64_t server_us, dlock_time asked);

enum { CLIENT_ID_LEN = 128, QUORUM_MAX = 16, LOCK_BUCKETS = 1024 };

#define LEASE_MIN_MS 10
#define TIME_MAX_MS  INT64_C(31536000000) /* of any option: a year, so that no sum overflows */

struct dlock_client {
    dlock_client_options options; /* defaults filled in */
    dlock_redis *opened;          /* the redis, if the client opened it; else NULL */
    char id[CLIENT_ID_LEN];
    pid_t pid;
    atomic_uint_fast64_t next_number;       /* of the next token */
    server_clock clocks[DLOCK_SERVERS_MAX]; /* of the redis, by the server's number; ... */
    server_clock of_quorum[QUORUM_MAX];     /* ... and of the quorum */
    struct registry *registry;
    struct watchdog *watchdog;
    struct retried_releases *retried[2]; /* on the redis; on the quorum */
    struct lock_order *order;
    _Atomic(struct engine *) engine; /* of what is pending (pending/); NULL until needed */
    void (*end_engine)(struct engine *e);
    struct workers *workers; /* of blocking calls (pending/workers.c); NULL until needed */
    void (*end_workers)(struct workers *w);
    pthread_mutex_t locks_lock;      /* guards `locks`, and the making of engine and workers */
    dlock_lock *locks[LOCK_BUCKETS]; /* all that are in use, by their first name */
    pthread_mutex_t stats_lock;
    dlock_stats stats;
};

/* Whether this is a child of the process that made the client. */
bool dlock_client_forked(const dlock_client *client);

/* Tells the caller's report function, if there is one. */
__attribute__((format(printf, 3, 4))) void
dlock_client_report(dlock_client *client, dlock_report what, const char *format, ...);

/* The status that an outcome of the connection stands for. */
dlock_status dlock_status_of(dlock_redis_outcome outcome);

/* Whether Redis may still have to be asked again: UNAVAILABLE and UNKNOWN. */
bool dlock_status_open(dlock_status status);

#endif
