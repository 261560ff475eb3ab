/*
 * What a vigil does depends on how the lock's kind wakes.
 *
 *   - Kinds that queue: a message on the channel names the waiter that was granted the lock. The
 *     vigil gives the process's signs of life, which heal a message that was lost; so there is one
 *     question each re-check, however many wait. It tells of the oldest waiters, which come next,
 *     each time, and of the others in turn. Now and then one of them asks nevertheless, since an
 *     acquire puts right what a sign of life does not: a semaphore's number of permits.
 *   - A kind with a broadcast: each message lets one of them ask; so does the vigil every re-check.
 *   - Kinds that poll: the vigil lets one of them ask at each step, the one that has waited
 * longest.
 *
 * A vigil outlasts its last waiter for a while, since the next one may come soon.
 */
#include "pending/vigil.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/attempt.h"
#include "core/client.h"
#include "core/waiting.h"
#include "pending/ear.h"

#define LINGER_MS 1000

enum { OLDEST = 100, OTHERS = 900 }; /* tokens in one sign of life */

struct vigil {
    task task;        /* first, so that the one is the other */
    dlock_lock *lock; /* (a reference) */
    ear_channel channel;
    bool listens, over;
    int members;
    dlock_time due;        /* the next sign of life or question; without members, its end */
    question *beat;        /* under way; NULL = none */
    dlock_time ask_at;     /* a queue's: when one of them asks although nobody woke it */
    int turn;              /* the place, among those that sleep, of the next of the others */
    atomic_bool may_miss;  /* messages, until a subscription that was just confirmed */
    vigil *next, **before; /* among all of the engine */
};

/* ---- what is due ----------------------------------------------------------------------------- */

static void add_sleepers(vigil *v, dlock_args *args)
{
    wait_set *set = &v->lock->wait_set;
    int at = 0;
    pthread_mutex_lock(&set->lock);
    for (const waiter *w = set->waiters.first; w; w = w->next) {
        if (!w->on_wake || !w->asleep || w->woken)
            continue;
        if (at < OLDEST || (at >= v->turn && at < v->turn + OTHERS))
            dlock_args_text(args, w->token);
        at++;
    }
    pthread_mutex_unlock(&set->lock);
    v->turn = v->turn + OTHERS < at ? v->turn + OTHERS : OLDEST;
}

static void give_sign_of_life(vigil *v)
{
    const kind *how = v->lock->kind;
    question *q = v->beat ? NULL : dlock_question_new(&v->task);
    if (!q)
        return;
    q->call.keys = how->beat.args(v->lock, v->lock->client->id, ENTRY_NONE, &q->call.args);
    q->call.script = how->beat.script;
    add_sleepers(v, &q->call.args);
    v->beat = q;
    dlock_question_put(q);
}

static void take_answer(vigil *v)
{
    int64_t ms = v->lock->client->options.recheck_ms;
    if (dlock_question_status(v->beat) == DLOCK_OK)
        ms = v->lock->kind->beaten(v->lock, v->beat->asked, v->beat->call.reply);
    dlock_question_free(v->beat);
    v->beat = NULL;
    if (v->members > 0)
        v->due = dlock_in_ms(ms);
}

static dlock_time next_question(const vigil *v, const answer *a)
{
    return dlock_attempt_next(&(attempt){.deadline = {INT64_MAX}}, v->lock, a);
}

static void look(vigil *v)
{
    int64_t recheck_ms = v->lock->client->options.recheck_ms;
    bool queues = v->lock->kind->beat.script;
    if (queues) {
        v->due = dlock_in_ms(recheck_ms);
        give_sign_of_life(v);
    } else {
        v->due = next_question(v, &(answer){.retry_ms = -1});
    }
    if (!queues || dlock_passed(v->ask_at)) {
        v->ask_at = dlock_in_ms(10 * recheck_ms);
        dlock_wait_set_wake_one(&v->lock->wait_set);
    }
}

static void end(vigil *v)
{
    v->over = true;
    if (v->listens)
        dlock_ear_forget(dlock_engine_ear(v->task.engine), &v->channel);
    v->lock->vigil = NULL;
    *v->before = v->next;
    if (v->next)
        v->next->before = v->before;
    dlock_task_at(&v->task, (dlock_time){INT64_MAX});
    dlock_task_unref(&v->task);
}

static void run(task *t)
{
    vigil *v = (vigil *)t;
    if (v->beat && atomic_load(&v->beat->answered))
        take_answer(v);
    if (v->over)
        return;
    bool may_miss = atomic_exchange(&v->may_miss, false);
    if (v->members > 0 && (may_miss || dlock_passed(v->due))) {
        look(v);
    } else if (v->members == 0 && dlock_passed(v->due) && !v->beat) {
        end(v);
        return;
    }
    dlock_time soon = dlock_in_ms(1);
    if (v->members == 0 && v->beat) /* whose answer has it run */
        return;
    if (!dlock_task_at(t, v->due.us > soon.us ? v->due : soon))
        dlock_task_notice(t); /* until there is memory */
}

static void take_subscription(ear_channel *c)
{
    vigil *v = (vigil *)((char *)c - offsetof(vigil, channel));
    atomic_store(&v->may_miss, true);
    dlock_task_notice(&v->task);
}

/* ---- its life -------------------------------------------------------------------------------- */

static void free_vigil(task *t)
{
    vigil *v = (vigil *)t;
    dlock_lock_unref(v->lock);
    free(v);
}

/* The engine's thread has ended. */
static void free_all(vigil *first)
{
    for (vigil *v = first, *next; v; v = next) {
        next = v->next;
        if (v->beat)
            dlock_question_free(v->beat);
        v->lock->vigil = NULL;
        dlock_task_unref(&v->task);
    }
}

static vigil *begin(engine *e, dlock_lock *lock)
{
    vigil *v = calloc(1, sizeof(*v));
    if (!v)
        return NULL;
    vigil_list *all = dlock_engine_vigils(e);
    all->free = free_all;
    dlock_task_init(&v->task, e, run, free_vigil);
    v->lock = lock;
    dlock_lock_ref(lock);
    v->turn = OLDEST;
    v->before = &all->first;
    v->next = all->first;
    if (v->next)
        v->next->before = &v->next;
    all->first = v;
    lock->vigil = v;
    if (lock->kind->channel && lock->options.poll_ms == 0) {
        v->listens = true;
        v->channel.lock = lock;
        v->channel.subscribed = take_subscription;
        lock->kind->channel(lock, v->channel.name, sizeof(v->channel.name));
        dlock_ear_listen(dlock_engine_ear(e), &v->channel);
    }
    return v;
}

vigil *dlock_vigil_join(engine *e, dlock_lock *lock)
{
    vigil *v = lock->vigil ? lock->vigil : begin(e, lock);
    if (!v)
        return NULL;
    if (v->members++ > 0)
        return v;
    v->due = dlock_in_ms(lock->client->options.recheck_ms);
    v->ask_at = dlock_in_ms(10 * lock->client->options.recheck_ms);
    if (dlock_task_at(&v->task, v->due))
        return v;
    v->members--;
    end(v);
    return NULL;
}

void dlock_vigil_leave(vigil *v)
{
    if (--v->members > 0)
        return;
    v->due = dlock_in_ms(LINGER_MS);
    dlock_task_at(&v->task, v->due);
}

void dlock_vigil_hears(vigil *v, const answer *a)
{
    dlock_time next = next_question(v, a);
    if (v->lock->kind->beat.script || next.us >= v->due.us)
        return;
    v->due = next;
    dlock_task_at(&v->task, next);
}
