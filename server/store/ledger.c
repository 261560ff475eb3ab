/*
 * ledger.c - reading what was sold, segment by segment and sale by sale.
 *
 * A request's order may lie in any segment of any sale that is still kept, so what is found nowhere
 * is only as sure as the least sure of all answers.
 */
#include "server/store/ledger.h"

#include <stdio.h>
#include <string.h>

#include "server/store/numbers.lua.h"
#include "server/store/page.lua.h"
#include "server/store/resolve.lua.h"
#include "server/store/state.lua.h"

/* Beyond the longest a request may be under way: clocks that differ, a reply that was late. */
#define FINAL_MARGIN_MS 1000

static dlock_script numbers =
    DLOCK_SCRIPT("numbers", "#!lua flags=no-writes\n" STATE_LUA NUMBERS_LUA);
static dlock_script resolve = DLOCK_SCRIPT("resolve", "#!lua\n" RESOLVE_LUA);
static dlock_script page = DLOCK_SCRIPT("page", "#!lua flags=no-writes\n" PAGE_LUA);

static bool count_segment(fs_store *store, const sale_terms *terms, int k, ledger_numbers *ret)
{
    sale_keys keys;
    dlock_args args;
    terms_keys(terms, k, &keys);
    dlock_args_init(&args);
    terms_put_state(&args, terms, &keys, 0);
    redisReply *reply =
        store_read_script(store, dlock_in_ms(STORE_READ_MS), &numbers, STATE_KEYS, &args);
    bool whole = reply && reply->elements == 3;
    if (whole) {
        ret->remaining += reply->element[0]->integer;
        ret->units += reply->element[1]->integer;
        ret->orders += reply->element[2]->integer;
    }
    freeReplyObject(reply);
    return whole;
}

bool ledger_count(fs_store *store, const sale_terms *terms, ledger_numbers *ret)
{
    bool whole = true;
    memset(ret, 0, sizeof(*ret));
    for (int k = 0; whole && k < terms_key_sets(terms); k++)
        whole = count_segment(store, terms, k, ret);
    return whole;
}

/* ---- one order ------------------------------------------------------------------------------- */

static ledger_status find_in_segment(fs_store *store, const sale_terms *terms, int k,
                                     const char *request, ledger_how how, dlock_time deadline,
                                     fs_order *ret)
{
    sale_keys keys;
    char note[KEY_MAX + IDENT_MAX + 8];
    terms_keys(terms, k, &keys);
    snprintf(note, sizeof(note), "%s:asked:%s", keys.base, request);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, keys.current);
    dlock_args_text(&args, keys.orders);
    dlock_args_text(&args, note);
    dlock_args_text(&args, terms->id);
    dlock_args_text(&args, request);
    if (how == LEDGER_LOOK)
        dlock_args_text(&args, "");
    else if (how == LEDGER_ASK)
        dlock_args_int(&args, (terms_request_ms(terms) + FINAL_MARGIN_MS) * 1000);
    else
        dlock_args_int(&args, 0);
    dlock_args_int(&args, TERMS_KEPT_S * INT64_C(1000));
    redisReply *reply = store_read_script(store, deadline, &resolve, 3, &args);
    if (!reply)
        return LEDGER_UNAVAILABLE;

    ledger_status status = LEDGER_NOT_YET;
    if (strcmp(reply->str, ORDER_VOID) == 0)
        status = LEDGER_NEVER;
    else if (strcmp(reply->str, "over") == 0)
        status = LEDGER_OVER;
    else if (order_read(reply->str, reply->len, ret))
        status = LEDGER_FOUND;
    freeReplyObject(reply);
    return status;
}

/* Found in one of the segments, or the least sure of their answers. */
static ledger_status find_in_sale(fs_store *store, const sale_terms *terms, const char *request,
                                  ledger_how how, dlock_time deadline, ledger_entry *ret)
{
    ledger_status all = LEDGER_NEVER;
    for (int k = 0; k < terms_key_sets(terms); k++) {
        ledger_status status =
            find_in_segment(store, terms, k, request, how, deadline, &ret->order);
        ret->segment = k;
        if (status == LEDGER_FOUND || status == LEDGER_UNAVAILABLE)
            return status;
        if (status > all)
            all = status;
    }
    return all;
}

ledger_status ledger_find(fs_store *store, const sale_terms *terms, const char *request,
                          ledger_how how, dlock_time deadline, ledger_entry *ret)
{
    snprintf(ret->sale, sizeof(ret->sale), "%s", terms->id);
    ret->sharded = terms->segments > 0;
    if (how == LEDGER_LOOK || terms->segments > 1) {
        ledger_status seen = find_in_sale(store, terms, request, LEDGER_LOOK, deadline, ret);
        if (how == LEDGER_LOOK || seen == LEDGER_FOUND || seen == LEDGER_UNAVAILABLE)
            return seen;
    }
    return find_in_sale(store, terms, request, how, deadline, ret);
}

/* Puts the terms of the sale before in *sale. False: there are none, and *ret tells what that says
 * of the orders in it: LEDGER_NEVER = there was no such sale, or it is not kept any more;
 * LEDGER_NOT_YET = it should be there, and can not be read. */
static bool step_back(fs_store *store, dlock_time deadline, sale_terms *sale, ledger_status *ret)
{
    char err[256];
    sale_terms before;
    *ret = LEDGER_NEVER;
    if (sale->previous[0] == '\0')
        return false;
    sale_status status =
        terms_read(store, sale->item, sale->previous, deadline, &before, err, sizeof(err));
    if (status == SALE_UNAVAILABLE)
        *ret = LEDGER_UNAVAILABLE;
    else if (status != SALE_OK && terms_keep_previous(sale, store))
        *ret = LEDGER_NOT_YET;
    if (status == SALE_OK)
        *sale = before;
    return status == SALE_OK;
}

/* The order in one of the sales before; LEDGER_NEVER: in none of them. */
static ledger_status find_before(fs_store *store, const sale_terms *terms, const char *request,
                                 dlock_time deadline, ledger_entry *ret)
{
    sale_terms sale = *terms;
    ledger_status all = LEDGER_NEVER, end;
    while (step_back(store, deadline, &sale, &end)) {
        ledger_status status = ledger_find(store, &sale, request, LEDGER_ASK, deadline, ret);
        if (status == LEDGER_FOUND || status == LEDGER_UNAVAILABLE)
            return status;
        if (status == LEDGER_NOT_YET)
            all = status;
    }
    return end > all ? end : all;
}

/* The current sale is asked last, so that nothing is declared void in it that has its order in a
 * sale before. */
ledger_status ledger_find_in_all(fs_store *store, const sale_terms *terms, const char *request,
                                 ledger_entry *ret)
{
    dlock_time deadline = dlock_in_ms(terms_request_ms(terms));
    ledger_status now = ledger_find(store, terms, request, LEDGER_LOOK, deadline, ret);
    if (now == LEDGER_FOUND || now == LEDGER_UNAVAILABLE)
        return now;
    ledger_status before = find_before(store, terms, request, deadline, ret);
    if (before == LEDGER_FOUND || before == LEDGER_UNAVAILABLE)
        return before;
    now = ledger_find(store, terms, request, LEDGER_ASK, deadline, ret);
    if (now == LEDGER_OVER) /* so there is a newer one, unknown here as yet */
        return LEDGER_NOT_YET;
    return now == LEDGER_FOUND || now > before ? now : before;
}

/* ---- all orders ------------------------------------------------------------------------------ */

int ledger_read_page(fs_store *store, const sale_terms *terms, int segment, int64_t first,
                     ledger_each *each, void *arg)
{
    sale_keys keys;
    dlock_args args;
    terms_keys(terms, segment, &keys);
    dlock_args_init(&args);
    dlock_args_text(&args, keys.ledger);
    dlock_args_text(&args, keys.orders);
    dlock_args_int(&args, first);
    dlock_args_int(&args, first + LEDGER_PAGE - 1);
    redisReply *reply = store_read_script(store, dlock_in_ms(STORE_READ_MS), &page, 2, &args);
    if (!reply)
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
