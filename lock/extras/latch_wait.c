/*
 * Waiting for a latch.
 *
 * A message tells of the opening, but may be lost, and the latch may be set anew before anybody has
 * looked. Therefore:
 *
 *   1. A waiter looks, and remembers the first round that it sees; or that there was none.
 *   2. One of the threads that wait for a dlock_latch leads. It sleeps until a message, a new
 *      subscription (before which a message may be lost), or the re-check, and looks. What it sees
 *      is news for all, so the threads cost one question a re-check, however many they are. A
 *      thread that leaves while nobody leads wakes another.
 *   3. A later round without the end of a life in between (`first`) shows that the remembered round
 *      has opened. If there was none, a second round shows that the first one has.
 */
#include <stddef.h>

#include "core/client.h"
#include "core/engine.h"
#include "core/waiting.h"
#include "extras/latch.h"
#include "redis/reserved.h"

/* ---- what is heard --------------------------------------------------------------------------- */

/* An opening, perhaps: a message, or a subscription before which one may be lost. */
static void note_news(channel *c)
{
    dlock_latch *latch = (dlock_latch *)((char *)c - offsetof(dlock_latch, channel));
    pthread_mutex_lock(&latch->lock);
    latch->told = true;
    pthread_cond_broadcast(&latch->news);
    pthread_mutex_unlock(&latch->lock);
}

static void note_message(channel *c, const char *message)
{
    (void)message;
    note_news(c);
}

/* From the first wait on, as long as the latch lives. Out of memory: the re-check has to do. */
static void listen(dlock_latch *latch)
{
    engine *e = dlock_engine_of(latch->client);
    pthread_mutex_lock(&latch->lock);
    bool begin = e && !latch->listens;
    latch->listens = latch->listens || begin;
    pthread_mutex_unlock(&latch->lock);
    if (!begin)
        return;
    latch->channel.key = latch->name;
    latch->channel.for_each = true;
    latch->channel.subscribed = note_news;
    latch->channel.heard = note_message;
    dlock_subscriber_listen(dlock_engine_subscriber(e), &latch->channel);
}

/* What a cancelled thread sleeps on. */
typedef struct sleep_end {
    cancel_listener listener; /* first, so that the one is the other */
    dlock_latch *latch;
} sleep_end;

static void end_sleep(cancel_listener *l)
{
    dlock_latch *latch = ((sleep_end *)l)->latch;
    pthread_mutex_lock(&latch->lock);
    pthread_cond_broadcast(&latch->news);
    pthread_mutex_unlock(&latch->lock);
}

/* ---- what is seen ---------------------------------------------------------------------------- */

static bool same_state(const latch_state *a, const latch_state *b)
{
    return a->status == b->status && a->answer == b->answer && a->left == b->left &&
           a->round == b->round && a->first == b->first;
}

/* What one sees is news for all, if it is another state than the last one seen. */
static latch_state look(dlock_latch *latch)
{
    latch_state state = dlock_latch_look(latch);
    pthread_mutex_lock(&latch->lock);
    if (state.asked.us > latch->latest.asked.us) {
        if (!same_state(&state, &latch->latest))
            pthread_cond_broadcast(&latch->news);
        latch->latest = state;
    }
    pthread_mutex_unlock(&latch->lock);
    return state;
}

/* Called with the lock, which it releases meanwhile. */
static void lead(dlock_latch *latch, const dlock_wait *wait, dlock_time until)
{
    dlock_time tick = dlock_sooner(until, dlock_in_ms(latch->client->options.recheck_ms));
    latch->led = true;
    while (!latch->told && !dlock_passed(tick) && !dlock_cancelled(wait))
        dlock_cond_wait(&latch->news, &latch->lock, tick);
    if (!dlock_cancelled(wait)) {
        latch->told = false;
        pthread_mutex_unlock(&latch->lock);
        look(latch);
        pthread_mutex_lock(&latch->lock);
    }
    latch->led = false;
    pthread_cond_signal(&latch->news);
}

/* Sleeps until somebody has looked after `after`, or it is cancelled. When its time is over, it
 * looks itself. */
static latch_state next_state(dlock_latch *latch, const dlock_wait *wait, dlock_time until,
                              dlock_time after)
{
    pthread_mutex_lock(&latch->lock);
    while (latch->latest.asked.us <= after.us && !dlock_passed(until) && !dlock_cancelled(wait)) {
        if (latch->led)
            dlock_cond_wait(&latch->news, &latch->lock, until);
        else
            lead(latch, wait, until);
    }
    latch_state state = latch->latest;
    pthread_mutex_unlock(&latch->lock);
    return state.asked.us > after.us || dlock_cancelled(wait) ? state : look(latch);
}

static void leave(dlock_latch *latch)
{
    pthread_mutex_lock(&latch->lock);
    if (!latch->led)
        pthread_cond_signal(&latch->news);
    pthread_mutex_unlock(&latch->lock);
}

/* ---- what it means --------------------------------------------------------------------------- */

enum { NOT_SEEN = -1, NOT_SET };

/* What a state means to one who has waited for *round. DLOCK_BUSY: to wait on. */
static dlock_status judge(const latch_state *state, int64_t *round)
{
    dlock_status status = dlock_latch_status(state);
    if (status == DLOCK_EXPIRED && *round <= NOT_SET) {
        *round = NOT_SET; /* it will be */
        return DLOCK_BUSY;
    }
    if (status != DLOCK_OK)
        return status;
    if (*round == NOT_SET && state->first < state->round)
        return DLOCK_OK;
    if (*round > NOT_SET && *round != state->round)
        return *round < state->round && state->first <= *round ? DLOCK_OK : DLOCK_EXPIRED;
    *round = state->round;
    return state->left == 0 ? DLOCK_OK : DLOCK_BUSY;
}

static dlock_status wait_until_open(dlock_latch *latch, const dlock_wait *wait)
{
    dlock_time deadline = dlock_in_ms(wait->wait_ms);
    int64_t round = NOT_SEEN;
    latch_state state = look(latch);
    for (;;) {
        dlock_status status = judge(&state, &round);
        if (status != DLOCK_BUSY && !dlock_status_open(status))
            return status;
        if (state.asked.us >= deadline.us)
            return dlock_cancelled(wait) ? DLOCK_CANCELLED : status;
        listen(latch);
        state = next_state(latch, wait, deadline, state.asked);
        if (dlock_cancelled(wait))
            return DLOCK_CANCELLED;
    }
}

dlock_status dlock_latch_wait(dlock_latch *latch, const dlock_wait *wait)
{
    static const dlock_wait no_wait;
    if (dlock_client_forked(latch->client))
        return DLOCK_FORKED;
    if (!wait)
        wait = &no_wait;
    if (wait->wait_ms < DLOCK_FOREVER || HAS_RESERVED(wait))
        return DLOCK_INVALID;
    sleep_end end = {.listener = {.fired = end_sleep}, .latch = latch};
    if (wait->cancel)
        dlock_cancel_listen(wait->cancel, &end.listener);
    dlock_status status = wait_until_open(latch, wait);
    if (wait->cancel)
        dlock_cancel_forget(wait->cancel, &end.listener);
    leave(latch);
    return status;
}
