/*
 * The workers of a client: threads that run whatever blocks, for programs with an event loop.
 *
 * Why threads. A call without a thread is its blocking form cut where it waits, as acquisition.c
 * is. That pays for what thousands do at once. All else that blocks does so for a round trip or is
 * rare, and a thread can do it as it stands, several steps in a row as well.
 *
 * A worker is started when more calls are in line than workers are idle. It ends when it has been
 * idle for LINGER_MS, and joins the one that has ended before it. So the client's end joins the
 * last one, and with it all.
 */
#include "pending/pending.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/client.h"
#include "core/registry.h"
#include "redis/thread.h"

enum { WORKERS_MAX = 32 };

#define LINGER_MS 1000

typedef struct workers {
    pthread_mutex_t lock; /* guards the rest; no other is taken under it */
    pthread_cond_t changed;
    waiter_list line; /* of calls that have not begun; each is a reference */
    int in_line, threads, idle;
    bool stop, any_ended;
    pthread_t last_ended; /* not joined yet, if any_ended */
} workers;

/* ---- a worker -------------------------------------------------------------------------------- */

static void leave_line(workers *w, dlock_pending *p)
{
    dlock_waiter_unlink(&w->line, &p->waiter);
    p->in_line = false;
    w->in_line--;
}

/* With the line's reference. NULL: the worker is to end. Under the mutex. */
static dlock_pending *next_call(workers *w)
{
    dlock_time until = dlock_in_ms(LINGER_MS);
    while (!w->line.first && !w->stop && !dlock_passed(until))
        dlock_cond_wait(&w->changed, &w->lock, until);
    if (!w->line.first)
        return NULL;
    dlock_pending *p = (dlock_pending *)((char *)w->line.first - offsetof(dlock_pending, waiter));
    leave_line(w, p);
    return p;
}

/* What a call acquires is its own, and not the next one's, which may have the same thread. */
static void run(dlock_pending *p)
{
    dlock_registry_be_nobody();
    dlock_status status = p->call(p->arg);
    if (status == DLOCK_PENDING || status == DLOCK_FORKED) /* it would not look like its end */
        status = DLOCK_INVALID;
    dlock_pending_decide(p, status);
    dlock_task_unref(&p->task);
}

static void *work(void *arg)
{
    workers *w = arg;
    pthread_mutex_lock(&w->lock);
    for (dlock_pending *p; (p = next_call(w));) {
        w->idle--;
        pthread_mutex_unlock(&w->lock);
        run(p);
        pthread_mutex_lock(&w->lock);
        w->idle++;
    }
    bool joins = w->any_ended;
    pthread_t before = w->last_ended;
    w->any_ended = true;
    w->last_ended = pthread_self();
    w->idle--;
    w->threads--;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (joins)
        pthread_join(before, NULL);
    return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void end(workers *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->changed);
    while (w->threads > 0)
        dlock_cond_wait(&w->changed, &w->lock, dlock_in_ms(60000));
    pthread_mutex_unlock(&w->lock);
    if (w->any_ended)
        pthread_join(w->last_ended, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* NULL: out of memory. */
static workers *workers_of(dlock_client *client)
{
    pthread_mutex_lock(&client->locks_lock);
    if (!client->workers && (client->workers = calloc(1, sizeof(workers)))) {
        pthread_mutex_init(&client->workers->lock, NULL);
        dlock_cond_init(&client->workers->changed);
        client->end_workers = end;
    }
    workers *w = client->workers;
    pthread_mutex_unlock(&client->locks_lock);
    return w;
}

/* False: there is no thread for it. One that is busy will do, later. */
static bool enter_line(workers *w, dlock_pending *p)
{
    pthread_t thread;
    pthread_mutex_lock(&w->lock);
    if (w->in_line >= w->idle && w->threads < WORKERS_MAX && dlock_thread_start(&thread, work, w)) {
        w->threads++;
        w->idle++;
    }
    bool can = w->threads > 0;
    if (can) {
        dlock_task_ref(&p->task);
        dlock_waiter_append(&w->line, &p->waiter);
        p->in_line = true;
        w->in_line++;
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return can;
}

/* ---- the public calls ------------------------------------------------------------------------ */

dlock_status dlock_call_start(dlock_client *client, dlock_status (*call)(void *arg), void *arg,
                              dlock_pending **ret)
{
    if (dlock_client_forked(client))
        return DLOCK_FORKED;
    workers *w = workers_of(client);
    dlock_pending *p = w ? dlock_pending_new(client, PENDING_CALL, NULL) : NULL;
    if (!p)
        return DLOCK_NO_MEMORY;
    p->call = call;
    p->arg = arg;
    if (!enter_line(w, p)) {
        dlock_pending_free(p);
        return DLOCK_NO_MEMORY;
    }
    *ret = p;
    return DLOCK_OK;
}

dlock_status dlock_call_finish(dlock_pending *p)
{
    return dlock_pending_finish(p, PENDING_CALL);
}

void dlock_call_cancel(dlock_pending *p)
{
    workers *w = p->client->workers;
    pthread_mutex_lock(&w->lock);
    bool waits = p->in_line;
    if (waits)
        leave_line(w, p);
    pthread_mutex_unlock(&w->lock);
    if (!waits)
        return;
    dlock_pending_decide(p, DLOCK_CANCELLED);
    dlock_task_unref(&p->task);
}
