/*
 * getset - SETNX of an expiry time, and GETSET by whoever finds that it has passed. (Article 004.)
 *
 * The lock's value is the moment, in Redis's time, at which it ends. A buyer that finds it taken
 * looks at the value; if that has passed it puts its own there, and has the lock if it got back
 * the very value it had read. Timers on a wheel extend it at n x lease x 9/10, at most
 * EXTENSIONS times; an extension that fails cancels the sale.
 *
 * Known to be wrong with it, and kept: the loser of two GETSETs has overwritten the winner's
 * value, so the winner can neither extend nor release; release looks and deletes in two steps.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/selling/timed_section.h"
#include "server/store/command.h"
#include "server/store/outcome.h"
#include "server/strategies/getset_renew.lua.h"

#define POLL_MS    10
#define IO_MS      1000
#define EXTENSIONS 3

static dlock_script renew =
    DLOCK_SCRIPT("getset_renew", "#!lua flags=allow-oom\n" GETSET_RENEW_LUA);

/* One buyer's lock while it has it. */
typedef struct getset_lock {
    const fs_timed *sale;
    char value[24]; /* as we believe it stands in Redis: us of the lock's end */
    int extensions;
    atomic_bool cancelled;
    wheel_timer timer;
} getset_lock;

typedef enum { TAKEN, HELD, FAILED } getset_attempt;

/* ---- the lock -------------------------------------------------------------------------------- */

/* Asks Redis for its time; the lock would end a lease later. */
static bool read_time(fs_store *store, dlock_time deadline, int64_t *ret)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = asking(store, deadline, &reply, ASKING("TIME"));
    bool good = outcome == DLOCK_REDIS_OK && reply->elements == 2;
    if (good)
        *ret = strtoll(reply->element[0]->str, NULL, 10) * 1000000 +
               strtoll(reply->element[1]->str, NULL, 10);
    freeReplyObject(reply);
    return good;
}

/* Runs a command whose reply is a value or nothing; "" for nothing. */
static bool ask_value(fs_store *store, dlock_time deadline, const char *const *words, char ret[24])
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = asking(store, deadline, &reply, words);
    ret[0] = '\0';
    if (outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_STRING)
        snprintf(ret, 24, "%s", reply->str);
    else if (outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_INTEGER)
        snprintf(ret, 24, "%lld", reply->integer);
    else if (outcome != DLOCK_REDIS_OK)
        outcome_of_read(store, outcome);
    freeReplyObject(reply);
    return outcome == DLOCK_REDIS_OK;
}

/* One try, step by step as in the article. */
static getset_attempt try_once(getset_lock *mine, dlock_time deadline)
{
    const sale_terms *terms = mine->sale->terms;
    const char *key = terms->shelves->lock;
    int64_t now;
    char answer[24], seen[24];
    if (!read_time(terms->store, deadline, &now))
        return FAILED;
    snprintf(mine->value, sizeof(mine->value), "%" PRId64, now + terms->lease_ms * 1000);

    if (!ask_value(terms->store, deadline, ASKING("SETNX", key, mine->value), answer))
        return FAILED;
    if (strcmp(answer, "1") != 0) {
        if (!ask_value(terms->store, deadline, ASKING("GET", key), seen))
            return FAILED;
        if (seen[0] == '\0' || strtoll(seen, NULL, 10) > now)
            return HELD;
        if (!ask_value(terms->store, deadline, ASKING("GETSET", key, mine->value), answer))
            return FAILED;
        if (strcmp(answer, seen) != 0)
            return HELD; /* somebody was faster, and now has our value in its lock */
    }
    return ask_value(terms->store, deadline, ASKING("PEXPIRE", key, mine->sale->lease_ms), answer)
               ? TAKEN
               : FAILED;
}

static bool lock_take(getset_lock *mine, const buy_request *request, buy_result *result)
{
    dlock_time until = dlock_sooner(dlock_in_ms(mine->sale->terms->wait_ms), request->deadline);
    for (;;) {
        getset_attempt attempt = try_once(mine, store_read_deadline(request->deadline));
        if (attempt == TAKEN)
            return true;
        if (attempt == FAILED || dlock_passed(until)) {
            buy_answer(result, attempt == FAILED ? BUY_UNAVAILABLE : BUY_BUSY);
            return false;
        }
        nanosleep(&(struct timespec){.tv_nsec = POLL_MS * 1000000L}, NULL);
    }
}

static void lock_release(getset_lock *mine)
{
    fs_store *store = mine->sale->terms->store;
    const char *key = mine->sale->terms->shelves->lock;
    dlock_time deadline = dlock_in_ms(IO_MS);
    char answer[24];
    if (ask_value(store, deadline, ASKING("GET", key), answer) &&
        strcmp(answer, mine->value) == 0 && !ask_value(store, deadline, ASKING("DEL", key), answer))
        return; /* logged; the lease will end it */
}

/* The task: extends by a lease, and cancels the sale when it can not. */
static int64_t lock_renew(void *arg)
{
    getset_lock *mine = arg;
    const sale_terms *terms = mine->sale->terms;
    char value[24];
    redisReply *reply = NULL;
    snprintf(value, sizeof(value), "%lld",
             strtoll(mine->value, NULL, 10) + (long long)terms->lease_ms * 1000);
    dlock_redis_outcome outcome =
        asking_script(terms->store, dlock_in_ms(IO_MS), &reply, &renew, terms->shelves->lock,
                      ASKING(mine->value, value, mine->sale->lease_ms));
    bool extended = outcome == DLOCK_REDIS_OK && reply->integer == 1;
    freeReplyObject(reply);
    if (!extended) {
        atomic_store(&mine->cancelled, true);
        return -1;
    }
    memcpy(mine->value, value, sizeof(value));
    return ++mine->extensions < EXTENSIONS ? terms->lease_ms * 9 / 10 : -1;
}

/* ---- the strategy ---------------------------------------------------------------------------- */

static void getset_buy(void *state, const buy_request *request, buy_result *result)
{
    const fs_timed *sale = state;
    getset_lock mine = {.sale = sale};
    if (!lock_take(&mine, request, result))
        return;
    wheel_start(sale->wheel, &mine.timer, sale->terms->lease_ms * 9 / 10, lock_renew, &mine);
    fs_section section = {.locked = true, .cancelled = &mine.cancelled};
    read_then_write(sale->terms, request, section, result);
    wheel_stop(sale->wheel, &mine.timer);
    lock_release(&mine);
}

const fs_strategy strategy_getset = {
    .name = "getset",
    .summary = "SETNX of an expiry time, GETSET once it has passed; extended on a timer wheel",
    .source = "article 004",
    .weakness = "the loser of a race overwrites the winner's value; not renewed for ever",
    .locked = true,
    .renews = true,
    .lease_ms = 10000,
    .wait_ms = 0,
    .open = timed_open,
    .buy = getset_buy,
    .close = timed_close,
};
