/*
 * ledger.c - reading what was sold, segment by segment and sale by sale.
 *
 * A request's order may lie in any segment of any sale that is still kept, so what is found nowhere
 * is only as sure as the least sure of all answers.
 */
#include "server/store/ledger.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/store/ask.lua.h"
#include "server/store/confirm.lua.h"
#include "server/store/numbers.lua.h"
#include "server/store/page.lua.h"
#include "server/store/replicas.h"
#include "server/store/resolve.lua.h"
#include "server/store/state.lua.h"

/* Beyond the longest a request may be under way: clocks that differ, a reply that was late. */
#define FINAL_MARGIN_MS 1000

/* What questions may cost. A note is kept for so many times as long as a request may be under way;
 * there are so many of them in a sale at once (1.3 MB), and one more takes the place of any; and so
 * many requests without an order are declared void by questions (2 MB), beyond which a question
 * stays open. */
#define NOTE_REQUESTS 10
#define NOTES_MAX     10000
#define VOIDS_MAX     20000

static dlock_script numbers =
    DLOCK_SCRIPT("numbers", "#!lua flags=no-writes\n" STATE_LUA NUMBERS_LUA);
static dlock_script look =
    DLOCK_SCRIPT("look", "#!lua flags=no-writes\n" STATE_LUA RESOLVE_LUA); /* "" = only look */
static dlock_script resolve = DLOCK_SCRIPT("resolve", "#!lua\n" STATE_LUA RESOLVE_LUA);
static dlock_script confirm = /* a Redis that is full tells of what it has */
    DLOCK_SCRIPT("confirm", "#!lua flags=allow-oom\n" CONFIRM_LUA);
static dlock_script ask = DLOCK_SCRIPT("ask", "#!lua\n" ASK_LUA);
static dlock_script page = DLOCK_SCRIPT("page", "#!lua flags=no-writes\n" STATE_LUA PAGE_LUA);

/* Begins the words of a script that begins with state.lua. */
static void put_state(dlock_args *args, const sale_terms *terms, int k)
{
    sale_keys keys;
    terms_keys(terms, k, &keys);
    dlock_args_init(args);
    terms_put_state(args, terms, &keys, 0);
}

static void log_damage(const sale_terms *terms, const char *what)
{
    LOG_SOME(LOG_ERROR, "sale_damaged", "item", terms->item, "sale", terms->id, "detail", what,
             NULL);
}

static ledger_status count_segment(fs_store *store, const sale_terms *terms, int k, bool exact,
                                   ledger_numbers *ret)
{
    dlock_args args;
    put_state(&args, terms, k);
    if (exact)
        dlock_args_int(&args, terms_units(terms, k));
    else
        dlock_args_text(&args, "");
    redisReply *reply =
        store_read_script(store, dlock_in_ms(STORE_READ_MS), &numbers, STATE_KEYS, &args);
    ledger_status status = LEDGER_UNAVAILABLE;
    if (reply && reply->elements == 3) {
        ret->remaining += reply->element[0]->integer;
        ret->units += reply->element[1]->integer;
        ret->orders += reply->element[2]->integer;
        status = LEDGER_FOUND;
    } else if (reply && reply->elements == 1) {
        log_damage(terms, reply->element[0]->str);
        status = LEDGER_DAMAGED;
    }
    freeReplyObject(reply);
    return status;
}

ledger_status ledger_count(fs_store *store, const sale_terms *terms, bool exact,
                           ledger_numbers *ret)
{
    ledger_status status = LEDGER_FOUND;
    memset(ret, 0, sizeof(*ret));
    for (int k = 0; status == LEDGER_FOUND && k < terms_key_sets(terms); k++)
        status = count_segment(store, terms, k, exact, ret);
    return status;
}

/* ---- one order ------------------------------------------------------------------------------- */

static ledger_status read_resolved(const sale_terms *terms, const redisReply *reply, fs_order *ret)
{
    if (reply->len == 0)
        return LEDGER_NOT_YET;
    if (strcmp(reply->str, ORDER_VOID) == 0)
        return LEDGER_NEVER;
    if (strcmp(reply->str, "closed") == 0)
        return LEDGER_OVER;
    if (order_read(reply->str, reply->len, ret))
        return LEDGER_FOUND;
    log_damage(terms, reply->str);
    return LEDGER_DAMAGED;
}

/* `voids`: "" = only look, which a Redis that takes no writes answers too; otherwise how many
 * requests without an order there may be. */
static ledger_status find_in_segment(fs_store *store, const sale_terms *terms, int k,
                                     const char *request, const char *voids, dlock_time deadline,
                                     fs_order *ret)
{
    dlock_args args;
    put_state(&args, terms, k);
    dlock_args_text(&args, request);
    dlock_args_text(&args, voids);
    redisReply *reply =
        store_read_script(store, deadline, voids[0] == '\0' ? &look : &resolve, STATE_KEYS, &args);
    if (!reply)
        return LEDGER_UNAVAILABLE;
    ledger_status status = read_resolved(terms, reply, ret);
    freeReplyObject(reply);
    return status;
}

/* Found in one of the segments, or the least sure of their answers. A server that did not answer is
 * not asked again. */
static ledger_status find_in_sale(fs_store *store, const sale_terms *terms, const char *request,
                                  const char *voids, dlock_time deadline, ledger_entry *ret)
{
    ledger_status all = LEDGER_NEVER;
    const fs_node *silent = NULL;
    for (int k = 0; k < terms_key_sets(terms); k++) {
        sale_keys keys;
        terms_keys(terms, k, &keys);
        const fs_node *node = store_node(store, keys.current);
        if (node == silent)
            continue;
        ledger_status status =
            find_in_segment(store, terms, k, request, voids, deadline, &ret->order);
        ret->segment = k;
        if (status == LEDGER_FOUND)
            return status;
        if (status == LEDGER_UNAVAILABLE)
            silent = node;
        if (status > all)
            all = status;
    }
    return all;
}

/* Whether every request that was under way at the first question has run out; notes the question
 * if it is the first. The notes are the sale's, not a segment's: they lie under the item's tag. */
static bool was_asked_before(fs_store *store, const sale_terms *terms, const char *request,
                             dlock_time deadline)
{
    sale_keys keys;
    char notes[KEY_MAX + 8];
    int64_t under_way_ms = terms_request_ms(terms) + FINAL_MARGIN_MS;
    keys_name(&keys, terms->item, SEGMENT_NONE, terms->id);
    snprintf(notes, sizeof(notes), "%s:asked", keys.base);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, notes);
    dlock_args_text(&args, request);
    dlock_args_int(&args, under_way_ms * 1000);
    dlock_args_int(&args, under_way_ms * NOTE_REQUESTS);
    dlock_args_int(&args, NOTES_MAX);
    redisReply *reply = store_read_script(store, deadline, &ask, 1, &args);
    bool before = reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    freeReplyObject(reply);
    return before;
}

static ledger_status find(fs_store *store, const sale_terms *terms, const char *request,
                          ledger_how how, dlock_time deadline, ledger_entry *ret)
{
    char voids[24];
    snprintf(voids, sizeof(voids), "%lld", how == LEDGER_VOID ? (long long)INT64_MAX : VOIDS_MAX);
    snprintf(ret->sale, sizeof(ret->sale), "%s", terms->id);
    ret->sharded = terms->segments > 0;
    if (how != LEDGER_VOID || terms->segments > 1) {
        ledger_status seen = find_in_sale(store, terms, request, "", deadline, ret);
        if (seen != LEDGER_NOT_YET || how == LEDGER_LOOK)
            return seen;
    }
    if (how == LEDGER_ASK && !was_asked_before(store, terms, request, deadline))
        return LEDGER_NOT_YET;
    return find_in_sale(store, terms, request, voids, deadline, ret);
}

bool ledger_confirm(fs_store *store, const sale_terms *terms, int k, const char *request,
                    dlock_time deadline)
{
    sale_keys keys;
    dlock_args args;
    redisReply *reply = NULL;
    terms_keys(terms, k, &keys);
    int needed = replicas_needed(store, terms, &keys);
    if (replicas_missing(store, terms, &keys)) /* so there is no sense in waiting */
        return false;
    dlock_args_init(&args);
    dlock_args_text(&args, keys.orders);
    dlock_args_text(&args, request);
    dlock_redis_outcome outcome = dlock_redis_eval_wait(
        store->redis, &confirm, 1, &args, needed, replicas_deadline(needed, deadline), &reply);
    bool there = reply && reply->type == REDIS_REPLY_INTEGER && reply->integer == 1;
    if (outcome != DLOCK_REDIS_OK)
        store_log_failure(store, "confirm",
                          there ? "too few replicas have it" : dlock_redis_outcome_text(outcome));
    freeReplyObject(reply);
    dlock_args_free(&args);
    return outcome == DLOCK_REDIS_OK && there;
}

/* A marker is in every segment. */
static bool confirm_void(fs_store *store, const sale_terms *terms, const char *request,
                         dlock_time deadline)
{
    bool good = true;
    for (int k = 0; good && k < terms_key_sets(terms); k++)
        good = ledger_confirm(store, terms, k, request, deadline);
    return good;
}

ledger_status ledger_find(fs_store *store, const sale_terms *terms, const char *request,
                          ledger_how how, dlock_time deadline, ledger_entry *ret)
{
    ledger_status status = find(store, terms, request, how, deadline, ret);
    if (terms->durability != DURABILITY_REPLICATED)
        return status;
    if (status == LEDGER_FOUND && !ledger_confirm(store, terms, ret->segment, request, deadline))
        return LEDGER_UNCONFIRMED;
    if (status == LEDGER_NEVER && !confirm_void(store, terms, request, deadline))
        return LEDGER_NOT_YET;
    return status;
}

/* Puts the terms of the sale before in *sale. False: there are none, and *ret tells what that says
 * of the orders in it: LEDGER_NEVER = there was no such sale; LEDGER_OLDER = it is not kept any
 * more, or Redis has lost it, and its orders with it. */
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
    else if (status != SALE_OK)
        *ret = LEDGER_OLDER;
    if (status == SALE_OK)
        *sale = before;
    return status == SALE_OK;
}

/* The order in one of the sales before; LEDGER_NEVER: in none of them. They are over, or will be in
 * a moment: nothing is noted there. */
static ledger_status find_before(fs_store *store, const sale_terms *terms, const char *request,
                                 dlock_time deadline, ledger_entry *ret)
{
    sale_terms sale = *terms;
    ledger_status all = LEDGER_NEVER, end;
    for (int sales = 1; step_back(store, deadline, &sale, &end); sales++) {
        if (sales == LEDGER_SALES)
            return all > LEDGER_OLDER ? all : LEDGER_OLDER;
        ledger_status status = ledger_find(store, &sale, request, LEDGER_LOOK, deadline, ret);
        if (status <= LEDGER_UNCONFIRMED || status == LEDGER_UNAVAILABLE)
            return status;
        if (status > LEDGER_OVER && status > all)
            all = status;
    }
    return end > all ? end : all;
}

/* The current sale is asked last, so that nothing is declared void in it that has its order in a
 * sale before; and not at all when that could not make the answer final. */
ledger_status ledger_find_in_all(fs_store *store, const sale_terms *terms, const char *request,
                                 ledger_entry *ret)
{
    dlock_time deadline = dlock_in_ms(terms_request_ms(terms));
    ledger_status now = ledger_find(store, terms, request, LEDGER_LOOK, deadline, ret);
    if (now <= LEDGER_UNCONFIRMED || now == LEDGER_UNAVAILABLE)
        return now;
    ledger_status before = find_before(store, terms, request, deadline, ret);
    if (before != LEDGER_NEVER)
        return before;
    now = ledger_find(store, terms, request, LEDGER_ASK, deadline, ret);
    return now == LEDGER_OVER ? LEDGER_NOT_YET : now; /* a newer one, unknown here as yet */
}

/* ---- all orders ------------------------------------------------------------------------------ */

/* Those from place `first` to place `last`; both count from the end when they are below 0. */
static ledger_status read_range(fs_store *store, const sale_terms *terms, int segment,
                                int64_t first, int64_t last, ledger_each *each, void *arg, int *ret)
{
    dlock_args args;
    put_state(&args, terms, segment);
    dlock_args_int(&args, first);
    dlock_args_int(&args, last);
    redisReply *reply =
        store_read_script(store, dlock_in_ms(STORE_READ_MS), &page, STATE_KEYS, &args);
    if (!reply)
        return LEDGER_UNAVAILABLE;
    bool whole = reply->type == REDIS_REPLY_ARRAY;
    if (!whole)
        log_damage(terms, reply->str);
    for (size_t i = 0; whole && i + 1 < reply->elements; i += 2) {
        const redisReply *record = reply->element[i + 1];
        fs_order order;
        whole = order_read(record->str, record->len, &order);
        if (whole)
            each(arg, segment, reply->element[i]->str, &order);
        else
            log_damage(terms, reply->element[i]->str);
    }
    *ret = (int)(reply->elements / 2);
    freeReplyObject(reply);
    return whole ? LEDGER_FOUND : LEDGER_DAMAGED;
}

ledger_status ledger_read_page(fs_store *store, const sale_terms *terms, int segment, int64_t first,
                               ledger_each *each, void *arg, int *ret)
{
    return read_range(store, terms, segment, first, first + LEDGER_PAGE - 1, each, arg, ret);
}

ledger_status ledger_read_last(fs_store *store, const sale_terms *terms, int segment, int count,
                               ledger_each *each, void *arg)
{
    int entries;
    return read_range(store, terms, segment, -count, -1, each, arg, &entries);
}
