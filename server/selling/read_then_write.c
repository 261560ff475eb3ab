/*
 * read_then_write.c - the steps, one round trip each, as an application writes them that keeps
 * its stock in Redis as it would keep it in a table.
 *
 * First a look whether the order could be recorded (is it a retry, within the limit, is the sale
 * whole, may this user of Redis write it): the stock is not to fall for an order that will be
 * refused. Then GET, check, SET, record.
 */
#include "server/selling/read_then_write.h"

#include <stdio.h>
#include <string.h>

#include "server/base/fail_point.h"
#include "server/base/log.h"
#include "server/selling/may_record.lua.h"
#include "server/selling/record.lua.h"
#include "server/selling/sell.h"
#include "server/store/state.lua.h"

/* With less time than this left nothing is written any more: the order could come too late when
 * the stock has already fallen. */
#define WRITE_RESERVE_MS 20

#define UNITS_MAX        999999999999999 /* more is no number for the scripts either */

static dlock_script look = DLOCK_SCRIPT("look", "#!lua flags=no-writes\n" STATE_LUA MAY_RECORD_LUA
                                                "return refused or ''\n");
static dlock_script record = DLOCK_SCRIPT("record", "#!lua\n" STATE_LUA MAY_RECORD_LUA RECORD_LUA);

/* Begins the words of both scripts. */
static void put_order(dlock_args *args, const open_sale *sale, const purchase *request,
                      uint64_t fence)
{
    dlock_args_init(args);
    sell_put_state(args, sale, sale->keys, fence);
    dlock_args_text(args, request->request);
    dlock_args_text(args, request->user);
    dlock_args_int(args, request->quantity);
    dlock_args_int(args, request->not_after_us);
}

/* Whether the order could be recorded, as far as can be seen now. False: answered. */
static bool may_record(const open_sale *sale, const purchase *request, uint64_t fence,
                       purchase_result *result)
{
    dlock_args args;
    put_order(&args, sale, request, fence);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = dlock_redis_eval(sale->store->redis, &look, STATE_KEYS, &args,
                                                   store_read_deadline(request->deadline), &reply);
    bool may = outcome == DLOCK_REDIS_OK && reply->len == 0;
    if (outcome != DLOCK_REDIS_OK) {
        store_log_failure(sale->store, "read", dlock_redis_outcome_text(outcome));
        purchase_answer(result, BUY_UNAVAILABLE);
    } else if (!may) {
        sale_answer(sale, sale->keys, reply->str, reply->len, request, result);
    }
    freeReplyObject(reply);
    dlock_args_free(&args);
    return may;
}

static void answer_damaged(const char *key, purchase_result *result)
{
    LOG_SOME(LOG_ERROR, "sale_damaged", "detail", key, NULL);
    purchase_answer(result, BUY_DAMAGED);
}

/* False: answered. */
static bool read_stock(const open_sale *sale, const purchase *request, int64_t *left,
                       purchase_result *result)
{
    redisReply *stock = NULL;
    dlock_redis_outcome outcome = store_command(sale->store, store_read_deadline(request->deadline),
                                                WORDS("GET", sale->keys->stock), &stock);
    bool whole = outcome == DLOCK_REDIS_OK && stock->type == REDIS_REPLY_STRING &&
                 decimal_read(stock->str, stock->len, left) && *left <= UNITS_MAX;
    bool another_type = outcome == DLOCK_REDIS_ERROR && strncmp(stock->str, "WRONGTYPE", 9) == 0;
    if (!whole && (outcome == DLOCK_REDIS_OK || another_type)) {
        answer_damaged(sale->keys->stock, result);
    } else if (!whole) {
        store_log_failure(sale->store, "read", dlock_redis_outcome_text(outcome));
        purchase_answer(result, BUY_UNAVAILABLE);
    }
    freeReplyObject(stock);
    return whole;
}

/* Writes the stock if it is there: a write that comes late is not to bring back the stock of an old
 * sale, nor to let it live for ever. */
static bool write_stock(const open_sale *sale, const purchase *request, int64_t left,
                        purchase_result *result)
{
    char number[24];
    snprintf(number, sizeof(number), "%lld", (long long)left);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        store_command(sale->store, request->deadline,
                      WORDS("SET", sale->keys->stock, number, "XX", "KEEPTTL"), &reply);
    bool written = outcome == DLOCK_REDIS_OK && reply->type != REDIS_REPLY_NIL;
    if (outcome != DLOCK_REDIS_OK)
        purchase_answer(result, purchase_write_failed(sale->store, outcome));
    else if (!written)
        answer_damaged(sale->keys->stock, result);
    freeReplyObject(reply);
    return written;
}

/* Redis was not asked to record the order, or would not: the units go back. */
static void put_back(const open_sale *sale, const purchase *request)
{
    char units[24];
    snprintf(units, sizeof(units), "%lld", (long long)request->quantity);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = store_command(sale->store, request->deadline,
                                                WORDS("INCRBY", sale->keys->stock, units), &reply);
    if (outcome != DLOCK_REDIS_OK)
        store_log_failure(sale->store, "put back", dlock_redis_outcome_text(outcome));
    freeReplyObject(reply);
}

static void record_order(const open_sale *sale, const purchase *request, uint64_t fence,
                         int64_t left, purchase_result *result)
{
    dlock_args args;
    put_order(&args, sale, request, fence);
    dlock_args_int(&args, left);

    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval(sale->store->redis, &record, STATE_KEYS, &args, request->deadline, &reply);
    if (outcome == DLOCK_REDIS_OK)
        sale_answer(sale, sale->keys, reply->str, reply->len, request, result);
    else
        purchase_answer(result, purchase_write_failed(sale->store, outcome));
    if (outcome == DLOCK_REDIS_NOT_SENT || outcome == DLOCK_REDIS_REFUSED)
        put_back(sale, request);
    result->remaining = left;
    freeReplyObject(reply);
    dlock_args_free(&args);
}

static bool is_cancelled(fs_section section)
{
    return section.cancelled && atomic_load(section.cancelled);
}

void read_then_write(const open_sale *sale, const purchase *request, fs_section section,
                     purchase_result *result)
{
    int64_t left;
    if (section.locked)
        FAIL_POINT("locked");
    if (!may_record(sale, request, section.fence, result) ||
        !read_stock(sale, request, &left, result))
        return;
    if (left < request->quantity) {
        purchase_answer(result, BUY_SOLD_OUT);
        result->remaining = left;
        return;
    }
    if (section.locked)
        sale_hold(sale, request->deadline);
    if (is_cancelled(section) || dlock_left_ms(request->deadline) < WRITE_RESERVE_MS) {
        purchase_answer(result, BUY_BUSY);
        return;
    }
    left -= request->quantity;
    FAIL_POINT("in-section");
    if (!write_stock(sale, request, left, result))
        return;
    FAIL_POINT("half-written");
    record_order(sale, request, section.fence, left, result);
    FAIL_POINT("written");
}
