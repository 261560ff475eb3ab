/*
 * read_then_write.c - the steps, one round trip each, as an application writes them that keeps
 * its stock in Redis as it would keep it in a table.
 *
 * A request that may be a retry is looked up before anything is taken, and so is a limit: the
 * stock is not to fall for an order that will be refused.
 */
#include "server/selling/read_then_write.h"

#include <stdio.h>
#include <string.h>

#include "server/base/fail_point.h"
#include "server/base/log.h"
#include "server/selling/record.lua.h"
#include "server/selling/sell.h"
#include "server/store/state.lua.h"

/* With less time than this left nothing is written any more: the order could come too late when
 * the stock has already fallen. */
#define WRITE_RESERVE_MS 20

#define UNITS_MAX        999999999999999 /* more is no number for the scripts either */

static dlock_script record = DLOCK_SCRIPT("record", "#!lua\n" STATE_LUA RECORD_LUA);

static void answer_damaged(const char *key, purchase_result *result)
{
    LOG_SOME(LOG_ERROR, "sale_damaged", "detail", key, NULL);
    purchase_answer(result, BUY_DAMAGED);
}

/* Reads one value; *ret is NULL when Redis has none. False: answered already. */
static bool read_value(const open_sale *sale, const char *const *words, const purchase *request,
                       redisReply **ret, purchase_result *result)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        store_command(sale->store, store_read_deadline(request->deadline), words, &reply);
    *ret = reply;
    if (outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_STRING)
        return true;
    *ret = NULL;
    if (outcome == DLOCK_REDIS_ERROR && strncmp(reply->str, "WRONGTYPE", 9) == 0) {
        answer_damaged(words[1], result);
    } else if (outcome != DLOCK_REDIS_OK) {
        store_log_failure(sale->store, "read", dlock_redis_outcome_text(outcome));
        purchase_answer(result, BUY_UNAVAILABLE);
    }
    freeReplyObject(reply);
    return outcome == DLOCK_REDIS_OK;
}

/* Whether this is a first try, as far as can be seen now. False: answered. */
static bool is_new(const open_sale *sale, const purchase *request, purchase_result *result)
{
    redisReply *had;
    fs_order order;
    if (!read_value(sale, WORDS("HGET", sale->keys->orders, request->request), request, &had,
                    result))
        return false;
    if (!had)
        return true;
    if (strcmp(had->str, ORDER_VOID) == 0)
        purchase_answer(result, BUY_VOID);
    else if (order_read(had->str, had->len, &order))
        purchase_answer_earlier(result, &order, 0, request);
    else
        answer_damaged(sale->keys->orders, result);
    freeReplyObject(had);
    return false;
}

static bool is_within_limit(const open_sale *sale, const purchase *request, purchase_result *result)
{
    redisReply *had;
    if (!read_value(sale, WORDS("HGET", sale->keys->users, request->user), request, &had, result))
        return false;
    int64_t units = 0;
    bool whole = !had || (decimal_read(had->str, had->len, &units) && units <= UNITS_MAX);
    freeReplyObject(had);
    if (!whole)
        answer_damaged(sale->keys->users, result);
    else if (units + request->quantity > sale->terms.per_user_limit)
        purchase_answer(result, BUY_LIMIT_REACHED);
    else
        return true;
    return false;
}

static bool read_stock(const open_sale *sale, const purchase *request, int64_t *left,
                       purchase_result *result)
{
    redisReply *stock;
    if (!read_value(sale, WORDS("GET", sale->keys->stock), request, &stock, result))
        return false;
    bool whole = stock && decimal_read(stock->str, stock->len, left) && *left <= UNITS_MAX;
    freeReplyObject(stock);
    if (!whole)
        answer_damaged(sale->keys->stock, result);
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

static void record_order(const open_sale *sale, const purchase *request, uint64_t fence,
                         int64_t left, purchase_result *result)
{
    dlock_args args;
    dlock_args_init(&args);
    sell_put_state(&args, sale, sale->keys, fence);
    dlock_args_text(&args, request->request);
    dlock_args_text(&args, request->user);
    dlock_args_int(&args, request->quantity);
    dlock_args_int(&args, request->not_after_us);
    dlock_args_int(&args, left);

    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval(sale->store->redis, &record, STATE_KEYS, &args, request->deadline, &reply);
    if (outcome == DLOCK_REDIS_OK)
        sale_answer(sale, sale->keys, reply->str, reply->len, request, result);
    else
        purchase_answer(result, purchase_write_failed(sale->store, outcome));
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
    if (request->keyed && !is_new(sale, request, result))
        return;
    if (sale->terms.per_user_limit > 0 && !is_within_limit(sale, request, result))
        return;
    if (!read_stock(sale, request, &left, result))
        return;
    FAIL_POINT("in-section");
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
    if (write_stock(sale, request, left, result))
        record_order(sale, request, section.fence, left, result);
}
