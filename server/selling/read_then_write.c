/*
 * read_then_write.c - the steps, one round trip each, as an application writes them that keeps
 * its stock in Redis as it would keep it in a table.
 *
 * A request that may be a retry is looked up before anything is taken, and so is a limit: the
 * stock is not to fall for an order that will be refused.
 */
#include "server/selling/read_then_write.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/base/fail_point.h"
#include "server/selling/locked_section.h"
#include "server/selling/record.lua.h"
#include "server/store/command.h"
#include "server/store/outcome.h"

/* With less time than this left nothing is written any more: the order could come too late when
 * the stock has already fallen. */
#define WRITE_RESERVE_MS 20

#define KEYS             6

static dlock_script record = DLOCK_SCRIPT("record", "#!lua\n" RECORD_LUA);

/* Reads one value; *ret is NULL when Redis has none. False: answered already. */
static bool read_value(const sale_terms *terms, const char *const *words,
                       const buy_request *request, redisReply **ret, buy_result *result)
{
    redisReply *reply = NULL;
    dlock_time deadline = store_read_deadline(request->deadline);
    dlock_redis_outcome outcome = asking(terms->store, deadline, &reply, words);
    if (outcome != DLOCK_REDIS_OK || reply->type != REDIS_REPLY_STRING) {
        freeReplyObject(reply);
        reply = NULL;
    }
    if (outcome != DLOCK_REDIS_OK)
        buy_answer(result, outcome_of_read(terms->store, outcome));
    *ret = reply;
    return outcome == DLOCK_REDIS_OK;
}

/* Whether this is a first try, as far as can be seen now. False: answered. */
static bool is_new(const sale_terms *terms, const buy_request *request, buy_result *result)
{
    redisReply *had;
    if (!read_value(terms, ASKING("HGET", terms->shelves->orders, request->request), request, &had,
                    result))
        return false;
    if (!had)
        return true;
    char answer[RECORD_MAX];
    bool is_void = had->str[0] == ORDER_VOID[0];
    int len = snprintf(answer, sizeof(answer), "%s", is_void ? "void" : "=");
    if (!is_void)
        len += snprintf(answer + len, sizeof(answer) - (size_t)len, "%s", had->str);
    outcome_of_answer(answer, (size_t)len, request, result);
    freeReplyObject(had);
    return false;
}

static bool is_within_limit(const sale_terms *terms, const buy_request *request, buy_result *result)
{
    redisReply *had;
    if (!read_value(terms, ASKING("HGET", terms->shelves->users, request->user), request, &had,
                    result))
        return false;
    int64_t units = had ? strtoll(had->str, NULL, 10) : 0;
    freeReplyObject(had);
    if (units + request->quantity <= terms->per_user_limit)
        return true;
    buy_answer(result, BUY_LIMIT_REACHED);
    return false;
}

static bool read_stock(const sale_terms *terms, const buy_request *request, int64_t *left,
                       buy_result *result)
{
    redisReply *stock;
    if (!read_value(terms, ASKING("GET", terms->shelves->stock), request, &stock, result))
        return false;
    if (!stock) {
        buy_answer(result, BUY_UNAVAILABLE);
        return false;
    }
    *left = strtoll(stock->str, NULL, 10);
    freeReplyObject(stock);
    return true;
}

/* Writes the stock if it is there: a write that comes late is not to bring back the stock of an old
 * sale, nor to let it live for ever. */
static bool write_stock(const sale_terms *terms, const buy_request *request, int64_t left,
                        buy_result *result)
{
    char number[24];
    snprintf(number, sizeof(number), "%lld", (long long)left);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        asking(terms->store, request->deadline, &reply,
               ASKING("SET", terms->shelves->stock, number, "XX", "KEEPTTL"));
    bool written = outcome == DLOCK_REDIS_OK && reply->type != REDIS_REPLY_NIL;
    if (outcome != DLOCK_REDIS_OK)
        buy_answer(result, outcome_of_write(terms->store, outcome));
    else if (!written)
        buy_answer(result, BUY_UNAVAILABLE);
    freeReplyObject(reply);
    return written;
}

static void record_order(const sale_terms *terms, const buy_request *request, uint64_t fence,
                         int64_t left, buy_result *result)
{
    const fs_shelf *shelf = terms->shelves;
    char by[IDENT_MAX + 32];
    snprintf(by, sizeof(by), "%llu %s", (unsigned long long)fence, terms->store->instance);

    dlock_args args;
    dlock_args_init(&args);
    const char *const words[] = {
        shelf->current, shelf->stock, shelf->sold, shelf->orders,
        shelf->ledger,  shelf->users, terms->id,
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        dlock_args_text(&args, words[i]);
    dlock_args_int(&args, terms->per_user_limit);
    dlock_args_text(&args, by);
    dlock_args_text(&args, request->request);
    dlock_args_text(&args, request->user);
    dlock_args_int(&args, request->quantity);
    dlock_args_int(&args, request->not_after_us);
    dlock_args_int(&args, left);

    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval(terms->store->redis, &record, KEYS, &args, request->deadline, &reply);
    if (outcome == DLOCK_REDIS_OK)
        outcome_of_answer(reply->str, reply->len, request, result);
    else
        buy_answer(result, outcome_of_write(terms->store, outcome));
    result->remaining = left;
    freeReplyObject(reply);
    dlock_args_free(&args);
}

static bool is_cancelled(fs_section section)
{
    return section.cancelled && atomic_load(section.cancelled);
}

void read_then_write(const sale_terms *terms, const buy_request *request, fs_section section,
                     buy_result *result)
{
    int64_t left;
    if (request->keyed && !is_new(terms, request, result))
        return;
    if (terms->per_user_limit > 0 && !is_within_limit(terms, request, result))
        return;
    if (!read_stock(terms, request, &left, result))
        return;
    FAIL_POINT("in-section");
    if (left < request->quantity) {
        buy_answer(result, BUY_SOLD_OUT);
        result->remaining = left;
        return;
    }
    if (section.locked)
        locked_dwell(terms, request->deadline);
    if (is_cancelled(section) || dlock_left_ms(request->deadline) < WRITE_RESERVE_MS) {
        buy_answer(result, BUY_BUSY);
        return;
    }
    left -= request->quantity;
    if (write_stock(terms, request, left, result))
        record_order(terms, request, section.fence, left, result);
}
