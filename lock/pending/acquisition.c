/*
 * A pending acquisition: what a thread does in dlock_acquire(), cut where it waits.
 *
 *     ASKING --> ASLEEP --> ASKING ... --> DECIDED
 *        `---------+-----> LEAVING ----------^
 *
 * ASKING: a question is under way, always one at most. ASLEEP: in the lock's wait set, until it is
 * woken (core/watch.c), or its time is over. LEAVING: it ends without the lock, and Redis is
 * asked to take back what may be left of it there; what stays open is left to the retried releases.
 * All but the beginning happens on the engine's thread.
 *
 * The first question is put by the caller's own thread: that saves it a way through the engine.
 */
#include <stddef.h>
#include <stdlib.h>

#include "core/acquire.h"
#include "core/ask.h"
#include "core/client.h"
#include "core/registry.h"
#include "core/retried_release.h"
#include "core/waiting.h"
#include "core/watch.h"
#include "pending/pending.h"

#define EARLY_MS 5 /* until a server that was not known is looked for again */

static void sleep_on(dlock_pending *p, const answer *a);
static void look_up(dlock_pending *p);

/* NULL: out of memory. */
static question *new_question(dlock_pending *p, const kind_call *how)
{
    question *q = dlock_question_new(&p->task);
    if (!q)
        return NULL;
    q->call.script = how->script;
    const asker who = {p->waiter.token, p->waiter.lease_ms, p->attempt.entry};
    if (how == &p->lock->kind->acquire)
        q->call.keys = dlock_ask_acquire_args(p->lock, &who, q->asked, &q->call.args);
    else
        q->call.keys = how->args(p->lock, &who, &q->call.args);
    return q;
}

static void finish(dlock_pending *p, dlock_status status)
{
    if (p->cancel)
        dlock_cancel_forget(p->cancel, &p->cancel_listener);
    dlock_task_at(&p->task, (dlock_time){INT64_MAX});
    dlock_acquire_end(p->hold, status, p->since);
    dlock_pending_decide(p, status);
}

/* What Redis did not answer stays to be tried again. */
static void leave(dlock_pending *p, dlock_status status)
{
    question *q = dlock_status_open(status) ? NULL : new_question(p, &p->lock->kind->leave);
    if (!q) {
        dlock_retried_releases_add(p->lock, p->waiter.token, p->waiter.lease_ms);
        finish(p, DLOCK_UNKNOWN);
        return;
    }
    p->state = LEAVING;
    p->ending = status;
    p->question = q;
    dlock_question_put(q);
}

static void conclude_leaving(dlock_pending *p)
{
    dlock_status left = dlock_question_status(p->question);
    if (left == DLOCK_OK)
        left = dlock_ask_read_released(p->question->call.reply);
    dlock_question_free(p->question);
    p->question = NULL;
    if (dlock_status_open(left))
        dlock_retried_releases_add(p->lock, p->waiter.token, p->waiter.lease_ms);
    finish(p, dlock_status_open(left) ? DLOCK_UNKNOWN : p->ending);
}

/* `a` brought the grant, with DLOCK_OK. */
static void conclude(dlock_pending *p, dlock_status status, const answer *a)
{
    if (status == DLOCK_OK && !(p->hold->grant = dlock_attempt_grant(p->lock, &p->waiter, a))) {
        p->attempt.left_over = true;
        status = DLOCK_NO_MEMORY;
    }
    dlock_wait_set_leave(&p->lock->wait_set, &p->waiter);
    dlock_lock_watch_leave(p->lock, &p->waiter);
    if (status != DLOCK_OK && p->attempt.left_over)
        leave(p, status);
    else
        finish(p, status);
}

static void ask(dlock_pending *p)
{
    p->state = ASKING;
    p->question = new_question(p, &p->lock->kind->acquire);
    if (p->question)
        dlock_question_put(p->question);
    else
        conclude(p, DLOCK_NO_MEMORY, NULL);
}

static bool is_cancelled(const dlock_pending *p)
{
    return atomic_load(&p->cancelled) || dlock_cancelled(&(dlock_wait){.cancel = p->cancel});
}

/* One try waits until its server is known, as long as for an answer. */
static bool is_too_early(const dlock_pending *p)
{
    dlock_time until = {p->since.us + p->lock->client->options.io_ms * 1000};
    return p->question->call.nowhere && p->attempt.entry == ENTRY_NONE && !dlock_passed(until) &&
           !is_cancelled(p);
}

static void take_answer(dlock_pending *p)
{
    question *q = p->question;
    bool early = is_too_early(p);
    answer a = {.asked = q->asked, .retry_ms = -1};
    dlock_status status = dlock_question_status(q);
    bool late = false;
    if (status == DLOCK_OK) {
        status = dlock_ask_read_acquired(p->lock, p->waiter.lease_ms, q->asked, q->call.reply, &a);
        late = status == DLOCK_UNAVAILABLE && !p->asked_late;
    }
    dlock_question_free(q);
    p->question = NULL;
    p->asked_late = late;
    if (early) {
        p->state = ASLEEP;
        p->due = dlock_in_ms(EARLY_MS);
        look_up(p);
        return;
    }
    if (late) { /* Redis's clock is known now */
        ask(p);
        return;
    }
    status = dlock_attempt_judge(&p->attempt, p->lock, &p->waiter, status, &a, is_cancelled(p));
    if (status == DLOCK_PENDING)
        sleep_on(p, &a);
    else
        conclude(p, status, &a);
}

/* ---- asleep ---------------------------------------------------------------------------------- */

/* Whether it was woken by now. It is not asleep any more then, or if it is to `get_up`. */
static bool is_woken(dlock_pending *p, bool get_up)
{
    wait_set *set = &p->lock->wait_set;
    pthread_mutex_lock(&set->lock);
    bool woken = dlock_wait_set_rise(set, &p->waiter, get_up);
    pthread_mutex_unlock(&set->lock);
    return woken;
}

/* Whatever the wake-up brought: so the whole lease has begun when it is decided. */
static void wake_up(dlock_pending *p)
{
    dlock_task_at(&p->task, (dlock_time){INT64_MAX});
    ask(p);
}

static void give_up(dlock_pending *p, bool cancelled)
{
    dlock_status status = dlock_attempt_give_up(&p->attempt, p->lock, cancelled);
    if (status == DLOCK_PENDING)
        ask(p);
    else
        conclude(p, status, NULL);
}

static void look_up(dlock_pending *p)
{
    bool cancelled = is_cancelled(p), over = dlock_passed(p->due);
    if (is_woken(p, cancelled || over)) {
        wake_up(p);
    } else if (cancelled || (over && p->due.us == p->attempt.deadline.us)) {
        dlock_task_at(&p->task, (dlock_time){INT64_MAX});
        give_up(p, cancelled);
    } else if (over) {
        ask(p);
    } else if (!dlock_task_at(&p->task, p->due)) {
        is_woken(p, true);
        conclude(p, DLOCK_NO_MEMORY, NULL);
    }
}

static void sleep_on(dlock_pending *p, const answer *a)
{
    p->due = dlock_lock_watch_sleep(&p->attempt, p->lock, &p->waiter, a);
    p->state = ASLEEP;
    look_up(p);
}

/* ---- its steps ------------------------------------------------------------------------------- */

static void run_acquisition(task *t)
{
    dlock_pending *p = (dlock_pending *)t;
    if (p->state == ASLEEP)
        look_up(p);
    else if (p->state == DECIDED || !atomic_load(&p->question->answered))
        return;
    else if (p->state == ASKING)
        take_answer(p);
    else
        conclude_leaving(p);
}

/* Under the wait set's mutex. */
static void notice_wake_up(waiter *w)
{
    dlock_task_notice((task *)((char *)w - offsetof(dlock_pending, waiter)));
}

static void notice_cancel(cancel_listener *l)
{
    dlock_task_notice((task *)((char *)l - offsetof(dlock_pending, cancel_listener)));
}

static void begin(dlock_pending *p, const dlock_wait *wait)
{
    dlock_attempt_begin(&p->attempt, wait);
    dlock_acquire_waiter(p->lock, wait, &p->waiter);
    p->waiter.on_wake = notice_wake_up;
    p->cancel = wait->cancel;
    p->since = dlock_now();
}

dlock_status dlock_acquire_start_told(dlock_lock *lock, const dlock_wait *wait,
                                      void (*told)(void *arg, dlock_pending *p), void *arg,
                                      dlock_pending **ret)
{
    static const dlock_wait no_wait;
    if (dlock_client_forked(lock->client))
        return DLOCK_FORKED;
    if (lock->kind->everywhere || lock->options.wait_replicas > 0)
        return DLOCK_INVALID;
    if (!wait)
        wait = &no_wait;
    dlock_pending *p = dlock_pending_new(lock->client, PENDING_ACQUISITION, run_acquisition);
    if (!p)
        return DLOCK_NO_MEMORY;
    p->lock = lock;
    dlock_lock_ref(lock);
    dlock_status status = dlock_acquire_begin(lock, wait, dlock_registry_nobody(), &p->hold);
    if (status != DLOCK_OK) {
        dlock_pending_free(p);
        return status;
    }
    if (p->hold->grant) { /* re-entered */
        dlock_pending_decide(p, DLOCK_OK);
        *ret = p;
        return DLOCK_OK;
    }
    begin(p, wait);
    question *q = p->question = new_question(p, &lock->kind->acquire);
    if (!q) {
        free(p->hold);
        dlock_pending_free(p);
        return DLOCK_NO_MEMORY;
    }
    *ret = p;
    p->told = told;
    p->told_arg = arg;
    dlock_lock_count(lock, waiting_now, 1);
    dlock_wait_set_enter(&lock->wait_set, &p->waiter);
    p->cancel_listener.fired = notice_cancel;
    if (p->cancel)
        dlock_cancel_listen(p->cancel, &p->cancel_listener);
    dlock_question_put(q);
    return DLOCK_OK;
}

dlock_status dlock_acquire_start(dlock_lock *lock, const dlock_wait *wait, dlock_pending **ret)
{
    return dlock_acquire_start_told(lock, wait, NULL, NULL, ret);
}

dlock_status dlock_acquire_finish(dlock_pending *p, dlock_hold **ret)
{
    dlock_hold *hold = p->hold; /* `p` may be gone, and a wrong one has none */
    dlock_status status = dlock_pending_finish(p, PENDING_ACQUISITION);
    if (status == DLOCK_OK)
        *ret = hold;
    return status;
}
