/*
 * One server's pipeline: whatever is queued is sent in one go, on a connection of its own, so that
 * neither a busy pool nor a slow caller can hold it up. What a server has not answered in time has
 * no answer.
 */
#include "redis/pipeline.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_MAX = 512 };

typedef enum vote { NO_ANSWER, YES, NO } vote;

struct pipeline {
    dlock_redis *redis; /* (borrowed) */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, up to conn */
    pthread_cond_t changed;
    pipeline_call **queue;
    int len, cap;
    bool stop;

    dlock_redis_conn *conn; /* this and the rest: the thread's alone */
    pipeline_call *batch[BATCH_MAX];
    vote votes[BATCH_MAX];
    int batch_len;
};

/* ---- a call ---------------------------------------------------------------------------------- */

void dlock_pipeline_call_init(pipeline_call *call)
{
    pthread_mutex_init(&call->lock, NULL);
    atomic_init(&call->refs, call->servers + 1);
}

void dlock_pipeline_call_unref(pipeline_call *call)
{
    if (atomic_fetch_sub(&call->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&call->lock);
    dlock_args_free(&call->args);
    call->over(call);
}

/* A server's; its reference goes with it. */
static void cast(pipeline_call *call, vote v)
{
    bool decides = false;
    pthread_mutex_lock(&call->lock);
    call->answers++;
    if (!call->is_decided) {
        call->yes += v == YES;
        call->no += v == NO;
        decides =
            call->yes >= call->need || call->no >= call->need || call->answers == call->servers;
        call->is_decided = decides;
    }
    pthread_mutex_unlock(&call->lock);
    if (decides)
        call->decided(call);
    dlock_pipeline_call_unref(call);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static vote read_vote(pipeline *p, dlock_time deadline, bool *no_script)
{
    redisReply *reply = NULL;
    vote v = NO_ANSWER;
    dlock_redis_outcome outcome = dlock_redis_read(p->conn, deadline, &reply);
    if (outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_INTEGER)
        v = reply->integer == 1 ? YES : NO;
    else if (outcome == DLOCK_REDIS_REFUSED)
        *no_script = strncmp(reply->str, "NOSCRIPT", 8) == 0;
    if (reply)
        freeReplyObject(reply);
    return v;
}

/* A connection that works, and the hashes of the scripts. That comes before the first call is
 * queued: the question for a hash has a reply too. */
static bool prepare(pipeline *p, dlock_time deadline, bool *asked)
{
    if (p->conn && dlock_redis_broken(p->conn)) {
        dlock_redis_hang_up(p->conn);
        p->conn = NULL;
    }
    if (!p->conn && dlock_redis_dial(p->redis, NULL, deadline, &p->conn) != DLOCK_REDIS_OK)
        return false;
    for (int i = 0; i < p->batch_len; i++) {
        pipeline_call *call = p->batch[i];
        asked[i] = !dlock_passed(call->until) &&
                   dlock_redis_learn(p->conn, call->script, deadline) == DLOCK_REDIS_OK;
    }
    return true;
}

/* The earliest limit of those that can still be answered: replies come in one line, and a
 * connection that is silent is to be replaced in time for the shortest lease. */
static dlock_time batch_deadline(const pipeline *p)
{
    dlock_time earliest = {INT64_MAX};
    for (int i = 0; i < p->batch_len; i++)
        if (!dlock_passed(p->batch[i]->until))
            earliest = dlock_sooner(earliest, p->batch[i]->until);
    return earliest;
}

/* The whole batch in one pipeline; or those that the server did not know, once more with their
 * text. */
static void ask(pipeline *p, bool by_text, bool *again)
{
    dlock_time deadline = batch_deadline(p);
    bool asked[BATCH_MAX] = {false};
    if (deadline.us == INT64_MAX || !prepare(p, deadline, asked))
        return;
    for (int i = 0; i < p->batch_len; i++) {
        pipeline_call *call = p->batch[i];
        asked[i] = asked[i] && (!by_text || again[i]);
        if (asked[i])
            dlock_redis_queue_script(p->conn, call->script, call->keys, &call->args, by_text);
    }
    if (dlock_redis_flush(p->conn, deadline) != DLOCK_REDIS_OK)
        return;
    for (int i = 0; i < p->batch_len; i++) {
        again[i] = false;
        if (asked[i])
            p->votes[i] = read_vote(p, deadline, &again[i]);
    }
}

static void ask_batch(pipeline *p)
{
    bool again[BATCH_MAX] = {false}, any = false;
    for (int i = 0; i < p->batch_len; i++)
        p->votes[i] = NO_ANSWER;
    ask(p, false, again);
    for (int i = 0; i < p->batch_len; i++)
        any = any || again[i];
    if (any)
        ask(p, true, again);
    for (int i = 0; i < p->batch_len; i++)
        cast(p->batch[i], p->votes[i]);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void take_batch(pipeline *p)
{
    p->batch_len = p->len < BATCH_MAX ? p->len : BATCH_MAX;
    p->len -= p->batch_len;
    for (int i = 0; i < p->batch_len; i++)
        p->batch[i] = p->queue[i];
    for (int i = 0; i < p->len; i++)
        p->queue[i] = p->queue[i + p->batch_len];
}

static void *run(void *arg)
{
    pipeline *p = arg;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (p->len == 0) {
            dlock_cond_wait(&p->changed, &p->lock, dlock_in_ms(60000));
            continue;
        }
        take_batch(p);
        pthread_mutex_unlock(&p->lock);
        ask_batch(p);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

pipeline *dlock_pipeline_new(dlock_redis *redis)
{
    pipeline *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->redis = redis;
    pthread_mutex_init(&p->lock, NULL);
    dlock_cond_init(&p->changed);
    if (pthread_create(&p->thread, NULL, run, p) != 0) {
        free(p);
        return NULL;
    }
    return p;
}

static bool make_room(pipeline *p)
{
    if (p->len < p->cap)
        return true;
    int cap = p->cap ? 2 * p->cap : 64;
    pipeline_call **queue = realloc(p->queue, (size_t)cap * sizeof(pipeline_call *));
    if (!queue)
        return false;
    p->queue = queue;
    p->cap = cap;
    return true;
}

static bool enqueue(pipeline *p, pipeline_call *call)
{
    pthread_mutex_lock(&p->lock);
    bool queued = make_room(p);
    if (queued)
        p->queue[p->len++] = call;
    if (p->len == 1)
        pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
    return queued;
}

void dlock_pipeline_put(pipeline *p, pipeline_call *call)
{
    if (!p || !enqueue(p, call))
        cast(call, NO_ANSWER);
}

void dlock_pipeline_stop(pipeline *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

void dlock_pipeline_free(pipeline *p)
{
    if (!p)
        return;
    pthread_join(p->thread, NULL);
    for (int i = 0; i < p->len; i++)
        cast(p->queue[i], NO_ANSWER);
    dlock_redis_hang_up(p->conn);
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p->queue);
    free(p);
}
