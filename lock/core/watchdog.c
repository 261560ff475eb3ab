/*
 * The watchdog: one thread per client that renews leases and notices their end.
 *
 * It keeps all grants in a heap by the time of their next event: a renewal, or the end of validity.
 * It never waits for Redis: a renewal under way comes back when it is decided (renewal.c), and
 * meanwhile the grant is in the heap with the end of its validity. So a silent server affects only
 * its own locks, and every loss is reported on time, even if Redis can not be reached. A renewal
 * that fails is tried again every RETRY_MS while the grant is valid.
 */
#include "core/watchdog.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/cohort.h"
#include "core/renewal.h"
#include "core/retried_release.h"
#include "redis/thread.h"

#define RETRY_MS 50

struct watchdog {
    pthread_t thread;
    renewals renewals; /* its mutex guards what follows, and the fields of grants that are ours */
    timers events;     /* of grants; each is a reference */
    dlock_time asleep_until;
    dlock_time look_at; /* the thread wakes then, even if the grant that asked for it is gone */
    bool stop;
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
    return (!g->claimed || g->renew_ms > 0) && !atomic_load(&g->orphaned);
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
        dlock_retried_releases_add(g->lock, g->token, g->lease_ms);
}

/* Under the mutex. */
static void reschedule(watchdog *w, grant *g, int64_t ms)
{
    if (g->event.place == 0) /* ended, or given back */
        return;
    dlock_timers_unset(&w->events, &g->event);
    push(w, g, next_event(g, ms));
}

/* NULL: out of memory; it is tried again. */
static renewal *start_renewal(watchdog *w, grant *g)
{
    renewal *r = dlock_renewal_start(&w->renewals, g);
    if (!r) {
        pthread_mutex_lock(&w->renewals.lock);
        g->renewing = false;
        reschedule(w, g, RETRY_MS);
        pthread_mutex_unlock(&w->renewals.lock);
    }
    return r;
}

/* Renews what is due, and ends what is over. Under the mutex, which it releases meanwhile. */
static void see_to_due(watchdog *w)
{
    timer *first;
    while ((first = dlock_timers_first(&w->events)) && dlock_passed(first->due)) {
        grant *g = grant_of(first); /* with the heap's reference */
        bool held = atomic_load(&g->state) == GRANT_HELD, alive = dlock_grant_alive(g);
        bool renew = held && alive && renews(g) && !g->renewing;
        dlock_timers_unset(&w->events, first);
        g->renewing = g->renewing || renew;
        if (held && alive) {
            dlock_grant_ref(g);
            push(w, g, next_event(g, RETRY_MS));
        }
        pthread_mutex_unlock(&w->renewals.lock);
        if (renew)
            dlock_renewal_unref(start_renewal(w, g));
        if (held && !alive)
            expire(g);
        dlock_grant_unref(g);
        pthread_mutex_lock(&w->renewals.lock);
    }
}

/* Under the mutex. */
static void wake_for(watchdog *w, const grant *g)
{
    if (g->event.place > 0 && g->event.due.us < w->asleep_until.us) {
        w->look_at = g->event.due;
        pthread_cond_signal(&w->renewals.changed);
    }
}

static void conclude(watchdog *w, renewal *r)
{
    grant *g = dlock_renewal_grant(r);
    int64_t next_ms = g->renew_ms;
    bool good = dlock_renewal_conclude(r);
    pthread_mutex_lock(&w->renewals.lock);
    if (!good && (next_ms <= 0 || next_ms > RETRY_MS))
        next_ms = RETRY_MS;
    else if (g->lacks && next_ms > 4 * RETRY_MS) /* one more server may fail before it heals */
        next_ms /= 4;
    g->claimed = g->claimed || good;
    g->renewing = false;
    reschedule(w, g, next_ms);
    wake_for(w, g);
    pthread_mutex_unlock(&w->renewals.lock);
    dlock_renewal_unref(r);
}

static void conclude_granted(renewals *all, renewal *r)
{
    conclude((watchdog *)((char *)all - offsetof(watchdog, renewals)), r);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Not past `look_at`: holds shorter than a lease, as most are, wake the thread once a lease. */
static void sleep_until_due(watchdog *w)
{
    const timer *first = dlock_timers_first(&w->events);
    w->asleep_until = dlock_in_ms(60000);
    if (first)
        w->asleep_until = dlock_sooner(first->due, w->asleep_until);
    if (!dlock_passed(w->look_at))
        w->asleep_until = dlock_sooner(w->look_at, w->asleep_until);
    dlock_cond_wait(&w->renewals.changed, &w->renewals.lock, w->asleep_until);
    w->asleep_until.us = 0;
}

static void *watch(void *arg)
{
    watchdog *w = arg;
    pthread_mutex_lock(&w->renewals.lock);
    while (!w->stop) {
        see_to_due(w);
        renewal *r = dlock_renewals_take(&w->renewals);
        if (r) {
            pthread_mutex_unlock(&w->renewals.lock);
            conclude(w, r);
            pthread_mutex_lock(&w->renewals.lock);
        } else if (!w->stop) { /* it may have been set while the mutex was released */
            sleep_until_due(w);
        }
    }
    pthread_mutex_unlock(&w->renewals.lock);
    return NULL;
}

watchdog *dlock_watchdog_new(dlock_client *client)
{
    watchdog *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    dlock_renewals_init(&w->renewals, client, conclude_granted);
    if (!dlock_thread_start(&w->thread, watch, w)) {
        dlock_renewals_free(&w->renewals);
        free(w);
        return NULL;
    }
    return w;
}

void dlock_watchdog_free(watchdog *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->renewals.lock);
    w->stop = true;
    pthread_cond_signal(&w->renewals.changed);
    pthread_mutex_unlock(&w->renewals.lock);
    pthread_join(w->thread, NULL);
    dlock_renewals_free(&w->renewals);
    for (timer *first; (first = dlock_timers_first(&w->events));) {
        dlock_timers_unset(&w->events, first);
        dlock_grant_unref(grant_of(first));
    }
    dlock_timers_free(&w->events);
    free(w);
}

void dlock_watchdog_add(watchdog *w, grant *g, int64_t first_renewal_ms)
{
    dlock_grant_ref(g);
    pthread_mutex_lock(&w->renewals.lock);
    push(w, g, next_event(g, first_renewal_ms));
    wake_for(w, g);
    pthread_mutex_unlock(&w->renewals.lock);
}

void dlock_watchdog_hurry(watchdog *w, grant *g)
{
    pthread_mutex_lock(&w->renewals.lock);
    reschedule(w, g, 0);
    wake_for(w, g);
    pthread_mutex_unlock(&w->renewals.lock);
}

void dlock_watchdog_remove(watchdog *w, grant *g)
{
    pthread_mutex_lock(&w->renewals.lock);
    bool in_heap = g->event.place > 0;
    dlock_timers_unset(&w->events, &g->event);
    pthread_mutex_unlock(&w->renewals.lock);
    if (in_heap)
        dlock_grant_unref(g);
}

bool dlock_watchdog_extend(watchdog *w, grant *g)
{
    pthread_mutex_lock(&w->renewals.lock);
    g->renewing = true;
    pthread_mutex_unlock(&w->renewals.lock);
    renewal *r = start_renewal(w, g);
    bool written = dlock_renewal_is_written(r);
    dlock_renewal_unref(r);
    return written;
}
