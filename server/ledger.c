/* ledger.c - see ledger.h. */
#include "server/ledger.h"

#include <stdio.h>
#include <string.h>

#include "numbers.lua.h"
#include "page.lua.h"
#include "resolve.lua.h"
#include "server/outcome.h"

/* Beyond the longest a request may be under way: clocks that differ, a reply that was late. */
#define FINAL_MARGIN_MS 1000

static dlock_script numbers = DLOCK_SCRIPT("numbers", "#!lua flags=no-writes\n" NUMBERS_LUA);
static dlock_script resolve = DLOCK_SCRIPT("resolve", "#!lua\n" RESOLVE_LUA);
static dlock_script page = DLOCK_SCRIPT("page", "#!lua flags=no-writes\n" PAGE_LUA);

/* Runs a script and frees its words. NULL: Redis did not answer. */
static redisReply *ask(const sale_terms *terms, dlock_script *script, int keys, dlock_args *args)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = dlock_redis_eval(terms->store->redis, script, keys, args,
                                                   dlock_in_ms(STORE_READ_MS), &reply);
    dlock_args_free(args);
    if (outcome == DLOCK_REDIS_OK)
        return reply;
    outcome_of_read(terms->store, outcome);
    freeReplyObject(reply);
    return NULL;
}

bool ledger_count(const sale_terms *terms, ledger_numbers *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (int k = 0; k < terms->shelf_count; k++) {
        dlock_args args;
        dlock_args_init(&args);
        dlock_args_text(&args, terms->shelves[k].stock);
        dlock_args_text(&args, terms->shelves[k].sold);
        dlock_args_text(&args, terms->shelves[k].ledger);
        dlock_args_text(&args, terms->shelves[k].orders);
        redisReply *reply = ask(terms, &numbers, 4, &args);
        if (reply == NULL)
            return false;
        bool there = reply->elements == 3;
        if (there) {
            ret->remaining += reply->element[0]->integer;
            ret->units += reply->element[1]->integer;
            ret->orders += reply->element[2]->integer;
        }
        freeReplyObject(reply);
        if (!there)
            return false;
    }
    return true;
}

/* ---- one order ------------------------------------------------------------------------------- */

static ledger_status find_on(const sale_terms *terms, const fs_shelf *shelf, const char *request,
                             fs_order *ret)
{
    char note[KEY_MAX + IDENT_MAX + 8];
    snprintf(note, sizeof(note), "%s:asked:%s", shelf->base, request);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, shelf->orders);
    dlock_args_text(&args, note);
    dlock_args_text(&args, request);
    dlock_args_int(&args, (terms_request_ms(terms) + FINAL_MARGIN_MS) * 1000);
    redisReply *reply = ask(terms, &resolve, 2, &args);
    if (reply == NULL)
        return LEDGER_UNAVAILABLE;

    ledger_status status = LEDGER_NOT_YET;
    if (strcmp(reply->str, ORDER_VOID) == 0)
        status = LEDGER_NEVER;
    else if (order_read(reply->str, reply->len, ret))
        status = LEDGER_FOUND;
    freeReplyObject(reply);
    return status;
}

ledger_status ledger_find(const sale_terms *terms, const char *request, fs_order *ret, int *segment)
{
    ledger_status all = LEDGER_NEVER;
    for (int k = 0; k < terms->shelf_count; k++) {
        ledger_status status = find_on(terms, &terms->shelves[k], request, ret);
        *segment = k;
        if (status == LEDGER_FOUND || status == LEDGER_UNAVAILABLE)
            return status;
        if (status == LEDGER_NOT_YET)
            all = LEDGER_NOT_YET;
    }
    return all;
}

/* A plain look; nothing needs to be declared void where nothing is sold any more. */
static ledger_status look_on(const sale_terms *terms, const fs_shelf *shelf, const char *request,
                             fs_order *ret)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "HGET");
    dlock_args_text(&args, shelf->orders);
    dlock_args_text(&args, request);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = dlock_redis_command(terms->store->redis, shelf->orders, &args,
                                                      dlock_in_ms(STORE_READ_MS), &reply);
    dlock_args_free(&args);
    ledger_status status = LEDGER_NEVER;
    if (outcome != DLOCK_REDIS_OK) {
        outcome_of_read(terms->store, outcome);
        status = LEDGER_UNAVAILABLE;
    } else if (reply->type == REDIS_REPLY_STRING && order_read(reply->str, reply->len, ret)) {
        status = LEDGER_FOUND;
    }
    freeReplyObject(reply);
    return status;
}

ledger_status ledger_find_previous(const sale_terms *terms, const char *request, fs_order *ret,
                                   int *segment)
{
    if (terms->previous[0] == '\0')
        return LEDGER_NEVER;
    int count = terms->previous_segments > 0 ? terms->previous_segments : 1;
    for (int k = 0; k < count; k++) {
        fs_shelf shelf;
        shelf_name(&shelf, terms->item, terms->previous_segments > 0 ? k : SHELF_WHOLE,
                   terms->previous);
        ledger_status status = look_on(terms, &shelf, request, ret);
        *segment = k;
        if (status != LEDGER_NEVER)
            return status;
    }
    return LEDGER_NEVER;
}

/* ---- all orders ------------------------------------------------------------------------------ */

int ledger_read_page(const sale_terms *terms, int segment, int64_t first, ledger_each *each,
                     void *arg)
{
    const fs_shelf *shelf = &terms->shelves[segment];
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, shelf->ledger);
    dlock_args_text(&args, shelf->orders);
    dlock_args_int(&args, first);
    dlock_args_int(&args, first + LEDGER_PAGE - 1);
    redisReply *reply = ask(terms, &page, 2, &args);
    if (reply == NULL)
        return -1;

    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *record = reply->element[i + 1];
        fs_order order;
        if (order_read(record->str, record->len, &order))
            each(arg, segment, reply->element[i]->str, &order);
    }
    int entries = (int)(reply->elements / 2);
    freeReplyObject(reply);
    return entries;
}
