/*
 * Asynchronous script calls on the connections that all threads share (shared.c).
 *
 * A call goes to the server of its first key. One that is answered MOVED or ASK goes on to the
 * server so named; one whose keys are on their way has no answer, and its caller repeats it.
 */
#include "redis/pipeline.h"

#include <stdlib.h>

#include "redis/script.h"
#include "redis/shared.h"

enum { HOPS_MAX = 8 };

struct pipeline {
    dlock_redis *redis;   /* (borrowed) */
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t ended;
    int under_way;
    bool stop;
};

/* A call as it is put to one server. */
typedef struct sent_call {
    shared_call shared; /* first, so that the one is the other */
    dlock_redis *redis;
    pipeline *pipeline; /* NULL: nobody waits for its end */
    pipeline_call *call;
    int hops; /* how often it was sent elsewhere */
} sent_call;

/* ---- a call ---------------------------------------------------------------------------------- */

void dlock_pipeline_call_init(pipeline_call *call)
{
    atomic_init(&call->refs, 2);
}

void dlock_pipeline_call_unref(pipeline_call *call)
{
    if (atomic_fetch_sub(&call->refs, 1) != 1)
        return;
    dlock_args_free(&call->args);
    freeReplyObject(call->reply);
    call->over(call);
}

/* The server's answer, or that there is none; its reference to the call goes with it. */
static void settle(pipeline_call *call, dlock_redis_outcome outcome, redisReply *reply)
{
    call->outcome = outcome;
    if (outcome == DLOCK_REDIS_OK)
        call->reply = reply;
    else if (reply)
        freeReplyObject(reply);
    call->decided(call);
    dlock_pipeline_call_unref(call);
}

/* ---- a call sent to one server
 * ------------------------------------------------------------------------------ */

static void put(sent_call *q, int server)
{
    dlock_shared_put(q->redis->shared, server, &q->shared);
}

/* Whether the refused call is sent once more: with its text, or elsewhere. */
static bool repeat(sent_call *q, const char *error)
{
    shared_call *a = &q->shared;
    redirection to = {.asking = a->asking, .server = a->server};
    topology *t = q->redis->topology;
    const finder *how = dlock_topology_finder(t);
    bool elsewhere = q->hops < HOPS_MAX && how && how->redirect &&
                     how->redirect(t, a->server, error, &to) && to.pause_ms == 0;
    if (!elsewhere && (a->by_text || !dlock_redis_is_unknown_hash(error)))
        return false;
    a->by_text = a->by_text || !elsewhere;
    a->asking = to.asking;
    q->hops += elsewhere;
    freeReplyObject(a->reply);
    a->reply = NULL;
    put(q, to.server);
    return true;
}

static void tell_written(shared_call *a)
{
    pipeline_call *call = ((sent_call *)a)->call;
    a->written = NULL;
    if (call->written)
        call->written(call);
}

static void end(pipeline *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    if (--p->under_way == 0)
        pthread_cond_broadcast(&p->ended);
    pthread_mutex_unlock(&p->lock);
}

static void take_answer(shared_call *a)
{
    sent_call *q = (sent_call *)a;
    pipeline *p = q->pipeline;
    if (a->outcome == DLOCK_REDIS_REFUSED && repeat(q, a->reply->str))
        return;
    settle(q->call, a->outcome, a->reply);
    free(q);
    end(p);
}

/* ---- all of them ----------------------------------------------------------------------------- */

pipeline *dlock_pipeline_new(dlock_redis *redis)
{
    pipeline *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->redis = redis;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->ended, NULL);
    return p;
}

/* False: nothing more is to be put. */
static bool begin(pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    bool stop = p->stop;
    p->under_way += !stop;
    pthread_mutex_unlock(&p->lock);
    return !stop;
}

/* NULL: it can not be put. */
static sent_call *new_sent_call(dlock_redis *redis, pipeline *p, pipeline_call *call)
{
    sent_call *q = call->args.failed ? NULL : calloc(1, sizeof(*q));
    if (!q || (p && !begin(p))) {
        free(q);
        return NULL;
    }
    *q = (sent_call){.redis = redis, .pipeline = p, .call = call};
    q->shared = (shared_call){.script = call->script,
                              .args = &call->args,
                              .keys = call->keys,
                              .deadline = call->until,
                              .grace_ms = call->grace_ms,
                              .lazy = call->lazy,
                              .fate = &call->fate,
                              .written = tell_written,
                              .done = take_answer};
    return q;
}

static void ask(dlock_redis *redis, pipeline *p, pipeline_call *call)
{
    size_t len;
    sent_call *q = redis ? new_sent_call(redis, p, call) : NULL;
    if (!q) {
        settle(call, DLOCK_REDIS_NOT_SENT, NULL);
        return;
    }
    const char *key = dlock_args_first(&call->args, &len);
    int server = dlock_topology_route(redis->topology, key, len);
    call->nowhere = server == NO_SERVER;
    if (server != NO_SERVER) {
        put(q, server);
    } else {
        q->shared.outcome = DLOCK_REDIS_NOT_SENT;
        take_answer(&q->shared);
    }
}

void dlock_pipeline_ask(dlock_redis *redis, pipeline_call *call)
{
    ask(redis, NULL, call);
}

void dlock_pipeline_put(pipeline *p, pipeline_call *call)
{
    ask(p ? p->redis : NULL, p, call);
}

bool dlock_pipeline_withdraw(pipeline_call *call)
{
    int fate = CALL_OPEN;
    return atomic_compare_exchange_strong(&call->fate, &fate, CALL_WITHDRAWN);
}

void dlock_pipeline_stop(pipeline *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_mutex_unlock(&p->lock);
}

void dlock_pipeline_free(pipeline *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    while (p->under_way > 0)
        pthread_cond_wait(&p->ended, &p->lock);
    pthread_mutex_unlock(&p->lock);
    pthread_cond_destroy(&p->ended);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
