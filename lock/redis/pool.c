/*
 * One server and its pooled connections.
 *
 * At most pool_max are open; callers beyond them wait for one to come back. The last one returned
 * is lent first, so that the pool stays warm and small. Before lending, an idle connection is
 * looked at: a server that restarted has closed it, and a command written into it would end as
 * "unknown" without need.
 */
#include "redis/pool.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/conn.h"
#ifdef DLOCK_TLS
#include <hiredis/hiredis_ssl.h>
#endif

#define POOL_MAX           32
#define CONNECT_DEFAULT_MS 1000

static bool prepare_tls(dlock_redis *redis, char *err, size_t err_len)
{
#ifdef DLOCK_TLS
    if (!redis->address.tls)
        return true;
    redisSSLContextError why;
    const char *host = redis->address.host;
    const char *ca = getenv("SSL_CERT_FILE");
    redisInitOpenSSL();
    redis->tls = redisCreateSSLContext(ca, ca ? NULL : "/etc/ssl/certs", NULL, NULL, host, &why);
    if (!redis->tls)
        snprintf(err, err_len, "TLS: %s", redisSSLContextGetError(why));
    return redis->tls;
#else
    (void)redis, (void)err, (void)err_len;
    return true;
#endif
}

static bool is_one_server(const dlock_redis *redis, char *err, size_t err_len)
{
    if (redis->address.kind == ADDRESS_ONE)
        return true;
    snprintf(err, err_len, "bad Redis address: %s is not served by this version",
             redis->address.kind == ADDRESS_SENTINEL ? "redis+sentinel://" : "redis+cluster://");
    return false;
}

int dlock_redis_open(const dlock_redis_options *options, dlock_redis **ret, char *err,
                     size_t err_len)
{
    if (options->pool_max < 0 || options->pool_max > POOL_MAX || options->connect_ms < 0) {
        snprintf(err, err_len, "pool_max must be 1..%d and connect_ms positive", POOL_MAX);
        return -1;
    }
    dlock_redis *redis = calloc(1, sizeof(*redis));
    if (!redis) {
        snprintf(err, err_len, "out of memory");
        return -1;
    }
    if (dlock_address_parse(options->url, &redis->address, err, err_len) != 0 ||
        !is_one_server(redis, err, err_len) || !prepare_tls(redis, err, err_len)) {
        explicit_bzero(&redis->address, sizeof(redis->address));
        free(redis);
        return -1;
    }
    redis->pool_max = options->pool_max ? options->pool_max : POOL_MAX;
    redis->connect_ms = options->connect_ms ? options->connect_ms : CONNECT_DEFAULT_MS;
    snprintf(redis->name, sizeof(redis->name), "%s", options->name ? options->name : "");
    redis->admit = options->admit;
    redis->admit_arg = options->admit_arg;
    pthread_mutex_init(&redis->lock, NULL);
    dlock_cond_init(&redis->freed);
    *ret = redis;
    return 0;
}

void dlock_redis_close(dlock_redis *redis)
{
    if (!redis)
        return;
    while (redis->idle) {
        dlock_redis_conn *conn = redis->idle;
        redis->idle = conn->next;
        dlock_redis_hang_up(conn);
    }
#ifdef DLOCK_TLS
    if (redis->tls)
        redisFreeSSLContext(redis->tls);
#endif
    pthread_cond_destroy(&redis->freed);
    pthread_mutex_destroy(&redis->lock);
    explicit_bzero(&redis->address, sizeof(redis->address));
    free(redis);
}

/* An idle connection has nothing to say. One that is readable has been closed. */
static bool looks_dead(const dlock_redis_conn *conn)
{
    struct pollfd p = {.fd = conn->ctx->fd, .events = POLLIN};
    return dlock_redis_broken(conn) || poll(&p, 1, 0) != 0;
}

/* Under the lock: an idle connection, or NULL with the right to open one (open counts it), or
 * false at the deadline. */
static bool claim_place(dlock_redis *redis, dlock_time deadline, dlock_redis_conn **ret)
{
    for (;;) {
        *ret = redis->idle;
        if (redis->idle) {
            redis->idle = redis->idle->next;
            return true;
        }
        if (redis->open < redis->pool_max) {
            redis->open++;
            return true;
        }
        if (dlock_passed(deadline))
            return false;
        dlock_cond_wait(&redis->freed, &redis->lock, deadline);
    }
}

static void give_place_back(dlock_redis *redis)
{
    pthread_mutex_lock(&redis->lock);
    redis->open--;
    pthread_cond_signal(&redis->freed);
    pthread_mutex_unlock(&redis->lock);
}

dlock_redis_outcome dlock_pool_borrow(dlock_redis *redis, dlock_time deadline,
                                      dlock_redis_conn **ret)
{
    for (;;) {
        pthread_mutex_lock(&redis->lock);
        bool claimed = claim_place(redis, deadline, ret);
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
        give_place_back(redis);
    }
    dlock_redis_outcome outcome = dlock_redis_dial(redis, NULL, deadline, ret);
    if (outcome != DLOCK_REDIS_OK)
        give_place_back(redis);
    return outcome;
}

void dlock_pool_return(dlock_redis *redis, dlock_redis_conn *conn)
{
    if (dlock_redis_broken(conn)) {
        dlock_redis_hang_up(conn);
        give_place_back(redis);
        return;
    }
    pthread_mutex_lock(&redis->lock);
    conn->next = redis->idle;
    redis->idle = conn;
    pthread_cond_signal(&redis->freed);
    pthread_mutex_unlock(&redis->lock);
}

/* The idle ones at once, the others when they are used. */
void dlock_redis_readmit(dlock_redis *redis)
{
    atomic_fetch_add(&redis->round, 1);
    pthread_mutex_lock(&redis->lock);
    dlock_redis_conn *conn = redis->idle;
    redis->idle = NULL;
    pthread_mutex_unlock(&redis->lock);
    while (conn) {
        dlock_redis_conn *next = conn->next;
        dlock_pool_return(redis, conn);
        conn = next;
    }
}
