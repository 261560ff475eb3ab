/*
 * Commands and scripts on pooled connections.
 *
 * A script goes by its hash. The hash is asked of the server once a process (SCRIPT LOAD); when a
 * server does not know it, it says NOSCRIPT before anything was executed, and the text follows on
 * the same connection.
 */
#include <stdlib.h>
#include <string.h>

#include "redis/pool.h"

dlock_redis_outcome dlock_redis_command(dlock_redis *redis, const char *key, const dlock_args *args,
                                        dlock_time deadline, redisReply **ret)
{
    (void)key; /* one server: every key lives there */
    dlock_redis_conn *conn;
    if (ret)
        *ret = NULL;
    dlock_redis_outcome outcome = dlock_pool_borrow(redis, deadline, &conn);
    if (outcome != DLOCK_REDIS_OK)
        return outcome;
    outcome = dlock_redis_call(conn, args, deadline, ret);
    dlock_pool_return(redis, conn);
    return outcome;
}

static void keep_hash(dlock_script *script, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING || reply->len != sizeof(script->sha) - 1)
        return;
    pthread_mutex_lock(&script->lock);
    if (!script->ready) {
        memcpy(script->sha, reply->str, sizeof(script->sha));
        __atomic_store_n(&script->ready, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&script->lock);
}

/* *error is the reply that says why not. Whatever goes wrong, the script itself was not sent. */
static dlock_redis_outcome learn_hash(dlock_redis_conn *conn, dlock_script *script,
                                      dlock_time deadline, redisReply **error)
{
    dlock_args args;
    redisReply *reply;
    *error = NULL;
    if (__atomic_load_n(&script->ready, __ATOMIC_ACQUIRE))
        return DLOCK_REDIS_OK;
    dlock_args_init(&args);
    dlock_args_text(&args, "SCRIPT");
    dlock_args_text(&args, "LOAD");
    dlock_args_text(&args, script->body);
    dlock_redis_outcome outcome = dlock_redis_call(conn, &args, deadline, &reply);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK) {
        keep_hash(script, reply);
        freeReplyObject(reply);
    } else {
        *error = reply;
    }
    return outcome == DLOCK_REDIS_UNKNOWN ? DLOCK_REDIS_NOT_SENT : outcome;
}

dlock_redis_outcome dlock_redis_learn(dlock_redis_conn *conn, dlock_script *script,
                                      dlock_time deadline)
{
    redisReply *error;
    dlock_redis_outcome outcome = learn_hash(conn, script, deadline, &error);
    if (error)
        freeReplyObject(error);
    return outcome;
}

/* ---- one call, in two halves ----------------------------------------------------------------- */

struct dlock_redis_pending {
    dlock_redis *redis;
    dlock_redis_conn *conn;
    dlock_script *script;
    const dlock_args *args;
    int keys;
    dlock_redis_outcome outcome; /* so far */
    redisReply *error;
};

static void send_half(dlock_redis_pending *p, bool by_text, dlock_time deadline)
{
    dlock_redis_queue_script(p->conn, p->script, p->keys, p->args, by_text);
    p->outcome = dlock_redis_flush(p->conn, deadline);
}

static bool start(dlock_redis_pending *p, dlock_time deadline)
{
    p->outcome = dlock_pool_borrow(p->redis, deadline, &p->conn);
    if (p->outcome != DLOCK_REDIS_OK)
        return false;
    p->outcome = learn_hash(p->conn, p->script, deadline, &p->error);
    if (p->outcome == DLOCK_REDIS_OK)
        send_half(p, false, deadline);
    return true;
}

static bool is_noscript(dlock_redis_outcome outcome, const redisReply *reply)
{
    return outcome == DLOCK_REDIS_REFUSED && reply && strncmp(reply->str, "NOSCRIPT", 8) == 0;
}

/* *ret is written; the connection still is ours. */
static void finish(dlock_redis_pending *p, dlock_time deadline, redisReply **ret)
{
    *ret = p->error;
    if (p->outcome != DLOCK_REDIS_OK)
        return;
    p->outcome = dlock_redis_read(p->conn, deadline, ret);
    if (!is_noscript(p->outcome, *ret))
        return;
    freeReplyObject(*ret);
    *ret = NULL;
    send_half(p, true, deadline);
    if (p->outcome == DLOCK_REDIS_OK)
        p->outcome = dlock_redis_read(p->conn, deadline, ret);
}

dlock_redis_pending *dlock_redis_eval_start(dlock_redis *redis, dlock_script *script, int keys,
                                            const dlock_args *args, dlock_time deadline)
{
    dlock_redis_pending *p = malloc(sizeof(*p));
    if (!p)
        return NULL;
    *p = (dlock_redis_pending){.redis = redis, .script = script, .args = args, .keys = keys};
    if (start(p, deadline))
        return p;
    free(p);
    return NULL;
}

int dlock_redis_eval_fd(const dlock_redis_pending *pending)
{
    return pending ? dlock_redis_fd(pending->conn) : -1;
}

dlock_redis_outcome dlock_redis_eval_finish(dlock_redis_pending *pending, dlock_time deadline,
                                            redisReply **ret)
{
    *ret = NULL;
    if (!pending)
        return DLOCK_REDIS_NOT_SENT;
    finish(pending, deadline, ret);
    dlock_redis_outcome outcome = pending->outcome;
    dlock_pool_return(pending->redis, pending->conn);
    free(pending);
    return outcome;
}

/* ---- one call, and WAIT ---------------------------------------------------------------------- */

static dlock_redis_outcome wait_for_replicas(dlock_redis_conn *conn, int replicas,
                                             dlock_time deadline)
{
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "WAIT");
    dlock_args_int(&args, replicas);
    dlock_args_int(&args, (int64_t)dlock_left_ms(deadline) * 9 / 10 + 1); /* 0 would be for ever */
    dlock_redis_outcome outcome = dlock_redis_call(conn, &args, deadline, &reply);
    dlock_args_free(&args);
    bool safe = outcome == DLOCK_REDIS_OK && reply->integer >= replicas;
    if (reply)
        freeReplyObject(reply);
    return safe ? DLOCK_REDIS_OK : DLOCK_REDIS_UNKNOWN;
}

dlock_redis_outcome dlock_redis_eval_wait(dlock_redis *redis, dlock_script *script, int keys,
                                          const dlock_args *args, int replicas, dlock_time deadline,
                                          redisReply **ret)
{
    dlock_redis_pending p = {.redis = redis, .script = script, .args = args, .keys = keys};
    redisReply *reply = NULL;
    if (start(&p, deadline)) {
        finish(&p, deadline, &reply);
        if (p.outcome == DLOCK_REDIS_OK && replicas > 0)
            p.outcome = wait_for_replicas(p.conn, replicas, deadline);
        dlock_pool_return(redis, p.conn);
    }
    if (ret)
        *ret = reply;
    else if (reply)
        freeReplyObject(reply);
    return p.outcome;
}

dlock_redis_outcome dlock_redis_eval(dlock_redis *redis, dlock_script *script, int keys,
                                     const dlock_args *args, dlock_time deadline, redisReply **ret)
{
    return dlock_redis_eval_wait(redis, script, keys, args, 0, deadline, ret);
}
