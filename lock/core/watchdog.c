/*
 * The watchdog: one thread a client that has leases renewed and notices their end.
 *
 * It keeps all grants in a heap by the time of their next event: a renewal, or the end of validity.
 * It never waits for Redis: renewals go through a pipeline for each server, a quorum's through all
 * of them at once, and come back decided, when enough servers have confirmed or refused or none is
 * left to answer. Meanwhile the grant stays in the heap with its end. So a silent server costs
 * nobody who is not on it, and every loss is told on time, whether Redis can be reached or not.
 * A renewal that fails is tried again every RETRY_MS while the grant is valid.
 *
 * Renewal is by token and never creates a lock. A release that crosses a renewal is harmless: the
 * grant's state is RELEASED by then, and nothing that the watchdog learns changes that.
 */
#include "core/watchdog.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/client.h"
#include "core/cohort.h"
#include "core/retried_release.h"
#include "redis/pipeline.h"

#define RETRY_MS        50
#define PATIENCE_MIN_MS 100

/* A renewal under way. */
typedef struct renewal {
    pipeline_call call; /* first, so that the one is the other */
    watchdog *watchdog;
    grant *g;             /* (a reference) */
    dlock_time asked;     /* before any server was */
    struct renewal *next; /* in the list of those that are decided */
} renewal;

struct watchdog {
    dlock_client *client; /* (borrowed) */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows, up to pipeline */
    pthread_cond_t changed;
    timers events; /* of grants; each is a reference */
    dlock_time asleep_until;
    bool stop;
    renewal *decided;

    pipeline *pipeline;              /* the thread's alone: to the client's redis, ... */
    pipeline *of_quorum[QUORUM_MAX]; /* ... and to its quorum; NULL until needed */
};

/* ---- grants in the heap ---------------------------------------------------------------------- */

static grant *grant_of(timer *t)
{
    return (grant *)((char *)t - offsetof(grant, event));
}

/* Takes over the caller's reference. Out of memory: the grant is not watched; its validity by the
 * clock still ends on time. */
static void push(watchdog *w, grant *g, dlock_time due)
{
    if (!dlock_timers_set(&w->events, &g->event, due))
        dlock_grant_unref(g);
}

/* ---- what is due ----------------------------------------------------------------------------- */

/* A grant that is not taken up yet needs one renewal in any case. */
static bool renews(const grant *g)
{
    return (!g->claimed || g->lock->options.renew_ms > 0) && !atomic_load(&g->orphaned);
}

/* When its next event is due: in `ms`, or at the end of validity if that comes first. */
static dlock_time next_event(const grant *g, int64_t ms)
{
    dlock_time end = {atomic_load(&g->valid_until_us)};
    return renews(g) && !g->renewing ? dlock_sooner(dlock_in_ms(ms), end) : end;
}

/* The lease ends by itself, but max_hold cuts it short: Redis must hear of that. */
static void expire(grant *g)
{
    if (dlock_cohort_end(g, GRANT_EXPIRED) && dlock_passed(g->ends))
        dlock_retried_releases_add(g->lock, g->token);
    dlock_grant_unref(g);
}

/* ---- renewing -------------------------------------------------------------------------------- */

static void free_renewal(pipeline_call *call)
{
    renewal *r = (renewal *)call;
    dlock_grant_unref(r->g);
    free(r);
}

static void take_decided(pipeline_call *call)
{
    renewal *r = (renewal *)call;
    watchdog *w = r->watchdog;
    pthread_mutex_lock(&w->lock);
    r->next = w->decided;
    w->decided = r;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static renewal *new_renewal(watchdog *w, grant *g)
{
    const kind *how = g->lock->kind;
    renewal *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->watchdog = w;
    r->g = g;
    dlock_grant_ref(g);
    dlock_args_init(&r->call.args);
    r->call.keys = how->renew.args(g->lock, g->token, ENTRY_NONE, &r->call.args);
    r->call.script = how->renew.script;
    r->call.servers = how->everywhere ? w->client->options.quorum_len : 1;
    r->call.need = r->call.servers / 2 + 1;
    r->call.decided = take_decided;
    r->call.over = free_renewal;
    dlock_pipeline_call_init(&r->call);
    return r;
}

static void put_to(pipeline **to, dlock_redis *redis, renewal *r)
{
    if (!*to)
        *to = dlock_pipeline_new(redis);
    dlock_pipeline_put(*to, &r->call);
}

/* The limit of a question: io_ms, or a quarter of the lease, which a lost reply is not to cost. */
static int64_t patience_ms(const dlock_lock *lock)
{
    int64_t ms = lock->options.lease_ms / 4, io_ms = lock->client->options.io_ms;
    ms = ms > PATIENCE_MIN_MS ? ms : PATIENCE_MIN_MS;
    return ms < io_ms ? ms : io_ms;
}

/* Under the mutex, which is left meanwhile. */
static void start_renewal(watchdog *w, renewal *r)
{
    const dlock_client_options *o = &w->client->options;
    pthread_mutex_unlock(&w->lock);
    r->asked = dlock_now();
    r->call.until = dlock_in_ms(patience_ms(r->g->lock));
    if (r->g->lock->kind->everywhere) {
        for (int i = 0; i < o->quorum_len; i++)
            put_to(&w->of_quorum[i], o->quorum[i], r);
    } else {
        put_to(&w->pipeline, o->redis, r);
    }
    pthread_mutex_lock(&w->lock);
}

/* Under the mutex: has renewed what is due, and ends what is over. */
static void see_to_due(watchdog *w)
{
    timer *first;
    while ((first = dlock_timers_first(&w->events)) && dlock_passed(first->due)) {
        grant *g = grant_of(first);
        renewal *r = NULL;
        dlock_timers_unset(&w->events, first);
        if (atomic_load(&g->state) != GRANT_HELD) {
            dlock_grant_unref(g);
        } else if (!dlock_grant_alive(g)) {
            pthread_mutex_unlock(&w->lock);
            expire(g);
            pthread_mutex_lock(&w->lock);
        } else {
            if (renews(g) && !g->renewing)
                r = new_renewal(w, g);
            g->renewing = g->renewing || r;
            push(w, g, next_event(g, RETRY_MS));
        }
        if (r)
            start_renewal(w, r);
    }
}

/* Under the mutex. */
static void reschedule(watchdog *w, grant *g, int64_t ms)
{
    if (g->event.place == 0) /* ended, or given back */
        return;
    dlock_timers_unset(&w->events, &g->event);
    push(w, g, next_event(g, ms));
}

/* Whether it renewed the grant. What is over stays over. */
static bool renewed(watchdog *w, const renewal *r)
{
    bool good = r->call.yes >= r->call.need && dlock_grant_alive(r->g);
    dlock_stats *stats = &w->client->stats;
    dlock_client_count(w->client, good ? &stats->renewals : &stats->renewals_failed, 1);
    if (good)
        dlock_grant_confirm(r->g, r->asked, r->g->lock->options.lease_ms);
    else if (r->call.no >= r->call.need)
        dlock_cohort_end(r->g, GRANT_TAKEN);
    return good;
}

/* Under the mutex, which is left meanwhile. */
static void conclude(watchdog *w, renewal *r)
{
    grant *g = r->g;
    int64_t next_ms = g->lock->options.renew_ms;
    pthread_mutex_unlock(&w->lock);
    bool good = renewed(w, r);
    pthread_mutex_lock(&w->lock);
    if (!good && (next_ms <= 0 || next_ms > RETRY_MS))
        next_ms = RETRY_MS;
    g->claimed = g->claimed || good;
    g->renewing = false;
    reschedule(w, g, next_ms);
    pthread_mutex_unlock(&w->lock);
    dlock_pipeline_call_unref(&r->call);
    pthread_mutex_lock(&w->lock);
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void sleep_until_due(watchdog *w)
{
    const timer *first = dlock_timers_first(&w->events);
    w->asleep_until = dlock_in_ms(60000);
    if (first)
        w->asleep_until = dlock_sooner(first->due, w->asleep_until);
    dlock_cond_wait(&w->changed, &w->lock, w->asleep_until);
    w->asleep_until.us = 0;
}

static void *watch(void *arg)
{
    watchdog *w = arg;
    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        see_to_due(w);
        renewal *r = w->decided;
        if (r) {
            w->decided = r->next;
            conclude(w, r);
        } else if (!w->stop) { /* which may have been set while the mutex was left */
            sleep_until_due(w);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

watchdog *dlock_watchdog_new(dlock_client *client)
{
    watchdog *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->client = client;
    pthread_mutex_init(&w->lock, NULL);
    dlock_cond_init(&w->changed);
    if (pthread_create(&w->thread, NULL, watch, w) != 0) {
        free(w);
        return NULL;
    }
    return w;
}

static void end_pipelines(watchdog *w)
{
    dlock_pipeline_stop(w->pipeline);
    for (int i = 0; i < QUORUM_MAX; i++)
        dlock_pipeline_stop(w->of_quorum[i]);
    dlock_pipeline_free(w->pipeline);
    for (int i = 0; i < QUORUM_MAX; i++)
        dlock_pipeline_free(w->of_quorum[i]);
    while (w->decided) { /* all are by now */
        renewal *r = w->decided;
        w->decided = r->next;
        dlock_pipeline_call_unref(&r->call);
    }
}

void dlock_watchdog_free(watchdog *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    end_pipelines(w);
    for (timer *first; (first = dlock_timers_first(&w->events));) {
        dlock_timers_unset(&w->events, first);
        dlock_grant_unref(grant_of(first));
    }
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    dlock_timers_free(&w->events);
    free(w);
}

/* Under the mutex. */
static void wake_for(watchdog *w, const grant *g)
{
    if (g->event.place > 0 && g->event.due.us < w->asleep_until.us)
        pthread_cond_signal(&w->changed);
}

void dlock_watchdog_add(watchdog *w, grant *g, int64_t first_renewal_ms)
{
    dlock_grant_ref(g);
    pthread_mutex_lock(&w->lock);
    push(w, g, next_event(g, first_renewal_ms));
    wake_for(w, g);
    pthread_mutex_unlock(&w->lock);
}

void dlock_watchdog_hurry(watchdog *w, grant *g)
{
    pthread_mutex_lock(&w->lock);
    reschedule(w, g, 0);
    wake_for(w, g);
    pthread_mutex_unlock(&w->lock);
}

void dlock_watchdog_remove(watchdog *w, grant *g)
{
    pthread_mutex_lock(&w->lock);
    bool in_heap = g->event.place > 0;
    dlock_timers_unset(&w->events, &g->event);
    pthread_mutex_unlock(&w->lock);
    if (in_heap)
        dlock_grant_unref(g);
}
