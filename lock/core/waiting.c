/*
 * The wait set: this process's threads that wait for one lock which is held elsewhere.
 *
 * One of them is the leader: it listens on the set's connection for all and wakes whom a message
 * names. When it is woken itself it leaves, and the next one in the set leads. So there is one
 * blocked connection a lock, however many threads wait. Locks whose kind does not listen have no
 * leader: their waiters just sleep.
 *
 * A message that names nobody says that the lock is free, and wakes one: whoever has waited
 * longest. All the others would ask in vain. When the one that asks gets the lock, its release is
 * the next message; when it does not, somebody else has the lock, and theirs is. Only one that
 * leaves without an answer from after the message has to wake another in its place.
 */
#include "core/waiting.h"

#include <stdlib.h>
#include <string.h>

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
        pthread_cond_signal(&w->cond);
}

/* The first who sleeps; nobody, if one is chosen already and has yet to ask. One who is just asking
 * may have done so before the lock was free, and asks again if there is nobody else. */
static void choose(wait_set *set)
{
    waiter *chosen = NULL;
    for (waiter *w = set->waiters.first; w; w = w->next) {
        if (w->chosen && w->woken)
            return;
        if (!chosen && w->asleep && !w->woken)
            chosen = w;
    }
    if (!chosen)
        chosen = set->waiters.first;
    if (!chosen)
        return;
    chosen->chosen = true;
    wake(chosen);
}

void dlock_wait_set_leave(wait_set *set, waiter *w)
{
    pthread_mutex_lock(&set->lock);
    dlock_waiter_unlink(&set->waiters, w);
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
    for (dlock_lock *other = client->locks; other && !found; other = other->next)
        if (other != lock && strcmp(other->wake, lock->wake) == 0)
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

/* In a cluster the lock may be on another server by now, and this one have died in silence. */
static bool leads_to_lock(const dlock_lock *lock, const dlock_redis_conn *conn)
{
    int server = dlock_redis_server_of(lock->client->options.redis, lock->names[0]);
    return server < 0 || server == dlock_redis_conn_server(conn);
}

/* Called by the leader without the lock. A message may have been lost with a connection: the first
 * that listen() does on a new one is to make up for it. False: there is no connection, or it can
 * not listen; not to be tried again at once. */
static bool listen_once(dlock_lock *lock, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    if (set->conn && (dlock_redis_broken(set->conn) || !leads_to_lock(lock, set->conn))) {
        dlock_redis_hang_up(set->conn);
        set->conn = NULL;
    }
    if (!set->conn) {
        dlock_time deadline = dlock_in_ms(lock->client->options.io_ms);
        set->subscribed = set->listened = false;
        set->beat_at = (dlock_time){0};
        if (dlock_redis_dial(lock->client->options.redis, lock->names[0], deadline, &set->conn) !=
            DLOCK_REDIS_OK)
            return false;
    }
    bool listened = lock->kind->listen(lock, until);
    return listened || (set->listened && dlock_redis_broken(set->conn));
}

static void lead(dlock_lock *lock, waiter *w, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    set->leader = w;
    while (!w->woken && !dlock_passed(until)) {
        pthread_mutex_unlock(&set->lock);
        bool listened = listen_once(lock, until);
        dlock_time tick = dlock_in_ms(lock->client->options.recheck_ms);
        pthread_mutex_lock(&set->lock);
        if (!listened && !w->woken)
            dlock_cond_wait(&w->cond, &set->lock, dlock_sooner(until, tick));
    }
    set->leader = NULL;
}

/* Whoever sleeps without a leader is woken to lead. One who is just asking Redis would not hear it
 * and may go without coming back to sleep. */
static void find_leader(wait_set *set)
{
    for (waiter *w = set->waiters.first; w && !set->leader; w = w->next) {
        if (w->asleep && !w->woken && !w->on_wake) {
            pthread_cond_signal(&w->cond);
            return;
        }
    }
}

void dlock_wait_set_wait(dlock_lock *lock, waiter *w, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    bool listens = lock->kind->listen && lock->options.poll_ms == 0;
    pthread_mutex_lock(&set->lock);
    w->asleep = true;
    while (!w->woken && !dlock_passed(until)) {
        if (listens && !set->leader)
            lead(lock, w, until);
        else
            dlock_cond_wait(&w->cond, &set->lock, until);
    }
    w->asleep = w->woken = false;
    if (listens)
        find_leader(set);
    pthread_mutex_unlock(&set->lock);
}

/* ---- cancellation ---------------------------------------------------------------------------- */

struct dlock_cancel {
    atomic_bool fired;
};

dlock_cancel *dlock_cancel_new(void)
{
    return calloc(1, sizeof(dlock_cancel));
}

void dlock_cancel_now(dlock_cancel *cancel)
{
    atomic_store(&cancel->fired, true);
}

void dlock_cancel_free(dlock_cancel *cancel)
{
    free(cancel);
}

bool dlock_cancelled(const dlock_wait *wait)
{
    return wait->cancel && atomic_load(&wait->cancel->fired);
}
