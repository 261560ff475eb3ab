/* sell.c - the words of the selling script, and its answers. See sell.lua for their form. */
#include "server/selling/sell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/selling/sell.lua.h"
#include "server/store/outcome.h"

#define KEYS 6

static dlock_script plain = DLOCK_SCRIPT("sell", "#!lua\n" SELL_LUA);

/* The same script behind the lock's guard; composed once, kept to the end of the process. */
static dlock_guard *guarded;

static void compose_guard(void)
{
    guarded = dlock_guard_new("sell", SELL_LUA);
}

static void put_words(dlock_args *args, const sale_terms *terms, const fs_shelf *shelf,
                      uint64_t fence, const sell_buyer *buyers, int count)
{
    char by[IDENT_MAX + 32];
    snprintf(by, sizeof(by), "%llu %s", (unsigned long long)fence, terms->store->instance);

    dlock_args_init(args);
    dlock_args_text(args, shelf->current);
    dlock_args_text(args, shelf->stock);
    dlock_args_text(args, shelf->sold);
    dlock_args_text(args, shelf->orders);
    dlock_args_text(args, shelf->ledger);
    dlock_args_text(args, shelf->users);
    dlock_args_text(args, terms->id);
    dlock_args_int(args, terms->per_user_limit);
    dlock_args_text(args, by);
    dlock_args_text(args, terms->shelf_count > 1 ? "1" : "0");
    dlock_args_int(args, terms_units(terms, shelf->segment));
    for (int i = 0; i < count; i++) {
        const buy_request *request = buyers[i].request;
        dlock_args_text(args, request->request);
        dlock_args_text(args, request->user);
        dlock_args_int(args, request->quantity);
        dlock_args_int(args, request->not_after_us);
    }
}

static void answer_all(const sell_buyer *buyers, int count, buy_outcome outcome)
{
    for (int i = 0; i < count; i++)
        buy_answer(buyers[i].result, outcome);
}

static void read_answers(const redisReply *reply, const fs_shelf *shelf, const sell_buyer *buyers,
                         int count)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != (size_t)count + 1) {
        LOG_SOME(LOG_ERROR, "sale_damaged", "keys", shelf->base, NULL);
        answer_all(buyers, count, BUY_UNAVAILABLE);
        return;
    }
    for (int i = 0; i < count; i++) {
        buy_result *result = buyers[i].result;
        const redisReply *answer = reply->element[i + 1];
        outcome_of_answer(answer->str, answer->len, buyers[i].request, result);
        result->segment = shelf->segment;
        result->remaining = reply->element[0]->integer;
    }
}

void sell(const sale_terms *terms, const fs_shelf *shelf, const sell_buyer *buyers, int count,
          dlock_time deadline)
{
    dlock_args args;
    put_words(&args, terms, shelf, 0, buyers, count);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval(terms->store->redis, &plain, KEYS, &args, deadline, &reply);
    if (outcome == DLOCK_REDIS_OK)
        read_answers(reply, shelf, buyers, count);
    else
        answer_all(buyers, count, outcome_of_write(terms->store, outcome));
    freeReplyObject(reply);
    dlock_args_free(&args);
}

void sell_guarded(const sale_terms *terms, const fs_shelf *shelf, dlock_hold *hold, bool release,
                  const sell_buyer *buyers, int count, dlock_time deadline)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, compose_guard);

    dlock_args args;
    put_words(&args, terms, shelf, dlock_fence(hold), buyers, count);
    redisReply *reply = NULL;
    dlock_status status = dlock_guard_call(hold, guarded, KEYS, &args, release, deadline, &reply);
    if (status == DLOCK_OK)
        read_answers(reply, shelf, buyers, count);
    else
        answer_all(buyers, count, outcome_of_guard(terms->store, status));
    freeReplyObject(reply);
    dlock_args_free(&args);
}
