/* What several sentinels say of the master's replicas, counted. */
#ifndef DLOCK_REDIS_SENTINEL_REPLICAS_H
#define DLOCK_REDIS_SENTINEL_REPLICAS_H

#include "redis/sentinel_watch.h"

/* By the latest answers of `count` watches, under their board's lock; `master` is the one that is
 * followed. */
void dlock_sentinel_count_replicas(watch *const *watches, int count, const address_host *master,
                                   dlock_replicas *ret);

#endif
