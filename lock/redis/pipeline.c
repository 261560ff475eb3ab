/*
 * A pipeline for each server behind a dlock_redis: a lane. Whatever is queued for a server is sent
 * in one go, on a connection of its own, so that neither a busy pool nor a slow caller can hold it
 * up. What a server has not answered in time has no answer.
 *
 * A call goes to the server of its first key. One that is answered MOVED or ASK goes over to the
 * lane of the server so named; one whose keys are on their way has no answer, and its caller
 * repeats it.
 */
#include "redis/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "redis/conn.h"

#define IDLE_MS 10000 /* until a lane without work leaves a server that serves no keys */

enum { BATCH_MAX = 512, HOPS_MAX = 8 };

/* A call as it is put to one server. */
typedef struct question {
    pipeline_call *call; /* NULL: it has gone to another lane */
    bool asking;         /* ASKING precedes it */
    int hops;            /* how often it was sent elsewhere */
    bool asked;          /* in this batch */
    bool again;          /* the server does not know the script */
    dlock_redis_outcome outcome;
    redisReply *reply; /* NULL: none */
} question;

typedef struct lane {
    pipeline *pipeline;
    int server;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, up to conn */
    pthread_cond_t changed;
    question *queue;
    int len, cap;
    bool stop;

    dlock_redis_conn *conn; /* this and the rest: the thread's alone */
    question batch[BATCH_MAX];
    int batch_len;
} lane;

struct pipeline {
    dlock_redis *redis;   /* (borrowed) */
    pthread_mutex_t lock; /* guards the rest; taken before a lane's */
    lane *lanes[DLOCK_SERVERS_MAX];
    bool stop;
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
    if (call->reply)
        freeReplyObject(call->reply);
    call->over(call);
}

/* A server's answer, or that there is none; its reference to the call goes with it. */
static void settle(question *q)
{
    pipeline_call *call = q->call;
    bool votes = q->outcome == DLOCK_REDIS_OK && q->reply->type == REDIS_REPLY_INTEGER;
    bool decides = false;
    pthread_mutex_lock(&call->lock);
    call->answers++;
    if (!call->is_decided) {
        call->yes += votes && q->reply->integer == 1;
        call->no += votes && q->reply->integer != 1;
        decides =
            call->yes >= call->need || call->no >= call->need || call->answers == call->servers;
        call->is_decided = decides;
    }
    if (decides && call->keeps_answer) {
        call->outcome = q->outcome;
        call->reply = q->reply;
        q->reply = NULL;
    }
    pthread_mutex_unlock(&call->lock);
    if (q->reply)
        freeReplyObject(q->reply);
    if (decides)
        call->decided(call);
    dlock_pipeline_call_unref(call);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void put_to(pipeline *p, int server, question *q);

/* Whether the refused question belongs to another lane; it is there then. */
static bool send_elsewhere(lane *l, question *q, const char *error)
{
    redirection to = {.asking = q->asking};
    topology *t = l->pipeline->redis->topology;
    const finder *how = dlock_topology_finder(t);
    if (q->hops == HOPS_MAX || !how || !how->redirect || !how->redirect(t, l->server, error, &to) ||
        to.pause_ms > 0)
        return false;
    question there = {
        .call = q->call, .asking = to.asking, .hops = q->hops + 1, .outcome = DLOCK_REDIS_NOT_SENT};
    q->call = NULL;
    put_to(l->pipeline, to.server, &there);
    return true;
}

/* Whether it can be the call's answer; a kept one is looked at by whoever keeps it. */
static bool is_its(const lane *l, const question *q, const redisReply *reply)
{
    bool fits = q->call->keeps_answer || reply->type == REDIS_REPLY_INTEGER;
    return dlock_redis_conn_check(l->conn, q->call->script->name, reply, fits);
}

/* What was sent before the connection broke may have been done. */
static void read_answer(lane *l, question *q, dlock_time deadline)
{
    redisReply *reply = NULL;
    q->outcome = DLOCK_REDIS_UNKNOWN;
    if (q->asking && dlock_redis_read(l->conn, deadline, NULL) != DLOCK_REDIS_OK &&
        dlock_redis_broken(l->conn))
        return;
    if (dlock_redis_broken(l->conn))
        return;
    q->outcome = dlock_redis_read(l->conn, deadline, &reply);
    if (q->outcome == DLOCK_REDIS_REFUSED && reply && !send_elsewhere(l, q, reply->str))
        q->again = strncmp(reply->str, "NOSCRIPT", 8) == 0;
    if (q->outcome == DLOCK_REDIS_OK && !is_its(l, q, reply))
        q->outcome = DLOCK_REDIS_UNKNOWN;
    if (q->outcome == DLOCK_REDIS_OK)
        q->reply = reply;
    else if (reply)
        freeReplyObject(reply);
}

/* A connection that works, and the hashes of the scripts. That comes before the first call is
 * queued: the question for a hash has a reply too. */
static bool prepare(lane *l, dlock_time deadline)
{
    if (l->conn && !dlock_redis_is_fit(l->conn)) {
        dlock_redis_hang_up(l->conn);
        l->conn = NULL;
    }
    if (!l->conn && dlock_redis_dial_server(l->pipeline->redis, l->server, deadline, &l->conn) !=
                        DLOCK_REDIS_OK)
        return false;
    l->conn->follows = true;
    for (int i = 0; i < l->batch_len; i++) {
        question *q = &l->batch[i];
        q->asked = q->call && !dlock_passed(q->call->until) &&
                   dlock_redis_learn(l->conn, q->call->script, deadline) == DLOCK_REDIS_OK;
    }
    return true;
}

/* The earliest limit of those that can still be answered: replies come in one line, and a
 * connection that is silent is to be replaced in time for the shortest lease. INT64_MAX: none. */
static dlock_time batch_deadline(const lane *l)
{
    dlock_time now = dlock_now(), earliest = {INT64_MAX};
    for (int i = 0; i < l->batch_len; i++) {
        const pipeline_call *call = l->batch[i].call;
        if (!call || call->until.us <= now.us)
            continue;
        int64_t graced = now.us + call->grace_ms * 1000;
        dlock_time limit = {call->until.us > graced ? call->until.us : graced};
        earliest = dlock_sooner(earliest, limit);
    }
    return earliest;
}

static void queue_question(lane *l, const question *q, bool by_text)
{
    const pipeline_call *call = q->call;
    if (q->asking)
        dlock_redis_queue_asking(l->conn);
    dlock_redis_queue_script(l->conn, call->script, call->keys, &call->args, by_text);
}

/* The whole batch in one pipeline; or those whose script the server did not know, once more with
 * their text. */
static void ask(lane *l, bool by_text)
{
    dlock_time deadline = batch_deadline(l);
    if (deadline.us == INT64_MAX || !prepare(l, deadline))
        return;
    for (int i = 0; i < l->batch_len; i++) {
        question *q = &l->batch[i];
        q->asked = q->asked && (!by_text || q->again);
        q->again = false;
        if (q->asked)
            queue_question(l, q, by_text);
    }
    dlock_redis_outcome sent = dlock_redis_flush(l->conn, deadline);
    for (int i = 0; i < l->batch_len; i++) {
        if (l->batch[i].asked && sent == DLOCK_REDIS_OK)
            read_answer(l, &l->batch[i], deadline);
        else if (l->batch[i].asked)
            l->batch[i].outcome = sent;
    }
}

static void ask_batch(lane *l)
{
    bool any = false;
    ask(l, false);
    for (int i = 0; i < l->batch_len; i++)
        any = any || l->batch[i].again;
    if (any)
        ask(l, true);
    for (int i = 0; i < l->batch_len; i++)
        if (l->batch[i].call)
            settle(&l->batch[i]);
}

/* ---- a lane ---------------------------------------------------------------------------------- */

static void take_batch(lane *l)
{
    l->batch_len = l->len < BATCH_MAX ? l->len : BATCH_MAX;
    l->len -= l->batch_len;
    for (int i = 0; i < l->batch_len; i++)
        l->batch[i] = l->queue[i];
    for (int i = 0; i < l->len; i++)
        l->queue[i] = l->queue[i + l->batch_len];
}

/* Nobody asks any more: the server may never serve again. */
static void leave(lane *l)
{
    if (dlock_topology_serves(l->pipeline->redis->topology, l->server))
        return;
    dlock_redis_hang_up(l->conn);
    l->conn = NULL;
}

static void *run(void *arg)
{
    lane *l = arg;
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (l->len == 0) {
            dlock_time until = dlock_in_ms(IDLE_MS);
            dlock_cond_wait(&l->changed, &l->lock, until);
            if (l->len == 0 && dlock_passed(until))
                leave(l);
            continue;
        }
        take_batch(l);
        pthread_mutex_unlock(&l->lock);
        ask_batch(l);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static lane *new_lane(pipeline *p, int server)
{
    lane *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->pipeline = p;
    l->server = server;
    pthread_mutex_init(&l->lock, NULL);
    dlock_cond_init(&l->changed);
    if (pthread_create(&l->thread, NULL, run, l) != 0) {
        free(l);
        return NULL;
    }
    return l;
}

static bool make_room(lane *l)
{
    if (l->len < l->cap)
        return true;
    int cap = l->cap ? 2 * l->cap : 64;
    question *queue = realloc(l->queue, (size_t)cap * sizeof(*queue));
    if (!queue)
        return false;
    l->queue = queue;
    l->cap = cap;
    return true;
}

static bool enqueue(lane *l, const question *q)
{
    pthread_mutex_lock(&l->lock);
    bool queued = make_room(l);
    if (queued)
        l->queue[l->len++] = *q;
    if (l->len == 1)
        pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
    return queued;
}

static void stop_lane(lane *l)
{
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* Its thread has ended, and nobody puts anything to it any more. */
static void free_lane(lane *l)
{
    for (int i = 0; i < l->len; i++)
        settle(&l->queue[i]);
    dlock_redis_hang_up(l->conn);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    free(l->queue);
    free(l);
}

/* ---- all of them ----------------------------------------------------------------------------- */

pipeline *dlock_pipeline_new(dlock_redis *redis)
{
    pipeline *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->redis = redis;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

static void put_to(pipeline *p, int server, question *q)
{
    pthread_mutex_lock(&p->lock);
    lane **at = server != NO_SERVER && !p->stop ? &p->lanes[server] : NULL;
    if (at && !*at)
        *at = new_lane(p, server);
    bool queued = at && *at && enqueue(*at, q);
    pthread_mutex_unlock(&p->lock);
    if (!queued)
        settle(q);
}

void dlock_pipeline_put(pipeline *p, pipeline_call *call)
{
    size_t len;
    question q = {.call = call, .outcome = DLOCK_REDIS_NOT_SENT};
    if (!p || call->args.failed) {
        settle(&q);
        return;
    }
    const char *key = dlock_args_first(&call->args, &len);
    int server = dlock_topology_route(p->redis->topology, key, len);
    call->nowhere = server == NO_SERVER;
    put_to(p, server, &q);
}

void dlock_pipeline_stop(pipeline *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        if (p->lanes[i])
            stop_lane(p->lanes[i]);
    pthread_mutex_unlock(&p->lock);
}

void dlock_pipeline_free(pipeline *p)
{
    if (!p)
        return;
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        if (p->lanes[i])
            pthread_join(p->lanes[i]->thread, NULL);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        if (p->lanes[i])
            free_lane(p->lanes[i]);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
