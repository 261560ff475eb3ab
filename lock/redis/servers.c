/* The servers behind a dlock_redis, which of them a key is at, and their replicas. */
#include <string.h>

#include "redis/conn.h"

#define REPLICAS_MS 1000 /* what was heard of the replicas is asked anew after it */

int dlock_redis_servers(dlock_redis *redis)
{
    return dlock_topology_servers(redis->topology);
}

int dlock_redis_server_of(dlock_redis *redis, const char *key)
{
    return dlock_topology_route(redis->topology, key, strlen(key));
}

bool dlock_redis_serves(const dlock_redis *redis, int server)
{
    return dlock_topology_serves(redis->topology, server);
}

bool dlock_redis_is_cluster(const dlock_redis *redis)
{
    return redis->is_cluster;
}

int dlock_redis_route(dlock_redis *redis, const char *key, size_t key_len, dlock_time deadline)
{
    deadline = dlock_sooner(deadline, dlock_in_ms(redis->connect_ms));
    int server = dlock_topology_await(redis->topology, key, key_len, deadline);
    if (server != NO_SERVER)
        return server;
    char why[ERROR_LEN];
    dlock_topology_complaint(redis->topology, why, sizeof(why));
    dlock_redis_note(redis, "%s", why[0] ? why : "no server of this key is known at present");
    dlock_redis_hear(NULL);
    dlock_redis_hear_again(redis);
    dlock_topology_doubt(redis->topology);
    return NO_SERVER;
}

bool dlock_redis_replicas(dlock_redis *redis, dlock_replicas *ret)
{
    memset(ret, 0, sizeof(*ret));
    bool told = dlock_topology_replicas(redis->topology, ret);
    if (told && dlock_now().us - ret->at.us >= REPLICAS_MS * 1000)
        dlock_topology_doubt(redis->topology);
    return told;
}
