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
#include "server/redis/server_run.h"

#include "server/redis/clock.h"
#include "server/redis/health.h"

typedef struct fs_node {
    int server; /* its number; -1 = it stands for one that is not known */
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
 * one round trip at most (clock.h). */
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
