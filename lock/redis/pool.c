/*
 * Lending pooled connections: a pool for each server.
 *
 * At most pool_max of one server are open; callers beyond them wait for one to come back. The last
 * one returned is lent first, so that the pool stays warm and small. Before lending, an idle
 * connection is looked at: a server that restarted has closed it, and a command written into it
 * would end as "unknown" without need.
 *
 * Nobody borrows from a cluster's server that serves no keys any more. So each borrower also closes
 * such idle connections, once a second.
 */
#include "redis/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/conn.h"
#include "redis/shared.h"

#define CONNECT_DEFAULT_MS 1000
#define SWEEP_MS           1000

/* ---- their life ------------------------------------------------------------------------------ */

dlock_redis *dlock_pool_new(topology *t, const dlock_redis_options *options)
{
    dlock_redis *redis = calloc(1, sizeof(*redis));
    if (!redis)
        return NULL;
    redis->shared = dlock_shared_new(redis);
    if (!redis->shared) {
        free(redis);
        return NULL;
    }
    redis->topology = t;
    const finder *how = dlock_topology_finder(t);
    redis->is_cluster = how && how->cluster;
    redis->pool_max = options->pool_max ? options->pool_max : DLOCK_POOL_MAX;
    redis->connect_ms = options->connect_ms ? options->connect_ms : CONNECT_DEFAULT_MS;
    snprintf(redis->name, sizeof(redis->name), "%s", options->name ? options->name : "");
    redis->admit = options->admit;
    redis->admit_arg = options->admit_arg;
    redis->followed = options->followed;
    redis->followed_arg = options->followed_arg;
    pthread_mutex_init(&redis->lock, NULL);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        dlock_cond_init(&redis->links[i].freed);
    return redis;
}

void *dlock_pool_free(dlock_redis *redis)
{
    if (!redis)
        return NULL;
    dlock_shared_free(redis->shared);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        server_link *link = &redis->links[i];
        while (link->idle) {
            dlock_redis_conn *conn = link->idle;
            link->idle = conn->next;
            dlock_redis_hang_up(conn);
        }
        pthread_cond_destroy(&link->freed);
    }
    void *tls = dlock_topology_unref(redis->topology);
    pthread_mutex_destroy(&redis->lock);
    free(redis);
    return tls;
}

dlock_redis *dlock_pool_for_server(const topology *t, const address_host *at, const char *user,
                                   const char *password)
{
    address url = {.kind = ADDRESS_ONE, .port = at->port, .tls = dlock_topology_url(t)->tls};
    snprintf(url.host, sizeof(url.host), "%s", at->host);
    snprintf(url.user, sizeof(url.user), "%s", user);
    snprintf(url.password, sizeof(url.password), "%s", password);
    topology *one = dlock_topology_new(&url, dlock_topology_tls(t), NULL);
    explicit_bzero(&url, sizeof(url));
    dlock_redis *redis = one ? dlock_pool_new(one, &(dlock_redis_options){.pool_max = 1}) : NULL;
    if (one && !redis)
        dlock_topology_unref(one);
    return redis;
}

/* ---- closing what is idle ---------------------------------------------------------------------
 */

static void give_place_back(dlock_redis *redis, int server)
{
    pthread_mutex_lock(&redis->lock);
    redis->links[server].open--;
    pthread_cond_signal(&redis->links[server].freed);
    pthread_mutex_unlock(&redis->lock);
}

static dlock_redis_conn *take_idle(dlock_redis *redis, int server)
{
    pthread_mutex_lock(&redis->lock);
    dlock_redis_conn *all = redis->links[server].idle;
    redis->links[server].idle = NULL;
    pthread_mutex_unlock(&redis->lock);
    return all;
}

static void close_idle(dlock_redis *redis, int server)
{
    dlock_redis_conn *next, *conn = take_idle(redis, server);
    for (; conn; conn = next) {
        next = conn->next;
        dlock_redis_hang_up(conn);
        give_place_back(redis, server);
    }
}

void dlock_pool_sweep(dlock_redis *redis)
{
    pthread_mutex_lock(&redis->lock);
    bool due = dlock_passed(redis->sweep_at);
    if (due)
        redis->sweep_at = dlock_in_ms(SWEEP_MS);
    pthread_mutex_unlock(&redis->lock);
    int servers = due ? dlock_redis_servers(redis) : 0;
    for (int i = 0; i < servers; i++)
        if (!dlock_topology_serves(redis->topology, i)) {
            close_idle(redis, i);
            dlock_shared_leave(redis->shared, i);
        }
}

/* ---- lending --------------------------------------------------------------------------------- */

/* An idle connection has nothing to say. One that is readable has been closed. */
static bool looks_dead(dlock_redis_conn *conn)
{
    return !dlock_redis_is_fit(conn) || dlock_redis_wait(conn, (dlock_time){0});
}

/* Under the lock: an idle connection, or NULL with the right to open one (open counts it), or
 * false at the deadline. */
static bool claim_place(dlock_redis *redis, server_link *link, dlock_time deadline,
                        dlock_redis_conn **ret)
{
    for (;;) {
        *ret = link->idle;
        if (link->idle) {
            link->idle = link->idle->next;
            return true;
        }
        if (link->open < redis->pool_max) {
            link->open++;
            return true;
        }
        if (dlock_passed(deadline))
            return false;
        dlock_cond_wait(&link->freed, &redis->lock, deadline);
    }
}

dlock_redis_outcome dlock_pool_borrow(dlock_redis *redis, int server, dlock_time deadline,
                                      dlock_redis_conn **ret)
{
    *ret = NULL;
    if (redis->is_cluster)
        dlock_pool_sweep(redis);
    if (server == NO_SERVER)
        return DLOCK_REDIS_NOT_SENT;
    for (;;) {
        pthread_mutex_lock(&redis->lock);
        bool claimed = claim_place(redis, &redis->links[server], deadline, ret);
        pthread_mutex_unlock(&redis->lock);
        if (!claimed) {
            dlock_redis_note(redis, "no connection of the pool became free in time");
            return DLOCK_REDIS_NOT_SENT;
        }
        if (!*ret)
            break;
        if (!looks_dead(*ret))
            return DLOCK_REDIS_OK;
        dlock_redis_hang_up(*ret);
        give_place_back(redis, server);
    }
    dlock_redis_outcome outcome = dlock_redis_dial_server(redis, server, deadline, ret);
    if (outcome == DLOCK_REDIS_OK)
        (*ret)->follows = true;
    else
        give_place_back(redis, server);
    return outcome;
}

void dlock_pool_return(dlock_redis *redis, dlock_redis_conn *conn)
{
    int server = conn->server;
    if (!dlock_redis_is_fit(conn)) {
        dlock_redis_hang_up(conn);
        give_place_back(redis, server);
        return;
    }
    server_link *link = &redis->links[server];
    pthread_mutex_lock(&redis->lock);
    conn->next = link->idle;
    link->idle = conn;
    pthread_cond_signal(&link->freed);
    pthread_mutex_unlock(&redis->lock);
}

dlock_redis_outcome dlock_redis_lend(dlock_redis *redis, const char *key, dlock_time deadline,
                                     dlock_redis_conn **ret)
{
    int server = dlock_redis_route(redis, key, strlen(key), deadline);
    return dlock_pool_borrow(redis, server, deadline, ret);
}

void dlock_redis_give_back(dlock_redis_conn *conn)
{
    dlock_pool_return(conn->redis, conn);
}

static void judge_idle(dlock_redis *redis, int server)
{
    dlock_redis_conn *next, *conn = take_idle(redis, server);
    for (; conn; conn = next) {
        next = conn->next;
        dlock_pool_return(redis, conn);
    }
}

/* The idle ones at once, the others when they are used. */
void dlock_redis_readmit(dlock_redis *redis)
{
    atomic_fetch_add(&redis->round, 1);
    int servers = dlock_redis_servers(redis);
    for (int i = 0; i < servers; i++)
        judge_idle(redis, i);
    dlock_shared_readmit(redis->shared);
}
