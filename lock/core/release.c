/* dlock_release(): to the next in the cohort, or to Redis; what Redis leaves open is settled later.
 */
#include <stdlib.h>
#include <unistd.h>

#include "core/internal.h"

/* Gives a grant back. Its state says what we knew before; Redis has the last word. */
static dlock_status give_back(grant *g)
{
    dlock_lock *lock = g->lock;
    bool was_ours = grant_end(g, GRANT_RELEASED);
    grant_state state = (grant_state)atomic_load(&g->state);
    watchdog_remove(lock->client->watchdog, g);
    dlock_status status = lock->kind->release(lock, g->token);
    if (status == DLOCK_UNAVAILABLE || status == DLOCK_UNKNOWN)
        settle_later(lock, g->token);
    if (state == GRANT_TAKEN) /* but if only the fence was, the lock still had our token */
        return DLOCK_NOT_OWNER;
    if (was_ours)
        cohort_next(lock);
    return status == DLOCK_OK && !was_ours ? DLOCK_EXPIRED : status;
}

static void count(dlock_client *client, dlock_status status)
{
    if (status == DLOCK_OK)
        STAT(client, released, 1);
    else if (status == DLOCK_EXPIRED)
        STAT(client, expired, 1);
    else if (status == DLOCK_NOT_OWNER)
        STAT(client, not_owner, 1);
    else
        STAT(client, unknown, 1);
}

dlock_status dlock_release(dlock_hold *hold)
{
    dlock_lock *lock = hold->lock;
    dlock_client *client = lock->client;
    if (client_forked(client))
        return DLOCK_FORKED;
    if (!registry_leave(hold))
        return grant_alive(hold->grant) ? DLOCK_OK : DLOCK_EXPIRED;
    grant *g = hold->grant;
    dlock_status status = DLOCK_OK;
    stats_time(client, &client->stats.hold_us, hold->since);
    STAT(client, held_now, -1);
    order_released(hold);
    grant_set_holder(g, NULL);
    if (hold->released_by_guard) {
        watchdog_remove(client->watchdog, g);
        cohort_next(lock);
        grant_unref(g);
    } else if (!(grant_alive(g) && cohort_pass(lock, g))) {
        status = give_back(g);
        grant_unref(g);
    }
    count(client, status);
    if (atomic_load(&hold->lost_fd) >= 0)
        close(atomic_load(&hold->lost_fd));
    free(hold);
    return status;
}
