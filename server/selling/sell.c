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

#include "server/selling/sell.lua.h"
#include "server/store/replicas.h"
#include "server/store/state.lua.h"

static dlock_script plain = DLOCK_SCRIPT("sell", "#!lua\n" STATE_LUA SELL_LUA);

/* The same script behind the lock's guard; composed once, kept to the end of the process. */
static dlock_guard *guarded;

static void compose_guard(void)
{
    guarded = dlock_guard_new("sell", STATE_LUA SELL_LUA);
}

void sell_put_state(dlock_args *args, const open_sale *sale, const sale_keys *keys, uint64_t fence)
{
    char by[IDENT_MAX + 32];
    snprintf(by, sizeof(by), "%llu %s", (unsigned long long)fence, sale->store->instance);
    terms_put_state(args, &sale->terms, keys, sale_known_number(sale, keys));
    dlock_args_text(args, by);
}

static void put_words(dlock_args *args, const open_sale *sale, const sale_keys *keys,
                      uint64_t fence, const sell_buyer *buyers, int count)
{
    dlock_args_init(args);
    sell_put_state(args, sale, keys, fence);
    dlock_args_int(args, sale->key_sets > 1 ? terms_units(&sale->terms, 0) : 0);
    dlock_args_int(args, terms_units(&sale->terms, keys->segment));
    for (int i = 0; i < count; i++) {
        const purchase *request = buyers[i].request;
        dlock_args_text(args, request->request);
        dlock_args_text(args, request->user);
        dlock_args_int(args, request->quantity);
        dlock_args_int(args, request->not_after_us);
    }
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
        sale_saw_number(sale, keys, result->order.number);
}

static void read_answers(const open_sale *sale, const sale_keys *keys, const redisReply *reply,
                         bool replicated, bool given_back, const sell_buyer *buyers, int count)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != (size_t)count + 1) {
        answer_all(buyers, count, BUY_UNKNOWN);
        return;
    }
    for (int i = 0; i < count; i++) {
        purchase_result *result = buyers[i].result;
        const redisReply *answer = reply->element[i + 1];
        sale_answer(sale, keys, answer->str, answer->len, buyers[i].request, result);
        result->remaining = reply->element[0]->integer;
        if (replicated)
            note_replicated(sale, keys, given_back, result);
    }
}

void sell(const open_sale *sale, const sale_keys *keys, const sell_buyer *buyers, int count,
          dlock_time deadline)
{
    dlock_args args;
    put_words(&args, sale, keys, 0, buyers, count);
    redisReply *reply = NULL;
    int needed = replicas_needed(sale->store, &sale->terms, keys);
    dlock_redis_outcome outcome =
        dlock_redis_eval_wait(sale->store->redis, &plain, STATE_KEYS, &args, needed,
                              replicas_deadline(needed, deadline), &reply);
    bool enough = outcome == DLOCK_REDIS_OK;
    if (enough || (outcome == DLOCK_REDIS_UNKNOWN && reply))
        read_answers(sale, keys, reply, enough && needed > 0, false, buyers, count);
    else
        answer_all(buyers, count, purchase_write_failed(sale->store, outcome));
    freeReplyObject(reply);
    dlock_args_free(&args);
}

void sell_guarded(const open_sale *sale, const sale_keys *keys, dlock_hold *hold, bool release,
                  const sell_buyer *buyers, int count, dlock_time deadline)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, compose_guard);

    dlock_args args;
    put_words(&args, sale, keys, dlock_fence(hold), buyers, count);
    redisReply *reply = NULL;
    int needed = release ? replicas_needed(sale->store, &sale->terms, keys) : 0;
    dlock_status status = dlock_guard_call_wait(hold, guarded, STATE_KEYS, &args, release, needed,
                                                replicas_deadline(needed, deadline), &reply);
    bool enough = status == DLOCK_OK;
    if (enough || (status == DLOCK_UNKNOWN && reply))
        read_answers(sale, keys, reply, enough && needed > 0, release, buyers, count);
    else
        answer_all(buyers, count, purchase_guard_failed(sale->store, status));
    freeReplyObject(reply);
    dlock_args_free(&args);
}
