/*
 * One connection. hiredis is used non-blocking and driven by poll(), so that every step obeys the
 * caller's deadline instead of a socket timeout.
 *
 * Why "broken" is sticky: after a missing reply the next one to arrive belongs to an earlier
 * command. The connection must never be read again, so every failure marks it.
 *
 * The same would happen behind a caller that leaves an answer unread. So the connection counts what
 * it is owed: n commands have n answers, or it is broken when the next question begins.
 */
#include "redis/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "redis/script.h"

/* ---- waiting --------------------------------------------------------------------------------- */

bool dlock_redis_wait_fd(int fd, short events, dlock_time deadline)
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

/* ---- the end of one -------------------------------------------------------------------------- */

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

/* ---- whether it may be used ------------------------------------------------------------------ */

/* Whether its server is still at the address that it leads to. */
static bool is_there(const dlock_redis_conn *conn)
{
    return conn->generation == dlock_topology_generation(conn->redis->topology, conn->server);
}

/* A connection is also broken if its server has moved, or its run is no longer admitted. */
bool dlock_redis_broken(const dlock_redis_conn *conn)
{
    const dlock_redis *redis = conn->redis;
    if (conn->broken || !is_there(conn))
        return true;
    return conn->run_id[0] != '\0' && conn->round != atomic_load(&redis->round) &&
           !redis->admit(redis->admit_arg, conn->server, conn->run_id);
}

/* Whether it may be used; if so, it need not be judged again in this round. */
static bool use(dlock_redis_conn *conn)
{
    unsigned round = atomic_load(&conn->redis->round);
    if (conn->broken)
        return false;
    if (!dlock_redis_broken(conn)) {
        conn->round = round;
        return true;
    }
    conn->broken = true;
    dlock_redis_hear(NULL);
    if (is_there(conn))
        dlock_redis_note(conn->redis, "another run of the server: %.16s... is no longer admitted",
                         conn->run_id);
    else
        dlock_redis_note(conn->redis, "another server has taken over as master");
    return false;
}

int dlock_redis_fd(const dlock_redis_conn *conn)
{
    return conn->ctx->fd;
}

int dlock_redis_conn_server(const dlock_redis_conn *conn)
{
    return conn->server;
}

/* ---- as many answers as commands ------------------------------------------------------------- */

static bool is_even(const dlock_redis_conn *conn)
{
    const redisReader *reader = conn->ctx->reader;
    return conn->queued == 0 && conn->owed == 0 && !conn->listens && reader->pos == reader->len;
}

bool dlock_redis_is_fit(const dlock_redis_conn *conn)
{
    return !dlock_redis_broken(conn) && is_even(conn) &&
           conn->misread == atomic_load(&conn->redis->misread);
}

static void break_uneven(dlock_redis_conn *conn)
{
    if (conn->broken)
        return;
    conn->broken = true;
    dlock_redis_hear(NULL);
    dlock_redis_note(conn->redis, "connection to Redis given up: answers of the question before "
                                  "were left unread");
}

/* Makes room for a command behind those that are queued. False: it is not to be sent. */
static bool begin(dlock_redis_conn *conn, const dlock_args *args)
{
    if (!conn->listens && !conn->shared && conn->queued == 0 && !is_even(conn))
        break_uneven(conn);
    conn->broken = conn->broken || args->failed;
    conn->queued++;
    return !conn->broken;
}

/* SUBSCRIBE and its kin. */
static bool is_subscription(const dlock_args *args)
{
    static const char end[] = "SUBSCRIBE";
    size_t len = 0, end_len = sizeof(end) - 1;
    const char *word = args->count > 0 && !args->failed ? dlock_args_first(args, &len) : "";
    return len >= end_len && strncasecmp(word + len - end_len, end, end_len) == 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void append(dlock_redis_conn *conn, const char *bytes, size_t len)
{
    if (redisAppendFormattedCommand(conn->ctx, bytes, len) != REDIS_OK)
        conn->broken = true;
}

/* How many words follow. */
static void append_count(dlock_redis_conn *conn, int count)
{
    char head[24] = "*";
    size_t len = 1 + dlock_put_decimal(head + 1, (uint64_t)count);
    memcpy(head + len, "\r\n", 2);
    append(conn, head, len + 2);
}

void dlock_redis_queue(dlock_redis_conn *conn, const dlock_args *args)
{
    if (!begin(conn, args))
        return;
    conn->listens = conn->listens || is_subscription(args);
    append_count(conn, args->count);
    append(conn, args->buf, args->len);
}

void dlock_redis_queue_asking(dlock_redis_conn *conn)
{
    dlock_args args = {0};
    dlock_args_text(&args, "ASKING");
    dlock_redis_queue(conn, &args);
    dlock_args_free(&args);
}

void dlock_redis_queue_script(dlock_redis_conn *conn, dlock_script *script, int keys,
                              const dlock_args *args, bool by_text)
{
    dlock_args head = {0};
    by_text = by_text || !dlock_redis_knows_hash(script);
    dlock_args_text(&head, by_text ? "EVAL" : "EVALSHA");
    dlock_args_text(&head, by_text ? script->body : script->sha);
    dlock_args_int(&head, keys);
    conn->broken = conn->broken || head.failed;
    if (begin(conn, args)) {
        append_count(conn, head.count + args->count);
        append(conn, head.buf, head.len);
        append(conn, args->buf, args->len);
    }
    dlock_args_free(&head);
}

static dlock_redis_outcome fail(dlock_redis_conn *conn, dlock_redis_outcome outcome)
{
    conn->broken = true;
    dlock_redis_hear(NULL);
    const char *tls = conn->ctx->err ? dlock_tls_error(conn->tls) : NULL;
    dlock_redis_note(conn->redis, "connection to Redis lost: %s",
                     tls              ? tls
                     : conn->ctx->err ? conn->ctx->errstr
                                      : "no reply in time");
    return outcome;
}

static void count_owed(dlock_redis_conn *conn)
{
    conn->owed += conn->listens ? 0 : conn->queued;
    conn->queued = 0;
}

dlock_redis_outcome dlock_redis_push(dlock_redis_conn *conn, bool *whole)
{
    int done = 0;
    *whole = false;
    if (!use(conn))
        return DLOCK_REDIS_NOT_SENT;
    if (conn->tls)
        dlock_tls_begin();
    if (redisBufferWrite(conn->ctx, &done) != REDIS_OK)
        return fail(conn, DLOCK_REDIS_NOT_SENT);
    *whole = done;
    count_owed(conn);
    return DLOCK_REDIS_OK;
}

dlock_redis_outcome dlock_redis_flush(dlock_redis_conn *conn, dlock_time deadline)
{
    bool whole;
    dlock_redis_outcome outcome = dlock_redis_push(conn, &whole);
    while (outcome == DLOCK_REDIS_OK && !whole) {
        if (!dlock_redis_wait_fd(conn->ctx->fd, POLLOUT, deadline))
            return fail(conn, DLOCK_REDIS_UNKNOWN);
        if (dlock_redis_push(conn, &whole) != DLOCK_REDIS_OK)
            return DLOCK_REDIS_UNKNOWN;
    }
    return outcome;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* redisBufferRead() reads into 16 KiB of its stack, and every thread that ever reads would keep the
 * pages. So it is used only for TLS. */
static bool take_bytes(dlock_redis_conn *conn)
{
    redisContext *ctx = conn->ctx;
    if (conn->tls) {
        dlock_tls_begin();
        return redisBufferRead(ctx) == REDIS_OK;
    }
    ssize_t got = recv(ctx->fd, conn->arrived, sizeof(conn->arrived), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got > 0 && redisReaderFeed(ctx->reader, conn->arrived, (size_t)got) == REDIS_OK)
        return true;
    ctx->err = got == 0 ? REDIS_ERR_EOF : REDIS_ERR_IO;
    snprintf(ctx->errstr, sizeof(ctx->errstr), "%s",
             got == 0 ? "Server closed the connection" : strerrordesc_np(errno));
    return false;
}

/* One reply if the bytes for it are here. False: the connection is at its end. */
static bool take_reply(dlock_redis_conn *conn, redisReply **ret)
{
    void *reply = NULL;
    if (redisGetReplyFromReader(conn->ctx, &reply) != REDIS_OK)
        return false;
    while (!reply && conn->tls && dlock_tls_pending(conn->tls)) { /* poll() can not see these */
        if (!take_bytes(conn) || redisGetReplyFromReader(conn->ctx, &reply) != REDIS_OK)
            return false;
    }
    *ret = reply;
    return true;
}

static bool is_among(const char *word, const char *const *words)
{
    while (*words && strcmp(word, *words) != 0)
        words++;
    return *words;
}

/* What the error that was just heard says about the server. */
static void heed(dlock_redis_conn *conn)
{
    static const char *const doubts[] = {"MOVED",      "CLUSTERDOWN", "READONLY", "LOADING",
                                         "MASTERDOWN", "UNBLOCKED",   NULL};
    static const char *const elsewhere[] = {"MOVED", "ASK", "UNBLOCKED", NULL};
    const char *said = dlock_redis_said();
    if (is_among(said, doubts))
        dlock_topology_doubt(conn->redis->topology);
    if (strcmp(said, "READONLY") == 0 || (!conn->follows && is_among(said, elsewhere)))
        conn->ends = true;
}

/* One answer less is owed. False: nobody has asked for it. */
static bool settle(dlock_redis_conn *conn)
{
    if (conn->listens)
        return true;
    return conn->owed-- > 0;
}

bool dlock_redis_receive(dlock_redis_conn *conn)
{
    if (!conn->broken && !take_bytes(conn))
        fail(conn, DLOCK_REDIS_UNKNOWN);
    return !conn->broken;
}

bool dlock_redis_take(dlock_redis_conn *conn, dlock_redis_outcome *ret_outcome, redisReply **ret)
{
    redisReply *reply = NULL;
    if (conn->broken)
        return false;
    if (!take_reply(conn, &reply))
        fail(conn, DLOCK_REDIS_UNKNOWN);
    if (!reply)
        return false;
    if (!use(conn) || !settle(conn)) { /* of a server that has been left, or not asked for */
        freeReplyObject(reply);
        break_uneven(conn);
        return false;
    }
    *ret_outcome = DLOCK_REDIS_OK;
    *ret = reply;
    dlock_redis_hear(NULL);
    if (reply->type == REDIS_REPLY_ERROR) {
        dlock_redis_hear(reply->str);
        *ret_outcome = dlock_redis_classify(reply->str);
        if (!dlock_redis_is_unknown_hash(reply->str)) /* the text follows */
            dlock_redis_note_answer(conn->redis, reply->str);
        heed(conn);
    }
    conn->broken = conn->ends && conn->owed == 0;
    return true;
}

dlock_redis_outcome dlock_redis_read(dlock_redis_conn *conn, dlock_time deadline, redisReply **ret)
{
    dlock_redis_outcome outcome;
    redisReply *reply = NULL;
    if (ret)
        *ret = NULL;
    if (conn->broken)
        return DLOCK_REDIS_NOT_SENT;
    while (!dlock_redis_take(conn, &outcome, &reply)) {
        if (conn->broken)
            return DLOCK_REDIS_UNKNOWN;
        if (!dlock_redis_wait_fd(conn->ctx->fd, POLLIN, deadline))
            return fail(conn, DLOCK_REDIS_UNKNOWN);
        if (!dlock_redis_receive(conn))
            return DLOCK_REDIS_UNKNOWN;
    }
    if (ret)
        *ret = reply;
    else
        freeReplyObject(reply);
    return outcome;
}

bool dlock_redis_wait(dlock_redis_conn *conn, dlock_time deadline)
{
    const redisReader *reader = conn->ctx->reader;
    if (reader->pos < reader->len || (conn->tls && dlock_tls_pending(conn->tls)))
        return true;
    while (dlock_redis_wait_fd(conn->ctx->fd, POLLIN, deadline)) {
        if (!conn->tls || dlock_tls_readable(conn->tls))
            return true;
    }
    return false;
}

dlock_redis_outcome dlock_redis_call(dlock_redis_conn *conn, const dlock_args *args,
                                     dlock_time deadline, redisReply **ret)
{
    if (ret)
        *ret = NULL;
    if (conn->queued > 0 && !conn->listens)
        break_uneven(conn);
    dlock_redis_queue(conn, args);
    dlock_redis_outcome outcome = dlock_redis_flush(conn, deadline);
    return outcome == DLOCK_REDIS_OK ? dlock_redis_read(conn, deadline, ret) : outcome;
}
