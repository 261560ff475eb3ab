/* ledger.c - reads the numbers of a sale, and its orders in sequence, segment by segment. */
#include "server/store/ledger.h"

#include <string.h>

#include "server/store/numbers.lua.h"
#include "server/store/page.lua.h"
#include "server/store/reserved.lua.h"
#include "server/store/state.lua.h"

static dlock_script numbers =
    DLOCK_SCRIPT("numbers", "#!lua flags=no-writes\n" STATE_LUA NUMBERS_LUA);
static dlock_script page =
    DLOCK_SCRIPT("page", "#!lua flags=no-writes\n" STATE_LUA RESERVED_LUA PAGE_LUA);

/* Five numbers, or one text. */
static bool is_count(const redisReply *reply)
{
    int type = reply->elements == 1 ? REDIS_REPLY_STRING : REDIS_REPLY_INTEGER;
    return reply->type == REDIS_REPLY_ARRAY && (reply->elements == 5 || reply->elements == 1) &&
           store_all_are(reply, 0, type);
}

static ledger_status count_segment(fs_store *store, const sale_terms *terms, int k, bool exact,
                                   dlock_time deadline, ledger_numbers *ret)
{
    dlock_args args;
    int keys = terms_put_segment(&args, terms, k);
    store_put_number(&args, exact, terms_units(terms, k));
    redisReply *reply = store_read_script(store, deadline, &numbers, keys, &args, is_count);
    ledger_status status = LEDGER_UNAVAILABLE;
    if (reply && reply->elements == 5) {
        ret->remaining += reply->element[0]->integer;
        ret->sold += reply->element[1]->integer;
        ret->reserved += reply->element[2]->integer;
        ret->orders += reply->element[3]->integer;
        ret->time_us = reply->element[4]->integer;
        ret->units = ret->sold + ret->reserved;
        status = LEDGER_FOUND;
    } else if (reply && reply->elements == 1) {
        terms_log_damage(terms, reply->element[0]->str);
        status = LEDGER_DAMAGED;
    }
    freeReplyObject(reply);
    return status;
}

ledger_status ledger_count(fs_store *store, const sale_terms *terms, bool exact,
                           dlock_time deadline, ledger_numbers *ret)
{
    ledger_status status = LEDGER_FOUND;
    memset(ret, 0, sizeof(*ret));
    for (int k = 0; status == LEDGER_FOUND && k < terms_key_sets(terms); k++)
        status = count_segment(store, terms, k, exact, deadline, ret);
    return status;
}

/* ---- all orders ------------------------------------------------------------------------------ */

static bool is_page(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING || store_is_pairs(reply);
}

ledger_status ledger_read(fs_store *store, const sale_terms *terms, int segment, int64_t first,
                          int64_t last, dlock_time deadline, ledger_each *each, void *arg, int *ret)
{
    dlock_args args;
    int keys = terms_put_segment(&args, terms, segment);
    dlock_args_int(&args, first);
    dlock_args_int(&args, last);
    redisReply *reply = store_read_script(store, deadline, &page, keys, &args, is_page);
    if (!reply)
        return LEDGER_UNAVAILABLE;
    bool whole = reply->type == REDIS_REPLY_ARRAY;
    if (!whole)
        terms_log_damage(terms, reply->str);
    for (size_t i = 0; whole && i + 1 < reply->elements; i += 2) {
        const redisReply *record = reply->element[i + 1];
        fs_order order;
        whole = order_read(record->str, record->len, &order);
        if (whole)
            each(arg, segment, reply->element[i]->str, &order);
        else
            terms_log_damage(terms, reply->element[i]->str);
    }
    if (ret)
        *ret = (int)(reply->elements / 2);
    freeReplyObject(reply);
    return whole ? LEDGER_FOUND : LEDGER_DAMAGED;
}
