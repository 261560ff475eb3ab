/* The pools of a dlock_redis, their life, and lending connections from them. */
#ifndef DLOCK_REDIS_POOL_H
#define DLOCK_REDIS_POOL_H

#include "dlock_redis.h"
#include "redis/topology.h"

enum { DLOCK_POOL_MAX = 32 };

/* Pools for the servers of `t`, as the options say, but for their url and `beside`. The caller's
 * reference to `t` is taken over. NULL: out of memory; it is the caller's still. */
dlock_redis *dlock_pool_new(topology *t, const dlock_redis_options *options);

/* Closes the idle connections. No call may be under way. Returns what dlock_topology_unref() does.
 * NULL is allowed. */
void *dlock_pool_free(dlock_redis *redis);

/* Of one connection to the server at this address, for a finder: over TLS as `t` has it, but with
 * these credentials ("": none). It may not outlive `t`, to which what dlock_pool_free() returns of
 * it belongs. NULL: out of memory. */
dlock_redis *dlock_pool_for_server(const topology *t, const address_host *at, const char *user,
                                   const char *password);

/* Lends a connection that is not known to be dead. NOT_SENT when none is free in time, and for
 * NO_SERVER. */
dlock_redis_outcome dlock_pool_borrow(dlock_redis *redis, int server, dlock_time deadline,
                                      dlock_redis_conn **ret);

/* Takes the connection back. Closes it if it is broken, or has unread answers. */
void dlock_pool_return(dlock_redis *redis, dlock_redis_conn *conn);

/* In a cluster, once a second: closes idle connections, also shared ones, to servers that serve no
 * keys. A server that so far only answers ASK may lose some; they are opened again. */
void dlock_pool_sweep(dlock_redis *redis);

#endif
