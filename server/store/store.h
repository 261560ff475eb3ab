/*
 * store.h - this process's one way to Redis: connections, lock client, clock.
 *
 * Redis's clock is the only one that all instances share. store_redis_us() translates a moment
 * of this process into it, by an estimate that store_sync_clock() renews (clock.h): never later
 * than it is, and earlier by one round trip at most.
 *
 * Any number of threads may use a store.
 */
#ifndef FLASHSALE_STORE_H
#define FLASHSALE_STORE_H

#include "lock/dlock.h"
#include "server/redis/server_run.h"

#include <stdatomic.h>

#include "server/redis/clock.h"
#include "server/redis/health.h"
#include "server/redis/quorum.h"

typedef struct fs_store {
    dlock_redis *redis;   /* pinned to a run of the server; see server_run.h */
    dlock_redis *looking; /* pinned to the run that is looked at: to compare, and to halt */
    dlock_redis *asking;  /* the same server, whichever run it is: to ask which */
    server_run run;
    atomic_bool run_changed; /* another run is being compared, and is not written to as yet */
    dlock_client *locks;
    redis_quorum quorum; /* of strategy redlock; see quorum.h */
    char instance[65];   /* this process's name, in every order it sells */
    bool allow_eviction; /* sell even where the policy may evict */
    redis_clock clock;
    dlock_redis_conn *clock_conn; /* of store_sync_clock() */
    store_health health;
    _Atomic(dlock_cancel *) outage_cancel;  /* of the next outage, or the present one */
    _Atomic(struct store_outage *) outages; /* all so far */
} fs_store;

/* `redis_url`, `redlock_urls` (comma-separated, or NULL) and `instance` are copied. Does not
 * connect. 0, or -1 and a sentence in err. */
int store_open(fs_store *store, const char *redis_url, const char *redlock_urls,
               const char *instance, char *err, size_t err_len);
void store_close(fs_store *store);

/* ---- asking ---------------------------------------------------------------------------------- */

/* The words of a command, or the arguments of a script: WORDS("GET", key). */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Runs one command; the reply is the caller's. As dlock_redis_command(). */
dlock_redis_outcome store_command(fs_store *store, dlock_time deadline, const char *const *words,
                                  redisReply **ret);

/* Runs a script of one key. */
dlock_redis_outcome store_script(fs_store *store, dlock_time deadline, dlock_script *script,
                                 const char *key, const char *const *arguments, redisReply **ret);

/* No question that only reads waits longer than this: a Redis that hangs is told from one that
 * works within the two seconds in which a buyer is to hear of it. */
#define STORE_READ_MS 1500

/* The deadline of a read made for a request with `deadline`. */
dlock_time store_read_deadline(dlock_time deadline);

/* Runs a command that only reads. NULL: not answered by the deadline of a read; logged. */
redisReply *store_read(fs_store *store, dlock_time deadline, const char *const *words);

/* The same for a script; frees `args`. */
redisReply *store_read_script(fs_store *store, dlock_time deadline, dlock_script *script, int keys,
                              dlock_args *args);

/* Sees to it that a connection of the caller's works: *conn, NULL = none as yet. */
bool store_connect(fs_store *store, dlock_redis_conn **conn, dlock_time deadline);

/* The value behind a name in a reply of names and values; "" = there is none. */
const char *store_field(const redisReply *pairs, const char *name);

/* Logs that Redis failed us, with its last error, a line a second at most. `what` was tried, and
 * ended `how`. */
void store_log_failure(fs_store *store, const char *what, const char *how);

/* ---- Redis's clock --------------------------------------------------------------------------- */

/* Redis's time, in Unix microseconds. False: not answered. */
bool store_time(fs_store *store, dlock_time deadline, int64_t *ret);

/* Renews the estimate, within a second, on a connection of its own: so it tells whether Redis
 * answers (TROUBLE_SILENT) however busy the others are. For one thread. */
void store_sync_clock(fs_store *store);

static inline bool store_reachable(const fs_store *store)
{
    return !health_has(&store->health, TROUBLE_SILENT);
}

/* The moment by Redis's clock, in Unix microseconds. */
static inline int64_t store_redis_us(const fs_store *store, dlock_time moment)
{
    return moment.us + atomic_load_explicit(&store->clock.offset_us, memory_order_relaxed);
}

/* Ends every wait for a lock once Redis is found not to answer: for dlock_wait. (borrowed) */
static inline dlock_cancel *store_outage_cancel(const fs_store *store)
{
    return atomic_load(&store->outage_cancel);
}

#endif
