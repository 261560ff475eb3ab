/*
 * dlock_release(): the grant goes to the next in the cohort, or back to Redis; a release that Redis
 * does not answer is tried again in the background. In every case the hold is freed.
 */
#include "core/release.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/ask.h"
#include "core/client.h"
#include "core/cohort.h"
#include "core/lock_order.h"
#include "core/registry.h"
#include "core/retried_release.h"
#include "core/watchdog.h"

/* Passes the grant to the next in the cohort, whose thread lives: it is no orphan any more. */
static bool pass_on(grant *g)
{
    dlock_lock *lock = g->lock;
    if (!dlock_grant_alive(g))
        return false;
    if (atomic_exchange(&g->orphaned, false))
        dlock_watchdog_hurry(lock->client->watchdog, g);
    return dlock_cohort_pass(lock, g);
}

static void count(dlock_lock *lock, dlock_status status)
{
    if (status == DLOCK_OK)
        dlock_lock_count(lock, released, 1);
    else if (status == DLOCK_EXPIRED)
        dlock_lock_count(lock, expired, 1);
    else if (status == DLOCK_NOT_OWNER)
        dlock_lock_count(lock, not_owner, 1);
    else
        dlock_lock_count(lock, unknown, 1);
}

/* The last level of a hold is gone. Its reference to the grant is dropped, or goes to the next in
 * the cohort, or to the release. */
static grant_release end_hold(const dlock_hold *hold, bool may_pass)
{
    dlock_client *client = hold->lock->client;
    grant *g = hold->grant;
    grant_state state = (grant_state)atomic_load(&g->state);
    grant_release r = {.status = DLOCK_OK};
    if (state == GRANT_RELEASED || state == GRANT_UNSURE) {
        /* A guarded call has released it, and done the rest. */
        dlock_watchdog_remove(client->watchdog, g);
        r.status = state == GRANT_UNSURE ? DLOCK_UNKNOWN : DLOCK_OK;
        dlock_grant_unref(g);
    } else if (!may_pass || !pass_on(g)) {
        r.grant = g;
        r.was_ours = dlock_grant_end(g, GRANT_RELEASED);
        dlock_watchdog_remove(client->watchdog, g);
    }
    return r;
}

/* The hold is out of the registry. */
static grant_release begin(dlock_hold *hold, bool may_pass)
{
    dlock_lock *lock = hold->lock;
    dlock_lock_ref(lock); /* it may be the grant that keeps it */
    dlock_lock_time(lock, hold_us, hold->since);
    dlock_lock_count(lock, held_now, -1);
    if (lock->client->order)
        dlock_lock_order_released(hold);
    dlock_grant_set_holder(hold->grant, NULL);
    grant_release r = end_hold(hold, may_pass);
    if (!r.grant)
        count(lock, r.status);
    if (atomic_load(&hold->lost_fd) >= 0)
        close(atomic_load(&hold->lost_fd));
    free(hold);
    dlock_lock_unref(lock);
    return r;
}

grant_release dlock_release_begin(dlock_hold *hold)
{
    /* Asked before this level is given up: then the last level may free the hold at any moment. */
    dlock_status left = dlock_grant_alive(hold->grant) ? DLOCK_OK : DLOCK_EXPIRED;
    if (!dlock_registry_leave(hold->lock->client->registry, hold))
        return (grant_release){.status = left};
    return begin(hold, true);
}

bool dlock_release_begin_exchange(dlock_hold *hold, grant_release *ret)
{
    if (!dlock_registry_leave_last(hold->lock->client->registry, hold))
        return false;
    *ret = begin(hold, false);
    return true;
}

/* The grant's state says what we knew before; Redis has the last word. */
dlock_status dlock_release_end(grant_release *r, dlock_status status)
{
    grant *g = r->grant;
    dlock_lock *lock = g->lock;
    if (dlock_status_open(status))
        dlock_retried_releases_add(lock, g->token, g->lease_ms);
    if (atomic_load(&g->state) == GRANT_TAKEN) /* but if only the fence was, it had our token */
        status = DLOCK_NOT_OWNER;
    else if (!r->was_ours && status == DLOCK_OK)
        status = DLOCK_EXPIRED;
    if (r->was_ours && !g->apart)
        dlock_cohort_next(lock);
    count(lock, status);
    dlock_grant_unref(g);
    return status;
}

dlock_status dlock_release(dlock_hold *hold)
{
    if (dlock_client_forked(hold->lock->client))
        return DLOCK_FORKED;
    grant_release r = dlock_release_begin(hold);
    if (!r.grant)
        return r.status;
    return dlock_release_end(&r, dlock_ask_release(r.grant->lock, r.grant->token));
}
