/*
 * node.h - one server of the Redis behind the URL, as this process has it: its clock, what is wrong
 * with it, and which run of it may be written to.
 *
 * Whatever befalls one server is that one's alone: who waits for a lock on another one goes on
 * waiting, and what another one keeps is sold. Where the URL leads to one server there is one node.
 *
 * Any number of threads may use a node, but for node_sync_clock().
 */
#ifndef FLASHSALE_NODE_H
#define FLASHSALE_NODE_H

#include "lock/dlock.h"
#include "server/redis/replica_set.h"
#include "server/redis/server_run.h"

/* ---- what is wrong with it ------------------------------------------------------------------- */

/* As the keeper last found it. Each has its own consequence for the buyers. A server that nobody
 * has looked at yet has all of them, and misses replicas. */
typedef enum store_trouble {
    TROUBLE_SILENT,        /* it does not answer, or not to this user */
    TROUBLE_REFUSES,       /* it refuses the scripts that sell */
    TROUBLE_WRITES_PAUSED, /* it answers what only reads, and no script that sells */
    TROUBLE_MAY_EVICT,     /* its maxmemory-policy throws keys away */
    TROUBLE_NO_DISK,       /* it does not put every write on disk before it answers */
    TROUBLE_NO_REPLICAS,   /* a replica that may be promoted is missing, or too few are online */
    TROUBLES               /* how many there are */
} store_trouble;

typedef struct store_complaint {
    char redis[24]; /* the first word of what Redis said, "OOM" for one; "no_answer"; "" */
    char detail[256];
} store_complaint;

/* Makes a complaint of what Redis answered; NULL: it said nothing. */
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

/* False, and nothing written: there is no such trouble. */
bool health_why(store_health *health, store_trouble trouble, store_complaint *ret);

/* ---- its time -------------------------------------------------------------------------------- */

/*
 * Estimated from samples: a question sent, its answer, with a time, received. Redis read its clock
 * somewhere in between. The estimate takes the latest moment, so it is never ahead of Redis's
 * clock, and behind it by one round trip at most: a deadline that is translated is never later
 * there than here. A sample whose answer was long under way does not replace a better one.
 */

/* An answer that took longer says nothing: so the estimate is never further behind than this. */
#define CLOCK_ROUND_MAX_US 1000000

/* Used by one thread, but for offset_us. All-zero: nothing is known. */
typedef struct redis_clock {
    _Atomic int64_t offset_us; /* Redis's clock less dlock_now() */
    atomic_bool known;
    int64_t least_us, most_us; /* the offset lies between them, by the sample that was kept */
    dlock_time taken;          /* when that was received */
} redis_clock;

/* Takes a sample, or leaves it. */
void clock_take(redis_clock *clock, dlock_time sent, dlock_time received, int64_t redis_us);

/* ---- a node ---------------------------------------------------------------------------------- */

typedef struct fs_node {
    int server;    /* its number; -1 = it stands for one that is not known */
    char name[12]; /* the same */
    redis_clock clock;
    dlock_redis_conn *clock_conn; /* of node_sync_clock() */
    store_health health;
    server_run run;
    atomic_bool run_changed; /* another run is being compared, and is not written to as yet */
    atomic_bool is_replica;  /* at the last look: when it is promoted it will be another run */
    _Atomic(dlock_cancel *) outage_cancel; /* of the next outage, or the present one */
    struct node_outage *outages;           /* all so far */
} fs_node;

/* A node that nobody has looked at: all troubles are found. False: out of memory; node_free() is
 * due all the same. */
bool node_init(fs_node *node, int server);
void node_free(fs_node *node);

/* Sees to it that a connection of the caller's to the node works: *conn, NULL = none as yet. */
bool node_connect(const fs_node *node, dlock_redis *redis, dlock_redis_conn **conn,
                  dlock_time deadline);

/* Renews the estimate of the server's time, within a second, on a connection of its own: so it
 * tells whether the server answers (TROUBLE_SILENT) however busy the others are. A server that is
 * another run by now, though the connection has held, counts as silent: it was promoted. For one
 * thread. */
void node_sync_clock(fs_node *node, dlock_redis *redis);

/* Notes that it takes no writes (TROUBLE_WRITES_PAUSED), and why; NULL: it does. For the same
 * thread. */
void node_note_pause(fs_node *node, const store_complaint *why);

/* It serves no keys any more: no run of it is admitted, and if it ever comes back it is looked at
 * as a new one. For the thread of node_sync_clock(). */
void node_forget(fs_node *node);

static inline bool node_reachable(const fs_node *node)
{
    return !health_has(&node->health, TROUBLE_SILENT);
}

/* It answers, and takes writes. */
static inline bool node_takes_writes(const fs_node *node)
{
    return node_reachable(node) && !health_has(&node->health, TROUBLE_WRITES_PAUSED);
}

/* The moment by the server's clock, in Unix microseconds; never later than it is, and earlier by
 * one round trip at most. */
static inline int64_t node_redis_us(const fs_node *node, dlock_time moment)
{
    return moment.us + atomic_load_explicit(&node->clock.offset_us, memory_order_relaxed);
}

/* Ends every wait for a lock there once the server is found not to answer, or to take no writes:
 * for dlock_wait. (borrowed) */
static inline dlock_cancel *node_outage_cancel(const fs_node *node)
{
    return atomic_load(&node->outage_cancel);
}

/* The two words of a reply to TIME, in Unix microseconds. False: it is none. */
bool node_read_time(const redisReply *reply, int64_t *ret);

#endif
