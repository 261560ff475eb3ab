/* The servers of a cluster, see topology.h. */
#ifndef DLOCK_REDIS_CLUSTER_H
#define DLOCK_REDIS_CLUSTER_H

#include "redis/topology.h"

extern const finder dlock_cluster;

#endif
