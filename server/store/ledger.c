/* ledger.c - see ledger.h. */
#include "server/store/ledger.h"

#include <stdio.h>
#include <string.h>

#include "server/sale/sale_start.h"
#include "server/store/numbers.lua.h"
#include "server/store/outcome.h"
#include "server/store/page.lua.h"
#include "server/store/resolve.lua.h"

/* Beyond the longest a request may be under way: clocks that differ, a reply that was late. */
#define FINAL_MARGIN_MS 1000

static dlock_script numbers = DLOCK_SCRIPT("numbers", "#!lua flags=no-writes\n" NUMBERS_LUA);
static dlock_script resolve = DLOCK_SCRIPT("resolve", "#!lua\n" RESOLVE_LUA);
static dlock_script page = DLOCK_SCRIPT("page", "#!lua flags=no-writes\n" PAGE_LUA);

/* Runs a script and frees its words. NULL: Redis did not answer. */
static redisReply *ask(const sale_terms *terms, dlock_script *script, int keys, dlock_args *args,
                       dlock_time deadline)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome = dlock_redis_eval(terms->store->redis, script, keys, args,
                                                   store_read_deadline(deadline), &reply);
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
        redisReply *reply = ask(terms, &numbers, 4, &args, dlock_in_ms(STORE_READ_MS));
        if (!reply)
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
                             ledger_how how, dlock_time deadline, fs_order *ret)
{
    char note[KEY_MAX + IDENT_MAX + 8];
    snprintf(note, sizeof(note), "%s:asked:%s", shelf->base, request);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, shelf->current);
    dlock_args_text(&args, shelf->orders);
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
    redisReply *reply = ask(terms, &resolve, 3, &args, deadline);
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

/* Found on one of the shelves, or the least sure of their answers. */
static ledger_status find_on_all(const sale_terms *terms, const char *request, ledger_how how,
                                 dlock_time deadline, ledger_entry *ret)
{
    ledger_status all = LEDGER_NEVER;
    int count = terms->segments > 0 ? terms->segments : 1;
    for (int k = 0; k < count; k++) {
        fs_shelf shelf;
        shelf_name(&shelf, terms->item, terms->segments > 0 ? k : SHELF_WHOLE, terms->id);
        ledger_status status = find_on(terms, &shelf, request, how, deadline, &ret->order);
        ret->segment = k;
        if (status == LEDGER_FOUND || status == LEDGER_UNAVAILABLE)
            return status;
        if (status > all)
            all = status;
    }
    return all;
}

ledger_status ledger_find(const sale_terms *terms, const char *request, ledger_how how,
                          dlock_time deadline, ledger_entry *ret)
{
    snprintf(ret->sale, sizeof(ret->sale), "%s", terms->id);
    ret->sharded = terms->segments > 0;
    if (how == LEDGER_LOOK || terms->segments > 1) {
        ledger_status seen = find_on_all(terms, request, LEDGER_LOOK, deadline, ret);
        if (how == LEDGER_LOOK || seen == LEDGER_FOUND || seen == LEDGER_UNAVAILABLE)
            return seen;
    }
    return find_on_all(terms, request, how, deadline, ret);
}

/* Goes on to the sale before. LEDGER_FOUND: done; LEDGER_NEVER: there is none, or it is not kept
 * any more; LEDGER_NOT_YET: it should be there, and can not be read. */
static ledger_status step_back(sale_terms *sale)
{
    char err[256];
    sale_terms before;
    if (sale->previous[0] == '\0')
        return LEDGER_NEVER;
    start_status status =
        start_read_terms(sale->store, sale->item, sale->previous, &before, err, sizeof(err));
    if (status == START_UNAVAILABLE)
        return LEDGER_UNAVAILABLE;
    if (status != START_OK)
        return terms_keep_previous(sale) ? LEDGER_NOT_YET : LEDGER_NEVER;
    *sale = before;
    return LEDGER_FOUND;
}

/* The order in one of the sales before; LEDGER_NEVER: in none of them. */
static ledger_status find_before(const sale_terms *terms, const char *request, dlock_time deadline,
                                 ledger_entry *ret)
{
    sale_terms sale = *terms;
    ledger_status all = LEDGER_NEVER, step;
    while ((step = step_back(&sale)) == LEDGER_FOUND) {
        ledger_status status = ledger_find(&sale, request, LEDGER_ASK, deadline, ret);
        if (status == LEDGER_FOUND || status == LEDGER_UNAVAILABLE)
            return status;
        if (status == LEDGER_NOT_YET)
            all = status;
    }
    return step > all ? step : all;
}

/* The current sale is asked last, so that nothing is declared void in it that has its order in a
 * sale before. */
ledger_status ledger_find_in_all(const sale_terms *terms, const char *request, ledger_entry *ret)
{
    dlock_time deadline = dlock_in_ms(terms_request_ms(terms));
    ledger_status now = ledger_find(terms, request, LEDGER_LOOK, deadline, ret);
    if (now == LEDGER_FOUND || now == LEDGER_UNAVAILABLE)
        return now;
    ledger_status before = find_before(terms, request, deadline, ret);
    if (before == LEDGER_FOUND || before == LEDGER_UNAVAILABLE)
        return before;
    now = ledger_find(terms, request, LEDGER_ASK, deadline, ret);
    if (now == LEDGER_OVER) /* so there is a newer one, unknown here as yet */
        return LEDGER_NOT_YET;
    return now == LEDGER_FOUND || now > before ? now : before;
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
    redisReply *reply = ask(terms, &page, 2, &args, dlock_in_ms(STORE_READ_MS));
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
