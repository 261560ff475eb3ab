/* replication.h - what a server says of its replicas, and its cluster of those to promote. */
#ifndef FLASHSALE_REPLICATION_H
#define FLASHSALE_REPLICATION_H

#include "server/redis/replica_set.h"

/* Those of CONFIG GET that replication_read_nodes() reads. */
#define REPLICATION_SETTINGS                                                                       \
    "repl-timeout", "repl-ping-replica-period", "cluster-node-timeout",                            \
        "cluster-replica-validity-factor"

/* From the answer to INFO replication; an error has none. Those with port 0 only read the stream
 * (redis-cli --replica) and are left out. */
void replication_read_info(const redisReply *info, replicas_seen *ret);

/*
 * From the answer to CLUSTER NODES: the replicas of the server that was asked, as it has them. None
 * is elected whose link to its primary is down for longer than (clusterHandleSlaveFailover in
 * Redis's cluster.c)
 *
 *     repl-ping-replica-period + cluster-node-timeout x (1 + cluster-replica-validity-factor)
 *
 * and with a factor of 0 any is. It notices a link that went silent after repl-timeout, so that is
 * added. All of them are the replica's own settings: they must be the same on every server.
 * `settings`: the answer to CONFIG GET; without it (NULL or an error) no time is long enough.
 * `nodes`: NULL or an error = it was not told.
 */
void replication_read_nodes(const redisReply *nodes, const redisReply *settings,
                            replica_claims *ret);

#endif
