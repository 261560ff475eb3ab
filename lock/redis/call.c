/*
 * Commands and scripts on pooled connections.
 *
 * A script goes by its hash. The hash is asked of the server once a process (SCRIPT LOAD); when a
 * server does not know it, it says NOSCRIPT before anything was executed, and the text follows on
 * the same connection.
 *
 * In a cluster a server may say, before anything was executed, that the key is elsewhere or on its
 * way. The call is then repeated there, a few times at most.
 *
 * WAIT counts what its own connection has written, so it goes out with the script, on the same
 * connection and in the same flush. It has an answer of its own whatever became of the script,
 * which is read in every case, and means something only if the script was executed.
 */
#include <stdlib.h>
#include <string.h>

#include "redis/call.h"
#include "redis/conn.h"
#include "redis/pool.h"

#define REDIRECTIONS_MAX 8   /* at once */
#define PAUSES_MAX       250 /* the same with a pause before each */

/* ---- scripts' hashes --------------------------------------------------------------------------
 */

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
    dlock_redis_conn *conn; /* NULL: there was none to be had */
    dlock_script *script;   /* NULL: `args` are a whole command */
    const dlock_args *args;
    int keys;
    int replicas; /* to wait for behind the script; 0 = none */
    bool by_text, asking;
    int hops, pauses;            /* so far */
    dlock_redis_outcome outcome; /* so far */
    redisReply *error;
};

/* Its answer comes in time for this deadline, with how many replicas it will be. */
static void queue_wait(dlock_redis_conn *conn, int replicas, dlock_time deadline)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "WAIT");
    dlock_args_int(&args, replicas);
    dlock_args_int(&args, (int64_t)dlock_left_ms(deadline) * 9 / 10 + 1); /* 0 would be for ever */
    dlock_redis_queue(conn, &args);
    dlock_args_free(&args);
}

static void send_half(dlock_redis_pending *p, dlock_time deadline)
{
    if (p->asking)
        dlock_redis_queue_asking(p->conn);
    if (p->script)
        dlock_redis_queue_script(p->conn, p->script, p->keys, p->args, p->by_text);
    else
        dlock_redis_queue(p->conn, p->args);
    if (p->replicas > 0)
        queue_wait(p->conn, p->replicas, deadline);
    p->outcome = dlock_redis_flush(p->conn, deadline);
}

/* Reads WAIT's answer: whether it was enough. */
static bool read_wait(dlock_redis_pending *p, dlock_time deadline)
{
    redisReply *reply = NULL;
    bool enough =
        dlock_redis_read(p->conn, deadline, &reply) == DLOCK_REDIS_OK &&
        dlock_redis_conn_check(p->conn, "WAIT", reply, reply->type == REDIS_REPLY_INTEGER) &&
        reply->integer >= p->replicas;
    if (reply)
        freeReplyObject(reply);
    return enough;
}

static void borrow(dlock_redis_pending *p, int server, dlock_time deadline)
{
    p->outcome = dlock_pool_borrow(p->redis, server, deadline, &p->conn);
}

static void give_back(dlock_redis_pending *p)
{
    if (p->conn)
        dlock_pool_return(p->redis, p->conn);
    p->conn = NULL;
}

/* `key`: of a command; a script's is its first. */
static void start(dlock_redis_pending *p, const char *key, dlock_time deadline)
{
    size_t len = key ? strlen(key) : 0;
    if (p->script && p->keys > 0 && !p->args->failed)
        key = dlock_args_first(p->args, &len);
    borrow(p, dlock_redis_route(p->redis, key, len, deadline), deadline);
    if (p->outcome == DLOCK_REDIS_OK && p->script)
        p->outcome = learn_hash(p->conn, p->script, deadline, &p->error);
    if (p->outcome == DLOCK_REDIS_OK)
        send_half(p, deadline);
}

static void read_half(dlock_redis_pending *p, dlock_time deadline, redisReply **ret)
{
    *ret = NULL;
    if (p->asking) { /* refused or not, the next reply is the call's */
        p->outcome = dlock_redis_read(p->conn, deadline, NULL);
        if (p->conn->broken)
            return;
    }
    p->outcome = dlock_redis_read(p->conn, deadline, ret);
    if (p->outcome != DLOCK_REDIS_OK && p->replicas > 0 && *ret) {
        read_wait(p, deadline); /* for nothing */
        dlock_redis_hear((*ret)->str);
    }
}

/* Whether the refused call is to be repeated elsewhere; then its connection leads there, or
 * p->outcome says why not. */
static bool follow(dlock_redis_pending *p, const char *error, dlock_time deadline)
{
    redirection to = {.asking = p->asking};
    const finder *how = dlock_topology_finder(p->redis->topology);
    if (!how || !how->redirect || !how->redirect(p->redis->topology, p->conn->server, error, &to))
        return false;
    int *count = to.pause_ms > 0 ? &p->pauses : &p->hops;
    if (++*count > (to.pause_ms > 0 ? PAUSES_MAX : REDIRECTIONS_MAX))
        return false;
    /* After a pause there must be time left for an answer: it would end as unknown. */
    if (dlock_in_ms(3 * to.pause_ms).us >= deadline.us)
        return false;
    give_back(p);
    if (to.pause_ms > 0)
        dlock_sleep(dlock_in_ms(to.pause_ms));
    p->asking = to.asking;
    borrow(p, to.server, deadline);
    return true;
}

static bool is_noscript(const redisReply *reply)
{
    return reply && strncmp(reply->str, "NOSCRIPT", 8) == 0;
}

/* *ret is written; the connection still is ours. */
static void finish(dlock_redis_pending *p, dlock_time deadline, redisReply **ret)
{
    *ret = p->error;
    while (p->outcome == DLOCK_REDIS_OK) {
        read_half(p, deadline, ret);
        if (p->outcome != DLOCK_REDIS_REFUSED || !*ret)
            return;
        bool again = is_noscript(*ret) && p->script && !p->by_text;
        if (again) {
            p->by_text = true;
            p->outcome = DLOCK_REDIS_OK;
        } else if (!follow(p, (*ret)->str, deadline)) {
            return;
        }
        freeReplyObject(*ret);
        *ret = NULL;
        if (p->outcome == DLOCK_REDIS_OK)
            send_half(p, deadline);
    }
}

dlock_redis_pending *dlock_redis_eval_start(dlock_redis *redis, dlock_script *script, int keys,
                                            const dlock_args *args, dlock_time deadline)
{
    dlock_redis_pending *p = malloc(sizeof(*p));
    if (!p)
        return NULL;
    *p = (dlock_redis_pending){.redis = redis, .script = script, .args = args, .keys = keys};
    start(p, NULL, deadline);
    if (p->conn)
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
    give_back(pending);
    free(pending);
    return outcome;
}

/* ---- one call at a time ---------------------------------------------------------------------- */

static void hand_over(redisReply *reply, redisReply **ret)
{
    if (ret)
        *ret = reply;
    else if (reply)
        freeReplyObject(reply);
}

dlock_redis_outcome dlock_redis_command(dlock_redis *redis, const char *key, const dlock_args *args,
                                        dlock_time deadline, redisReply **ret)
{
    dlock_redis_pending p = {.redis = redis, .args = args};
    redisReply *reply;
    start(&p, key, deadline);
    finish(&p, deadline, &reply);
    give_back(&p);
    hand_over(reply, ret);
    return p.outcome;
}

dlock_redis_outcome dlock_redis_eval_told(dlock_redis *redis, dlock_script *script, int keys,
                                          const dlock_args *args, int replicas, dlock_time deadline,
                                          dlock_redis_ran *ran, void *arg, redisReply **ret)
{
    dlock_redis_pending p = {
        .redis = redis, .script = script, .args = args, .keys = keys, .replicas = replicas};
    redisReply *reply;
    start(&p, NULL, deadline);
    finish(&p, deadline, &reply);
    if (p.outcome == DLOCK_REDIS_OK && ran)
        ran(arg, reply);
    if (p.outcome == DLOCK_REDIS_OK && replicas > 0 && !read_wait(&p, deadline))
        p.outcome = DLOCK_REDIS_UNKNOWN;
    give_back(&p);
    hand_over(reply, ret);
    return p.outcome;
}

dlock_redis_outcome dlock_redis_eval_wait(dlock_redis *redis, dlock_script *script, int keys,
                                          const dlock_args *args, int replicas, dlock_time deadline,
                                          redisReply **ret)
{
    return dlock_redis_eval_told(redis, script, keys, args, replicas, deadline, NULL, NULL, ret);
}

dlock_redis_outcome dlock_redis_eval(dlock_redis *redis, dlock_script *script, int keys,
                                     const dlock_args *args, dlock_time deadline, redisReply **ret)
{
    return dlock_redis_eval_wait(redis, script, keys, args, 0, deadline, ret);
}
