/*
 * The wait set: this process's waiters for one lock that is held elsewhere, threads and pending
 * calls alike. The lock's watch (core/watch.h) wakes the waiter that a message or a heartbeat
 * names.
 *
 * A message without a name says that the lock is free. It wakes only the waiter that has waited
 * longest, because the others would not get it. If that waiter gets the lock, its release is the
 * next message. If it does not, somebody else has the lock, and that holder's release is the next
 * message. Only a waiter that leaves without an answer since the message must wake another one.
 */
#include "core/waiting.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/client.h"

/* ---- lists of waiters ------------------------------------------------------------------------ */

void dlock_waiter_append(waiter_list *list, waiter *w)
{
    w->next = NULL;
    w->prev = list->last;
    *(w->prev ? &w->prev->next : &list->first) = w;
    list->last = w;
}

void dlock_waiter_unlink(waiter_list *list, waiter *w)
{
    *(w->prev ? &w->prev->next : &list->first) = w->next;
    *(w->next ? &w->next->prev : &list->last) = w->prev;
}

/* ---- the wait set ---------------------------------------------------------------------------- */

void dlock_wait_set_enter(wait_set *set, waiter *w)
{
    pthread_mutex_lock(&set->lock);
    dlock_waiter_append(&set->waiters, w);
    pthread_mutex_unlock(&set->lock);
}

static void wake(waiter *w)
{
    w->woken = true;
    if (w->on_wake)
        w->on_wake(w);
    else
        dlock_sleeper_rouse(&w->place);
}

/* Chooses the first waiter that sleeps, unless one is chosen already and has yet to ask. If nobody
 * sleeps, the first one asks again: it may have asked before the lock was free. */
static void choose(wait_set *set)
{
    if (set->called)
        return;
    waiter *chosen = set->waiters.first;
    while (chosen && (!chosen->asleep || chosen->woken))
        chosen = chosen->next;
    if (!chosen)
        chosen = set->waiters.first;
    if (!chosen)
        return;
    chosen->chosen = true;
    set->called = chosen;
    wake(chosen);
}

void dlock_wait_set_leave(wait_set *set, waiter *w)
{
    pthread_mutex_lock(&set->lock);
    dlock_waiter_unlink(&set->waiters, w);
    if (set->called == w)
        set->called = NULL;
    if (w->chosen)
        choose(set);
    pthread_mutex_unlock(&set->lock);
}

bool dlock_wait_set_wake(wait_set *set, const char *token, const answer *given)
{
    pthread_mutex_lock(&set->lock);
    waiter *w = set->waiters.first;
    while (w && strcmp(w->token, token) != 0)
        w = w->next;
    if (w && given && given->fence > w->without_fence) {
        w->given = *given;
        w->given.without = w->without;
    }
    if (w)
        wake(w);
    pthread_mutex_unlock(&set->lock);
    return w;
}

bool dlock_wait_set_wake_shared(dlock_lock *lock, const char *token, const answer *given)
{
    bool found = dlock_wait_set_wake(&lock->wait_set, token, given);
    if (found)
        return true;
    dlock_client *client = lock->client;
    pthread_mutex_lock(&client->locks_lock);
    for (dlock_lock *other = *dlock_lock_bucket(lock); other && !found; other = other->next)
        if (other != lock && dlock_identity_same(&other->ids[0], &lock->ids[0]))
            found = dlock_wait_set_wake(&other->wait_set, token, given);
    pthread_mutex_unlock(&client->locks_lock);
    return found;
}

void dlock_wait_set_wake_one(wait_set *set)
{
    pthread_mutex_lock(&set->lock);
    choose(set);
    pthread_mutex_unlock(&set->lock);
}

void dlock_wait_set_without(wait_set *set, const char *token, dlock_time asked, uint64_t fence)
{
    pthread_mutex_lock(&set->lock);
    for (waiter *w = set->waiters.first; w; w = w->next) {
        if (w->without.us >= asked.us || strcmp(w->token, token) == 0)
            continue;
        w->without = asked;
        w->without_fence = fence;
    }
    pthread_mutex_unlock(&set->lock);
}

bool dlock_wait_set_rise(wait_set *set, waiter *w, bool get_up)
{
    bool woken = w->woken;
    w->asleep = !woken && !get_up;
    w->woken = false;
    if (set->called == w && woken)
        set->called = NULL;
    return woken;
}

bool dlock_wait_set_wait(dlock_lock *lock, waiter *w, const dlock_wait *wait, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    pthread_mutex_lock(&set->lock);
    w->asleep = true;
    while (!w->woken && !dlock_cancelled(wait) && !dlock_passed(until))
        dlock_sleeper_nap(&w->place, &set->lock, until);
    bool woken = dlock_wait_set_rise(set, w, true);
    pthread_mutex_unlock(&set->lock);
    return woken;
}

/* ---- cancellation ---------------------------------------------------------------------------- */

/* A waiter looks at `fired` under the mutex of whatever it sleeps on, before it sleeps; `fired` is
 * set before the listeners are called, who take that mutex to wake it. So none is missed. */
struct dlock_cancel {
    atomic_bool fired;
    pid_t pid;            /* in a child of fork() nobody listens, and the mutex may be locked */
    pthread_mutex_t lock; /* guards the list; held while its members are called */
    cancel_listener *first;
};

dlock_cancel *dlock_cancel_new(void)
{
    dlock_cancel *cancel = calloc(1, sizeof(*cancel));
    if (!cancel)
        return NULL;
    cancel->pid = getpid();
    pthread_mutex_init(&cancel->lock, NULL);
    return cancel;
}

void dlock_cancel_now(dlock_cancel *cancel)
{
    if (cancel->pid != getpid()) {
        atomic_store(&cancel->fired, true);
        return;
    }
    pthread_mutex_lock(&cancel->lock); /* before `fired` shows: then it may be freed */
    atomic_store(&cancel->fired, true);
    for (cancel_listener *l = cancel->first; l; l = l->next)
        l->fired(l);
    pthread_mutex_unlock(&cancel->lock);
}

void dlock_cancel_free(dlock_cancel *cancel)
{
    if (cancel)
        pthread_mutex_destroy(&cancel->lock);
    free(cancel);
}

void dlock_cancel_listen(dlock_cancel *cancel, cancel_listener *l)
{
    pthread_mutex_lock(&cancel->lock);
    l->before = &cancel->first;
    l->next = cancel->first;
    if (l->next)
        l->next->before = &l->next;
    cancel->first = l;
    pthread_mutex_unlock(&cancel->lock);
}

void dlock_cancel_forget(dlock_cancel *cancel, cancel_listener *l)
{
    pthread_mutex_lock(&cancel->lock);
    *l->before = l->next;
    if (l->next)
        l->next->before = l->before;
    pthread_mutex_unlock(&cancel->lock);
}

bool dlock_cancelled(const dlock_wait *wait)
{
    return wait->cancel && atomic_load(&wait->cancel->fired);
}
