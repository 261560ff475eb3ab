/*
 * server_check.h - whether to sell from a server: does it accept writes, does it keep its keys,
 * does it sync them to disk.
 *
 * Settings can change, so this is checked when a sale starts and again while it sells.
 *
 * Eviction: any maxmemory-policy except `noeviction` may evict, even if maxmemory is not set yet.
 * `allkeys-*` may evict the pointer to a sale, or its stock. `volatile-*` evicts locks, which
 * admits a second holder, and the orders of ended sales, which are promised for 24 h.
 *
 * Replicas: those count that INFO calls online and that acknowledged something within the last
 * REPLICA_LAG_S seconds; normally they do once a second.
 *
 * Disk: appendonly yes, appendfsync always, no-appendfsync-on-rewrite no (with yes, nothing is
 * synced during a rewrite). Reading these needs the right to CONFIG GET, which also shows the
 * server's passwords. A user without that right can not sell with durability `disk`; all else
 * works. If INFO is allowed, it must agree. After appendonly is switched on, the file counts once
 * its first rewrite has ended.
 */
#ifndef FLASHSALE_SERVER_CHECK_H
#define FLASHSALE_SERVER_CHECK_H

#include "server/redis/node.h"

enum { RIGHT_LEN = 40 };

typedef struct server_check {
    bool busy;            /* a script runs and does not end: the members below are not set */
    bool found[TROUBLES]; /* of its settings: TROUBLE_MAY_EVICT, _NO_DISK, _NO_REPLICAS */
    store_complaint why[TROUBLES];
    replicas_seen seen;     /* its replicas; see replicas_ask() */
    replica_claims cluster; /* the replicas that its cluster could promote; by PROMOTER_NONE: not
                               asked */
    char denied[RIGHT_LEN]; /* a missing right to ask who could be promoted, or for how long; "" =
                               none */
    bool accepts_alone;     /* cut off from all replicas it accepts writes, which a failover then
                           undoes: min-replicas-to-write is 0, or unknown */
} server_check;

typedef struct server_wish {
    bool had_disk;    /* the last check found every write synced */
    int min_replicas; /* wanted; at least 1, as having none is a trouble */
    bool cluster;     /* it belongs to a cluster, so ask it for the nodes */
} server_wish;

/* Reads its settings, on the caller's connection, without a write. If Redis refuses to tell, the
 * trouble counts as found. False: it did not answer, and nothing is known. */
bool server_ask(dlock_redis_conn *conn, const server_wish *wish, dlock_time deadline,
                server_check *ret);

/* ---- whether it takes writes ----------------------------------------------------------------- */

/*
 * The probe is a script that could write but does not. So whatever refuses the scripts that sell
 * also refuses it, and whatever delays writes (CLIENT PAUSE ... WRITE, Redis's own FAILOVER) delays
 * it, while the server still answers reads. It has its own connection, no thread waits for it, and
 * if it stays unanswered for PROBE_MS, that is a trouble.
 */
#define PROBE_MS 1000

typedef struct write_probe {
    dlock_redis_conn *conn; /* its own; NULL: none yet */
    bool out;               /* sent, but not answered */
    dlock_time sent;
} write_probe;

/* Sends the probe unless it is out, waits briefly for the answer, and notes the result in the node:
 * TROUBLE_REFUSES and TROUBLE_WRITES_PAUSED; the latter only if the server answers otherwise.
 * `key`: any key routed to this server; it is not used. False: nothing was noted. To be called by
 * the thread of node_sync_clock(), after it. */
bool write_probe_look(write_probe *probe, dlock_redis *redis, fs_node *node, const char *key);
void write_probe_drop(write_probe *probe);

#endif
