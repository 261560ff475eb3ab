/*
 * read_then_write.c - the steps, one round trip each, of an application that uses Redis like a
 * table: read, check, SET, record.
 *
 * The read is a script, because the same round trip checks whether the order can be recorded (is it
 * a retry, within the limit, is the sale undamaged, may this Redis user write it): the stock must
 * not fall for an order that will be refused.
 */
#include "server/selling/read_then_write.h"

#include <pthread.h>
#include <stdio.h>

#include "server/base/fail_point.h"
#include "server/base/log.h"
#include "server/selling/record.lua.h"
#include "server/selling/strategy.h"
#include "server/store/state.lua.h"

/* With less time than this left nothing is written any more: the order could come too late when
 * the stock has already fallen. */
#define WRITE_RESERVE_MS 20

#define PUT_BACK_MS      200 /* to put units back, though the buyer has no time left */

#define ONLY_ASK         (-1) /* units left that no order has */

static dlock_script look = DLOCK_SCRIPT("look", "#!lua flags=no-writes\n" STATE_LUA RECORD_LUA);
dlock_script order_record = DLOCK_SCRIPT("record", "#!lua\n" STATE_LUA RECORD_LUA);

/* The same, and the lock given back; composed once, kept to the end of the process. */
static dlock_guard *record_and_release;

static void compose_guard(void)
{
    record_and_release = dlock_guard_new("record_and_release", STATE_LUA RECORD_LUA);
}

/* ---- the scripts ----------------------------------------------------------------------------- */

void order_put_words(dlock_args *args, const open_sale *sale, const purchase *request,
                     uint64_t fence, int64_t left)
{
    char by[IDENT_MAX + 32];
    bool taken = left != ONLY_ASK;
    snprintf(by, sizeof(by), "%llu %s", (unsigned long long)fence, sale->store->instance);
    dlock_args_init(args);
    sale_put_state(args, sale, sale->keys);
    store_put(args, WORDS(by, request->request, request->user));
    dlock_args_int(args, request->quantity);
    dlock_args_int(args, request->not_after_us);
    store_put_number(args, sale->strategy->guarded,
                     sale->terms.initial - (taken ? request->quantity : 0));
    store_put_number(args, taken, left);
}

bool order_look(const open_sale *sale, const purchase *request, uint64_t fence, int64_t *left,
                purchase_result *result)
{
    dlock_args args;
    order_put_words(&args, sale, request, fence, ONLY_ASK);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = dlock_redis_eval(sale->store->redis, &look, STATE_KEYS, &args,
                                                   store_read_deadline(request->deadline), &reply);
    bool seen = outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_INTEGER;
    *left = seen ? reply->integer - request->quantity : -1;
    if (seen && *left < 0) {
        purchase_answer(result, BUY_SOLD_OUT);
        result->remaining = reply->integer;
    } else if (!seen && outcome == DLOCK_REDIS_OK) {
        sale_answer(sale, sale->keys, reply, request, result);
    } else if (!seen) {
        store_log_failure(sale->store, "read", dlock_redis_outcome_text(outcome));
        purchase_answer(result, BUY_UNAVAILABLE);
    }
    freeReplyObject(reply);
    dlock_args_free(&args);
    return *left >= 0;
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void answer_damaged(const char *key, purchase_result *result)
{
    LOG_SOME(LOG_ERROR, "sale_damaged", "detail", key, NULL);
    purchase_answer(result, BUY_DAMAGED);
}

/* Writes the stock only if the key exists: a late write must not restore the stock of an old sale,
 * nor leave it without an expiry. */
static bool write_stock(const open_sale *sale, const purchase *request, int64_t left,
                        purchase_result *result)
{
    char number[24];
    snprintf(number, sizeof(number), "%lld", (long long)left);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        store_command(sale->store, request->deadline,
                      WORDS("SET", sale->keys->stock, number, "XX", "KEEPTTL"), &reply);
    if (outcome == DLOCK_REDIS_OK &&
        !dlock_redis_check(sale->store->redis, "SET", reply,
                           reply->type == REDIS_REPLY_STATUS || reply->type == REDIS_REPLY_NIL))
        outcome = DLOCK_REDIS_UNKNOWN;
    bool written = outcome == DLOCK_REDIS_OK && reply->type != REDIS_REPLY_NIL;
    if (outcome != DLOCK_REDIS_OK)
        purchase_answer(result, purchase_write_failed(sale->store, outcome));
    else if (!written)
        answer_damaged(sale->keys->stock, result);
    freeReplyObject(reply);
    return written;
}

/* Redis was not asked to record the order, or refused before the script ran: the units go back.
 * That it was not asked may be because the time was over. */
static void put_back(const open_sale *sale, const purchase *request)
{
    char units[24];
    snprintf(units, sizeof(units), "%lld", (long long)request->quantity);
    dlock_time until = dlock_in_ms(PUT_BACK_MS);
    if (until.us < request->deadline.us)
        until = request->deadline;
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        store_command(sale->store, until, WORDS("INCRBY", sale->keys->stock, units), &reply);
    if (outcome != DLOCK_REDIS_OK)
        store_log_failure(sale->store, "put back", dlock_redis_outcome_text(outcome));
    freeReplyObject(reply);
}

/* Whether it definitely was not recorded is told by *ret_refused. */
static purchase_outcome ask_to_record(const open_sale *sale, fs_section section,
                                      const dlock_args *args, dlock_time deadline,
                                      bool *ret_refused, redisReply **ret)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (section.last) {
        pthread_once(&once, compose_guard);
        dlock_status status =
            dlock_guard_finish(section.last, record_and_release, STATE_KEYS, args, deadline, ret);
        *ret_refused = status == DLOCK_UNAVAILABLE;
        return status == DLOCK_OK ? BUY_SOLD : purchase_guard_failed(sale->store, status);
    }
    dlock_redis_outcome outcome =
        dlock_redis_eval(sale->store->redis, &order_record, STATE_KEYS, args, deadline, ret);
    *ret_refused = outcome == DLOCK_REDIS_NOT_SENT || outcome == DLOCK_REDIS_REFUSED;
    return outcome == DLOCK_REDIS_OK ? BUY_SOLD : purchase_write_failed(sale->store, outcome);
}

static void record_order(const open_sale *sale, const purchase *request, fs_section section,
                         int64_t left, purchase_result *result)
{
    dlock_args args;
    order_put_words(&args, sale, request, section.fence, left);
    bool refused;
    redisReply *reply = NULL;
    purchase_outcome outcome =
        ask_to_record(sale, section, &args, request->deadline, &refused, &reply);
    if (outcome == BUY_SOLD)
        sale_answer(sale, sale->keys, reply, request, result);
    else
        purchase_answer(result, outcome);
    if (refused)
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
    if (!order_look(sale, request, section.fence, &left, result))
        return;
    if (section.locked)
        sale_hold(sale, request->deadline);
    if (is_cancelled(section) || dlock_left_ms(request->deadline) < WRITE_RESERVE_MS) {
        purchase_answer(result, BUY_BUSY);
        return;
    }
    FAIL_POINT("in-section");
    if (!write_stock(sale, request, left, result))
        return;
    FAIL_POINT("half-written");
    record_order(sale, request, section, left, result);
    FAIL_POINT("written");
}
