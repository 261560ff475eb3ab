/*
 * store.h - this process's one way to Redis: connections, lock client, and what is known of each
 * server.
 *
 * Redis's clock is the only one that all instances share, each server's for the keys that it has.
 *
 * Any number of threads may use a store.
 */
#ifndef FLASHSALE_STORE_H
#define FLASHSALE_STORE_H

#include "lock/dlock.h"
#include "server/redis/node.h"

#include "server/redis/quorum.h"

#define STORE_NODES (DLOCK_SERVERS_MAX + 1)

typedef struct fs_store {
    dlock_redis *redis;   /* pinned to a run of each server; see server_run.h */
    dlock_redis *looking; /* pinned to the run that is looked at: to compare, and to halt */
    dlock_redis *asking;  /* the same servers, whichever run each is: to ask which */
    dlock_redis *telling; /* pinned as the first: for what waits behind no buyer */
    dlock_client *locks;
    redis_quorum quorum;        /* of strategy redlock; see quorum.h */
    char instance[65];          /* this process's name, in every order it sells */
    bool allow_eviction;        /* sell even where the policy may evict */
    bool fails_over;            /* Sentinel or a cluster promotes a replica by itself */
    fs_node nodes[STORE_NODES]; /* by server; see store_node() */
} fs_store;

/* `redis_url`, `redlock_urls` (comma-separated, or NULL) and `instance` are copied. Does not
 * connect. 0, or -1 and a sentence in err. */
int store_open(fs_store *store, const char *redis_url, const char *redlock_urls,
               const char *instance, char *err, size_t err_len);
void store_close(fs_store *store);

/* ---- the servers ----------------------------------------------------------------------------- */

/* The node of a server's number; -1 = of a key for which no server is known: it is never well. */
static inline fs_node *store_node_at(fs_store *store, int server)
{
    return &store->nodes[server + 1];
}

/* The node of the server that a key is routed to now. */
static inline fs_node *store_node(fs_store *store, const char *key)
{
    return store_node_at(store, dlock_redis_server_of(store->redis, key));
}

/* Whether keys are routed to the server now: not to one of a cluster that was left. */
static inline bool store_serves(const fs_store *store, int server)
{
    return !dlock_redis_is_cluster(store->redis) || dlock_redis_serves(store->redis, server);
}

/* The server's number for the log. NULL: there is only one server, or the node stands for one that
 * is not known. */
const char *store_server_name(const fs_store *store, const fs_node *node);

/* ---- asking ---------------------------------------------------------------------------------- */

/* The words of a command, or the arguments of a script: WORDS("GET", key). */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Appends words to a command or to a script's, and returns how many. */
int store_put(dlock_args *args, const char *const *words);

/* Appends a number, or "" where there is none. */
void store_put_number(dlock_args *args, bool there, int64_t number);

/* Runs one command whose second word is its key; the reply is the caller's. As
 * dlock_redis_command(). */
dlock_redis_outcome store_command(fs_store *store, dlock_time deadline, const char *const *words,
                                  redisReply **ret);

/* No question that only reads waits longer than this: a Redis that hangs is told from one that
 * works within the two seconds in which a buyer is to hear of it. */
#define STORE_READ_MS 1500

/* The deadline of a read made for a request with `deadline`. */
dlock_time store_read_deadline(dlock_time deadline);

/* Runs a command that only reads. NULL: not answered by the deadline of a read; logged. */
redisReply *store_read(fs_store *store, dlock_time deadline, const char *const *words);

/* Whether a script can answer so. */
typedef bool store_fits(const redisReply *reply);

/* Runs a script, and frees its words. NULL: not answered by the deadline as `fits` says. */
redisReply *store_eval(dlock_redis *redis, dlock_script *script, int keys, dlock_args *args,
                       dlock_time deadline, store_fits *fits);

/* The same for a script that only reads: by the deadline of a read; logged. */
redisReply *store_read_script(fs_store *store, dlock_time deadline, dlock_script *script, int keys,
                              dlock_args *args, store_fits *fits);

/* An integer; a text. */
store_fits store_is_number, store_is_text;

/* Whether the elements of a list are of this type, REDIS_REPLY_..., those before `from` apart. */
bool store_all_are(const redisReply *reply, size_t from, int type);

/* Names and values, all of them texts. */
bool store_is_pairs(const redisReply *reply);

/* The value behind a name in a reply of names and values; "" = there is none. */
const char *store_field(const redisReply *pairs, const char *name);

/* Logs that Redis failed us, with its last error, a line a second at most. `what` was tried, and
 * ended `how`. */
void store_log_failure(fs_store *store, const char *what, const char *how);

/* The time of the server that has the key, in Unix microseconds. False: not answered. */
bool store_time(fs_store *store, const char *key, dlock_time deadline, int64_t *ret);

#endif
