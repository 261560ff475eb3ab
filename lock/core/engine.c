/*
 * The engine's thread, and questions.
 *
 * Whatever happens to a task, the engine only runs it; the task finds out what happened. So nothing
 * is lost if several things happen at once, and only the task changes its own state.
 */
#include "core/engine.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/client.h"
#include "core/subscriber.h"
#include "redis/thread.h"

struct engine {
    dlock_client *client; /* (borrowed) */
    pipeline *pipeline;
    subscriber *subscriber;
    watch_list watches;
    timers timers; /* the thread's alone */

    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest, and of each task next and noticed */
    pthread_cond_t changed;
    task *first, *last; /* to be run */
    bool asleep, stop;
    bool after_notice; /* the last task run was a noticed one; the thread's alone */
};

/* ---- tasks ----------------------------------------------------------------------------------- */

void dlock_task_init(task *t, engine *e, void (*run)(task *t), void (*free)(task *t))
{
    *t = (task){.run = run, .free = free, .engine = e};
    atomic_init(&t->refs, 1);
}

void dlock_task_ref(task *t)
{
    atomic_fetch_add(&t->refs, 1);
}

void dlock_task_unref(task *t)
{
    if (atomic_fetch_sub(&t->refs, 1) == 1)
        t->free(t);
}

void dlock_task_notice(task *t)
{
    engine *e = t->engine;
    pthread_mutex_lock(&e->lock);
    if (!t->noticed) {
        dlock_task_ref(t);
        t->noticed = true;
        t->next = NULL;
        *(e->first ? &e->last->next : &e->first) = t;
        e->last = t;
        if (e->asleep)
            pthread_cond_signal(&e->changed);
    }
    pthread_mutex_unlock(&e->lock);
}

bool dlock_task_at(task *t, dlock_time due)
{
    timers *all = &t->engine->timers;
    dlock_timers_unset(all, &t->timer);
    return due.us == INT64_MAX || dlock_timers_set(all, &t->timer, due);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void take_answer(pipeline_call *call)
{
    question *q = (question *)call;
    task *t = q->task;
    dlock_task_ref(t);
    atomic_store(&q->answered, true);
    dlock_task_notice(t);
    dlock_task_unref(t);
}

static void free_question(pipeline_call *call)
{
    question *q = (question *)call;
    dlock_task_unref(q->task);
    free(q);
}

question *dlock_question_new(task *t)
{
    question *q = calloc(1, sizeof(*q));
    if (!q)
        return NULL;
    q->task = t;
    dlock_task_ref(t);
    q->asked = dlock_now();
    dlock_args_init(&q->call.args);
    q->call.decided = take_answer;
    q->call.over = free_question;
    dlock_pipeline_call_init(&q->call);
    return q;
}

void dlock_question_put(question *q)
{
    engine *e = q->task->engine;
    q->call.until = dlock_in_ms(e->client->options.io_ms);
    q->call.grace_ms = e->client->options.io_ms / 4;
    dlock_pipeline_put(e->pipeline, &q->call);
}

dlock_status dlock_question_status(const question *q)
{
    return dlock_status_of(q->call.outcome);
}

void dlock_question_free(question *q)
{
    if (!atomic_load(&q->answered)) /* never put: nobody holds the server's reference */
        atomic_fetch_sub(&q->call.refs, 1);
    dlock_pipeline_call_unref(&q->call);
}

static void ignore(pipeline_call *call)
{
    (void)call;
}

static void free_call(pipeline_call *call)
{
    free(call);
}

void dlock_engine_tell(engine *e, dlock_lock *lock, const kind_call *how, const char *token)
{
    pipeline_call *call = e ? calloc(1, sizeof(*call)) : NULL;
    if (!call)
        return;
    dlock_args_init(&call->args);
    call->keys = how->args(lock, &(asker){.token = token}, &call->args);
    call->script = how->script;
    call->until = dlock_in_ms(e->client->options.io_ms);
    call->decided = ignore;
    call->over = free_call;
    dlock_pipeline_call_init(call);
    dlock_pipeline_put(e->pipeline, call);
    dlock_pipeline_call_unref(call);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static task *task_of(timer *t)
{
    return (task *)((char *)t - offsetof(task, timer));
}

/* The next task to run (a reference), or NULL. Due tasks and noticed tasks take turns, or many of
 * one sort could hold up the other forever. Under the mutex. */
static task *take_next(engine *e)
{
    timer *due = dlock_timers_first(&e->timers);
    task *t = e->first;
    bool is_due = due && dlock_passed(due->due);
    e->after_notice = t && !(is_due && e->after_notice);
    if (e->after_notice) {
        e->first = t->next;
        t->noticed = false;
    } else if (is_due) {
        dlock_timers_unset(&e->timers, due);
        t = task_of(due);
        dlock_task_ref(t);
    }
    return t;
}

static void sleep_until_due(engine *e)
{
    const timer *due = dlock_timers_first(&e->timers);
    e->asleep = true;
    dlock_cond_wait(&e->changed, &e->lock, due ? due->due : dlock_in_ms(60000));
    e->asleep = false;
}

static void *run(void *arg)
{
    engine *e = arg;
    pthread_mutex_lock(&e->lock);
    while (!e->stop) {
        task *t = take_next(e);
        if (!t) {
            sleep_until_due(e);
            continue;
        }
        pthread_mutex_unlock(&e->lock);
        t->run(t);
        dlock_task_unref(t);
        pthread_mutex_lock(&e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void drop_what_is_left(engine *e)
{
    while (e->first) {
        task *t = e->first;
        e->first = t->next;
        t->noticed = false;
        dlock_task_unref(t);
    }
}

static void end(engine *e)
{
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    pthread_cond_signal(&e->changed);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    dlock_subscriber_free(e->subscriber);
    dlock_pipeline_stop(e->pipeline);
    dlock_pipeline_free(e->pipeline); /* which answers every question */
    drop_what_is_left(e);
    if (e->watches.first)
        e->watches.free(e->watches.first);
    pthread_mutex_destroy(&e->watches.lock);
    dlock_timers_free(&e->timers);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static engine *start(dlock_client *client)
{
    engine *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->client = client;
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->watches.lock, NULL);
    dlock_cond_init(&e->changed);
    e->pipeline = dlock_pipeline_new(client->options.redis);
    e->subscriber = dlock_subscriber_new(client);
    if (e->pipeline && e->subscriber && dlock_thread_start(&e->thread, run, e))
        return e;
    dlock_subscriber_free(e->subscriber);
    dlock_pipeline_free(e->pipeline);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->watches.lock);
    pthread_mutex_destroy(&e->lock);
    free(e);
    return NULL;
}

engine *dlock_engine_of(dlock_client *client)
{
    engine *e = atomic_load(&client->engine);
    if (e)
        return e;
    pthread_mutex_lock(&client->locks_lock);
    e = atomic_load(&client->engine);
    if (!e && (e = start(client))) {
        client->end_engine = end;
        atomic_store(&client->engine, e);
    }
    pthread_mutex_unlock(&client->locks_lock);
    return e;
}

subscriber *dlock_engine_subscriber(const engine *e)
{
    return e->subscriber;
}

watch_list *dlock_engine_watches(engine *e)
{
    return &e->watches;
}
