/*
 * ledger_find.c - finds what became of one request.
 *
 * Its order may be in any segment of the sale. So "no order" is only as sure as the least sure
 * answer of all segments.
 */
#include "server/store/ledger.h"

#include <stdio.h>
#include <string.h>

#include "server/store/ask.lua.h"
#include "server/store/confirm.lua.h"
#include "server/store/replicas.h"
#include "server/store/reserved.lua.h"
#include "server/store/resolve.lua.h"
#include "server/store/state.lua.h"

/* Added to the longest time of a request, for clocks that differ and late replies. */
#define FINAL_MARGIN_MS 1000

/* Limits of questions without a time; see ledger.h. A note is kept for NOTE_REQUESTS times the
 * longest time of a request. One above NOTES_MAX replaces any other. In a sale of many segments
 * fewer requests can be void, because each has a mark in every segment. */
#define NOTE_REQUESTS 10
#define NOTES_MAX     30000
#define VOIDS_MAX     60000
#define MARKS_MAX     240000

static dlock_script look = DLOCK_SCRIPT(
    "look", "#!lua flags=no-writes\n" STATE_LUA RESERVED_LUA RESOLVE_LUA); /* "" = only look */
static dlock_script
    past = /* like `look`, but a server that must not decide refuses it; see ledger.h */
    DLOCK_SCRIPT("past", "#!lua flags=allow-oom\n" STATE_LUA RESERVED_LUA RESOLVE_LUA);
static dlock_script resolve = DLOCK_SCRIPT("resolve", "#!lua\n" STATE_LUA RESERVED_LUA RESOLVE_LUA);
static dlock_script confirm = /* a full Redis still tells what it has */
    DLOCK_SCRIPT("confirm", "#!lua flags=allow-oom\n" CONFIRM_LUA);
static dlock_script ask = DLOCK_SCRIPT("ask", "#!lua\n" ASK_LUA);

typedef struct search {
    fs_store *store;
    const sale_terms *terms;
    const char *request;
    dlock_time deadline;
    int64_t voids;   /* 0: only look, which a Redis that refuses writes answers too; otherwise the
                        most void requests that there may be */
    int64_t past_us; /* by Redis's clock: after this no try makes an order, so "none" is final; 0 =
                        unknown */
} search;

typedef ledger_status search_segment(const search *s, int k, fs_order *ret);

/* LEDGER_FOUND if a segment has the order, otherwise the least sure of their answers. Does not ask
 * a silent server again. If one segment took no mark, the others need none. */
static ledger_status search_all(const search *s, search_segment *in_segment, ledger_entry *ret)
{
    ledger_status all = LEDGER_NEVER;
    const fs_node *silent = NULL;
    snprintf(ret->sale, sizeof(ret->sale), "%s", s->terms->id);
    ret->sharded = s->terms->segments > 0;
    bool marks = s->voids != 0;
    for (int k = 0; k < terms_key_sets(s->terms) && !(marks && all == LEDGER_NOT_YET); k++) {
        sale_keys keys;
        terms_keys(s->terms, k, &keys);
        const fs_node *node = store_node(s->store, keys.current);
        if (node == silent)
            continue;
        ledger_status status = in_segment(s, k, &ret->order);
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

/* ---- by script ------------------------------------------------------------------------------- */

static ledger_status read_resolved(const sale_terms *terms, const redisReply *reply, fs_order *ret)
{
    if (reply->len == 0)
        return LEDGER_NOT_YET;
    if (strcmp(reply->str, ORDER_VOID) == 0)
        return LEDGER_NEVER;
    if (strcmp(reply->str, "past") == 0)
        return LEDGER_PAST;
    if (strcmp(reply->str, "closed") == 0)
        return LEDGER_OVER;
    if (order_read(reply->str, reply->len, ret))
        return LEDGER_FOUND;
    terms_log_damage(terms, reply->str);
    return LEDGER_DAMAGED;
}

static ledger_status ask_script(const search *s, int k, fs_order *ret)
{
    dlock_args args;
    int keys = terms_put_segment(&args, s->terms, k);
    dlock_args_text(&args, s->request);
    store_put_number(&args, s->voids != 0, s->voids);
    store_put_number(&args, s->past_us != 0, s->past_us);
    dlock_script *script = s->voids != 0 ? &resolve : s->past_us != 0 ? &past : &look;
    redisReply *reply =
        store_read_script(s->store, s->deadline, script, keys, &args, store_is_text);
    if (!reply)
        return LEDGER_UNAVAILABLE;
    ledger_status status = read_resolved(s->terms, reply, ret);
    freeReplyObject(reply);
    return status;
}

/* LEDGER_PAST once the time is over: the asker's tries make no order after it. A Redis that takes
 * no writes still tells of an order. */
static ledger_status look_until(const search *s, int64_t not_after_us, ledger_entry *ret)
{
    search dated = *s;
    dated.past_us = not_after_us + FINAL_MARGIN_MS * 1000;
    ledger_status status = search_all(&dated, ask_script, ret);
    return status == LEDGER_UNAVAILABLE ? search_all(s, ask_script, ret) : status;
}

/* Declares the request void, unless it has an order, or too many others are void by questions. */
static ledger_status make_void(const search *s, bool asked, ledger_entry *ret)
{
    int64_t room = MARKS_MAX / terms_key_sets(s->terms);
    search marking = *s;
    marking.voids = !asked ? INT64_MAX : room < VOIDS_MAX ? room : VOIDS_MAX;
    return search_all(&marking, ask_script, ret);
}

/* Whether every request that was under way at the first question has ended. Notes the question if
 * it is the first. The notes are under the item's tag, one set for all segments. */
static bool was_asked_before(const search *s)
{
    sale_keys keys;
    char notes[KEY_MAX + 8];
    int64_t under_way_ms = terms_request_ms(s->terms) + FINAL_MARGIN_MS;
    keys_name(&keys, s->terms->item, SEGMENT_NONE, s->terms->id);
    snprintf(notes, sizeof(notes), "%s:asked", keys.base);
    dlock_args args = store_words(WORDS(notes, s->request));
    dlock_args_int(&args, under_way_ms * 1000);
    dlock_args_int(&args, under_way_ms * NOTE_REQUESTS);
    dlock_args_int(&args, NOTES_MAX);
    redisReply *reply = store_read_script(s->store, s->deadline, &ask, 1, &args, store_is_number);
    bool before = reply && reply->integer == 1;
    freeReplyObject(reply);
    return before;
}

static ledger_status find(const search *s, ledger_how how, ledger_entry *ret)
{
    if (how != LEDGER_VOID || s->terms->segments > 1) {
        ledger_status seen = search_all(s, ask_script, ret);
        if (seen != LEDGER_NOT_YET || how == LEDGER_LOOK)
            return seen;
    }
    if (how == LEDGER_ASK && !was_asked_before(s))
        return LEDGER_NOT_YET;
    return make_void(s, how == LEDGER_ASK, ret);
}

/* ---- what replicas have ---------------------------------------------------------------------- */

static bool confirm_key(fs_store *store, const sale_terms *terms, const sale_keys *keys,
                        const char *key, const char *request, dlock_time deadline)
{
    redisReply *reply = NULL;
    int needed = replicas_needed(store, terms, keys);
    if (replicas_missing(store, terms, keys)) /* waiting would not help */
        return false;
    dlock_args args = store_words(WORDS(key, request));
    if (needed > 0)
        deadline = store_read_deadline(deadline);
    dlock_redis_outcome outcome =
        dlock_redis_eval_wait(store->redis, &confirm, 1, &args, needed, deadline, &reply);
    bool there = reply &&
                 dlock_redis_check(store->redis, confirm.name, reply, store_is_number(reply)) &&
                 reply->integer == 1;
    if (outcome != DLOCK_REDIS_OK)
        store_log_failure(store, "confirm",
                          there ? "too few replicas have it" : dlock_redis_outcome_text(outcome));
    freeReplyObject(reply);
    dlock_args_free(&args);
    return outcome == DLOCK_REDIS_OK && there;
}

bool ledger_confirm(fs_store *store, const sale_terms *terms, int k, const char *request,
                    dlock_time deadline)
{
    sale_keys keys;
    terms_keys(terms, k, &keys);
    return confirm_key(store, terms, &keys, request ? keys.orders : keys.stock, request, deadline);
}

static bool is_confirmed(const search *s, int k, ledger_status found)
{
    sale_keys keys;
    if (found != LEDGER_OVER)
        return ledger_confirm(s->store, s->terms, k, found == LEDGER_PAST ? NULL : s->request,
                              s->deadline);
    terms_keys(s->terms, k, &keys);
    return confirm_key(s->store, s->terms, &keys, keys.current, NULL, s->deadline);
}

/* What may be told in a replicated sale, where a failover may undo what was found. A mark is in
 * every segment. LEDGER_PAST and LEDGER_OVER have nothing to undo, but another server may have sold
 * since, if this one was cut off. If its replicas still follow it, none has. */
static ledger_status to_tell(const search *s, ledger_status found, const ledger_entry *entry)
{
    if (s->terms->durability != DURABILITY_REPLICATED)
        return found;
    if (found == LEDGER_FOUND)
        return is_confirmed(s, entry->segment, found) ? found : LEDGER_UNCONFIRMED;
    if (found != LEDGER_NEVER && found != LEDGER_PAST && found != LEDGER_OVER)
        return found;
    for (int k = 0; k < terms_key_sets(s->terms); k++)
        if (!is_confirmed(s, k, found))
            return LEDGER_NOT_YET;
    return found;
}

ledger_status ledger_find(fs_store *store, const sale_terms *terms, const char *request,
                          ledger_how how, dlock_time deadline, ledger_entry *ret)
{
    const search s = {store, terms, request, deadline, 0, 0};
    return to_tell(&s, find(&s, how, ret), ret);
}

ledger_status ledger_find_until(fs_store *store, const sale_terms *terms, const char *request,
                                int64_t not_after_us, dlock_time deadline, ledger_entry *ret)
{
    const search s = {store, terms, request, deadline, 0, 0};
    return to_tell(&s, look_until(&s, not_after_us, ret), ret);
}

/* ---- for a refused buyer --------------------------------------------------------------------- */

static purchase_outcome outcome_of(ledger_status status, purchase_outcome refusal, bool settled)
{
    bool for_good = outcome_table[refusal].again == AGAIN_NO;
    switch (status) {
    case LEDGER_UNCONFIRMED:
        return BUY_UNKNOWN;
    case LEDGER_NEVER:
        return settled ? refusal : BUY_VOID;
    case LEDGER_OVER: /* or halted: this does not distinguish them */
        return for_good && !settled ? BUY_CLOSED : refusal;
    case LEDGER_NOT_YET:
        return settled ? BUY_UNKNOWN : refusal;
    case LEDGER_DAMAGED:
        return settled || for_good ? BUY_DAMAGED : refusal;
    case LEDGER_UNAVAILABLE:
        return settled ? BUY_UNKNOWN : for_good ? BUY_UNAVAILABLE : refusal;
    default:
        return refusal;
    }
}

ledger_status ledger_answer(fs_store *store, const sale_terms *terms, const purchase *request,
                            ledger_how how, purchase_result *result)
{
    ledger_entry entry;
    ledger_status status =
        ledger_find(store, terms, request->request, how, request->deadline, &entry);
    purchase_outcome outcome = outcome_of(status, result->outcome, how == LEDGER_VOID);
    if (request->action !=
        PURCHASE_BUY) /* about an order that may not exist, in a sale that may be over */
        outcome = outcome == BUY_VOID     ? BUY_NO_ORDER
                  : outcome == BUY_CLOSED ? result->outcome
                                          : outcome;
    if (status == LEDGER_FOUND)
        purchase_answer_earlier(result, &entry.order, entry.segment, request);
    else if (outcome != result->outcome)
        purchase_answer(result, outcome);
    return status;
}

/* ---- by glances: where the asker does not know the sale -------------------------------------- */

static bool is_text_or_nil(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_NIL;
}

/* As ask_script() that only looks, but with a single command if there is no order. */
static ledger_status glance_in(const search *s, int k, fs_order *ret)
{
    sale_keys keys;
    redisReply *reply = NULL;
    ledger_status status = LEDGER_NOT_YET;
    terms_keys(s->terms, k, &keys);
    dlock_redis_outcome outcome = store_command(s->store, store_read_deadline(s->deadline),
                                                WORDS("HGET", keys.orders, s->request), &reply);
    if (outcome == DLOCK_REDIS_ERROR) /* a key of another type */
        status = LEDGER_DAMAGED;
    else if (outcome != DLOCK_REDIS_OK ||
             !dlock_redis_check(s->store->redis, "HGET", reply, is_text_or_nil(reply)))
        status = LEDGER_UNAVAILABLE;
    else if (reply->type == REDIS_REPLY_STRING && strcmp(reply->str, ORDER_VOID) == 0)
        status = LEDGER_NEVER;
    else if (reply->type == REDIS_REPLY_STRING && strcmp(reply->str, ORDER_ELSEWHERE) != 0)
        status = ask_script(s, k, ret);
    freeReplyObject(reply);
    return status;
}

ledger_status ledger_of_sale(sale_status status)
{
    return status == SALE_UNAVAILABLE ? LEDGER_UNAVAILABLE
           : status == SALE_NONE      ? LEDGER_OLDER
                                      : LEDGER_DAMAGED;
}

/* What the sale before has of the request. LEDGER_NEVER to _NOT_YET: nothing, and there was no sale
 * before that one. */
static ledger_status glance_before(const search *now, search_segment *in_segment, ledger_entry *ret)
{
    sale_terms before;
    const search s = {now->store, &before, now->request, now->deadline, 0, 0};
    if (now->terms->previous[0] == '\0')
        return LEDGER_NEVER;
    sale_status status =
        terms_read(s.store, now->terms->item, now->terms->previous, s.deadline, &before, NULL, 0);
    if (status != SALE_OK)
        return ledger_of_sale(status);
    ledger_status found = to_tell(&s, search_all(&s, in_segment, ret), ret);
    bool nothing = found > LEDGER_UNCONFIRMED && found < LEDGER_OLDER;
    return nothing && before.previous[0] != '\0' ? LEDGER_OLDER : found;
}

/* A request is not declared void in the current sale if the sale before has its order, or may still
 * get one; nor if that could not make the answer final. */
ledger_status ledger_find_recent(fs_store *store, const sale_terms *terms, const char *request,
                                 int64_t not_after_us, dlock_time deadline, ledger_entry *ret)
{
    const search s = {store, terms, request, deadline, 0, 0};
    ledger_status now = to_tell(&s, search_all(&s, glance_in, ret), ret);
    if (now <= LEDGER_UNCONFIRMED || now == LEDGER_UNAVAILABLE)
        return now;
    ledger_status before = glance_before(&s, glance_in, ret);
    bool nothing = before > LEDGER_UNCONFIRMED && before < LEDGER_OLDER;
    if (nothing && now == LEDGER_NOT_YET && not_after_us == 0 && !was_asked_before(&s))
        return now;
    if (nothing && now < LEDGER_OLDER)
        before = glance_before(&s, ask_script, ret);
    if (before != LEDGER_NEVER && before != LEDGER_OVER)
        return before <= LEDGER_UNCONFIRMED || before > now ? before : now;
    if (now == LEDGER_NOT_YET)
        now = to_tell(
            &s, not_after_us != 0 ? look_until(&s, not_after_us, ret) : make_void(&s, true, ret),
            ret);
    return now == LEDGER_OVER ? LEDGER_NOT_YET : now; /* a newer sale, unknown here so far */
}
