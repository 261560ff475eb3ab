/*
 * Waiting for a latch.
 *
 * A message tells of the opening, but may be lost, and the latch may be set anew before anybody has
 * looked. Therefore:
 *
 *   1. A waiter looks, and remembers the first round that it sees; or that there was none.
 *   2. Of all who wait for one dlock_latch one listens: it subscribes, looks, sleeps until a
 * message or the re-check, and looks again. What it saw is news for all. So threads that wait cost
 * one connection and one question a re-check, however many they are.
 *   3. A later round without the end of a life in between (`first`) shows that the remembered one
 *      has opened; where there was none, one that was set anew shows that the first one has.
 */
#include "core/client.h"
#include "core/status.h"
#include "core/waiting.h"
#include "extras/latch.h"
#include "redis/reserved.h"

/* Connects and subscribes. True: what was told before has to be looked for. */
static bool subscribe(dlock_latch *latch)
{
    dlock_redis *redis = latch->client->options.redis;
    dlock_time deadline = dlock_in_ms(latch->client->options.io_ms);
    latch->heard = false;
    if (dlock_redis_dial(redis, latch->name, deadline, &latch->conn) != DLOCK_REDIS_OK)
        return false;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "SUBSCRIBE");
    dlock_args_text(&args, latch->channel);
    bool done = dlock_redis_call(latch->conn, &args, deadline, NULL) == DLOCK_REDIS_OK;
    dlock_args_free(&args);
    if (!done) {
        dlock_redis_hang_up(latch->conn);
        latch->conn = NULL;
    }
    return done;
}

static bool read_message(dlock_redis_conn *conn)
{
    redisReply *message = NULL;
    dlock_time deadline = dlock_in_ms(1000); /* it is there, or the connection's end */
    bool read = dlock_redis_read(conn, deadline, &message) == DLOCK_REDIS_OK;
    if (message)
        freeReplyObject(message);
    return read;
}

/* In a cluster the latch may be on another server by now, and this one have died in silence. */
static bool leads_to_latch(const dlock_latch *latch)
{
    int server = dlock_redis_server_of(latch->client->options.redis, latch->name);
    return server < 0 || server == dlock_redis_conn_server(latch->conn);
}

/* Until there is a reason to look, or `until`. False: it can not listen; not to be tried again at
 * once. */
static bool listen_until(dlock_latch *latch, dlock_time until)
{
    if (latch->conn && (dlock_redis_broken(latch->conn) || !leads_to_latch(latch))) {
        dlock_redis_hang_up(latch->conn);
        latch->conn = NULL;
    }
    if (!latch->conn)
        return subscribe(latch);
    bool told = false;
    while (dlock_redis_wait(latch->conn, told ? dlock_now() : until) && read_message(latch->conn))
        told = true;
    bool works = told || !dlock_redis_broken(latch->conn);
    bool worked = latch->heard;
    latch->heard = worked || works;
    return works || worked;
}

/* Called with the lock. */
static void listen_for_all(dlock_latch *latch, dlock_time until)
{
    latch->listening = true;
    pthread_mutex_unlock(&latch->lock);
    dlock_time tick = dlock_sooner(until, dlock_in_ms(latch->client->options.recheck_ms));
    if (!listen_until(latch, tick))
        dlock_sleep(tick);
    latch_state state = dlock_latch_look(latch);
    pthread_mutex_lock(&latch->lock);
    latch->latest = state;
    latch->listening = false;
    pthread_cond_broadcast(&latch->news);
}

/* Sleeps until there is news: what was asked after *asked_after, which becomes when this was.
 * False: none came. */
static bool next_state(dlock_latch *latch, dlock_time until, dlock_time *asked_after,
                       latch_state *ret)
{
    pthread_mutex_lock(&latch->lock);
    while (latch->latest.asked.us <= asked_after->us && !dlock_passed(until)) {
        if (latch->listening)
            dlock_cond_wait(&latch->news, &latch->lock, until);
        else
            listen_for_all(latch, until);
    }
    bool news = latch->latest.asked.us > asked_after->us;
    if (news) {
        *ret = latch->latest;
        *asked_after = ret->asked;
    }
    pthread_mutex_unlock(&latch->lock);
    return news;
}

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
    latch_state state = dlock_latch_look(latch);
    dlock_time asked_after = dlock_now();
    for (;;) {
        dlock_status status = judge(&state, &round);
        if (status != DLOCK_BUSY && !dlock_status_open(status))
            return status;
        if (dlock_cancelled(wait))
            return DLOCK_CANCELLED;
        if (state.asked.us >= deadline.us)
            return status;
        dlock_time tick = dlock_in_ms(latch->client->options.recheck_ms);
        dlock_time until = wait->cancel ? dlock_sooner(deadline, tick) : deadline;
        if (!next_state(latch, until, &asked_after, &state) && dlock_passed(deadline)) {
            state = dlock_latch_look(latch);
            asked_after = dlock_now();
        }
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
    return wait_until_open(latch, wait);
}
