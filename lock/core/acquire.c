/*
 * dlock_acquire(): re-entry, the cohort's line, then Redis until the wait is over.
 *
 * A wait without success may leave something in Redis: an entry in the queue, or a grant that we
 * did not hear of. It is removed at once if Redis answers, otherwise in the background.
 */
#include "core/acquire.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/ask.h"
#include "core/attempt.h"
#include "core/client.h"
#include "core/cohort.h"
#include "core/lock_order.h"
#include "core/registry.h"
#include "core/retried_release.h"
#include "core/waiting.h"
#include "core/watch.h"
#include "core/watchdog.h"
#include "redis/reserved.h"

/* ---- asking Redis until the wait is over ----------------------------------------------------- */

/* The lock may be ours without our knowing. When Redis did not answer the last question (`last`),
 * the caller has waited long enough: it is given back in the background. Returns what the
 * acquisition ends in; a vote that one server of a quorum may have is no hold. */
static dlock_status leave(dlock_lock *lock, const waiter *w, dlock_status last)
{
    if (!dlock_status_open(last) && !dlock_status_open(dlock_ask_leave(lock, w->token)))
        return last;
    dlock_retried_releases_add(lock, w->token, w->lease_ms);
    return lock->kind->everywhere ? last : DLOCK_UNKNOWN;
}

/* The grant that came with the wake-up, once its lease is on its way. NULL: it must be asked for.
 */
static grant *take_given(dlock_lock *lock, waiter *w)
{
    answer a;
    watchdog *keeper = lock->client->watchdog;
    grant *g = dlock_attempt_given(lock, w, &a) ? dlock_attempt_grant(lock, w, &a) : NULL;
    if (!g || dlock_watchdog_extend(keeper, g))
        return g;
    if (!dlock_grant_end(g, GRANT_RELEASED)) /* it is lost, and with it the turn in the cohort */
        return g;
    dlock_watchdog_remove(keeper, g);
    dlock_grant_unref(g);
    return NULL;
}

static dlock_status ask_until_granted(dlock_lock *lock, waiter *w, const dlock_wait *wait,
                                      attempt *at, grant **ret)
{
    for (;;) {
        answer a;
        dlock_status status =
            dlock_ask_acquire(lock, &(asker){w->token, w->lease_ms, at->entry}, &a);
        status = dlock_attempt_judge(at, lock, w, status, &a, dlock_cancelled(wait));
        if (status == DLOCK_OK && !(*ret = dlock_attempt_grant(lock, w, &a))) {
            at->left_over = true;
            return DLOCK_NO_MEMORY;
        }
        if (status != DLOCK_PENDING)
            return status;
        bool woken = dlock_wait_set_wait(lock, w, wait, dlock_lock_watch_sleep(at, lock, w, &a));
        if ((*ret = take_given(lock, w)))
            return DLOCK_OK;
        if (!woken && (dlock_cancelled(wait) || dlock_passed(at->deadline)))
            status = dlock_attempt_give_up(at, lock, dlock_cancelled(wait));
        if (status != DLOCK_PENDING)
            return status;
    }
}

/* The same in the wait set, which is entered before the first question: its wake-up may come before
 * its answer. Whoever goes without a grant takes back what may be left of it in Redis. */
static dlock_status new_grant(dlock_lock *lock, waiter *w, const dlock_wait *wait, attempt *at,
                              grant **ret)
{
    dlock_wait_set_enter(&lock->wait_set, w);
    dlock_status status = ask_until_granted(lock, w, wait, at, ret);
    dlock_wait_set_leave(&lock->wait_set, w);
    dlock_lock_watch_leave(lock, w);
    return status != DLOCK_OK && at->left_over ? leave(lock, w, status) : status;
}

/* What a cancelled thread may sleep on. */
typedef struct sleep_end {
    cancel_listener listener; /* first, so that the one is the other */
    dlock_lock *lock;
    waiter *w;
} sleep_end;

static void end_sleep(cancel_listener *l)
{
    sleep_end *end = (sleep_end *)l;
    pthread_mutex_t *both[] = {&end->lock->cohort.lock, &end->lock->wait_set.lock};
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(both[i]);
        dlock_sleeper_rouse(&end->w->place);
        pthread_mutex_unlock(both[i]);
    }
}

/* A grant from inside the cohort has a whole lease before it, but for a twentieth; or what is left
 * of it, where Redis can not be reached. */
static void extend_old(grant *g)
{
    int64_t age_us = dlock_now().us - atomic_load(&g->extended_us);
    if (age_us > g->lease_ms * 1000 / 20)
        (void)dlock_watchdog_extend(g->lock->client->watchdog, g);
}

/* Through the cohort's line, if there is one: a grant from inside, or the turn to ask Redis. */
static dlock_status get_grant(dlock_lock *lock, const dlock_wait *wait, grant **ret)
{
    attempt at;
    waiter w = {0};
    dlock_attempt_begin(&at, wait);
    dlock_acquire_waiter(lock, wait, &w);
    sleep_end end = {.listener = {.fired = end_sleep}, .lock = lock, .w = &w};
    if (wait->cancel)
        dlock_cancel_listen(wait->cancel, &end.listener);
    dlock_status status = DLOCK_OK;
    if (lock->options.cohort_max > 0)
        status = dlock_cohort_enter(lock, &w, wait, at.deadline);
    if (status == DLOCK_OK && w.handed) {
        dlock_lock_count(lock, passed_on, 1);
        *ret = w.handed;
        extend_old(*ret);
    } else if (status == DLOCK_OK) {
        atomic_store(&w.place, 0); /* may have ended in the line */
        status = new_grant(lock, &w, wait, &at, ret);
        if (status != DLOCK_OK)
            dlock_cohort_next(lock);
    }
    if (wait->cancel)
        dlock_cancel_forget(wait->cancel, &end.listener);
    return status;
}

/* ---- its beginning and end ------------------------------------------------------------------- */

void dlock_acquire_waiter(const dlock_lock *lock, const dlock_wait *wait, waiter *ret)
{
    dlock_client *client = lock->client;
    const char *end = lock->kind->token_end ? lock->kind->token_end : "";
    char many[24] = "";
    if (wait->permits > 1)
        snprintf(many, sizeof(many), "*%" PRId64, wait->permits);
    ret->lease_ms = wait->lease_ms ? wait->lease_ms : lock->options.lease_ms;
    snprintf(ret->token, TOKEN_LEN, "%s:%llu%s%s", client->id,
             (unsigned long long)atomic_fetch_add(&client->next_number, 1), many, end);
}

dlock_hold *dlock_acquire_hold(dlock_lock *lock, uint64_t context, bool of_thread)
{
    dlock_hold *hold = calloc(1, sizeof(*hold));
    if (!hold)
        return NULL;
    hold->lock = lock;
    hold->context = context;
    hold->of_thread = of_thread;
    hold->count = 1;
    atomic_init(&hold->lost_fd, -1);
    return hold;
}

/* More than there are is no mistake: there may be more by and by. */
static bool permits_valid(const dlock_lock *lock, const dlock_wait *wait)
{
    return wait->permits >= 0 && wait->permits <= (lock->kind->permits ? PERMITS_MAX : 0);
}

static bool lease_valid(const dlock_wait *wait)
{
    return wait->lease_ms == 0 || (wait->lease_ms >= LEASE_MIN_MS && wait->lease_ms <= TIME_MAX_MS);
}

dlock_status dlock_acquire_begin(dlock_lock *lock, const dlock_wait *wait, uint64_t of_thread,
                                 dlock_hold **ret)
{
    dlock_client *client = lock->client;
    if (wait->wait_ms < DLOCK_FOREVER || HAS_RESERVED(wait) || !permits_valid(lock, wait) ||
        !lease_valid(wait))
        return DLOCK_INVALID;
    bool is_thread = wait->context == 0;
    uint64_t context = is_thread ? of_thread : wait->context;
    dlock_hold *hold = NULL;
    if (lock->ids_len == 1 &&
        dlock_registry_reenter(client->registry, lock, context, is_thread, &hold) != DLOCK_OK)
        return DLOCK_INVALID;
    if (hold) {
        dlock_lock_count(lock, reentered, 1);
        *ret = hold;
        return DLOCK_OK;
    }
    hold = dlock_acquire_hold(lock, context, is_thread);
    if (!hold)
        return DLOCK_NO_MEMORY;
    if (client->order)
        dlock_lock_order_acquiring(hold);
    *ret = hold;
    return DLOCK_OK;
}

static void count_failure(dlock_lock *lock, dlock_status status)
{
    if (status == DLOCK_BUSY)
        dlock_lock_count(lock, busy, 1);
    else if (status == DLOCK_CANCELLED)
        dlock_lock_count(lock, cancelled, 1);
    else if (status == DLOCK_UNKNOWN)
        dlock_lock_count(lock, unknown, 1);
    else
        dlock_lock_count(lock, unavailable, 1);
}

void dlock_acquire_end(dlock_hold *hold, dlock_status status, dlock_time since)
{
    dlock_lock_count(hold->lock, waiting_now, -1);
    if (status != DLOCK_OK) {
        count_failure(hold->lock, status);
        free(hold);
        return;
    }
    dlock_lock_time(hold->lock, wait_us, since);
    dlock_acquire_has(hold);
}

void dlock_acquire_has(dlock_hold *hold)
{
    dlock_client *client = hold->lock->client;
    hold->since = dlock_now();
    dlock_registry_add(client->registry, hold);
    dlock_grant_set_holder(hold->grant, hold);
    dlock_lock_count(hold->lock, acquired, 1);
    dlock_lock_count(hold->lock, held_now, 1);
    if (client->order)
        dlock_lock_order_acquired(hold);
}

/* ---- the public call ------------------------------------------------------------------------- */

dlock_status dlock_acquire(dlock_lock *lock, const dlock_wait *wait, dlock_hold **ret)
{
    static const dlock_wait no_wait;
    dlock_hold *hold;
    if (dlock_client_forked(lock->client))
        return DLOCK_FORKED;
    if (!wait)
        wait = &no_wait;
    dlock_status status = dlock_acquire_begin(lock, wait, dlock_registry_thread(), &hold);
    if (status == DLOCK_OK && !hold->grant) {
        dlock_time since = dlock_now();
        dlock_lock_count(lock, waiting_now, 1);
        status = get_grant(lock, wait, &hold->grant);
        dlock_acquire_end(hold, status, since);
    }
    if (status == DLOCK_OK)
        *ret = hold;
    return status;
}
