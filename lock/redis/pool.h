/* Lending pooled connections, by the server they lead to. */
#ifndef DLOCK_REDIS_POOL_H
#define DLOCK_REDIS_POOL_H

#include "dlock_redis.h"

/* Lends a connection that is not known to be dead. NOT_SENT when none can be had in time, and for
 * NO_SERVER. */
dlock_redis_outcome dlock_pool_borrow(dlock_redis *redis, int server, dlock_time deadline,
                                      dlock_redis_conn **ret);

/* Takes it back; a broken one is closed. */
void dlock_pool_return(dlock_redis *redis, dlock_redis_conn *conn);

#endif
