/* When an attempt asks, and when it ends. */
#include "core/attempt.h"

#include "core/client.h"
#include "core/waiting.h"
#include "core/watchdog.h"

void dlock_attempt_begin(attempt *at, const dlock_wait *wait)
{
    *at = (attempt){.deadline = dlock_in_ms(wait->wait_ms),
                    .entry = wait->wait_ms != 0 ? ENTRY_NEW : ENTRY_NONE};
}

#define POLL_MAX_MS 40

/* Of kinds that queue, where a question is a sign of life too. */
#define QUEUED_POLL_MAX_MS 1000

/* ---- when to ask again ----------------------------------------------------------------------- */

/* How long to sleep before asking again without a wake-up. Kinds with a channel sleep up to the
 * re-check; pollers their step, 10 to 40 ms at random unless told otherwise. None sleeps beyond
 * the holder's lease. */
static int64_t next_question_ms(const attempt *at, const dlock_lock *lock, const answer *a)
{
    int64_t ms = lock->options.poll_ms;
    if (lock->kind->queues && ms > dlock_lock_claim_ms(lock) / 2)
        ms = dlock_lock_claim_ms(lock) / 2; /* or the grants of one who polls would lapse unseen */
    if (lock->kind->queues && ms > QUEUED_POLL_MAX_MS)
        ms = QUEUED_POLL_MAX_MS;
    if (ms == 0 && lock->kind->channel) {
        ms = lock->client->options.recheck_ms;
    } else if (ms == 0) {
        ms = 10 + (int64_t)((uint64_t)dlock_now().us * 2654435761u >> 7) % 31;
        if (at->foreign_ms > 0 && at->foreign_ms < ms)
            ms = at->foreign_ms;
    }
    if (!lock->kind->queues && lock->options.poll_ms == 0 && a->retry_ms >= 0 && a->retry_ms < ms)
        ms = a->retry_ms + 1;
    return ms;
}

/* A question without an answer is asked again soon, for the lock may be ours by now: after 5, 10,
 * ... ms, so that a Redis that comes back is not met by everybody at once. */
static int64_t same_question_ms(const dlock_lock *lock, int unanswered)
{
    int64_t ms = unanswered < 6 ? 5 << (unanswered - 1) : INT64_MAX;
    return ms < lock->client->options.recheck_ms ? ms : lock->client->options.recheck_ms;
}

dlock_time dlock_attempt_next(const attempt *at, const dlock_lock *lock, const answer *a)
{
    int64_t ms =
        at->unanswered ? same_question_ms(lock, at->unanswered) : next_question_ms(at, lock, a);
    return dlock_sooner(dlock_in_ms(ms), at->deadline);
}

dlock_status dlock_attempt_give_up(const attempt *at, const dlock_lock *lock, bool cancelled)
{
    if (at->unanswered > 0 || (!cancelled && !lock->kind->queues))
        return DLOCK_PENDING;
    return cancelled ? DLOCK_CANCELLED : DLOCK_BUSY;
}

/* ---- what came ------------------------------------------------------------------------------- */

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

static bool hopeless(dlock_status status)
{
    return status == DLOCK_FAILED || status == DLOCK_INVALID || status == DLOCK_NO_MEMORY;
}

dlock_status dlock_attempt_judge(attempt *at, dlock_lock *lock, waiter *w, dlock_status status,
                                 const answer *a, bool cancelled)
{
    if (status == DLOCK_OK)
        note_answer(lock, w, a);
    if (status == DLOCK_OK && a->foreign)
        at->foreign_ms = dlock_lock_foreign_step(&at->pace, a->retry_ms, POLL_MAX_MS);
    else
        at->foreign_ms = 0;
    if (status == DLOCK_OK && a->granted)
        return status;
    at->unknown = status == DLOCK_UNKNOWN || (at->unknown && status != DLOCK_OK);
    at->left_over = at->left_over || at->unknown || a->left_over || status == DLOCK_FAILED ||
                    (lock->kind->queues && at->entry != ENTRY_NONE && status != DLOCK_UNAVAILABLE);
    if (hopeless(status))
        return status;
    if (cancelled)
        return at->unknown ? DLOCK_UNKNOWN : DLOCK_CANCELLED;
    if (at->entry == ENTRY_NONE || dlock_passed(at->deadline))
        return at->unknown ? DLOCK_UNKNOWN : status == DLOCK_OK ? DLOCK_BUSY : status;
    at->entry = ENTRY_AGAIN;
    at->unanswered = status == DLOCK_OK ? 0 : at->unanswered + 1;
    return DLOCK_PENDING;
}

/* A grant that came with the wake-up: ours at once, if enough of its claim window is left even if
 * it began right after the last "no". Our own window counts too: what is shorter wins. Where
 * replicas must have it, it must be asked for, since only an answer waits for them. */
bool dlock_attempt_given(dlock_lock *lock, waiter *w, answer *a)
{
    pthread_mutex_lock(&lock->wait_set.lock);
    answer mine = w->given;
    w->given.granted = false;
    pthread_mutex_unlock(&lock->wait_set.lock);
    int64_t claim_ms = dlock_lock_claim_ms(lock);
    if (mine.window_ms > claim_ms)
        mine.window_ms = claim_ms;
    if (mine.window_ms > w->lease_ms) /* which the renewal shortens it to */
        mine.window_ms = w->lease_ms;
    int64_t left_us = mine.without.us + dlock_grant_validity_us(mine.window_ms) - dlock_now().us;
    if (!mine.granted || left_us <= mine.window_ms * 1000 / 4 || lock->options.wait_replicas > 0)
        return false;
    *a = mine;
    return true;
}

/* The same part of the lease as the lock's renew_ms is of the lock's lease. */
static int64_t renewal_ms(const dlock_lock *lock, int64_t lease_ms)
{
    const dlock_options *o = &lock->options;
    if (o->renew_ms == DLOCK_NEVER)
        return DLOCK_NEVER;
    int64_t ms = (int64_t)((double)lease_ms * (double)o->renew_ms / (double)o->lease_ms);
    return ms > 0 ? ms : 1;
}

grant *dlock_attempt_grant(dlock_lock *lock, const waiter *w, const answer *a)
{
    grant *g = dlock_grant_new(lock, w->token);
    if (!g)
        return NULL;
    g->lease_ms = w->lease_ms;
    g->renew_ms = renewal_ms(lock, w->lease_ms);
    g->fence = a->fence;
    g->apart = w->on_wake;
    g->since = a->asked;
    int64_t max_hold = lock->options.max_hold_ms;
    g->ends = (dlock_time){max_hold ? a->asked.us + max_hold * 1000 : INT64_MAX};
    g->claimed = a->claimed;
    if (a->claimed) {
        dlock_grant_begin(g, a->asked, g->lease_ms);
        atomic_store(&g->extended_us, a->asked.us);
        dlock_watchdog_add(lock->client->watchdog, g, g->renew_ms);
    } else {
        dlock_grant_begin(g, a->without, a->window_ms);
        dlock_watchdog_add(lock->client->watchdog, g, a->window_ms / 5);
    }
    return g;
}
