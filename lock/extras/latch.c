/*
 * Count-down latches: setting, counting down, looking. Waiting is in latch_wait.c.
 *
 * Each request carries the round that it is meant for. So a request that reaches Redis late, after
 * a repetition was answered, does nothing in a later round. A caller that does not know the round
 * asks for it first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ask.h"
#include "core/client.h"
#include "core/engine.h"
#include "extras/latch.h"
#include "extras/latch.lua.h"
#include "extras/latch_count_down.lua.h"
#include "extras/latch_look.lua.h"
#include "extras/latch_set.lua.h"
#include "kinds/fence.lua.h"

#define COUNT_MAX       1000000000
#define WHO_MAX         128
#define LIFE_DEFAULT_MS 86400000
#define PAUSE_MS        5 /* before a question without an answer is asked again, at first */

static dlock_script look =
    DLOCK_SCRIPT("latch_look", "#!lua flags=no-writes\n" FENCE_LUA LATCH_LUA LATCH_LOOK_LUA);
static dlock_script set = DLOCK_SCRIPT("latch_set", "#!lua\n" FENCE_LUA LATCH_LUA LATCH_SET_LUA);
static dlock_script count_down =
    DLOCK_SCRIPT("latch_count_down", "#!lua\n" FENCE_LUA LATCH_LUA LATCH_COUNT_DOWN_LUA);

/* ---- making and freeing ---------------------------------------------------------------------- */

static dlock_status refuse(const char *why, char *err, size_t err_len)
{
    snprintf(err, err_len, "%s", why);
    return DLOCK_INVALID;
}

dlock_status dlock_latch_new(dlock_client *client, const char *name, dlock_latch **ret, char *err,
                             size_t err_len)
{
    if (dlock_client_forked(client))
        return DLOCK_FORKED;
    const char *wrong = dlock_identity_check_name(name);
    if (!wrong && !client->options.redis)
        wrong = "a latch needs the client's redis";
    if (wrong)
        return refuse(wrong, err, err_len);
    dlock_latch *latch = calloc(1, sizeof(*latch));
    char *opened = dlock_identity_companion(name, "open");
    if (latch && opened && (latch->name = strdup(name))) {
        snprintf(latch->channel.name, sizeof(latch->channel.name), "%s", opened);
        free(opened);
        latch->client = client;
        pthread_mutex_init(&latch->lock, NULL);
        dlock_cond_init(&latch->news);
        *ret = latch;
        return DLOCK_OK;
    }
    free(opened);
    free(latch);
    snprintf(err, err_len, "out of memory");
    return DLOCK_NO_MEMORY;
}

void dlock_latch_free(dlock_latch *latch)
{
    if (!latch || dlock_client_forked(latch->client))
        return;
    if (latch->listens)
        dlock_subscriber_forget(dlock_engine_subscriber(dlock_engine_of(latch->client)),
                                &latch->channel);
    pthread_cond_destroy(&latch->news);
    pthread_mutex_destroy(&latch->lock);
    free(latch->name);
    free(latch);
}

/* ---- one question ---------------------------------------------------------------------------- */

static bool read_state(const redisReply *reply, latch_state *ret)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 4)
        return false;
    for (size_t i = 0; i < reply->elements; i++)
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
    ret->answer = (latch_answer)reply->element[0]->integer;
    ret->left = reply->element[1]->integer;
    ret->round = reply->element[2]->integer;
    ret->first = reply->element[3]->integer;
    return true;
}

/* The key, and then the arguments, are in `args`, which is freed. */
static latch_state ask(dlock_latch *latch, dlock_script *script, dlock_args *args)
{
    latch_state state = {.asked = dlock_now()};
    redisReply *reply = NULL;
    state.status =
        dlock_ask_script(latch->client, latch->client->options.redis, script, 1, args, 0, &reply);
    if (state.status == DLOCK_OK && !dlock_redis_check(latch->client->options.redis, script->name,
                                                       reply, read_state(reply, &state)))
        state.status = DLOCK_FAILED;
    freeReplyObject(reply);
    if (state.status == DLOCK_OK)
        atomic_store(&latch->round, state.round);
    return state;
}

latch_state dlock_latch_look(dlock_latch *latch)
{
    dlock_args args = {0};
    dlock_args_text(&args, latch->name);
    return ask(latch, &look, &args);
}

static latch_state ask_set(dlock_latch *latch, int64_t count, int64_t life_ms, int64_t round)
{
    dlock_args args = {0};
    dlock_args_text(&args, latch->name);
    dlock_args_int(&args, count);
    dlock_args_int(&args, life_ms);
    dlock_args_int(&args, round);
    return ask(latch, &set, &args);
}

static latch_state ask_count_down(dlock_latch *latch, const char *who, int64_t round)
{
    dlock_args args = {0};
    dlock_args_text(&args, latch->name);
    dlock_args_text(&args, who);
    dlock_args_int(&args, round);
    dlock_args_text(&args, latch->channel.name);
    return ask(latch, &count_down, &args);
}

dlock_status dlock_latch_status(const latch_state *state)
{
    if (state->status != DLOCK_OK)
        return state->status;
    switch (state->answer) {
    case ANSWER_DONE:
        return DLOCK_OK;
    case ANSWER_CLOSED:
        return DLOCK_BUSY;
    case ANSWER_NOT_SET:
        return DLOCK_EXPIRED;
    case ANSWER_STRANGE:
        return DLOCK_NOT_OWNER;
    case ANSWER_OTHER_ROUND:
        return DLOCK_UNAVAILABLE;
    }
    return DLOCK_FAILED;
}

/* ---- setting, counting down, looking --------------------------------------------------------- */

dlock_status dlock_latch_set(dlock_latch *latch, int64_t count, int64_t life_ms)
{
    if (dlock_client_forked(latch->client))
        return DLOCK_FORKED;
    if (count < 1 || count > COUNT_MAX || life_ms < 0 || life_ms > TIME_MAX_MS)
        return DLOCK_INVALID;
    dlock_time deadline = dlock_in_ms(latch->client->options.io_ms);
    int64_t life = life_ms ? life_ms : LIFE_DEFAULT_MS;
    latch_state state = ask_set(latch, count, life, 0);
    while (state.status == DLOCK_OK && state.answer == ANSWER_OTHER_ROUND &&
           !dlock_passed(deadline))
        state = ask_set(latch, count, life, state.round);
    return dlock_latch_status(&state);
}

/* Repeats a question without an answer until io_ms are over, but at least once: it counts at most
 * once a round. If it may have counted (`maybe`), only a "yes" tells that it has. */
static dlock_status count_down_once(dlock_latch *latch, const char *who, latch_state *ret)
{
    dlock_time deadline = dlock_in_ms(latch->client->options.io_ms);
    int64_t round = atomic_load(&latch->round);
    bool maybe = false;
    for (int unanswered = 0;;) {
        *ret = ask_count_down(latch, who, round);
        bool other = ret->status == DLOCK_OK && ret->answer == ANSWER_OTHER_ROUND;
        bool silent = ret->status == DLOCK_UNKNOWN;
        maybe = maybe || (silent && round != 0);
        if (other && !maybe && !dlock_passed(deadline)) {
            round = ret->round;
            continue;
        }
        dlock_status status = dlock_latch_status(ret);
        if (silent || (unanswered > 0 && dlock_status_open(ret->status)))
            unanswered++;
        else
            return status == DLOCK_OK || !maybe ? status : DLOCK_UNKNOWN;
        if (unanswered > 1 && dlock_passed(deadline))
            return maybe ? DLOCK_UNKNOWN : DLOCK_UNAVAILABLE;
        dlock_sleep(dlock_in_ms(PAUSE_MS * (unanswered < 20 ? unanswered : 20)));
    }
}

dlock_status dlock_latch_count_down(dlock_latch *latch, const char *who, int64_t *left)
{
    char token[TOKEN_LEN];
    dlock_client *client = latch->client;
    if (dlock_client_forked(client))
        return DLOCK_FORKED;
    if (who && (!*who || strlen(who) > WHO_MAX))
        return DLOCK_INVALID;
    if (!who)
        snprintf(token, sizeof(token), "%s:%llu", client->id,
                 (unsigned long long)atomic_fetch_add(&client->next_number, 1));
    latch_state state;
    dlock_status status = count_down_once(latch, who ? who : token, &state);
    if (status == DLOCK_OK && left)
        *left = state.left;
    return status;
}

dlock_status dlock_latch_left(dlock_latch *latch, int64_t *left)
{
    if (dlock_client_forked(latch->client))
        return DLOCK_FORKED;
    latch_state state = dlock_latch_look(latch);
    dlock_status status = dlock_latch_status(&state);
    if (status == DLOCK_OK)
        *left = state.left;
    return status;
}
