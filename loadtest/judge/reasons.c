/*
 * reasons.c - a refusal because of the request, its user or its sale is justified by something in
 * the history: if an id is called void, somebody asked for its end, and so on.
 *
 * The check objects only where no other reason is possible: a failover or a fault may hide a sale.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What may justify the refusals of a request. */
typedef struct lt_excuse {
    int64_t asked_us;  /* the first lookup that did not find it began; NEVER */
    int64_t bought_us; /* the first attempt that may have bought began; NEVER */
    bool elsewhere;    /* its id was used in other sales, too */
} lt_excuse;

static lt_excuse *collect_excuses(const lt_judging *j)
{
    const lt_history *h = j->history;
    lt_excuse *excuses = zeroed(j->requests_len, sizeof(*excuses));
    for (uint32_t i = 0; i < j->requests_len; i++)
        excuses[i].asked_us = excuses[i].bought_us = NEVER;
    for (size_t i = 0; i < h->looks_len; i++) {
        lt_excuse *excuse = &excuses[h->looks[i].request];
        if (h->looks[i].status != 200)
            excuse->asked_us = sooner(excuse->asked_us, h->looks[i].from_us);
    }
    EACH(const lt_ask, ask, h->asks) {
        lt_excuse *excuse = &excuses[ask->request];
        excuse->elsewhere |= ask->answer == ANSWER_ELSEWHERE;
        if (ask->answer == ANSWER_YES || ask->answer == ANSWER_UNKNOWN)
            excuse->bought_us = sooner(excuse->bought_us, ask->from_us);
    }
    return excuses;
}

/* When somebody last bought in the sale, or it last was the item's current sale. */
typedef struct lt_there {
    int64_t bought_us, current_us;
} lt_there;

static lt_there find_sale(const lt_judging *j)
{
    const lt_history *h = j->history;
    lt_there there = {0, 0};
    for (size_t i = 0; i < h->asks_len; i++) {
        if (h->asks[i].answer == ANSWER_YES)
            there.bought_us = later(there.bought_us, h->asks[i].from_us);
    }
    for (size_t i = 0; i < h->stocks_len; i++) {
        if (h->stocks[i].sale == h->sale.id && h->stocks[i].status == 200)
            there.current_us = later(there.current_us, h->stocks[i].from_us);
    }
    return there;
}

/* Whether the code says that there is no sale although there is one. Who names the sale knows
 * it. */
static bool denies_sale(const lt_judging *j, int64_t status, lt_text code, int64_t to_us,
                        const lt_there *there)
{
    const lt_history *h = j->history;
    const char *told = text_of(j, code);
    bool sure = h->sale.failovers != 1 && (j->calm || h->turns_len == 0);
    bool none = strcmp(told, "no_such_item") == 0 || strcmp(told, "no_such_sale") == 0;
    bool over = strcmp(told, "sale_closed") == 0;
    return sure && ((status == 404 && none && to_us < there->bought_us) ||
                    (status == 409 && over && to_us < there->current_us - IN_FORCE_US));
}

/* Whether the refusal is not of a buy: it is about the admin's token, or about ending an order. */
static const char *is_of_no_buy(const lt_judging *j, const lt_ask *ask)
{
    if (was_told(j, ask, 401, "token_missing") || was_told(j, ask, 403, "token_wrong") ||
        was_told(j, ask, 403, "admin_disabled"))
        return "a buy needs no token of the admin";
    if (was_told(j, ask, 409, "order_sold") || was_told(j, ask, 409, "order_cancelled") ||
        was_told(j, ask, 409, "reservation_expired"))
        return "a buy ends no order";
    return NULL;
}

/* Whether it says that there is no such address, or no buying at it, or that a part of a question
 * of the contract is not one of it. */
static bool denies_the_contract(const lt_judging *j, const lt_ask *ask)
{
    return was_told(j, ask, 404, "not_found") || was_told(j, ask, 405, "method_not_allowed") ||
           was_told(j, ask, 400, "unknown_parameter");
}

/* Whether a name fits the contract: up to so many letters, digits and signs. */
static bool is_name(const char *name, size_t most, const char *signs)
{
    static const char alphanumeric[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    size_t len = strlen(name), i = 0;
    while (i < len && (strchr(alphanumeric, name[i]) || strchr(signs, name[i])))
        i++;
    return len > 0 && len <= most && i == len;
}

/* NULL, or what contradicts a refusal that says that the question itself is bad. */
static const char *why_good(const lt_judging *j, const lt_ask *ask)
{
    bool ends = known(ask->not_after_us);
    if (was_told(j, ask, 400, "bad_user") && is_name(text_of(j, ask->user), 128, "._%+@-"))
        return "its user has a good name";
    if (was_told(j, ask, 400, "bad_item") && is_name(text_of(j, j->history->sale.item), 64, "_-"))
        return "its item has a good name";
    if (was_told(j, ask, 400, "bad_request_id") && is_name(text_of(j, ask->request_name), 64, "_-"))
        return "its id is a good one";
    if (was_told(j, ask, 400, "bad_quantity") && ask->quantity == 1)
        return "it asked for one unit";
    if (was_told(j, ask, 400, "reservation_not_offered") && !is_reserving(j) &&
        !known(ask->reserve_us))
        return "it reserved nothing";
    if (denies_the_contract(j, ask))
        return "it was a buy";
    if (!ends && (was_told(j, ask, 409, "too_late") || was_told(j, ask, 400, "bad_not_after")))
        return "it named no end";
    return NULL;
}

/* Whether no order of this id can have existed then. */
static bool is_unused(const lt_request *request, const lt_excuse *excuse, int64_t us)
{
    return excuse->bought_us > us && request->known_us > us && request->order == NO_ELEMENT;
}

/* NULL, or what contradicts the refusal. An id becomes void when somebody asks for its end, or
 * when the service itself gives up an attempt whose outcome it does not know. */
static const char *objection(const lt_judging *j, const lt_ask *ask, const lt_excuse *excuse,
                             const lt_there *there)
{
    const lt_request *request = &j->requests[ask->request];
    if (was_told(j, ask, 409, "request_void") && excuse->asked_us > ask->to_us &&
        is_first(request, ask))
        return "nobody had asked for its end";
    bool same = !is_reserving(j) && !request->mixed;
    if (was_told(j, ask, 422, "request_reused") && !excuse->elsewhere &&
        (same || is_unused(request, excuse, ask->to_us)))
        return "nobody used it for anything else";
    if (ask->answer != ANSWER_ELSEWHERE && ask->asked == TEXT_NONE &&
        denies_sale(j, ask->status, ask->code, ask->to_us, there))
        return "the sale was there afterwards";
    const char *why = why_good(j, ask);
    return why ? why : is_of_no_buy(j, ask);
}

void check_reasons(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_excuse *excuses = collect_excuses(j);
    const lt_there there = find_sale(j);
    for (size_t i = 0; j->whole && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        const char *why = objection(j, ask, &excuses[ask->request], &there);
        if (why)
            violated(j, "%s was told %s (line %" PRId64 "), and %s", text_of(j, ask->request_name),
                     text_of(j, ask->code), ask->line, why);
    }
    for (size_t i = 0; j->whole && i < h->looks_len; i++) {
        const lt_look *look = &h->looks[i];
        if (look->asked == TEXT_NONE &&
            denies_sale(j, look->status, look->code, look->to_us, &there))
            violated(j, "%s was told %s (line %" PRId64 "), and the sale was there afterwards",
                     text_of(j, look->request_name), text_of(j, look->code), look->line);
    }
    free(excuses);
    settle(j, STATE_OK, "");
}
