/*
 * A candidate of an election: a pending acquisition of a lock of kind FAIR while it campaigns, a
 * hold of it while it leads. An acquisition without a thread is decided only when the whole lease
 * has begun, so that who is elected need not hurry.
 *
 * What happens is told where it is found out, and in the order of the state's mutex: the decision
 * on the engine's thread, the loss under the grant's mutex. So the state's mutex is behind that
 * one, and nothing that may ask for the grant's is called under it. One start or resignation at a
 * time goes by a mutex of its own, before all others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/client.h"
#include "core/release.h"
#include "pending/pending.h"
#include "redis/reserved.h"

struct dlock_election {
    dlock_election_options options;
    dlock_lock *lock;
    pthread_mutex_t turn; /* one start or resignation at a time */

    pthread_mutex_t state; /* guards the rest, and is held while callbacks run */
    pthread_cond_t changed;
    int fd;                 /* eventfd: something has changed since it was looked */
    dlock_status status;    /* PENDING: it campaigns; OK: it leads; else why it does neither */
    uint64_t campaign;      /* the number of the last one */
    dlock_pending *pending; /* the campaign's; NULL while it is being started, too */
    dlock_hold *hold;       /* had since it was elected; NULL = none */
};

/* ---- what happens ---------------------------------------------------------------------------- */

/* Under the state's mutex. */
static void become(dlock_election *e, dlock_status status)
{
    uint64_t one = 1;
    e->status = status;
    pthread_cond_broadcast(&e->changed);
    if (write(e->fd, &one, sizeof(one)) < 0)
        return; /* already readable */
}

/* The campaign's end, on the engine's thread. A loss may have been told before. */
static void decide(void *arg, dlock_pending *p)
{
    dlock_election *e = arg;
    pthread_mutex_lock(&e->state);
    e->pending = NULL;
    dlock_status status = dlock_acquire_finish(p, &e->hold);
    if (status == DLOCK_OK && !dlock_held(e->hold))
        status = DLOCK_EXPIRED;
    else if (status == DLOCK_OK && e->options.elected)
        e->options.elected(e->options.arg, e->hold);
    become(e, status);
    pthread_mutex_unlock(&e->state);
}

/* Under the state's mutex: it has led until now. */
static void tell_loss(dlock_election *e)
{
    if (e->options.lost)
        e->options.lost(e->options.arg, e->hold);
    become(e, atomic_load(&e->hold->grant->state) == GRANT_TAKEN ? DLOCK_NOT_OWNER : DLOCK_EXPIRED);
}

static void lose(void *arg, dlock_hold *hold)
{
    dlock_election *e = arg;
    pthread_mutex_lock(&e->state);
    if (e->hold == hold && e->status == DLOCK_OK)
        tell_loss(e);
    pthread_mutex_unlock(&e->state);
}

/* Under the state's mutex. That the lease is over may be known before it is told. */
static dlock_status status_now(const dlock_election *e)
{
    return e->status == DLOCK_OK && !dlock_held(e->hold) ? DLOCK_EXPIRED : e->status;
}

static bool forked(const dlock_election *e)
{
    return dlock_client_forked(e->lock->client);
}

/* ---- making and freeing ---------------------------------------------------------------------- */

dlock_status dlock_election_new(dlock_client *client, const char *name,
                                const dlock_election_options *options, dlock_election **ret,
                                char *err, size_t err_len)
{
    static const dlock_election_options defaults;
    if (!options)
        options = &defaults;
    if (HAS_RESERVED(options)) {
        snprintf(err, err_len, "dlock_election_options: " RESERVED_IN_USE);
        return DLOCK_INVALID;
    }
    dlock_election *e = calloc(1, sizeof(*e));
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    dlock_options of_lock = {
        .kind = DLOCK_FAIR, .lease_ms = options->lease_ms, .lost = lose, .lost_arg = e};
    dlock_status status = DLOCK_NO_MEMORY;
    snprintf(err, err_len, "out of memory or descriptors");
    if (e && fd >= 0)
        status = dlock_lock_new(client, name, &of_lock, &e->lock, err, err_len);
    if (status != DLOCK_OK) {
        if (fd >= 0)
            close(fd);
        free(e);
        return status;
    }
    e->options = *options;
    e->fd = fd;
    e->status = DLOCK_CANCELLED;
    pthread_mutex_init(&e->turn, NULL);
    pthread_mutex_init(&e->state, NULL);
    dlock_cond_init(&e->changed);
    *ret = e;
    return DLOCK_OK;
}

void dlock_election_free(dlock_election *e)
{
    if (!e || forked(e))
        return;
    dlock_election_resign(e);
    dlock_lock_free(e->lock);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->state);
    pthread_mutex_destroy(&e->turn);
    close(e->fd);
    free(e);
}

/* ---- campaigning ----------------------------------------------------------------------------- */

/* The turn is ours. False: it campaigns or leads. Otherwise it is PENDING from here on; *ret is
 * what is left of a lost leadership, or NULL. */
static bool begin(dlock_election *e, dlock_hold **ret)
{
    pthread_mutex_lock(&e->state);
    dlock_status now = status_now(e);
    bool may = now != DLOCK_PENDING && now != DLOCK_OK;
    if (may && e->status == DLOCK_OK) /* the clock says so, and the watchdog not yet */
        tell_loss(e);
    if (may) {
        *ret = e->hold;
        e->hold = NULL;
        e->status = DLOCK_PENDING;
        e->campaign++;
    }
    pthread_mutex_unlock(&e->state);
    return may;
}

/* What may be left of it in Redis is given back in the background. */
static void drop(dlock_hold *hold)
{
    grant_release r = dlock_release_begin(hold);
    if (r.grant)
        (void)dlock_release_end(&r, DLOCK_UNAVAILABLE);
}

/* *campaign is its number. */
static dlock_status start(dlock_election *e, const dlock_wait *wait, uint64_t *campaign)
{
    dlock_wait one = wait ? *wait : (dlock_wait){.wait_ms = DLOCK_FOREVER};
    dlock_hold *lost = NULL;
    dlock_pending *p = NULL;
    if (forked(e))
        return DLOCK_FORKED;
    one.context = 0; /* each is a context of its own */
    pthread_mutex_lock(&e->turn);
    bool may = begin(e, &lost);
    if (lost)
        drop(lost);
    dlock_status status = DLOCK_INVALID;
    if (may)
        status = dlock_acquire_start_told(e->lock, &one, decide, e, &p);
    pthread_mutex_lock(&e->state);
    if (may && status != DLOCK_OK)
        become(e, status);
    else if (may && e->status == DLOCK_PENDING) /* or it is decided, and freed */
        e->pending = p;
    *campaign = e->campaign;
    pthread_mutex_unlock(&e->state);
    pthread_mutex_unlock(&e->turn);
    return status;
}

dlock_status dlock_election_start(dlock_election *e, const dlock_wait *wait)
{
    uint64_t campaign;
    return start(e, wait, &campaign);
}

/* Under the state's mutex. False: another campaign has begun by now. */
static bool until_decided(dlock_election *e, uint64_t campaign)
{
    while (e->status == DLOCK_PENDING && e->campaign == campaign)
        dlock_cond_wait(&e->changed, &e->state, dlock_in_ms(60000));
    return e->campaign == campaign;
}

dlock_status dlock_election_campaign(dlock_election *e, const dlock_wait *wait)
{
    uint64_t campaign;
    dlock_status status = start(e, wait, &campaign);
    if (status != DLOCK_OK)
        return status;
    pthread_mutex_lock(&e->state);
    status = until_decided(e, campaign) ? status_now(e) : DLOCK_CANCELLED;
    pthread_mutex_unlock(&e->state);
    return status;
}

dlock_status dlock_election_resign(dlock_election *e)
{
    if (forked(e))
        return DLOCK_FORKED;
    pthread_mutex_lock(&e->turn);
    pthread_mutex_lock(&e->state);
    if (e->pending)
        dlock_pending_cancel(e->pending);
    (void)until_decided(e, e->campaign);
    dlock_hold *hold = e->hold;
    dlock_status status = e->status == DLOCK_UNKNOWN ? DLOCK_UNKNOWN : DLOCK_OK;
    e->hold = NULL;
    become(e, DLOCK_CANCELLED);
    pthread_mutex_unlock(&e->state);
    if (hold)
        status = dlock_release(hold);
    pthread_mutex_unlock(&e->turn);
    return status;
}

/* ---- looking --------------------------------------------------------------------------------- */

int dlock_election_fd(const dlock_election *e)
{
    return forked(e) ? -1 : e->fd;
}

dlock_status dlock_election_status(dlock_election *e)
{
    uint64_t changes;
    if (forked(e))
        return DLOCK_FORKED;
    pthread_mutex_lock(&e->state);
    if (read(e->fd, &changes, sizeof(changes)) < 0)
        changes = 0; /* none */
    dlock_status status = status_now(e);
    pthread_mutex_unlock(&e->state);
    return status;
}

dlock_hold *dlock_election_hold(dlock_election *e)
{
    if (forked(e))
        return NULL;
    pthread_mutex_lock(&e->state);
    dlock_hold *hold = status_now(e) == DLOCK_OK ? e->hold : NULL;
    pthread_mutex_unlock(&e->state);
    return hold;
}

dlock_status dlock_election_leader(dlock_election *e, dlock_info *ret)
{
    return dlock_inspect(e->lock, ret);
}
