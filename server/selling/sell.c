/*
 * sell.c - the words of the selling script, and its answers; see sell.lua for their form.
 *
 * The script is one, with the lock library's guard before it or without. Any failure is everybody's
 * in the call: nobody was sold anything, or nobody knows.
 *
 * In a replicated sale one WAIT goes out with the script, for all buyers. When too few replicas
 * have acknowledged in time, those who were sold to have orders that are not `replicated`.
 *
 * WAIT counts up to the connection's own last write. A script that gives its lock back has written
 * in any case, so the replicas have what a refusal was decided by, too.
 */
#include "server/selling/sell.h"

#include <stdio.h>
#include <string.h>

#include "server/selling/sell.lua.h"
#include "server/store/replicas.h"
#include "server/store/state.lua.h"

static dlock_script plain = DLOCK_SCRIPT("sell", "#!lua\nlocal fence = '0'\n" STATE_LUA SELL_LUA);

/* The same script behind the lock's guard; composed once, kept to the end of the process. */
static dlock_guard *guarded;

static void compose_guard(void)
{
    guarded = dlock_guard_new("sell", STATE_LUA SELL_LUA);
}

static dlock_guard *get_guard(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, compose_guard);
    return guarded;
}

void sell_put_state(dlock_args *args, const open_sale *sale, const sale_keys *keys, uint64_t fence)
{
    char by[IDENT_MAX + 32];
    snprintf(by, sizeof(by), "%llu %s", (unsigned long long)fence, sale->store->instance);
    sale_put_state(args, sale, keys);
    dlock_args_text(args, by);
}

/* A number a buyer, with blanks between; one for all when they want the same. */
static void put_units(dlock_args *args, const sell_buyer *buyers, int count)
{
    fs_text units;
    text_init(&units);
    bool same = true;
    for (int i = 0; same && i < count; i++)
        same = buyers[i].request->quantity == buyers[0].request->quantity;
    for (int i = 0; i < (same ? 1 : count); i++) {
        text_add(&units, i > 0 ? " " : "");
        text_add_int(&units, buyers[i].request->quantity);
    }
    args->failed = args->failed || units.failed;
    dlock_args_text(args, text_bytes(&units));
    text_free(&units);
}

static void put_not_after(dlock_args *args, const sell_buyer *buyers, int count)
{
    fs_text all;
    text_init(&all);
    int64_t earliest = buyers[0].request->not_after_us;
    for (int i = 0; i < count; i++) {
        int64_t not_after_us = buyers[i].request->not_after_us;
        earliest = not_after_us < earliest ? not_after_us : earliest;
        text_add(&all, i > 0 ? " " : "");
        text_add_int(&all, not_after_us);
    }
    args->failed = args->failed || all.failed;
    dlock_args_int(args, earliest);
    dlock_args_text(args, text_bytes(&all));
    text_free(&all);
}

/* The epochs, of which the orders are made in the first. */
static const char *put_words(dlock_args *args, const open_sale *sale, const sale_keys *keys,
                             const sell_buyer *buyers, int count)
{
    dlock_args_init(args);
    const char *epochs = sale_put_state(args, sale, keys);
    dlock_args_text(args, sale->store->instance);
    dlock_args_int(args, sale->key_sets > 1 ? terms_units(&sale->terms, 0) : 0);
    dlock_args_int(args, terms_units(&sale->terms, keys->segment));
    put_units(args, buyers, count);
    put_not_after(args, buyers, count);
    for (int i = 0; i < count; i++)
        dlock_args_text(args, buyers[i].request->request);
    fs_text order;
    text_init(&order);
    for (int i = 0; i < count; i++) {
        text_clear(&order);
        text_add_all(&order, buyers[i].request->user, " ");
        text_add_int(&order, buyers[i].request->quantity);
        dlock_args_text(args, text_bytes(&order));
    }
    text_free(&order);
    return epochs;
}

static void answer_all(const sell_buyer *buyers, int count, purchase_outcome outcome)
{
    for (int i = 0; i < count; i++)
        purchase_answer(buyers[i].result, outcome);
}

/* The replicas that the sale asks for have the order, if it is a new one: what is replayed was
 * written before, by another connection. With the lock `given_back` they have what is sold out,
 * too.
 */
static void note_replicated(const open_sale *sale, const sale_keys *keys, bool given_back,
                            purchase_result *result)
{
    result->replicated = (result->outcome == BUY_SOLD && !result->replayed) ||
                         (result->outcome == BUY_SOLD_OUT && given_back);
    if (result->replicated && result->outcome == BUY_SOLD)
        sale_saw_order(sale, keys, &result->order);
}

/* What all the records of a call have alike, and what was left behind them. */
typedef struct sell_call {
    const open_sale *sale;
    const sale_keys *keys;
    const char *epochs;
    uint64_t fence;
    bool replicated, given_back;
} sell_call;

/* The order of a buyer who was sold to: as sell.lua has written its record. */
static void read_order(const sell_call *call, const purchase *request, int64_t number,
                       int64_t remaining, int64_t time_us, fs_order *ret)
{
    ret->number = number;
    memcpy(ret->user, request->user, sizeof(ret->user));
    ret->quantity = request->quantity;
    ret->remaining = remaining;
    ret->fence = call->fence;
    snprintf(ret->instance, sizeof(ret->instance), "%s", call->sale->store->instance);
    ret->time_us = time_us;
    memcpy(ret->epoch, call->epochs, EPOCH_LEN);
    ret->epoch[EPOCH_LEN] = '\0';
}

/* From the last buyer to the first, for what is left is known from the end. */
static void read_answers(const sell_call *call, const redisReply *reply, const sell_buyer *buyers,
                         int count)
{
    int64_t time_us = 0;
    bool whole = reply && reply->type == REDIS_REPLY_ARRAY &&
                 reply->elements == (size_t)count + 2 &&
                 reply->element[0]->type == REDIS_REPLY_INTEGER &&
                 reply->element[1]->type == REDIS_REPLY_STRING;
    if (!reply || !dlock_redis_check(call->sale->store->redis, plain.name, reply, whole)) {
        answer_all(buyers, count, BUY_UNKNOWN);
        return;
    }
    /* Who may not ask the time has none, and nobody was sold anything. */
    if (!decimal_read(reply->element[1]->str, reply->element[1]->len, &time_us))
        time_us = 0;
    int64_t left = reply->element[0]->integer, remaining = left;
    for (int i = count - 1; i >= 0; i--) {
        const purchase *request = buyers[i].request;
        purchase_result *result = buyers[i].result;
        const redisReply *answer = reply->element[i + 2];
        if (answer->type == REDIS_REPLY_INTEGER) {
            read_order(call, request, answer->integer, remaining, time_us, &result->order);
            sale_sold(call->sale, call->keys, result);
            remaining += request->quantity;
        } else {
            sale_answer(call->sale, call->keys, answer, request, result);
        }
        result->remaining = left;
        if (call->replicated)
            note_replicated(call->sale, call->keys, call->given_back, result);
    }
}

void sell(const open_sale *sale, const sale_keys *keys, const sell_buyer *buyers, int count,
          dlock_time deadline)
{
    dlock_args args;
    const char *epochs = put_words(&args, sale, keys, buyers, count);
    redisReply *reply = NULL;
    int needed = replicas_needed(sale->store, &sale->terms, keys);
    dlock_redis_outcome outcome =
        dlock_redis_eval_wait(sale->store->redis, &plain, STATE_KEYS, &args, needed,
                              replicas_deadline(needed, deadline), &reply);
    bool enough = outcome == DLOCK_REDIS_OK;
    if (enough || (outcome == DLOCK_REDIS_UNKNOWN && reply))
        read_answers(&(sell_call){sale, keys, epochs, 0, enough && needed > 0, false}, reply,
                     buyers, count);
    else
        answer_all(buyers, count, purchase_write_failed(sale->store, outcome));
    freeReplyObject(reply);
    dlock_args_free(&args);
}

void sell_guarded(const open_sale *sale, const sale_keys *keys, dlock_hold *hold, bool release,
                  const sell_buyer *buyers, int count, dlock_time deadline)
{
    dlock_args args;
    const char *epochs = put_words(&args, sale, keys, buyers, count);
    redisReply *reply = NULL;
    int needed = release ? replicas_needed(sale->store, &sale->terms, keys) : 0;
    dlock_status status =
        dlock_guard_call_wait(hold, get_guard(), STATE_KEYS, &args, release, needed,
                              replicas_deadline(needed, deadline), &reply);
    bool enough = status == DLOCK_OK;
    if (enough || (status == DLOCK_UNKNOWN && reply))
        read_answers(
            &(sell_call){sale, keys, epochs, dlock_fence(hold), enough && needed > 0, release},
            reply, buyers, count);
    else
        answer_all(buyers, count, purchase_guard_failed(sale->store, status));
    freeReplyObject(reply);
    dlock_args_free(&args);
}

bool sell_in_section(const open_sale *sale, const sale_keys *keys, dlock_lock *lock,
                     const sell_buyer *buyers, int count, dlock_time deadline)
{
    dlock_args args;
    const char *epochs = put_words(&args, sale, keys, buyers, count);
    redisReply *reply = NULL;
    uint64_t fence = 0;
    int needed = replicas_needed(sale->store, &sale->terms, keys);
    dlock_status status = dlock_guard_section(lock, get_guard(), STATE_KEYS, &args, needed,
                                              replicas_deadline(needed, deadline), &fence, &reply);
    bool enough = status == DLOCK_OK;
    if (enough || (status == DLOCK_UNKNOWN && reply))
        read_answers(&(sell_call){sale, keys, epochs, fence, enough && needed > 0, true}, reply,
                     buyers, count);
    else if (status != DLOCK_BUSY)
        answer_all(buyers, count, purchase_guard_failed(sale->store, status));
    freeReplyObject(reply);
    dlock_args_free(&args);
    return status != DLOCK_BUSY;
}
