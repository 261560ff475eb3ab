/*
 * The room where this process's threads wait for one lock that is held elsewhere.
 *
 * One of them is the leader: it listens on the room's connection for all and wakes whom a message
 * names. When it is woken itself it leaves, and the next one in the room leads. So there is one
 * blocked connection a lock, however many threads wait. Locks whose kind does not listen have no
 * leader: their waiters just sleep.
 *
 * A message that names nobody says that the lock is free, and wakes one: whoever has waited
 * longest. All the others would ask in vain. When the one that asks gets the lock, its release is
 * the next message; when it does not, somebody else has the lock, and theirs is. Only one that
 * leaves without an answer from after the message has to wake another in its place.
 */
#include <string.h>

#include "core/internal.h"

/* ---- one waiter ------------------------------------------------------------------------------ */

void waiter_init(waiter *w)
{
    dlock_cond_init(&w->cond);
}

void waiter_destroy(waiter *w)
{
    pthread_cond_destroy(&w->cond);
}

void waiter_sleep(waiter *w, pthread_mutex_t *lock, dlock_time until)
{
    dlock_cond_wait(&w->cond, lock, until);
}

void waiter_append(waiter **first, waiter **last, waiter *w)
{
    w->next = NULL;
    w->prev = *last;
    if (*last)
        (*last)->next = w;
    else
        *first = w;
    *last = w;
}

void waiter_unlink(waiter **first, waiter **last, waiter *w)
{
    *(w->prev ? &w->prev->next : first) = w->next;
    *(w->next ? &w->next->prev : last) = w->prev;
}

/* ---- the room -------------------------------------------------------------------------------- */

void room_enter(room *r, waiter *w)
{
    pthread_mutex_lock(&r->lock);
    waiter_append(&r->first, &r->last, w);
    pthread_mutex_unlock(&r->lock);
}

static void wake(waiter *w)
{
    w->woken = true;
    pthread_cond_signal(&w->cond);
}

/* The first who sleeps; nobody, if one is chosen already and has yet to ask. One who is just asking
 * may have done so before the lock was free, and asks again if there is nobody else. */
static void choose(room *r)
{
    waiter *chosen = NULL;
    for (waiter *w = r->first; w; w = w->next) {
        if (w->chosen && w->woken)
            return;
        if (!chosen && w->asleep && !w->woken)
            chosen = w;
    }
    if (!chosen)
        chosen = r->first;
    if (!chosen)
        return;
    chosen->chosen = true;
    wake(chosen);
}

void room_leave(room *r, waiter *w)
{
    pthread_mutex_lock(&r->lock);
    waiter_unlink(&r->first, &r->last, w);
    if (w->chosen)
        choose(r);
    pthread_mutex_unlock(&r->lock);
}

bool room_wake(room *r, const char *token, const answer *given)
{
    pthread_mutex_lock(&r->lock);
    waiter *w = r->first;
    while (w && strcmp(w->token, token) != 0)
        w = w->next;
    if (w && given)
        w->given = *given;
    if (w)
        wake(w);
    pthread_mutex_unlock(&r->lock);
    return w;
}

void room_wake_one(room *r)
{
    pthread_mutex_lock(&r->lock);
    choose(r);
    pthread_mutex_unlock(&r->lock);
}

void room_without(room *r, const char *token, dlock_time asked, uint64_t fence)
{
    pthread_mutex_lock(&r->lock);
    for (waiter *w = r->first; w; w = w->next) {
        if (w->without.us >= asked.us || strcmp(w->token, token) == 0)
            continue;
        w->without = asked;
        w->without_fence = fence;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Called by the leader without the lock. A message may have been lost with a connection: the first
 * that listen() does on a new one is to make up for it. False: there is no connection, or it can
 * not listen; not to be tried again at once. */
static bool listen_once(dlock_lock *lock, dlock_time until)
{
    room *r = &lock->room;
    if (r->conn && dlock_redis_broken(r->conn)) {
        dlock_redis_hang_up(r->conn);
        r->conn = NULL;
    }
    if (!r->conn) {
        dlock_time deadline = dlock_in_ms(lock->client->options.io_ms);
        r->subscribed = r->listened = false;
        r->beat_at = (dlock_time){0};
        if (dlock_redis_dial(lock->client->options.redis, lock->names[0], deadline, &r->conn) !=
            DLOCK_REDIS_OK)
            return false;
    }
    bool listened = lock->kind->listen(lock, until);
    return listened || (r->listened && dlock_redis_broken(r->conn));
}

static void lead(dlock_lock *lock, waiter *w, dlock_time until)
{
    room *r = &lock->room;
    r->leader = w;
    while (!w->woken && !dlock_passed(until)) {
        pthread_mutex_unlock(&r->lock);
        bool listened = listen_once(lock, until);
        dlock_time tick = dlock_in_ms(lock->client->options.recheck_ms);
        pthread_mutex_lock(&r->lock);
        if (!listened && !w->woken)
            waiter_sleep(w, &r->lock, dlock_sooner(until, tick));
    }
    r->leader = NULL;
}

/* Whoever sleeps without a leader is woken to lead. One who is just asking Redis would not hear it
 * and may go without coming back to sleep. */
static void find_leader(room *r)
{
    for (waiter *w = r->first; w && !r->leader; w = w->next) {
        if (w->asleep && !w->woken) {
            pthread_cond_signal(&w->cond);
            return;
        }
    }
}

void room_wait(dlock_lock *lock, waiter *w, dlock_time until)
{
    room *r = &lock->room;
    bool listens = lock->kind->listen && lock->options.poll_ms == 0;
    pthread_mutex_lock(&r->lock);
    w->asleep = true;
    while (!w->woken && !dlock_passed(until)) {
        if (listens && !r->leader)
            lead(lock, w, until);
        else
            waiter_sleep(w, &r->lock, until);
    }
    w->asleep = w->woken = false;
    if (listens)
        find_leader(r);
    pthread_mutex_unlock(&r->lock);
}
