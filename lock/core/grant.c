/*
 * Grants and holds: how long a grant is valid, how it ends, how the holder hears of a loss, and
 * what a hold can tell without asking Redis.
 *
 * Validity is counted from before the confirmed request was sent, so that it is over here before it
 * is over in Redis.
 */
#include "core/grant.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/client.h"

/* ---- grant ----------------------------------------------------------------------------------- */

grant *dlock_grant_new(dlock_lock *lock, const char *token)
{
    grant *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    g->lock = lock;
    dlock_lock_ref(lock);
    snprintf(g->token, sizeof(g->token), "%s", token);
    atomic_init(&g->state, GRANT_HELD);
    atomic_init(&g->refs, 1);
    pthread_mutex_init(&g->holder_lock, NULL);
    return g;
}

void dlock_grant_ref(grant *g)
{
    atomic_fetch_add(&g->refs, 1);
}

void dlock_grant_unref(grant *g)
{
    if (atomic_fetch_sub(&g->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&g->holder_lock);
    dlock_lock_unref(g->lock);
    free(g);
}

int64_t dlock_grant_validity_us(int64_t lease_ms)
{
    return lease_ms * 1000 - lease_ms * 1000 / 100 - 2000;
}

static int64_t end_of(const grant *g, dlock_time asked, int64_t lease_ms)
{
    int64_t until = asked.us + dlock_grant_validity_us(lease_ms);
    return until < g->ends.us ? until : g->ends.us;
}

void dlock_grant_begin(grant *g, dlock_time asked, int64_t lease_ms)
{
    atomic_store(&g->valid_until_us, end_of(g, asked, lease_ms));
}

bool dlock_grant_confirm(grant *g, dlock_time asked, int64_t lease_ms)
{
    int64_t until = atomic_load(&g->valid_until_us);
    return dlock_grant_alive(g) &&
           atomic_compare_exchange_strong(&g->valid_until_us, &until, end_of(g, asked, lease_ms));
}

/* Once it was seen to be over nothing lengthens it any more. */
bool dlock_grant_alive(grant *g)
{
    int64_t until = atomic_load(&g->valid_until_us);
    if (atomic_load(&g->state) != GRANT_HELD)
        return false;
    return dlock_now().us < until ||
           (!atomic_compare_exchange_strong(&g->valid_until_us, &until, GRANT_IS_OVER) &&
            dlock_now().us < until);
}

int64_t dlock_grant_left_ms(const grant *g)
{
    if (atomic_load(&g->state) != GRANT_HELD)
        return 0;
    int64_t us = atomic_load(&g->valid_until_us) - dlock_now().us;
    return us > 0 ? us / 1000 : 0;
}

/* Whoever comes second, the loss or the wish for an eventfd, finds what the first one left: the
 * state is set before the descriptor is looked for, the descriptor is set before the state. */
static void ring(int fd)
{
    uint64_t one = 1;
    if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
        return; /* already readable */
}

static void tell_holder(dlock_hold *hold)
{
    const dlock_options *options = &hold->lock->options;
    if (options->lost)
        options->lost(options->lost_arg, hold);
    ring(atomic_load(&hold->lost_fd));
}

void dlock_grant_set_holder(grant *g, dlock_hold *holder)
{
    pthread_mutex_lock(&g->holder_lock);
    g->holder = holder;
    if (holder && atomic_load(&g->state) != GRANT_HELD)
        tell_holder(holder);
    pthread_mutex_unlock(&g->holder_lock);
}

/* Under holder_lock: the hold can not go away meanwhile. */
static void tell_loss(grant *g, grant_state why)
{
    dlock_client *client = g->lock->client;
    dlock_lock_count(g->lock, lost, 1);
    if (g->holder)
        tell_holder(g->holder);
    dlock_client_report(client, DLOCK_REPORT_LOST, "lock %s lost: %s", dlock_lock_name(g->lock, 0),
                        why == GRANT_TAKEN    ? "Redis says it is not ours"
                        : why == GRANT_UNSURE ? "the script that was to release it got no reply"
                                              : "its time ran out without a confirmed renewal");
}

bool dlock_grant_end(grant *g, grant_state to)
{
    int held = GRANT_HELD;
    pthread_mutex_lock(&g->holder_lock);
    bool changed = atomic_compare_exchange_strong(&g->state, &held, to);
    if (changed && to != GRANT_RELEASED)
        tell_loss(g, to);
    pthread_mutex_unlock(&g->holder_lock);
    return changed;
}

/* ---- hold ------------------------------------------------------------------------------------ */

int dlock_lost_fd(dlock_hold *hold)
{
    if (dlock_client_forked(hold->lock->client))
        return -1;
    int none = -1;
    if (atomic_load(&hold->lost_fd) < 0) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd >= 0 && !atomic_compare_exchange_strong(&hold->lost_fd, &none, fd))
            close(fd);
    }
    grant_state state = (grant_state)atomic_load(&hold->grant->state);
    if (state != GRANT_HELD && state != GRANT_RELEASED)
        ring(atomic_load(&hold->lost_fd));
    return atomic_load(&hold->lost_fd);
}

bool dlock_held(const dlock_hold *hold)
{
    return !dlock_client_forked(hold->lock->client) && !atomic_load(&hold->grant->releasing) &&
           dlock_grant_alive(hold->grant);
}

int64_t dlock_validity_ms(const dlock_hold *hold)
{
    return dlock_held(hold) ? dlock_grant_left_ms(hold->grant) : 0;
}

uint64_t dlock_fence(const dlock_hold *hold)
{
    return dlock_client_forked(hold->lock->client) ? 0 : hold->grant->fence;
}

const char *dlock_owner(const dlock_hold *hold)
{
    return hold->grant->token;
}
