/*
 * Connecting: the socket, TLS, the first words, and the pause after a failure.
 */
#include "redis/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BACKOFF_FIRST_MS 10
#define BACKOFF_MAX_MS   500
#define NOT_ADMITTED_MS  50 /* until the next connect: the server itself is well */

/* ---- the pause after a failure --------------------------------------------------------------- */

/* After a failure nobody connects for 10, 20, ... 500 ms, half of it random, so that not all
 * clients meet a returning server at once. */
static void back_off(dlock_redis *redis, int server)
{
    server_link *link = &redis->links[server];
    pthread_mutex_lock(&redis->lock);
    int ms = link->backoff_ms ? link->backoff_ms * 2 : BACKOFF_FIRST_MS;
    link->backoff_ms = ms > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : ms;
    uint32_t jitter = (uint32_t)dlock_now().us * 2654435761u >> 16;
    ms = link->backoff_ms / 2 + (int)(jitter % (uint32_t)(link->backoff_ms / 2 + 1));
    link->retry_at = dlock_in_ms(ms);
    link->retry_generation = dlock_topology_generation(redis->topology, server);
    pthread_mutex_unlock(&redis->lock);
    dlock_topology_doubt(redis->topology);
}

/* The server is well again: the next connect may be `in_ms` from now. */
static void back_off_over(dlock_redis *redis, int server, int in_ms)
{
    pthread_mutex_lock(&redis->lock);
    redis->links[server].backoff_ms = 0;
    redis->links[server].retry_at = in_ms > 0 ? dlock_in_ms(in_ms) : (dlock_time){0};
    pthread_mutex_unlock(&redis->lock);
}

bool dlock_redis_held_back(dlock_redis *redis, int server)
{
    const server_link *link = &redis->links[server];
    pthread_mutex_lock(&redis->lock);
    bool back = !dlock_passed(link->retry_at) &&
                link->retry_generation == dlock_topology_generation(redis->topology, server);
    pthread_mutex_unlock(&redis->lock);
    if (back)
        dlock_redis_hear_again(redis);
    return back;
}

/* ---- the socket ------------------------------------------------------------------------------ */

/* Waits for the connect that is under way: hiredis would give it up at the first signal. Returns
 * why it failed, or NULL. */
static const char *finish_connect(const redisContext *ctx, dlock_time deadline)
{
    int error = 0, yes = 1;
    socklen_t len = sizeof(error);
    if (!dlock_redis_wait_fd(ctx->fd, POLLOUT, deadline))
        return "no answer in time";
    if (getsockopt(ctx->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (ctx->connection_type == REDIS_CONN_TCP) /* newer versions leave it to whoever connects so */
        setsockopt(ctx->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const char *what = strerrordesc_np(error);
    return !error ? NULL : what ? what : "unknown error";
}

/* *ret is the context, if there is one, also after a failure. Returns why it failed, or NULL. */
static const char *connect_socket(const char *path, const address_host *tcp, dlock_time deadline,
                                  redisContext **ret)
{
    *ret = path[0] ? redisConnectUnixNonBlock(path) : redisConnectNonBlock(tcp->host, tcp->port);
    if (!*ret)
        return "out of memory";
    return (*ret)->err ? (*ret)->errstr : finish_connect(*ret, deadline);
}

/* Returns why it failed, with the words in err, or NULL. */
static const char *start_tls(dlock_redis_conn *conn, const char *host, dlock_time deadline,
                             char *err, size_t err_len)
{
    const topology *t = conn->redis->topology;
    if (!dlock_topology_url(t)->tls)
        return NULL;
    conn->tls = dlock_tls_start(dlock_topology_tls(t), conn->ctx, host, err, err_len);
    if (!conn->tls)
        return err;
    for (;;) {
        int events = dlock_tls_step(conn->tls, err, err_len);
        if (events <= 0)
            return events == 0 ? NULL : err;
        if (!dlock_redis_wait_fd(conn->ctx->fd, (short)events, deadline))
            return "TLS: no answer in time; does it speak TLS on this port?";
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Notes why there is no connection, and why the finder, where there is one, knows of no better
 * server. */
static void note_failure(dlock_redis *redis, const char *wrong)
{
    char why[ERROR_LEN];
    dlock_topology_complaint(redis->topology, why, sizeof(why));
    dlock_redis_note(redis, "can not connect to Redis: %s%s%s", wrong, why[0] ? "; " : "", why);
}

/* Where the server is; waits until the finder knows it. */
static bool find_address(dlock_redis_conn *conn, dlock_time deadline, address_host *ret)
{
    topology *t = conn->redis->topology;
    return dlock_topology_address(t, conn->server, ret, &conn->generation) ||
           (dlock_topology_await(t, NULL, 0, deadline) != NO_SERVER &&
            dlock_topology_address(t, conn->server, ret, &conn->generation));
}

/* A socket that is connected, with TLS where that is wanted. False: noted why not. */
static bool connect_to(dlock_redis_conn *conn, dlock_time deadline)
{
    address_host where;
    char err[ERROR_LEN];
    dlock_redis *redis = conn->redis;
    const char *wrong = "its address is not known";
    if (find_address(conn, deadline, &where))
        wrong =
            connect_socket(dlock_topology_url(redis->topology)->path, &where, deadline, &conn->ctx);
    if (!wrong)
        wrong = start_tls(conn, where.host, deadline, err, sizeof(err));
    if (wrong) {
        note_failure(redis, wrong);
        return false;
    }
    fcntl(conn->ctx->fd, F_SETFD, FD_CLOEXEC);
    return true;
}

dlock_redis_outcome dlock_redis_dial_server(dlock_redis *redis, int server, dlock_time deadline,
                                            dlock_redis_conn **ret)
{
    *ret = NULL;
    dlock_redis_hear(NULL);
    if (server < 0 || server >= DLOCK_SERVERS_MAX) {
        dlock_redis_note(redis, "there is no server %d", server);
        return DLOCK_REDIS_NOT_SENT;
    }
    if (dlock_redis_held_back(redis, server) || dlock_passed(deadline))
        return DLOCK_REDIS_NOT_SENT;
    dlock_redis_conn *conn = calloc(1, sizeof(*conn));
    if (!conn)
        return DLOCK_REDIS_NOT_SENT;
    conn->redis = redis;
    conn->server = server;
    conn->misread = atomic_load(&redis->misread);
    deadline = dlock_sooner(deadline, dlock_in_ms(redis->connect_ms));
    bool well = false;
    if (connect_to(conn, deadline) && dlock_redis_introduce(conn, deadline, &well)) {
        back_off_over(redis, server, 0);
        *ret = conn;
        return DLOCK_REDIS_OK;
    }
    if (well)
        back_off_over(redis, server, NOT_ADMITTED_MS);
    else
        back_off(redis, server);
    dlock_redis_hang_up(conn);
    return DLOCK_REDIS_NOT_SENT;
}

dlock_redis_outcome dlock_redis_dial(dlock_redis *redis, const char *key, dlock_time deadline,
                                     dlock_redis_conn **ret)
{
    *ret = NULL;
    int server = dlock_redis_route(redis, key, key ? strlen(key) : 0, deadline);
    if (server == NO_SERVER)
        return DLOCK_REDIS_NOT_SENT;
    return dlock_redis_dial_server(redis, server, deadline, ret);
}
