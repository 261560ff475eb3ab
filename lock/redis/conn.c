/*
 * One connection. hiredis is used non-blocking and driven by poll(), so that every step obeys the
 * caller's deadline instead of a socket timeout.
 *
 * Why "broken" is sticky: after a missing reply the next one to arrive belongs to an earlier
 * command. The connection must never be read again, so every failure marks it.
 */
#include "redis/conn.h"
#include "redis/introduce.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifdef DLOCK_TLS
#include <hiredis/hiredis_ssl.h>
#endif

#define BACKOFF_FIRST_MS 10
#define BACKOFF_MAX_MS   500
#define NOT_ADMITTED_MS  50 /* until the question is put again: the server itself is well */

/* ---- errors ---------------------------------------------------------------------------------- */

void dlock_redis_note(dlock_redis *redis, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    pthread_mutex_lock(&redis->lock);
    vsnprintf(redis->error, sizeof(redis->error), format, ap);
    pthread_mutex_unlock(&redis->lock);
    va_end(ap);
}

void dlock_redis_last_error(dlock_redis *redis, char *buf, size_t buf_len)
{
    pthread_mutex_lock(&redis->lock);
    snprintf(buf, buf_len, "%s", redis->error);
    pthread_mutex_unlock(&redis->lock);
}

/* ---- what Redis said to this thread ---------------------------------------------------------- */

static _Thread_local char said[24];

/* NULL: nothing. */
static void hear(const char *answer)
{
    size_t word = answer ? strspn(answer, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
    snprintf(said, sizeof(said), "%.*s", word > 1 ? (int)word : 0, answer ? answer : "");
}

/* A connect that is held back fails for what the last one failed for. */
static void hear_again(dlock_redis *redis)
{
    static const char answered[] = "Redis answered: ";
    char error[ERROR_LEN];
    dlock_redis_last_error(redis, error, sizeof(error));
    hear(strncmp(error, answered, strlen(answered)) == 0 ? error + strlen(answered) : NULL);
}

const char *dlock_redis_said(void)
{
    return said;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* After a failure nobody knocks for a while: 10, 20, ... 500 ms, each with half of it random, so
 * that a returning server does not meet all its clients in one instant. */
static void back_off(dlock_redis *redis)
{
    pthread_mutex_lock(&redis->lock);
    int ms = redis->backoff_ms ? redis->backoff_ms * 2 : BACKOFF_FIRST_MS;
    redis->backoff_ms = ms > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : ms;
    uint32_t jitter = (uint32_t)dlock_now().us * 2654435761u >> 16;
    ms = redis->backoff_ms / 2 + (int)(jitter % (uint32_t)(redis->backoff_ms / 2 + 1));
    redis->retry_at = dlock_in_ms(ms);
    pthread_mutex_unlock(&redis->lock);
}

/* Knocking goes well again: the next one may `in_ms` from now. */
static void back_off_over(dlock_redis *redis, int in_ms)
{
    pthread_mutex_lock(&redis->lock);
    redis->backoff_ms = 0;
    redis->retry_at = in_ms > 0 ? dlock_in_ms(in_ms) : (dlock_time){0};
    pthread_mutex_unlock(&redis->lock);
}

static bool held_back(dlock_redis *redis)
{
    pthread_mutex_lock(&redis->lock);
    bool back = !dlock_passed(redis->retry_at);
    pthread_mutex_unlock(&redis->lock);
    return back;
}

/* Until the descriptor is ready, or the deadline; a signal does not end it. */
static bool wait_for(int fd, short events, dlock_time deadline)
{
    struct pollfd p = {.fd = fd, .events = events};
    for (;;) {
        int left = dlock_left_ms(deadline);
        int n = poll(&p, 1, left);
        if (n > 0)
            return true;
        if (n == 0 && left == 0)
            return false;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

/* Waits for the connect that is under way: hiredis would give it up at the first signal. Returns
 * why it failed, or NULL. */
static const char *finish_connect(const redisContext *ctx, dlock_time deadline)
{
    int error = 0, yes = 1;
    socklen_t len = sizeof(error);
    if (!wait_for(ctx->fd, POLLOUT, deadline))
        return "no answer in time";
    if (getsockopt(ctx->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (ctx->connection_type == REDIS_CONN_TCP) /* newer versions leave it to whoever connects so */
        setsockopt(ctx->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const char *what = strerrordesc_np(error);
    return !error ? NULL : what ? what : "unknown error";
}

/* *ret is what there is of it, also after a failure. Returns why it failed, or NULL. */
static const char *connect_socket(const address *a, dlock_time deadline, redisContext **ret)
{
    *ret = a->path[0] ? redisConnectUnixNonBlock(a->path) : redisConnectNonBlock(a->host, a->port);
    if (!*ret)
        return "out of memory";
    return (*ret)->err ? (*ret)->errstr : finish_connect(*ret, deadline);
}

static void set_blocking(redisContext *ctx, bool blocks)
{
    int flags = fcntl(ctx->fd, F_GETFL);
    fcntl(ctx->fd, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
    ctx->flags = blocks ? ctx->flags | REDIS_BLOCK : ctx->flags & ~REDIS_BLOCK;
}

/* The handshake is hiredis's own and blocks, each step of it for what is left now. */
static bool start_tls(dlock_redis *redis, redisContext *ctx, dlock_time deadline)
{
#ifdef DLOCK_TLS
    if (redis->tls) {
        int ms = dlock_left_ms(deadline) + 1; /* 0 would be for ever */
        set_blocking(ctx, true);
        redisSetTimeout(ctx, (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000});
        bool good = redisInitiateSSLWithContext(ctx, redis->tls) == REDIS_OK;
        set_blocking(ctx, false);
        return good;
    }
#endif
    (void)ctx, (void)deadline;
    return !redis->address.tls;
}

dlock_redis_outcome dlock_redis_dial(dlock_redis *redis, const char *key, dlock_time deadline,
                                     dlock_redis_conn **ret)
{
    (void)key; /* one server: every key lives there */
    *ret = NULL;
    hear(NULL);
    if (held_back(redis)) {
        hear_again(redis);
        return DLOCK_REDIS_NOT_SENT;
    }
    if (dlock_passed(deadline))
        return DLOCK_REDIS_NOT_SENT;
    dlock_redis_conn *conn = calloc(1, sizeof(*conn));
    if (!conn)
        return DLOCK_REDIS_NOT_SENT;
    conn->redis = redis;
    deadline = dlock_sooner(deadline, dlock_in_ms(redis->connect_ms));
    const char *wrong = connect_socket(&redis->address, deadline, &conn->ctx);
    if (!wrong && !start_tls(redis, conn->ctx, deadline))
        wrong = conn->ctx->err ? conn->ctx->errstr : "no TLS";
    if (wrong) {
        dlock_redis_note(redis, "can not connect to Redis: %s", wrong);
        back_off(redis);
        dlock_redis_hang_up(conn);
        return DLOCK_REDIS_NOT_SENT;
    }
    set_blocking(conn->ctx, false);
    fcntl(conn->ctx->fd, F_SETFD, FD_CLOEXEC);
    bool well;
    if (dlock_redis_introduce(conn, deadline, &well)) {
        back_off_over(redis, 0);
        *ret = conn;
        return DLOCK_REDIS_OK;
    }
    if (well)
        back_off_over(redis, NOT_ADMITTED_MS);
    else
        back_off(redis);
    dlock_redis_hang_up(conn);
    return DLOCK_REDIS_NOT_SENT;
}

/* What a broken connection has not delivered yet must not be delivered after a partition has
 * healed: the kernel would go on trying for minutes, and a lock would be taken that nobody waits
 * for. A reset throws it away. */
static void discard_unsent(dlock_redis_conn *conn)
{
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    if (conn->broken && conn->ctx->fd >= 0)
        setsockopt(conn->ctx->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

void dlock_redis_hang_up(dlock_redis_conn *conn)
{
    if (!conn)
        return;
    if (conn->ctx) {
        discard_unsent(conn);
        redisFree(conn->ctx);
    }
    free(conn);
}

bool dlock_redis_broken(const dlock_redis_conn *conn)
{
    return conn->broken;
}

int dlock_redis_fd(const dlock_redis_conn *conn)
{
    return conn->ctx->fd;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void append(dlock_redis_conn *conn, const char *bytes, size_t len)
{
    if (redisAppendFormattedCommand(conn->ctx, bytes, len) != REDIS_OK)
        conn->broken = true;
}

void dlock_redis_queue(dlock_redis_conn *conn, const dlock_args *args)
{
    char head[24];
    int len = snprintf(head, sizeof(head), "*%d\r\n", args->count);
    if (conn->broken || args->failed) {
        conn->broken = true;
        return;
    }
    append(conn, head, (size_t)len);
    append(conn, args->buf, args->len);
}

void dlock_redis_queue_script(dlock_redis_conn *conn, dlock_script *script, int keys,
                              const dlock_args *args, bool by_text)
{
    char head[64], tail[48], keys_text[12];
    by_text = by_text || !__atomic_load_n(&script->ready, __ATOMIC_ACQUIRE);
    const char *what = by_text ? script->body : script->sha;
    int keys_len = snprintf(keys_text, sizeof(keys_text), "%d", keys);
    int head_len = snprintf(head, sizeof(head), "*%d\r\n%s\r\n$%zu\r\n", args->count + 3,
                            by_text ? "$4\r\nEVAL" : "$7\r\nEVALSHA", strlen(what));
    int tail_len = snprintf(tail, sizeof(tail), "\r\n$%d\r\n%s\r\n", keys_len, keys_text);
    if (conn->broken || args->failed) {
        conn->broken = true;
        return;
    }
    append(conn, head, (size_t)head_len);
    append(conn, what, strlen(what));
    append(conn, tail, (size_t)tail_len);
    append(conn, args->buf, args->len);
}

static dlock_redis_outcome fail(dlock_redis_conn *conn, dlock_redis_outcome outcome)
{
    conn->broken = true;
    hear(NULL);
    dlock_redis_note(conn->redis, "connection to Redis lost: %s",
                     conn->ctx->err ? conn->ctx->errstr : "no reply in time");
    return outcome;
}

dlock_redis_outcome dlock_redis_flush(dlock_redis_conn *conn, dlock_time deadline)
{
    if (conn->broken)
        return DLOCK_REDIS_NOT_SENT;
    dlock_redis_outcome if_it_fails = DLOCK_REDIS_NOT_SENT;
    for (int done = 0; !done;) {
        if (redisBufferWrite(conn->ctx, &done) != REDIS_OK)
            return fail(conn, if_it_fails);
        if_it_fails = DLOCK_REDIS_UNKNOWN;
        if (!done && !wait_for(conn->ctx->fd, POLLOUT, deadline))
            return fail(conn, if_it_fails);
    }
    return DLOCK_REDIS_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* One reply if the bytes for it are here. False: the connection is at its end. */
static bool take_reply(dlock_redis_conn *conn, redisReply **ret)
{
    void *reply = NULL;
    if (redisGetReplyFromReader(conn->ctx, &reply) != REDIS_OK)
        return false;
    if (!reply && conn->redis->tls) { /* TLS may hold bytes that poll() can not see */
        if (redisBufferRead(conn->ctx) != REDIS_OK ||
            redisGetReplyFromReader(conn->ctx, &reply) != REDIS_OK)
            return false;
    }
    *ret = reply;
    return true;
}

/* "ERR unknown command 'AUTH', with args beginning with: 'PASSWORD'" must not be repeated. */
static void note_answer(dlock_redis *redis, const char *text)
{
    const char *words = strstr(text, ", with args");
    int len = words ? (int)(words - text) : (int)strlen(text);
    dlock_redis_note(redis, "Redis answered: %.*s", len, text);
}

dlock_redis_outcome dlock_redis_read(dlock_redis_conn *conn, dlock_time deadline, redisReply **ret)
{
    redisReply *reply = NULL;
    if (ret)
        *ret = NULL;
    if (conn->broken)
        return DLOCK_REDIS_NOT_SENT;
    for (;;) {
        if (!take_reply(conn, &reply))
            return fail(conn, DLOCK_REDIS_UNKNOWN);
        if (reply)
            break;
        if (!wait_for(conn->ctx->fd, POLLIN, deadline) || redisBufferRead(conn->ctx) != REDIS_OK)
            return fail(conn, DLOCK_REDIS_UNKNOWN);
    }
    dlock_redis_outcome outcome = DLOCK_REDIS_OK;
    said[0] = '\0';
    if (reply->type == REDIS_REPLY_ERROR) {
        hear(reply->str);
        outcome = dlock_redis_classify(reply->str);
        note_answer(conn->redis, reply->str);
        if (strncmp(reply->str, "READONLY", 8) == 0)
            conn->broken = true; /* a demoted master: the address may lead to the new one by now */
    }
    if (ret)
        *ret = reply;
    else
        freeReplyObject(reply);
    return outcome;
}

bool dlock_redis_wait(dlock_redis_conn *conn, dlock_time deadline)
{
    return wait_for(conn->ctx->fd, POLLIN, deadline);
}

dlock_redis_outcome dlock_redis_call(dlock_redis_conn *conn, const dlock_args *args,
                                     dlock_time deadline, redisReply **ret)
{
    if (ret)
        *ret = NULL;
    dlock_redis_queue(conn, args);
    dlock_redis_outcome outcome = dlock_redis_flush(conn, deadline);
    return outcome == DLOCK_REDIS_OK ? dlock_redis_read(conn, deadline, ret) : outcome;
}
