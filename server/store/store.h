/*
 * store.h - this process's only access to Redis: connections, the lock client, and what is known of
 * each server.
 *
 * All instances share only Redis's clock: each server's clock, for the keys of that server.
 *
 * Any number of threads may use a store.
 */
#ifndef FLASHSALE_STORE_H
#define FLASHSALE_STORE_H

#include "lock/dlock.h"
#include "server/base/text.h"
#include "server/redis/node.h"

#include "server/redis/quorum.h"

#define STORE_NODES (DLOCK_SERVERS_MAX + 1)

typedef struct fs_store {
    dlock_redis *redis;   /* pinned to a run of each server; see server_run.h */
    dlock_redis *looking; /* pinned to the run that is looked at: to compare, and to halt */
    dlock_redis *asking;  /* not pinned: to ask which run each server is */
    dlock_redis *telling; /* pinned as the first: for calls that must not queue behind buyers */
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

/* The node of the server with this number; -1 = of keys without a known server, never well. */
static inline fs_node *store_node_at(fs_store *store, int server)
{
    return &store->nodes[server + 1];
}

/* The node of the server that a key is routed to now. */
static inline fs_node *store_node(fs_store *store, const char *key)
{
    return store_node_at(store, dlock_redis_server_of(store->redis, key));
}

/* Whether keys are routed to the server now: not to one that has left its cluster. */
static inline bool store_serves(const fs_store *store, int server)
{
    return !dlock_redis_is_cluster(store->redis) || dlock_redis_serves(store->redis, server);
}

/* The server's number for the log. NULL: there is only one server, or the node stands for an
 * unknown one. */
const char *store_server_name(const fs_store *store, const fs_node *node);

/* ---- asking ---------------------------------------------------------------------------------- */

/* The words of a command, or the arguments of a script: WORDS("GET", key). */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* These words, to which more may be appended. To be freed with dlock_args_free(). */
dlock_args store_words(const char *const *words);

/* Appends words to a command or to a script's, and returns how many. */
int store_put(dlock_args *args, const char *const *words);

/* Appends a text as one word, and frees it. */
void store_put_text(dlock_args *args, fs_text *text);

/* Appends a number, or "" if there is none. */
void store_put_number(dlock_args *args, bool there, int64_t number);

/* Runs one command whose second word is its key; the reply is the caller's. As
 * dlock_redis_command(). */
dlock_redis_outcome store_command(fs_store *store, dlock_time deadline, const char *const *words,
                                  redisReply **ret);

/* No read waits longer than this. So a Redis that hangs is noticed within the two seconds in which
 * a buyer must hear of it. */
#define STORE_READ_MS 1500

/* The deadline of a read for a request with `deadline`. */
dlock_time store_read_deadline(dlock_time deadline);

/* Runs a command that only reads. NULL: no answer by the deadline of a read; logged. */
redisReply *store_read(fs_store *store, dlock_time deadline, const char *const *words);

/* Whether the reply has the form of the script's answers. */
typedef bool store_fits(const redisReply *reply);

/* Runs a script, and frees its words. NULL: by the deadline there was no answer that `fits`. */
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

/* Logs a failed call and Redis's last error, at most one line per second. `what` was tried; `how`
 * it ended. */
void store_log_failure(fs_store *store, const char *what, const char *how);

/* The time of the key's server, in Unix microseconds. False: no answer. */
bool store_time(fs_store *store, const char *key, dlock_time deadline, int64_t *ret);

#endif
