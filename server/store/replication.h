/* replication.h - reads what a server says of its replicas, and its cluster of candidates. */
#ifndef FLASHSALE_REPLICATION_H
#define FLASHSALE_REPLICATION_H

#include "server/redis/replica_set.h"

/* Those of CONFIG GET that replication_read_nodes() reads. */
#define REPLICATION_SETTINGS                                                                       \
    "repl-timeout", "repl-ping-replica-period", "cluster-node-timeout",                            \
        "cluster-replica-validity-factor"

/* From the reply to INFO replication; an error means no replicas. Omits those with port 0, which
 * only read the stream (redis-cli --replica). */
void replication_read_info(const redisReply *info, replicas_seen *ret);

/*
 * From the reply to CLUSTER NODES: the replicas of the server that was asked. A replica is not
 * elected if its link to the primary was down for longer than (clusterHandleSlaveFailover in
 * Redis's cluster.c)
 *
 *     repl-ping-replica-period + cluster-node-timeout x (1 + cluster-replica-validity-factor)
 *
 * With a factor of 0 any replica may be elected. A replica notices a silent link only after
 * repl-timeout, so that is added. These are the replica's own settings: they must be the same on
 * every server. `settings`: the reply to CONFIG GET; without it (NULL or an error) no time is long
 * enough. `nodes`: NULL or an error = not told.
 */
void replication_read_nodes(const redisReply *nodes, const redisReply *settings,
                            replica_claims *ret);

#endif
