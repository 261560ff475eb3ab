/*
 * sell.c - composes the call of the selling script, and reads its answers; sell.lua has their form.
 *
 * The same script runs with and without the lock library's guard. A sale with reservations uses
 * another one, which can do all that the first does (reserve.lua). A failed call affects all its
 * buyers: either none bought anything, or the outcome of all is unknown.
 *
 * In a replicated sale one WAIT follows the script, for all buyers. If too few replicas acknowledge
 * in time, the new orders are not `replicated`.
 *
 * WAIT covers the connection's last write. A script that releases its lock always writes, so the
 * replicas also have the state on which a refusal is based.
 */
#include "server/selling/sell.h"

#include <stdio.h>
#include <string.h>

#include "server/selling/reserve.lua.h"
#include "server/selling/sell.lua.h"
#include "server/store/replicas.h"
#include "server/store/reserved.lua.h"
#include "server/store/state.lua.h"

static dlock_script plain = DLOCK_SCRIPT("sell", "#!lua\nlocal fence = '0'\n" STATE_LUA SELL_LUA);

static dlock_script reserving =
    DLOCK_SCRIPT("reserve", "#!lua\nlocal fence = '0'\n" STATE_LUA RESERVED_LUA RESERVE_LUA);

/* The same scripts behind the lock's guard; composed once, kept to the end of the process. */
static dlock_guard *guarded, *guarded_reserving;

static void compose_guards(void)
{
    guarded = dlock_guard_new("sell", STATE_LUA SELL_LUA);
    guarded_reserving = dlock_guard_new("reserve", STATE_LUA RESERVED_LUA RESERVE_LUA);
}

/* What each wants, where units may be reserved; one word for all when they want the same. */
static void put_wants(dlock_args *args, const sell_buyer *buyers, int count)
{
    static const char *const words[] = {
        [PURCHASE_CONFIRM] = "confirm", [PURCHASE_CANCEL] = "cancel", [PURCHASE_REVOKE] = "revoke"};
    fs_text all;
    int differ = count > 0;
    while (differ < count && buyers[differ].request->action == buyers[0].request->action &&
           buyers[differ].request->reserve_s == buyers[0].request->reserve_s)
        differ++;
    text_init(&all);
    for (int i = 0; i < (differ < count ? count : differ > 0); i++) {
        const purchase *request = buyers[i].request;
        text_add(&all, i > 0 ? " " : "");
        if (request->action == PURCHASE_BUY)
            text_add_int(&all, request->reserve_s);
        else
            text_add(&all, words[request->action]);
    }
    store_put_text(args, &all);
}

/* A number a buyer, with blanks between; one for all when they want the same. */
static void put_units(dlock_args *args, const sell_buyer *buyers, int count)
{
    fs_text units;
    int differ = count > 0;
    while (differ < count && buyers[differ].request->quantity == buyers[0].request->quantity)
        differ++;
    if (differ == count) {
        dlock_args_int(args, count > 0 ? buyers[0].request->quantity : 0);
        return;
    }
    text_init(&units);
    for (int i = 0; i < count; i++) {
        text_add(&units, i > 0 ? " " : "");
        text_add_int(&units, buyers[i].request->quantity);
    }
    store_put_text(args, &units);
}

/* The earliest, then all of them. */
static void put_not_after(dlock_args *args, const sell_buyer *buyers, int count)
{
    fs_text all;
    int64_t earliest = count > 0 ? buyers[0].request->not_after_us : 0;
    text_init(&all);
    for (int i = 0; i < count; i++) {
        int64_t not_after_us = buyers[i].request->not_after_us;
        earliest = not_after_us < earliest ? not_after_us : earliest;
        text_add(&all, i > 0 ? " " : "");
        text_add_int(&all, not_after_us);
    }
    dlock_args_int(args, earliest);
    store_put_text(args, &all);
}

/* The epochs, of which the orders are made in the first. */
static const char *put_words(dlock_args *args, const open_sale *sale, const sale_keys *keys,
                             const sell_buyer *buyers, int count)
{
    dlock_args_init(args);
    const char *epochs = sale_put_state(args, sale, keys);
    dlock_args_text(args, sale->store->instance);
    dlock_args_int(args, sale->key_sets > 1 ? sale->units[0] : 0);
    dlock_args_int(args, sale->units[keys->segment]);
    put_units(args, buyers, count);
    put_not_after(args, buyers, count);
    if (keys->reserves)
        put_wants(args, buyers, count);
    for (int i = 0; i < count; i++)
        dlock_args_text(args, buyers[i].request->request);
    fs_text order;
    text_init(&order);
    for (int i = 0; i < count; i++) {
        text_clear(&order);
        const char *user = buyers[i].request->user;
        text_add_all(&order, user[0] != '\0' ? user : "*", " ");
        text_add_int(&order, buyers[i].request->quantity);
        dlock_args_text(args, text_bytes(&order));
    }
    text_free(&order);
    return epochs;
}

/* A call, and what all of its records have alike. */
typedef struct sell_call {
    const open_sale *sale;
    const sale_keys *keys;
    sell_lock lock;
    int replicas; /* to wait for */
    const char *epochs;
    uint64_t fence;
    bool replicated; /* so many replicas have acknowledged it */
} sell_call;

/* The replicas that the sale asks for have the order, if it is a new one: what is replayed was
 * written before, by another connection. With the lock given back they have what is sold out, too.
 */
static void note_replicated(const sell_call *call, purchase_result *result)
{
    bool given_back = call->lock.release || call->lock.free;
    result->replicated = (result->outcome == BUY_SOLD && !result->replayed) ||
                         (result->outcome == BUY_SOLD_OUT && given_back);
    if (result->replicated && result->outcome == BUY_SOLD)
        sale_saw_order(call->sale, call->keys, &result->order);
}

/* The order of a buyer who was sold to: as sell.lua has written its record. */
static void read_order(const sell_call *call, const purchase *request, int64_t number,
                       int64_t remaining, int64_t time_us, fs_order *ret)
{
    ret->number = number;
    memcpy(ret->user, request->user, sizeof(ret->user));
    ret->quantity = request->quantity;
    ret->remaining = remaining;
    ret->fence = call->fence;
    memcpy(ret->instance, call->sale->store->instance, sizeof(ret->instance));
    ret->time_us = time_us;
    memcpy(ret->epoch, call->epochs, EPOCH_LEN);
    ret->epoch[EPOCH_LEN] = '\0';
    ret->state = ORDER_SOLD;
    ret->expires_us = 0;
}

/* Where the buyers' answers begin in a reply. */
static size_t answers_from(const sell_call *call)
{
    return call->keys->reserves ? 3 : 2;
}

static bool is_whole(const sell_call *call, const redisReply *reply, int count)
{
    bool reserves = call->keys->reserves;
    return reply->type == REDIS_REPLY_ARRAY &&
           reply->elements == (size_t)count + answers_from(call) &&
           reply->element[0]->type == REDIS_REPLY_INTEGER &&
           reply->element[1]->type == (reserves ? REDIS_REPLY_INTEGER : REDIS_REPLY_STRING) &&
           (!reserves || reply->element[2]->type == REDIS_REPLY_INTEGER);
}

/* In a replicated sale only what the replicas have is remembered. */
static void see_move(const sell_call *call, int64_t place)
{
    const open_sale *sale = call->sale;
    char epoch[EPOCH_LEN + 1];
    snprintf(epoch, sizeof(epoch), "%s", call->epochs);
    if (place > 0 && (call->replicated || sale->terms.durability != DURABILITY_REPLICATED))
        known_ledger_saw_move(&sale->known[call->keys->segment], epoch, place);
}

/* From the last buyer to the first, for what is left is known from the end. */
static void read_answers(const sell_call *call, const redisReply *reply, const sell_buyer *buyers,
                         int count)
{
    int64_t time_us = 0;
    if (!reply || !dlock_redis_check(call->sale->store->redis, plain.name, reply,
                                     is_whole(call, reply, count))) {
        for (int i = 0; i < count; i++)
            purchase_answer(buyers[i].result, BUY_UNKNOWN);
        return;
    }
    /* Without the right to TIME there is no time, and nothing was sold. */
    const redisReply *second = reply->element[1];
    if (call->keys->reserves || !decimal_read(second->str, second->len, &time_us))
        time_us = 0;
    int64_t left = reply->element[0]->integer, remaining = left;
    if (call->keys->reserves)
        see_move(call, reply->element[2]->integer);
    for (int i = count - 1; i >= 0; i--) {
        const purchase *request = buyers[i].request;
        purchase_result *result = buyers[i].result;
        const redisReply *answer = reply->element[(size_t)i + answers_from(call)];
        if (answer->type == REDIS_REPLY_INTEGER) {
            read_order(call, request, answer->integer, remaining, time_us, &result->order);
            sale_sold(call->sale, call->keys, result);
            remaining += request->quantity;
        } else {
            sale_answer(call->sale, call->keys, answer, request, result);
        }
        result->remaining = left;
        result->reserved = call->keys->reserves ? second->integer : -1;
        if (call->replicated)
            note_replicated(call, result);
    }
}

/* BUY_SOLD: there is a reply, or BUY_BUSY: the free lock is not free; otherwise why not. */
static purchase_outcome ask(sell_call *call, const dlock_args *args, dlock_time deadline,
                            redisReply **ret)
{
    sell_lock lock = call->lock;
    dlock_status status = DLOCK_OK;
    fs_store *store = call->sale->store;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    bool reserves = call->keys->reserves;
    int keys = call->sale->state_keys;
    if (!lock.hold && !lock.free) {
        dlock_redis_outcome outcome =
            dlock_redis_eval_wait(store->redis, reserves ? &reserving : &plain, keys, args,
                                  call->replicas, deadline, ret);
        call->replicated = outcome == DLOCK_REDIS_OK && call->replicas > 0;
        bool told = outcome == DLOCK_REDIS_OK || (outcome == DLOCK_REDIS_UNKNOWN && *ret);
        return told ? BUY_SOLD : purchase_write_failed(store, outcome);
    }
    pthread_once(&once, compose_guards);
    dlock_guard *guard = reserves ? guarded_reserving : guarded;
    if (lock.hold) {
        status = dlock_guard_call_wait(lock.hold, guard, keys, args, lock.release, call->replicas,
                                       deadline, ret);
        call->fence = dlock_fence(lock.hold);
    } else {
        status = dlock_guard_section(lock.free, guard, keys, args, call->replicas, deadline,
                                     &call->fence, ret);
    }
    call->replicated = status == DLOCK_OK && call->replicas > 0;
    if (status == DLOCK_OK || (status == DLOCK_UNKNOWN && *ret))
        return BUY_SOLD;
    return status == DLOCK_BUSY && lock.free ? BUY_BUSY : purchase_guard_failed(store, status);
}

bool sell(const open_sale *sale, const sale_keys *keys, sell_lock lock, const sell_buyer *buyers,
          int count, dlock_time deadline)
{
    dlock_args args;
    redisReply *reply = NULL;
    sell_call call = {.sale = sale, .keys = keys, .lock = lock};
    if (sale->terms.durability == DURABILITY_REPLICATED && (!lock.hold || lock.release) &&
        count > 0) {
        call.replicas = replicas_needed(sale->store, &sale->terms, keys);
        deadline = store_read_deadline(deadline);
    }
    call.epochs = put_words(&args, sale, keys, buyers, count);
    purchase_outcome outcome = ask(&call, &args, deadline, &reply);
    if (outcome == BUY_SOLD)
        read_answers(&call, reply, buyers, count);
    for (int i = 0; outcome != BUY_SOLD && outcome != BUY_BUSY && i < count; i++)
        purchase_answer(buyers[i].result, outcome);
    freeReplyObject(reply);
    dlock_args_free(&args);
    return outcome != BUY_BUSY;
}
