/*
 * node.h - one server of the Redis behind the URL, as this process sees it: its clock, its
 * troubles, and which run of it may be written to.
 *
 * A trouble of one server does not affect the others: waits for their locks continue, and sales on
 * them go on. If the URL leads to one server, there is one node.
 *
 * Any number of threads may use a node, except node_sync_clock().
 */
#ifndef FLASHSALE_NODE_H
#define FLASHSALE_NODE_H

#include "lock/dlock.h"
#include "server/redis/replica_set.h"
#include "server/redis/server_run.h"

/* ---- what is wrong with it ------------------------------------------------------------------- */

/* As the keeper last found it. Each trouble has its own effect on buyers. A server that was not yet
 * looked at has all of them, and its replicas are missing. */
typedef enum store_trouble {
    TROUBLE_SILENT,        /* it does not answer, or not to this user */
    TROUBLE_REFUSES,       /* it refuses the scripts that sell */
    TROUBLE_WRITES_PAUSED, /* it answers reads, but no script that sells */
    TROUBLE_MAY_EVICT,     /* its maxmemory-policy may evict keys */
    TROUBLE_NO_DISK,       /* it does not sync every write before it answers */
    TROUBLE_NO_REPLICAS,   /* a replica that may be promoted is missing, or too few are online */
    TROUBLES               /* how many there are */
} store_trouble;

typedef struct store_complaint {
    char redis[24]; /* the first word of Redis's error, such as "OOM"; "no_answer"; "" */
    char detail[256];
} store_complaint;

/* Makes a complaint from Redis's answer; NULL: no answer. */
void complain(store_complaint *ret, const char *answer);

typedef struct store_health {
    pthread_mutex_t lock; /* guards why */
    atomic_bool found[TROUBLES];
    store_complaint why[TROUBLES];
    replica_set replicas;
} store_health;

void health_init(store_health *health);
void health_free(store_health *health);

/* NULL: the trouble is over. */
void health_note(store_health *health, store_trouble trouble, const store_complaint *why);

static inline bool health_has(const store_health *health, store_trouble trouble)
{
    return atomic_load_explicit(&health->found[trouble], memory_order_acquire);
}

/* False: there is no such trouble, and nothing is written. */
bool health_why(store_health *health, store_trouble trouble, store_complaint *ret);

/* ---- its time -------------------------------------------------------------------------------- */

/*
 * The estimate comes from samples: TIME is sent, and the reply with a time is received. Redis read
 * its clock somewhere in between. The estimate assumes the latest moment, so it is never ahead of
 * Redis's clock, and at most one round trip behind: a deadline translated to Redis's clock is never
 * later than here. A sample with a long round trip does not replace a better one.
 */

/* Slower answers are ignored, so the estimate is never further behind than this. */
#define CLOCK_ROUND_MAX_US 1000000

/* For one thread, except offset_us. All-zero: nothing is known. */
typedef struct redis_clock {
    _Atomic int64_t offset_us; /* Redis's clock less dlock_now() */
    atomic_bool known;
    int64_t least_us, most_us; /* bounds of the offset, by the kept sample */
    dlock_time taken;          /* when that was received */
} redis_clock;

/* Takes the sample if it is better. */
void clock_take(redis_clock *clock, dlock_time sent, dlock_time received, int64_t redis_us);

/* ---- a node ---------------------------------------------------------------------------------- */

typedef struct fs_node {
    int server;    /* its number; -1 = an unknown server */
    char name[12]; /* the number as text */
    redis_clock clock;
    dlock_redis_conn *clock_conn; /* of node_sync_clock() */
    store_health health;
    server_run run;
    atomic_bool run_changed; /* a new run is being compared, and is not written to yet */
    atomic_bool is_replica;  /* at the last look; once promoted it will be another run */
    _Atomic(dlock_cancel *) outage_cancel; /* of the current outage, or of the next */
    struct node_outage *outages;           /* all so far */
} fs_node;

/* Initialises a node that was not yet looked at: it has all troubles. False: out of memory; call
 * node_free() all the same. */
bool node_init(fs_node *node, int server);
void node_free(fs_node *node);

/* Connects the caller's own connection to the node unless it works: *conn, NULL = none yet. */
bool node_connect(const fs_node *node, dlock_redis *redis, dlock_redis_conn **conn,
                  dlock_time deadline);

/* Renews the estimate of the server's time, within a second. It has its own connection, so it tells
 * whether the server answers (TROUBLE_SILENT) however busy the others are. If the server has become
 * another run on the same connection, it was promoted, and counts as silent. For one thread. */
void node_sync_clock(fs_node *node, dlock_redis *redis);

/* Notes that the server does not accept writes (TROUBLE_WRITES_PAUSED), and why; NULL: it does. For
 * the same thread. */
void node_note_pause(fs_node *node, const store_complaint *why);

/* The server no longer serves keys: no run of it is admitted, and if it returns it is treated as a
 * new server. For the thread of node_sync_clock(). */
void node_forget(fs_node *node);

static inline bool node_reachable(const fs_node *node)
{
    return !health_has(&node->health, TROUBLE_SILENT);
}

/* It answers, and accepts writes. */
static inline bool node_takes_writes(const fs_node *node)
{
    return node_reachable(node) && !health_has(&node->health, TROUBLE_WRITES_PAUSED);
}

/* The moment by the server's clock, in Unix microseconds; never too late, and too early by at most
 * one round trip. */
static inline int64_t node_redis_us(const fs_node *node, dlock_time moment)
{
    return moment.us + atomic_load_explicit(&node->clock.offset_us, memory_order_relaxed);
}

/* For dlock_wait: ends all waits for locks on this server once it does not answer or does not
 * accept writes. (borrowed) */
static inline dlock_cancel *node_outage_cancel(const fs_node *node)
{
    return atomic_load(&node->outage_cancel);
}

/* Reads a reply to TIME, in Unix microseconds. False: it is not one. */
bool node_read_time(const redisReply *reply, int64_t *ret);

#endif
