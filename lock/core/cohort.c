/*
 * The line of a cohort, and how long a grant is passed along it.
 *
 * The budget is `cohort_max` hand-offs and `cohort_ms` milliseconds, whether others wait in Redis
 * or not: this process does not hear of waiters that arrive there meanwhile. A grant is never
 * passed on near the end of its validity or max_hold, nor after a guarded script that got no reply:
 * Redis would take that script for the next holder's.
 */
#include "core/cohort.h"

#include "core/client.h"
#include "core/waiting.h"

dlock_status dlock_cohort_enter(dlock_lock *lock, waiter *w, const dlock_wait *wait,
                                dlock_time until)
{
    cohort *c = &lock->cohort;
    dlock_status status = DLOCK_OK;
    pthread_mutex_lock(&c->lock);
    if (!c->busy) {
        c->busy = true;
        pthread_mutex_unlock(&c->lock);
        return DLOCK_OK;
    }
    dlock_waiter_append(&c->line, w);
    while (!dlock_sleeper_ended(&w->place)) {
        status = dlock_cancelled(wait) ? DLOCK_CANCELLED
                 : dlock_passed(until) ? DLOCK_BUSY
                                       : DLOCK_OK;
        if (status != DLOCK_OK) {
            dlock_waiter_unlink(&c->line, w);
            break;
        }
        dlock_sleeper_ready(&w->place);
        pthread_mutex_unlock(&c->lock);
        dlock_sleeper_wait(&w->place, until);
        if (dlock_sleeper_ended(&w->place)) /* the lock would only delay it */
            return DLOCK_OK;
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

static bool budget_left(const grant *g)
{
    const dlock_options *o = &g->lock->options;
    int64_t used_us = dlock_now().us - g->since.us;
    if (dlock_grant_left_ms(g) <= dlock_lock_claim_ms(g->lock) / 4 || dlock_passed(g->ends) ||
        atomic_load(&g->doubtful))
        return false;
    return g->passed < o->cohort_max && used_us < o->cohort_ms * 1000;
}

/* Whoever wants another lease has to ask Redis. */
static bool may_pass(const cohort *c, const grant *g)
{
    return c->line.first && c->line.first->lease_ms == g->lease_ms;
}

static waiter *take_first(cohort *c)
{
    waiter *w = c->line.first;
    if (w)
        dlock_waiter_unlink(&c->line, w);
    return w;
}

bool dlock_cohort_pass(dlock_lock *lock, grant *g)
{
    cohort *c = &lock->cohort;
    if (lock->options.cohort_max == 0 || g->apart || !budget_left(g))
        return false;
    pthread_mutex_lock(&c->lock);
    waiter *w = may_pass(c, g) ? take_first(c) : NULL;
    if (w) {
        g->passed++;
        dlock_grant_set_holder(g, NULL);
        w->handed = g;
        dlock_sleeper_end(&w->place);
    }
    pthread_mutex_unlock(&c->lock);
    return w;
}

void dlock_cohort_next(dlock_lock *lock)
{
    cohort *c = &lock->cohort;
    if (lock->options.cohort_max == 0)
        return;
    pthread_mutex_lock(&c->lock);
    waiter *w = take_first(c);
    if (w)
        dlock_sleeper_end(&w->place);
    else
        c->busy = false;
    pthread_mutex_unlock(&c->lock);
}

bool dlock_cohort_end(grant *g, grant_state to)
{
    bool changed = dlock_grant_end(g, to);
    if (changed && !g->apart)
        dlock_cohort_next(g->lock);
    return changed;
}
