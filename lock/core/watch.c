/*
 * What a watch does depends on how the lock's kind wakes.
 *
 *   - Kinds that queue: a message on the channel names the waiter that was granted the lock. The
 *     watch sends the process's heartbeats, which make up for lost messages. So there is one
 *     request per re-check, however many wait. Each heartbeat names the oldest waiters, which come
 *     next, and the others in turn. Now and then a waiter for permits asks nevertheless, because
 *     an acquire restores a lost number of permits and a heartbeat does not.
 *   - A kind with a broadcast: each message lets one of them ask; the watch does too, every
 *     re-check, and when the holder's lease may be over.
 *   - Kinds that poll: the watch lets the one that has waited longest ask at each step.
 *
 * A heartbeat or a request follows each subscription, because earlier messages are lost.
 */
#include "core/watch.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/attempt.h"
#include "core/client.h"
#include "core/subscriber.h"
#include "core/waiting.h"

#define LINGER_MS 1000

enum { OLDEST = 100, OTHERS = 900 }; /* tokens in one heartbeat */

struct lock_watch {
    task task;        /* first, so that the one is the other */
    dlock_lock *lock; /* (a reference) */
    int members;      /* this and the next two: under the wait set's mutex */
    dlock_time idle_since;
    dlock_time due; /* the next heartbeat or question */

    channel channel; /* this and what follows: the engine's thread's alone */
    bool begun, listens, over;
    question *beat;             /* under way; NULL = none */
    dlock_time ask_at;          /* of permits: when one of them asks although nobody woke it */
    int turn;                   /* place among the sleepers of the next one after OLDEST */
    atomic_bool may_miss;       /* messages may be lost: a subscription was just confirmed */
    lock_watch *next, **before; /* among all of the engine; under the list's mutex */
};

/* ---- what is due ----------------------------------------------------------------------------- */

static void add_sleepers(lock_watch *v, dlock_args *args)
{
    wait_set *set = &v->lock->wait_set;
    int at = 0;
    pthread_mutex_lock(&set->lock);
    for (const waiter *w = set->waiters.first; w; w = w->next) {
        if (!w->asleep || w->woken) /* a waiter that asks restores its entry itself */
            continue;
        if (at < OLDEST || (at >= v->turn && at < v->turn + OTHERS))
            dlock_args_text(args, w->token);
        at++;
    }
    pthread_mutex_unlock(&set->lock);
    v->turn = v->turn + OTHERS < at ? v->turn + OTHERS : OLDEST;
}

static void send_heartbeat(lock_watch *v)
{
    const kind *how = v->lock->kind;
    question *q = v->beat ? NULL : dlock_question_new(&v->task);
    if (!q)
        return;
    q->call.keys = how->beat.args(v->lock, &(asker){.token = v->lock->client->id}, &q->call.args);
    q->call.script = how->beat.script;
    add_sleepers(v, &q->call.args);
    v->beat = q;
    dlock_question_put(q);
}

static void due_in(lock_watch *v, int64_t ms)
{
    wait_set *set = &v->lock->wait_set;
    pthread_mutex_lock(&set->lock);
    v->due = dlock_in_ms(ms);
    pthread_mutex_unlock(&set->lock);
}

static void take_answer(lock_watch *v)
{
    int64_t ms = v->lock->client->options.recheck_ms;
    if (dlock_question_status(v->beat) == DLOCK_OK)
        ms = v->lock->kind->beaten(v->lock, v->beat->asked, v->beat->call.reply);
    dlock_question_free(v->beat);
    v->beat = NULL;
    due_in(v, ms);
}

static void look(lock_watch *v)
{
    const kind *how = v->lock->kind;
    bool queues = how->beat.script;
    if (queues)
        send_heartbeat(v);
    if (!queues || (how->permits && dlock_passed(v->ask_at))) {
        v->ask_at = dlock_in_ms(10 * v->lock->client->options.recheck_ms);
        dlock_wait_set_wake_one(&v->lock->wait_set);
    }
}

/* ---- its steps ------------------------------------------------------------------------------- */

static void take_subscription(channel *c)
{
    lock_watch *v = (lock_watch *)((char *)c - offsetof(lock_watch, channel));
    atomic_store(&v->may_miss, true);
    dlock_task_notice(&v->task);
}

static void take_message(channel *c, const char *message)
{
    lock_watch *v = (lock_watch *)((char *)c - offsetof(lock_watch, channel));
    v->lock->kind->heard(v->lock, message);
}

static void begin(lock_watch *v)
{
    const dlock_lock *lock = v->lock;
    v->begun = true;
    v->listens = lock->kind->channel && lock->options.poll_ms == 0;
    v->ask_at = dlock_in_ms(10 * lock->client->options.recheck_ms);
    if (!v->listens)
        return;
    lock->kind->channel(lock, v->channel.name, sizeof(v->channel.name));
    v->channel.key = dlock_lock_name(lock, 0);
    v->channel.sharded = v->channel.for_each = !lock->kind->queues;
    v->channel.subscribed = take_subscription;
    v->channel.heard = take_message;
    dlock_subscriber_listen(dlock_engine_subscriber(v->task.engine), &v->channel);
}

static void end(lock_watch *v)
{
    watch_list *all = dlock_engine_watches(v->task.engine);
    v->over = true;
    if (v->listens)
        dlock_subscriber_forget(dlock_engine_subscriber(v->task.engine), &v->channel);
    pthread_mutex_lock(&all->lock);
    *v->before = v->next;
    if (v->next)
        v->next->before = v->before;
    pthread_mutex_unlock(&all->lock);
    dlock_task_at(&v->task, (dlock_time){INT64_MAX});
    dlock_task_unref(&v->task);
}

/* Nobody has waited for a while: the next one starts another watch. */
static bool is_over(lock_watch *v)
{
    wait_set *set = &v->lock->wait_set;
    pthread_mutex_lock(&set->lock);
    bool over =
        v->members == 0 && !v->beat && dlock_now().us - v->idle_since.us >= LINGER_MS * 1000;
    if (over)
        set->watch = NULL;
    pthread_mutex_unlock(&set->lock);
    return over;
}

/* Whether there is something to do; and *next, when there will be again. */
static bool is_due(lock_watch *v, dlock_time *next)
{
    wait_set *set = &v->lock->wait_set;
    bool may_miss = atomic_exchange(&v->may_miss, false);
    pthread_mutex_lock(&set->lock);
    bool due = may_miss || dlock_passed(v->due);
    if (due)
        v->due = dlock_attempt_next(&(attempt){.deadline = {INT64_MAX}}, v->lock,
                                    &(answer){.retry_ms = -1});
    due = due && v->members > 0;
    *next = v->due;
    pthread_mutex_unlock(&set->lock);
    return due;
}

static void run(task *t)
{
    lock_watch *v = (lock_watch *)t;
    dlock_time next, soon = dlock_in_ms(1);
    if (v->beat && atomic_load(&v->beat->answered))
        take_answer(v);
    if (v->over)
        return;
    if (!v->begun)
        begin(v);
    if (is_over(v)) {
        end(v);
        return;
    }
    if (is_due(v, &next))
        look(v);
    if (!dlock_task_at(t, next.us > soon.us ? next : soon))
        dlock_task_notice(t); /* until there is memory */
}

/* ---- its life -------------------------------------------------------------------------------- */

static void free_watch(task *t)
{
    lock_watch *v = (lock_watch *)t;
    dlock_lock_unref(v->lock);
    free(v);
}

/* The engine's thread has ended. */
static void free_all(lock_watch *first)
{
    for (lock_watch *v = first, *next; v; v = next) {
        next = v->next;
        if (v->beat)
            dlock_question_free(v->beat);
        v->lock->wait_set.watch = NULL;
        dlock_task_unref(&v->task);
    }
}

/* Under the wait set's mutex. */
static lock_watch *start(engine *e, dlock_lock *lock)
{
    lock_watch *v = calloc(1, sizeof(*v));
    if (!v)
        return NULL;
    dlock_task_init(&v->task, e, run, free_watch);
    v->lock = lock;
    dlock_lock_ref(lock);
    v->turn = OLDEST;
    v->due = dlock_in_ms(lock->client->options.recheck_ms);
    watch_list *all = dlock_engine_watches(e);
    pthread_mutex_lock(&all->lock);
    all->free = free_all;
    v->before = &all->first;
    v->next = all->first;
    if (v->next)
        v->next->before = &v->next;
    all->first = v;
    pthread_mutex_unlock(&all->lock);
    dlock_task_notice(&v->task);
    return v;
}

/* One more waiter. NULL: out of memory or threads. */
static lock_watch *join(dlock_lock *lock)
{
    engine *e = dlock_engine_of(lock->client);
    wait_set *set = &lock->wait_set;
    pthread_mutex_lock(&set->lock);
    if (!set->watch && e)
        set->watch = start(e, lock);
    lock_watch *v = set->watch;
    if (v)
        v->members++;
    pthread_mutex_unlock(&set->lock);
    return v;
}

/* Of a kind without a queue: the lock may be free at `next`. */
static void hears(lock_watch *v, dlock_time next)
{
    wait_set *set = &v->lock->wait_set;
    pthread_mutex_lock(&set->lock);
    bool sooner = next.us < v->due.us;
    if (sooner)
        v->due = next;
    pthread_mutex_unlock(&set->lock);
    if (sooner)
        dlock_task_notice(&v->task);
}

dlock_time dlock_lock_watch_sleep(const attempt *at, dlock_lock *lock, waiter *w, const answer *a)
{
    bool polls = lock->options.poll_ms > 0 || !lock->kind->channel;
    bool is_thread = !w->on_wake;
    if (!w->watch && !(polls && (is_thread || lock->kind->queues)))
        w->watch = join(lock);
    if (!w->watch || at->unanswered > 0)
        return dlock_attempt_next(at, lock, a);
    if (!lock->kind->queues)
        hears(w->watch, dlock_attempt_next(&(attempt){.deadline = {INT64_MAX}}, lock, a));
    return at->deadline;
}

void dlock_lock_watch_leave(dlock_lock *lock, waiter *w)
{
    wait_set *set = &lock->wait_set;
    pthread_mutex_lock(&set->lock);
    if (w->watch && --w->watch->members == 0)
        w->watch->idle_since = dlock_now();
    w->watch = NULL;
    pthread_mutex_unlock(&set->lock);
}
