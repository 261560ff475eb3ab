/*
 * server_check.h - whether a server is one to sell from: does it take the writes, does it keep
 * what it has, does it put it on disk.
 *
 * Settings are not for life, so this is asked at the start of a sale and again while it sells.
 *
 * What may evict: any maxmemory-policy but `noeviction`, also where no maxmemory is set as yet.
 * `allkeys-*` may take the pointer to a sale, or its stock; `volatile-*` takes locks, whose loss
 * lets a second holder in, and the orders of a sale that is over, which are promised for 24 h.
 *
 * Which replicas count: those that INFO calls online and that have acknowledged something within
 * the last REPLICA_LAG_S seconds, as they do once a second.
 *
 * What is on disk: appendonly yes, appendfsync always, no-appendfsync-on-rewrite no (with yes
 * nothing is synced while the file is rewritten). These need the right to CONFIG GET, which reads
 * the server's passwords, too. So a user without it sells no sale on disk, and all else works.
 * Where INFO may be asked it must agree. A file that is only now switched on is of use when its
 * first rewrite has ended.
 */
#ifndef FLASHSALE_SERVER_CHECK_H
#define FLASHSALE_SERVER_CHECK_H

#include "server/redis/node.h"

enum { RIGHT_LEN = 40 };

typedef struct server_check {
    bool busy;            /* a script runs without end: nothing of what is below is known */
    bool found[TROUBLES]; /* of its settings: TROUBLE_MAY_EVICT, _NO_DISK, _NO_REPLICAS */
    store_complaint why[TROUBLES];
    replicas_seen seen;     /* its replicas; see replicas_ask() */
    replica_claims cluster; /* those that its cluster could promote; by PROMOTER_NONE: not asked */
    char denied[RIGHT_LEN]; /* a right that is missing to hear who could be promoted, or how long;
                               "" = none */
    bool accepts_alone; /* cut off from all of them it goes on taking writes, which a failover then
                       undoes: min-replicas-to-write is 0, or it does not tell */
} server_check;

typedef struct server_wish {
    bool had_disk;    /* the last check found every write on disk */
    int min_replicas; /* that are wanted; at least 1, for it is a trouble to have none */
    bool cluster;     /* it is one of a cluster, and is asked for its nodes */
} server_wish;

/* Asks for its settings, on a connection of the caller's; all of it only reads. What Redis refuses
 * to tell counts as found. False: it did not answer, and nothing is known. */
bool server_ask(dlock_redis_conn *conn, const server_wish *wish, dlock_time deadline,
                server_check *ret);

/* ---- whether it takes writes ----------------------------------------------------------------- */

/*
 * Asked by a script that could write and does not: whatever refuses the scripts that sell refuses
 * it, and whatever holds writes back (CLIENT PAUSE ... WRITE, Redis's own FAILOVER) holds it back,
 * while the server answers all that only reads. So it has a connection of its own, nobody waits
 * for it, and one that stays out for PROBE_MS is a trouble.
 */
#define PROBE_MS 1000

typedef struct write_probe {
    dlock_redis_conn *conn; /* its own; NULL: none as yet */
    bool out;               /* it was sent, and not answered */
    dlock_time sent;
} write_probe;

/* Sends it unless it is out, waits for its answer for a moment, and notes in the node what follows:
 * TROUBLE_REFUSES and TROUBLE_WRITES_PAUSED, which is said only of a server that answers otherwise.
 * `key`: any that is routed to this server; nothing is done with it. False: nothing was noted. For
 * the thread of node_sync_clock(), after it. */
bool write_probe_look(write_probe *probe, dlock_redis *redis, fs_node *node, const char *key);
void write_probe_drop(write_probe *probe);

#endif
