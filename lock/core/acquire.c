/*
 * dlock_acquire(): re-entry, the cohort's line, then Redis until the wait is over.
 *
 * Whatever a wait without success may have left in Redis, an entry in the queue or a grant that was
 * not heard of, is taken back: at once if Redis answers, else in the background.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/ask.h"
#include "core/client.h"
#include "core/cohort.h"
#include "core/lock_order.h"
#include "core/registry.h"
#include "core/retried_release.h"
#include "core/status.h"
#include "core/waiting.h"
#include "core/watchdog.h"
#include "redis/reserved.h"

/* ---- asking Redis until the wait is over ----------------------------------------------------- */

/* How long to sleep before asking again without a wake-up. Kinds that listen sleep up to the
 * re-check; pollers their step, 10 to 40 ms at random unless told otherwise. None sleeps beyond
 * the holder's lease. */
static dlock_time next_question(const dlock_lock *lock, const answer *a, dlock_time deadline)
{
    int64_t ms = lock->options.poll_ms;
    if (lock->kind->queues && ms > lock->claim_ms / 2)
        ms = lock->claim_ms / 2; /* or the grants of one who polls would lapse unseen */
    if (ms == 0 && lock->kind->listen) {
        /* A queue is watched over by its leader; a broadcast has to be doubted by everybody. */
        ms = lock->kind->queues ? 10 * lock->client->options.recheck_ms
                                : lock->client->options.recheck_ms;
    } else if (ms == 0) {
        ms = 10 + (int64_t)((uint64_t)dlock_now().us * 2654435761u >> 7) % 31;
    }
    if (!lock->kind->queues && lock->options.poll_ms == 0 && a->retry_ms >= 0 && a->retry_ms < ms)
        ms = a->retry_ms + 1;
    return dlock_sooner(dlock_in_ms(ms), deadline);
}

/* The lock may be ours without our knowing. When Redis did not answer the last question (`last`),
 * the caller has waited long enough: it is given back in the background. */
static void leave(dlock_lock *lock, const char *token, dlock_status last)
{
    dlock_status status = dlock_status_open(last) ? last : dlock_ask_leave(lock, token);
    if (dlock_status_open(status))
        dlock_retried_releases_add(lock, token);
}

static void sleep_until_woken(dlock_lock *lock, waiter *w, const dlock_wait *wait, dlock_time at)
{
    dlock_time tick = dlock_in_ms(lock->client->options.recheck_ms);
    dlock_wait_set_wait(lock, w, wait->cancel ? dlock_sooner(at, tick) : at);
}

/* A grant that came with the wake-up: ours at once, if enough of its claim window is left even if
 * it began right after the last "no". Our own window counts too: what is shorter wins. Where
 * replicas must have it, it must be asked for, since only an answer waits for them. */
static bool given(dlock_lock *lock, waiter *w, answer *a)
{
    pthread_mutex_lock(&lock->wait_set.lock);
    answer mine = w->given;
    w->given.granted = false;
    pthread_mutex_unlock(&lock->wait_set.lock);
    if (mine.window_ms > lock->claim_ms)
        mine.window_ms = lock->claim_ms;
    int64_t left_us = mine.without.us + dlock_grant_validity_us(mine.window_ms) - dlock_now().us;
    if (!mine.granted || left_us <= mine.window_ms * 1000 / 4 || lock->options.wait_replicas > 0)
        return false;
    *a = mine;
    return true;
}

/* A question was answered. Woken since it was asked, the waiter is to ask again. */
static void note_answer(dlock_lock *lock, waiter *w, const answer *a)
{
    pthread_mutex_lock(&lock->wait_set.lock);
    if (!a->granted && w->without.us < a->asked.us) {
        w->without = a->asked;
        w->without_fence = a->fence;
    }
    w->chosen = w->chosen && w->woken;
    pthread_mutex_unlock(&lock->wait_set.lock);
}

/* A question without an answer is asked again soon, for the lock may be ours by now: after 5, 10,
 * ... ms, so that a Redis that comes back is not met by everybody at once. */
static dlock_time same_question(const dlock_lock *lock, int unanswered, dlock_time deadline)
{
    int64_t ms = unanswered < 6 ? 5 << (unanswered - 1) : INT64_MAX;
    if (ms > lock->client->options.recheck_ms)
        ms = lock->client->options.recheck_ms;
    return dlock_sooner(dlock_in_ms(ms), deadline);
}

static bool hopeless(dlock_status status)
{
    return status == DLOCK_FAILED || status == DLOCK_INVALID || status == DLOCK_NO_MEMORY;
}

/* *left_over: something of this waiter may be left in Redis. */
static dlock_status ask_until_granted(dlock_lock *lock, waiter *w, const dlock_wait *wait,
                                      dlock_time deadline, answer *a, bool *left_over)
{
    bool unknown = false;
    int unanswered = 0; /* in a row */
    entry_mode entry = wait->wait_ms != 0 ? ENTRY_NEW : ENTRY_NONE;
    for (;;) {
        dlock_status status = dlock_ask_acquire(lock, w->token, entry, a);
        if (status == DLOCK_OK)
            note_answer(lock, w, a);
        if (status == DLOCK_OK && a->granted)
            return status;
        unknown = status == DLOCK_UNKNOWN || (unknown && status != DLOCK_OK);
        *left_over = *left_over || unknown || a->left_over || status == DLOCK_FAILED ||
                     (lock->kind->queues && entry != ENTRY_NONE);
        if (hopeless(status))
            return status;
        if (dlock_cancelled(wait))
            return DLOCK_CANCELLED;
        if (entry == ENTRY_NONE || dlock_passed(deadline))
            return unknown ? DLOCK_UNKNOWN : status == DLOCK_OK ? DLOCK_BUSY : status;
        entry = ENTRY_AGAIN;
        unanswered = status == DLOCK_OK ? 0 : unanswered + 1;
        sleep_until_woken(lock, w, wait,
                          unanswered ? same_question(lock, unanswered, deadline)
                                     : next_question(lock, a, deadline));
        if (given(lock, w, a))
            return DLOCK_OK;
    }
}

/* The same in the wait set, which is entered before the first question: its wake-up may come before
 * its answer. Whoever goes without a grant takes back what may be left of it in Redis. */
static dlock_status ask_in_wait_set(dlock_lock *lock, waiter *w, const dlock_wait *wait,
                                    dlock_time deadline, answer *a)
{
    dlock_wait_set_enter(&lock->wait_set, w);
    bool left_over = false;
    dlock_status status = ask_until_granted(lock, w, wait, deadline, a, &left_over);
    dlock_wait_set_leave(&lock->wait_set, w);
    if (status != DLOCK_OK && left_over)
        leave(lock, w->token, status);
    return status;
}

static dlock_status new_grant(dlock_lock *lock, waiter *w, const dlock_wait *wait,
                              dlock_time deadline, grant **ret)
{
    answer a;
    dlock_status status = ask_in_wait_set(lock, w, wait, deadline, &a);
    if (status != DLOCK_OK)
        return status;
    grant *g = dlock_grant_new(lock, w->token);
    if (!g) {
        leave(lock, w->token, DLOCK_OK);
        return DLOCK_NO_MEMORY;
    }
    g->fence = a.fence;
    g->since = a.asked;
    int64_t max_hold = lock->options.max_hold_ms;
    g->ends = (dlock_time){max_hold ? a.asked.us + max_hold * 1000 : INT64_MAX};
    g->claimed = a.claimed;
    if (a.claimed) {
        dlock_grant_confirm(g, a.asked, lock->options.lease_ms);
        dlock_watchdog_add(lock->client->watchdog, g, lock->options.renew_ms);
    } else {
        dlock_grant_confirm(g, a.without, a.window_ms);
        dlock_watchdog_add(lock->client->watchdog, g, a.window_ms / 5);
    }
    *ret = g;
    return DLOCK_OK;
}

/* Through the cohort's line, if there is one: a grant from inside, or the turn to ask Redis. */
static dlock_status get_grant(dlock_lock *lock, const dlock_wait *wait, grant **ret)
{
    dlock_time deadline = dlock_in_ms(wait->wait_ms);
    waiter w = {0};
    snprintf(w.token, sizeof(w.token), "%s:%llu", lock->client->id,
             (unsigned long long)atomic_fetch_add(&lock->client->next_number, 1));
    dlock_cond_init(&w.cond);
    dlock_status status = DLOCK_OK;
    if (lock->options.cohort_max > 0)
        status = dlock_cohort_enter(lock, &w, wait, deadline);
    if (status == DLOCK_OK && w.handed) {
        dlock_client_count(lock->client, &lock->client->stats.passed_on, 1);
        *ret = w.handed;
    } else if (status == DLOCK_OK) {
        status = new_grant(lock, &w, wait, deadline, ret);
        if (status != DLOCK_OK)
            dlock_cohort_next(lock);
    }
    pthread_cond_destroy(&w.cond);
    return status;
}

/* ---- the public call ------------------------------------------------------------------------- */

static void count_failure(dlock_client *client, dlock_status status)
{
    if (status == DLOCK_BUSY)
        dlock_client_count(client, &client->stats.busy, 1);
    else if (status == DLOCK_CANCELLED)
        dlock_client_count(client, &client->stats.cancelled, 1);
    else if (status == DLOCK_UNKNOWN)
        dlock_client_count(client, &client->stats.unknown, 1);
    else
        dlock_client_count(client, &client->stats.unavailable, 1);
}

static dlock_hold *new_hold(dlock_lock *lock, uint64_t context, bool of_thread)
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

static dlock_status acquire_anew(dlock_lock *lock, const dlock_wait *wait, dlock_hold *hold)
{
    dlock_client *client = lock->client;
    dlock_time since = dlock_now();
    dlock_client_count(client, &client->stats.waiting_now, 1);
    dlock_status status = get_grant(lock, wait, &hold->grant);
    dlock_client_count(client, &client->stats.waiting_now, -1);
    if (status != DLOCK_OK) {
        count_failure(client, status);
        return status;
    }
    dlock_client_time(client, &client->stats.wait_us, since);
    hold->since = dlock_now();
    dlock_registry_add(client->registry, hold);
    dlock_grant_set_holder(hold->grant, hold);
    dlock_client_count(client, &client->stats.acquired, 1);
    dlock_client_count(client, &client->stats.held_now, 1);
    return DLOCK_OK;
}

dlock_status dlock_acquire(dlock_lock *lock, const dlock_wait *wait, dlock_hold **ret)
{
    static const dlock_wait no_wait;
    dlock_client *client = lock->client;
    if (dlock_client_forked(client))
        return DLOCK_FORKED;
    if (!wait)
        wait = &no_wait;
    if (wait->wait_ms < DLOCK_FOREVER || HAS_RESERVED(wait))
        return DLOCK_INVALID;
    bool of_thread = wait->context == 0;
    uint64_t context = of_thread ? dlock_registry_thread() : wait->context;
    const char *name = lock->names[0];
    dlock_hold *hold = NULL;
    if (!lock->options.not_reentrant && lock->names_len == 1)
        hold = dlock_registry_reenter(client->registry, name, context, of_thread);
    if (hold) {
        dlock_client_count(client, &client->stats.reentered, 1);
        *ret = hold;
        return DLOCK_OK;
    }
    hold = new_hold(lock, context, of_thread);
    if (!hold)
        return DLOCK_NO_MEMORY;
    dlock_lock_order_acquiring(hold);
    dlock_status status = acquire_anew(lock, wait, hold);
    if (status != DLOCK_OK) {
        free(hold);
        return status;
    }
    dlock_lock_order_acquired(hold);
    *ret = hold;
    return DLOCK_OK;
}
