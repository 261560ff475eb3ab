/*
 * dlock_release(): the grant goes to the next in the cohort, or back to Redis; a release that Redis
 * does not answer is tried again in the background. In every case the hold is freed.
 */
#include <stdlib.h>
#include <unistd.h>

#include "core/ask.h"
#include "core/client.h"
#include "core/cohort.h"
#include "core/lock_order.h"
#include "core/registry.h"
#include "core/retried_release.h"
#include "core/status.h"
#include "core/watchdog.h"

/* Gives a grant back. Its state says what we knew before; Redis has the last word. */
static dlock_status give_back(grant *g)
{
    dlock_lock *lock = g->lock;
    bool was_ours = dlock_grant_end(g, GRANT_RELEASED);
    grant_state state = (grant_state)atomic_load(&g->state);
    dlock_watchdog_remove(lock->client->watchdog, g);
    dlock_status status = dlock_ask_release(lock, g->token);
    if (dlock_status_open(status))
        dlock_retried_releases_add(lock, g->token);
    if (state == GRANT_TAKEN) /* but if only the fence was, the lock still had our token */
        return DLOCK_NOT_OWNER;
    if (was_ours)
        dlock_cohort_next(lock);
    return status == DLOCK_OK && !was_ours ? DLOCK_EXPIRED : status;
}

/* To the next in the cohort, whose thread lives. */
static bool pass_on(grant *g)
{
    dlock_lock *lock = g->lock;
    if (!dlock_grant_alive(g))
        return false;
    if (atomic_exchange(&g->orphaned, false))
        dlock_watchdog_hurry(lock->client->watchdog, g);
    return dlock_cohort_pass(lock, g);
}

/* The last level of a hold is gone; its reference to the grant goes with it, or on to the next. */
static dlock_status end_hold(const dlock_hold *hold)
{
    dlock_lock *lock = hold->lock;
    grant *g = hold->grant;
    grant_state state = (grant_state)atomic_load(&g->state);
    dlock_status status = DLOCK_OK;
    if (state == GRANT_RELEASED || state == GRANT_UNSURE) {
        /* By a guarded call, which has seen to the rest. */
        dlock_watchdog_remove(lock->client->watchdog, g);
        status = state == GRANT_UNSURE ? DLOCK_UNKNOWN : DLOCK_OK;
    } else if (pass_on(g)) {
        return DLOCK_OK;
    } else {
        status = give_back(g);
    }
    dlock_grant_unref(g);
    return status;
}

static void count(dlock_client *client, dlock_status status)
{
    if (status == DLOCK_OK)
        dlock_client_count(client, &client->stats.released, 1);
    else if (status == DLOCK_EXPIRED)
        dlock_client_count(client, &client->stats.expired, 1);
    else if (status == DLOCK_NOT_OWNER)
        dlock_client_count(client, &client->stats.not_owner, 1);
    else
        dlock_client_count(client, &client->stats.unknown, 1);
}

dlock_status dlock_release(dlock_hold *hold)
{
    dlock_client *client = hold->lock->client;
    if (dlock_client_forked(client))
        return DLOCK_FORKED;
    if (!dlock_registry_leave(client->registry, hold))
        return dlock_grant_alive(hold->grant) ? DLOCK_OK : DLOCK_EXPIRED;
    dlock_client_time(client, &client->stats.hold_us, hold->since);
    dlock_client_count(client, &client->stats.held_now, -1);
    dlock_lock_order_released(hold);
    dlock_grant_set_holder(hold->grant, NULL);
    dlock_status status = end_hold(hold);
    count(client, status);
    if (atomic_load(&hold->lost_fd) >= 0)
        close(atomic_load(&hold->lost_fd));
    free(hold);
    return status;
}
