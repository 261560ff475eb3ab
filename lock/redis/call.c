/*
 * Commands and scripts, one call at a time.
 *
 * A script goes over the connection that all threads share (shared.c). A command may block, or have
 * a long reply, so it goes over a connection of the pool. A script with WAIT behind it does too,
 * because WAIT counts what its own connection has written; both go out in one flush. WAIT's reply
 * is read in every case, but means something only if the script was executed. WAIT counts replicas
 * and does not name them. ROLE, behind it, does, and the caller's `followed` judges whether the
 * right ones have acknowledged.
 *
 * A script goes by its hash (script.c).
 *
 * In a cluster a server may say, before it executes anything, that the key is elsewhere or on its
 * way. The call is then repeated there, a few times at most.
 */
#include <string.h>

#include "redis/call.h"
#include "redis/conn.h"
#include "redis/pool.h"
#include "redis/script.h"
#include "redis/shared.h"

#define REDIRECTIONS_MAX 8   /* at once */
#define PAUSES_MAX       250 /* the same with a pause before each */

/* ---- one call ---------------------------------------------------------------------------------
 */

typedef struct call {
    dlock_redis *redis;
    dlock_script *script; /* NULL: `args` are a whole command */
    const dlock_args *args;
    int keys;
    int replicas; /* to wait for behind the script; 0 = none */
    dlock_time deadline;
    int server;
    bool by_text, asking;
    int hops, pauses;       /* so far */
    dlock_redis_conn *conn; /* of the pool; NULL: none, or the shared one */
} call;

/* Queues WAIT, with a timeout before this deadline; and ROLE, if `followed` judges it. */
static void queue_wait(dlock_redis_conn *conn, int replicas, dlock_time deadline)
{
    dlock_args args = {0};
    dlock_args_text(&args, "WAIT");
    dlock_args_int(&args, replicas);
    dlock_args_int(&args, (int64_t)dlock_left_ms(deadline) * 9 / 10 + 1); /* 0 would be no limit */
    dlock_redis_queue(conn, &args);
    if (conn->redis->followed) {
        dlock_args_clear(&args);
        dlock_args_text(&args, "ROLE");
        dlock_redis_queue(conn, &args);
    }
    dlock_args_free(&args);
}

/* How many replicas WAIT says have acknowledged; -1: it does not say. */
static int read_acknowledged(call *c)
{
    redisReply *reply = NULL;
    bool told = dlock_redis_read(c->conn, c->deadline, &reply) == DLOCK_REDIS_OK &&
                dlock_redis_conn_check(c->conn, "WAIT", reply, reply->type == REDIS_REPLY_INTEGER);
    int acknowledged = told ? (int)reply->integer : -1;
    freeReplyObject(reply);
    return acknowledged;
}

/* Whether those that acknowledged are the right ones, as ROLE's answer shows. */
static bool read_followed(call *c, int acknowledged)
{
    redisReply *role = NULL;
    const dlock_redis *redis = c->redis;
    bool told = dlock_redis_read(c->conn, c->deadline, &role) == DLOCK_REDIS_OK &&
                dlock_redis_conn_check(c->conn, "ROLE", role, dlock_redis_is_role(role));
    bool followed = told && acknowledged >= c->replicas &&
                    redis->followed(redis->followed_arg, c->conn->server, acknowledged, role);
    freeReplyObject(role);
    return followed;
}

/* Reads the answers behind the script's: whether the replicas have what it wrote. */
static bool read_wait(call *c)
{
    int acknowledged = read_acknowledged(c);
    return c->redis->followed ? read_followed(c, acknowledged) : acknowledged >= c->replicas;
}

/* The same if the script was not executed: these answers mean nothing. */
static void skip_wait(call *c)
{
    read_acknowledged(c);
    if (c->redis->followed)
        read_followed(c, -1);
}

static void give_back(call *c)
{
    if (c->conn)
        dlock_pool_return(c->redis, c->conn);
    c->conn = NULL;
}

static dlock_redis_outcome ask_pooled(call *c, redisReply **ret)
{
    if (c->asking)
        dlock_redis_queue_asking(c->conn);
    if (c->script)
        dlock_redis_queue_script(c->conn, c->script, c->keys, c->args, c->by_text);
    else
        dlock_redis_queue(c->conn, c->args);
    if (c->replicas > 0)
        queue_wait(c->conn, c->replicas, c->deadline);
    dlock_redis_outcome outcome = dlock_redis_flush(c->conn, c->deadline);
    if (outcome == DLOCK_REDIS_OK && c->asking) { /* refused or not, the next one is the call's */
        outcome = dlock_redis_read(c->conn, c->deadline, NULL);
        if (c->conn->broken)
            return outcome;
        outcome = DLOCK_REDIS_OK;
    }
    if (outcome == DLOCK_REDIS_OK)
        outcome = dlock_redis_read(c->conn, c->deadline, ret);
    if (outcome != DLOCK_REDIS_OK && c->replicas > 0 && *ret) {
        skip_wait(c);
        dlock_redis_hear((*ret)->str);
    }
    return outcome;
}

static dlock_redis_outcome ask_shared(const call *c, dlock_script *script, const dlock_args *args,
                                      redisReply **ret)
{
    shared_call a = {.script = script,
                     .args = args,
                     .keys = c->keys,
                     .by_text = c->by_text,
                     .asking = script && c->asking,
                     .deadline = c->deadline};
    dlock_shared_ask(c->redis->shared, c->server, &a);
    *ret = a.reply;
    return a.outcome;
}

/* Whatever goes wrong, the script itself was not sent. */
static dlock_redis_outcome learn(call *c, redisReply **ret)
{
    dlock_args args;
    if (!c->script || dlock_redis_knows_hash(c->script))
        return DLOCK_REDIS_OK;
    dlock_redis_load_args(c->script, &args);
    dlock_redis_outcome outcome = ask_shared(c, NULL, &args, ret);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK) {
        dlock_redis_keep_hash(c->script, *ret);
        freeReplyObject(*ret);
        *ret = NULL;
    }
    return outcome == DLOCK_REDIS_UNKNOWN ? DLOCK_REDIS_NOT_SENT : outcome;
}

static dlock_redis_outcome ask_once(call *c, redisReply **ret)
{
    bool pooled = !c->script || c->replicas > 0;
    dlock_redis_outcome outcome = DLOCK_REDIS_OK;
    if (pooled && !c->conn)
        outcome = dlock_pool_borrow(c->redis, c->server, c->deadline, &c->conn);
    if (outcome == DLOCK_REDIS_OK)
        outcome = learn(c, ret);
    if (!pooled && c->redis->is_cluster)
        dlock_pool_sweep(c->redis);
    if (outcome != DLOCK_REDIS_OK)
        return outcome;
    return pooled ? ask_pooled(c, ret) : ask_shared(c, c->script, c->args, ret);
}

/* Whether to repeat the refused call; if so, `c` leads to where. */
static bool follow(call *c, const char *error)
{
    redirection to = {.asking = c->asking};
    const finder *how = dlock_topology_finder(c->redis->topology);
    if (!how || !how->redirect || !how->redirect(c->redis->topology, c->server, error, &to))
        return false;
    int *count = to.pause_ms > 0 ? &c->pauses : &c->hops;
    if (++*count > (to.pause_ms > 0 ? PAUSES_MAX : REDIRECTIONS_MAX))
        return false;
    /* After a pause there must be time left for an answer, or the call would end as unknown. */
    if (dlock_in_ms(3 * to.pause_ms).us >= c->deadline.us)
        return false;
    give_back(c);
    if (to.pause_ms > 0)
        dlock_sleep(dlock_in_ms(to.pause_ms));
    c->asking = to.asking;
    c->server = to.server;
    return true;
}

/* `key` is a command's; a script's is its first one. A pooled connection stays with the call. */
static dlock_redis_outcome run(call *c, const char *key, redisReply **ret)
{
    size_t len = key ? strlen(key) : 0;
    *ret = NULL;
    if (c->script && c->keys > 0 && !c->args->failed)
        key = dlock_args_first(c->args, &len);
    c->server = dlock_redis_route(c->redis, key, len, c->deadline);
    if (c->server == NO_SERVER)
        return DLOCK_REDIS_NOT_SENT;
    for (;;) {
        dlock_redis_outcome outcome = ask_once(c, ret);
        if (outcome != DLOCK_REDIS_REFUSED || !*ret)
            return outcome;
        if (dlock_redis_is_unknown_hash((*ret)->str) && c->script && !c->by_text)
            c->by_text = true;
        else if (!follow(c, (*ret)->str))
            return outcome;
        freeReplyObject(*ret);
        *ret = NULL;
    }
}

static void hand_over(redisReply *reply, redisReply **ret)
{
    if (ret)
        *ret = reply;
    else if (reply)
        freeReplyObject(reply);
}

/* ---- the public calls -------------------------------------------------------------------------
 */

dlock_redis_outcome dlock_redis_command(dlock_redis *redis, const char *key, const dlock_args *args,
                                        dlock_time deadline, redisReply **ret)
{
    call c = {.redis = redis, .args = args, .deadline = deadline};
    redisReply *reply;
    dlock_redis_outcome outcome = run(&c, key, &reply);
    give_back(&c);
    hand_over(reply, ret);
    return outcome;
}

dlock_redis_outcome dlock_redis_eval_notify(dlock_redis *redis, dlock_script *script, int keys,
                                            const dlock_args *args, int replicas,
                                            dlock_time deadline, dlock_redis_ran *ran, void *arg,
                                            redisReply **ret)
{
    call c = {.redis = redis,
              .script = script,
              .args = args,
              .keys = keys,
              .replicas = replicas,
              .deadline = deadline};
    redisReply *reply;
    dlock_redis_outcome outcome = run(&c, NULL, &reply);
    if (outcome == DLOCK_REDIS_OK && ran)
        ran(arg, reply);
    if (outcome == DLOCK_REDIS_OK && replicas > 0 && !read_wait(&c))
        outcome = DLOCK_REDIS_UNKNOWN;
    give_back(&c);
    hand_over(reply, ret);
    return outcome;
}

dlock_redis_outcome dlock_redis_eval_wait(dlock_redis *redis, dlock_script *script, int keys,
                                          const dlock_args *args, int replicas, dlock_time deadline,
                                          redisReply **ret)
{
    return dlock_redis_eval_notify(redis, script, keys, args, replicas, deadline, NULL, NULL, ret);
}

dlock_redis_outcome dlock_redis_eval(dlock_redis *redis, dlock_script *script, int keys,
                                     const dlock_args *args, dlock_time deadline, redisReply **ret)
{
    return dlock_redis_eval_wait(redis, script, keys, args, 0, deadline, ret);
}
