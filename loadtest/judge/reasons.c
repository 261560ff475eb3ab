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

enum { ORDERS_BEYOND_STOCK = 1000000 }; /* so many, and a sale offers no reservations any more */

#define FIRST_END_US 1000000000000000 /* of a not_after */
#define LAST_END_US  9007199254740991

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

/* When somebody last bought in the sale, or it last was the item's current sale; and the most units
 * that somebody bought, and the longest time that somebody reserved for. */
typedef struct lt_there {
    int64_t bought_us, current_us, most_units, most_us;
} lt_there;

static lt_there find_sale(const lt_judging *j)
{
    const lt_history *h = j->history;
    lt_there there = {0};
    EACH(const lt_ask, ask, h->asks) {
        if (ask->answer != ANSWER_YES)
            continue;
        there.bought_us = later(there.bought_us, ask->from_us);
        there.most_units = later(there.most_units, ask->quantity);
        there.most_us = later(there.most_us, ask->reserve_us);
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

/* What an attempt sent of the parameters that a refusal may call bad. */
enum { USER = 1, ITEM, ID, SALE, QUANTITY, RESERVE, OFFERED, END, LATE };

/* Whether it was good. `there`: what others got. */
static bool is_good(const lt_judging *j, const lt_ask *ask, int parameter, const lt_there *there)
{
    int64_t reserve_us = ask->reserve_us, end_us = ask->not_after_us;
    bool bought = reserve_us > 0 && reserve_us <= there->most_us;
    switch (parameter) {
    case USER:
        return is_name(text_of(j, ask->user), 128, "._%+@-");
    case ITEM:
        return is_name(text_of(j, j->history->sale.item), 64, "_-");
    case ID:
        return is_name(text_of(j, ask->request_name), 64, "_-");
    case SALE: /* none, or this one */
        return text_told(ask->asked) || is_name(text_of(j, j->history->sale.id), 64, "_-");
    case QUANTITY:
        return ask->quantity == 1 || ask->quantity <= there->most_units;
    case RESERVE:
        return reserve_us <= 0 || bought;
    case OFFERED:
        return reserve_us <= 0 || (bought && j->history->asks_len < ORDERS_BEYOND_STOCK);
    case END:
        return !known(end_us) || (end_us >= FIRST_END_US && end_us <= LAST_END_US);
    default:
        return parameter == LATE && !known(end_us);
    }
}

/* The 4xx with a code that a buy of a history may be told by server/API.md, and what they blame;
 * is_of_the_asking() knows those about the client. Its parameters are those of the contract, and
 * come once. */
static const struct {
    int64_t status;
    const char *code;
    int parameter; /* 0: another function checks it, or another guarantee */
    const char *why_good;
} buy_refusals[] = {
    {400, "bad_user", USER, "its user has a good name"},
    {400, "bad_item", ITEM, "its item has a good name"},
    {400, "bad_request_id", ID, "its id is a good one"},
    {400, "bad_sale", SALE, "its sale has a good name"},
    {400, "bad_quantity", QUANTITY, "so many may be asked for"},
    {400, "bad_reserve_s", RESERVE, "it may reserve for so long"},
    {400, "reservation_not_offered", OFFERED, "it may reserve for so long"},
    {400, "bad_not_after", END, "it named no bad end"},
    {404, "no_such_item", 0, NULL},
    {404, "no_such_sale", 0, NULL},
    {409, "sold_out", 0, NULL},
    {409, "limit_reached", 0, NULL},
    {409, "quantity_above_limit", 0, NULL},
    {409, "sale_closed", 0, NULL},
    {409, "request_void", 0, NULL},
    {409, "too_late", LATE, "it named no end"},
    {422, "request_reused", 0, NULL},
};

/* NULL, or what contradicts a refusal that blames the question, or that no buy is told. */
static const char *why_no_reason(const lt_judging *j, const lt_ask *ask, const lt_there *there)
{
    const char *code = text_told(ask->code) ? text_of(j, ask->code) : "";
    bool refused = ask->answer == ANSWER_NO || ask->answer == ANSWER_NEVER;
    if (!refused || code[0] == '\0' || ask->status < 400 || ask->status > 499 ||
        ask->status == 429 || is_of_the_asking(j, ask->status, ask->code))
        return NULL;
    for (size_t i = 0; i < sizeof(buy_refusals) / sizeof(buy_refusals[0]); i++) {
        if (buy_refusals[i].status == ask->status && strcmp(buy_refusals[i].code, code) == 0)
            return is_good(j, ask, buy_refusals[i].parameter, there) ? buy_refusals[i].why_good
                                                                     : NULL;
    }
    return "no buy is told so";
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
    return why_no_reason(j, ask, there);
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
