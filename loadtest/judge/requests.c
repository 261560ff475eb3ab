/*
 * requests.c - combines the attempts, lookups and orders of each request, by the rules at the end
 * of format.h.
 *
 * The order of a request's attempts does not matter. Where no units come back, "sold out" is final
 * because stock only falls: a write that is still under way is refused like the attempt that was
 * told so. A refusal of an attempt with another payload says nothing about the first payload.
 */
#include "loadtest/judge/judging.h"

#include <stdlib.h>
#include <string.h>

#include "loadtest/base/outcome.h"

bool is_one_of(const char *code, const char *const *codes)
{
    while (*codes && strcmp(code, *codes) != 0)
        codes++;
    return *codes;
}

static const char *code_of(const lt_judging *j, lt_text code)
{
    return text_told(code) ? text_of(j, code) : "";
}

/* Asked in another sale, or without naming one and answered by another. */
static bool is_elsewhere(const lt_judging *j, const lt_ask *ask)
{
    lt_text here = j->history->sale.id;
    bool told_other = texts_differ(ask->told.sale, here);
    if (!text_told(ask->asked))
        return told_other && ask->status != 201; /* a yes counts, whichever sale it names */
    return told_other || text_of(j, ask->asked)[0] != '\0';
}

static lt_answer answer_of(const lt_judging *j, const lt_ask *ask)
{
    static const char *const for_good[] = {"sold_out",     "limit_reached", "quantity_above_limit",
                                           "request_void", "sale_closed",   NULL};
    const char *code = code_of(j, ask->code);
    /* Units come back: the first ones are no longer final. */
    int come_back = is_reserving(j) || j->history->sale.failovers == 1 ? 2 : 0;
    if (is_elsewhere(j, ask))
        return ANSWER_ELSEWHERE;
    if (ask->status == 409 && is_one_of(code, for_good + come_back))
        return ANSWER_NEVER;
    if (ask->status == 0)
        return ask->sent == 0 ? ANSWER_NO : ANSWER_UNKNOWN;
    lt_outcome outcome = outcome_of_response((long)ask->status, code);
    return outcome == OUT_SOLD ? ANSWER_YES : outcome == OUT_UNKNOWN ? ANSWER_UNKNOWN : ANSWER_NO;
}

bool is_of_the_asking(const lt_judging *j, int64_t status, lt_text code)
{
    static const struct {
        int64_t status;
        const char *code;
    } codes[] = {
        {401, "buyer_token_missing"}, {403, "buyer_token_wrong"},     {403, "cross_site"},
        {421, "other_server"},        {400, "bad_framing"},           {400, "malformed"},
        {431, "too_many_headers"},    {417, "expectation_failed"},    {411, "length_required"},
        {413, "body_too_long"},       {415, "unsupported_media_type"}};
    bool found = status == 408 || status == 425 || status == 499; /* too slow */
    for (size_t i = 0; !found && i < sizeof(codes) / sizeof(codes[0]); i++)
        found = codes[i].status == status && strcmp(codes[i].code, code_of(j, code)) == 0;
    return found;
}

bool has_payload(const lt_request *request, const lt_ask *ask)
{
    return ask->user == request->user && ask->quantity == request->quantity &&
           ask->reserve_us == request->reserve_us;
}

bool look_is_here(const lt_judging *j, const lt_look *look)
{
    if (!text_told(look->asked))
        return true;
    return text_of(j, look->asked)[0] == '\0' &&
           !texts_differ(look->told.sale, j->history->sale.id);
}

bool was_told(const lt_judging *j, const lt_ask *ask, int64_t status, const char *code)
{
    return ask->answer != ANSWER_ELSEWHERE && ask->status == status &&
           strcmp(text_of(j, ask->code), code) == 0;
}

bool look_found(const lt_judging *j, const lt_look *look)
{
    return look->status == 200 && look_is_here(j, look);
}

bool look_refused(const lt_judging *j, const lt_look *look)
{
    return outcome_of_response((long)look->status, code_of(j, look->code)) != OUT_UNKNOWN;
}

bool look_put_off(const lt_judging *j, const lt_look *look)
{
    return (look->status == 503 || look->status == 429) && look_refused(j, look);
}

bool stock_is_ours(const lt_judging *j, const lt_stock_line *stock)
{
    return stock->status == 200 && !texts_differ(stock->sale, j->history->sale.id);
}

/* ---- numbers for requests -------------------------------------------------------------------- */

static uint32_t number_of(lt_judging *j, lt_text name)
{
    if (j->request_of[name] == 0)
        j->request_of[name] = ++j->requests_len;
    return j->request_of[name] - 1;
}

static void give_numbers(lt_judging *j)
{
    lt_history *h = j->history;
    j->request_of = zeroed(h->texts.len, sizeof(j->request_of[0]));
    for (size_t i = 0; i < h->asks_len; i++)
        h->asks[i].request = number_of(j, h->asks[i].request_name);
    for (size_t i = 0; i < h->looks_len; i++)
        h->looks[i].request = number_of(j, h->looks[i].request_name);
    for (size_t i = 0; i < h->orders_len; i++)
        h->orders[i].request = number_of(j, h->orders[i].told.request);
    j->requests = zeroed(j->requests_len, sizeof(lt_request));
    for (size_t i = 0; i < h->texts.len; i++) {
        if (j->request_of[i] == 0)
            continue;
        j->requests[j->request_of[i] - 1] = (lt_request){.name = (lt_text)i,
                                                         .ask = NO_ELEMENT,
                                                         .yes = NO_ELEMENT,
                                                         .never = NO_ELEMENT,
                                                         .made = NO_ELEMENT,
                                                         .unkeyed = NO_ELEMENT,
                                                         .found = NO_ELEMENT,
                                                         .final = NO_ELEMENT,
                                                         .order = NO_ELEMENT,
                                                         .ended = NO_ELEMENT,
                                                         .fate = &no_fate,
                                                         .ending_us = {NEVER, NEVER, NEVER},
                                                         .put_off_us = NEVER,
                                                         .cancel_us = NEVER,
                                                         .first_us = NEVER,
                                                         .buying_us = NEVER,
                                                         .second_us = NEVER,
                                                         .known_us = NEVER,
                                                         .looked_us = NEVER,
                                                         .not_yet_us = UNKNOWN,
                                                         .reserve_us = h->sale.reserve_us,
                                                         .not_after_us = UNKNOWN};
    }
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* The first in time; of two at the same time, the one on the earlier line. */
static void take_ask(const lt_history *h, uint32_t *place, size_t i, bool by_end)
{
    const lt_ask *now = &h->asks[i], *then = *place == NO_ELEMENT ? NULL : &h->asks[*place];
    if (!then || (by_end ? now->to_us < then->to_us : now->from_us < then->from_us))
        *place = (uint32_t)i;
}

static void take_look(const lt_history *h, uint32_t *place, size_t i)
{
    if (*place == NO_ELEMENT || h->looks[i].to_us < h->looks[*place].to_us)
        *place = (uint32_t)i;
}

/* A refusal because of the limit or the request id does not count: that buyer could not have had
 * a unit. Neither does one that the buyer caused: by the question, its end, or the client; whether
 * it is true is checked by another guarantee. Neither does a refusal because the sale is over, once
 * it may have ended. */
bool is_turned_away(const lt_judging *j, const lt_ask *ask)
{
    const char *code = code_of(j, ask->code);
    if (ask->answer == ANSWER_UNKNOWN || ask->status == 503 || ask->status == 429 ||
        strcmp(code, "sold_out") == 0)
        return true;
    bool own_fault = strcmp(code, "limit_reached") == 0 || strcmp(code, "too_late") == 0 ||
                     strncmp(code, "bad_", 4) == 0 || is_of_the_asking(j, ask->status, ask->code);
    bool refused = ask->answer == ANSWER_NO && ask->status != 422 && !own_fault;
    bool closed = strcmp(code, "sale_closed") == 0;
    return (refused && ask->to_us < j->current_us) ||
           (closed && ask->to_us < j->current_us - IN_FORCE_US);
}

/* What does not depend on the payload. */
static void note_ask(lt_judging *j, size_t i)
{
    lt_history *h = j->history;
    lt_ask *ask = &h->asks[i];
    lt_request *request = &j->requests[ask->request];
    ask->answer = answer_of(j, ask);
    if (!known(ask->reserve_us))
        ask->reserve_us = h->sale.reserve_us;
    if (ask->answer == ANSWER_ELSEWHERE) {
        request->bought = BOUGHT_ELSEWHERE;
        return;
    }
    request->attempts++;
    take_ask(h, &request->ask, i, false);
    request->second_us = sooner(request->second_us, later(request->first_us, ask->from_us));
    request->first_us = sooner(request->first_us, ask->from_us);
    if (ask->keyed == 0)
        take_ask(h, &request->unkeyed, i, false);
    if (ask->answer == ANSWER_YES || ask->answer == ANSWER_UNKNOWN)
        request->buying_us = sooner(request->buying_us, ask->from_us);
    if (ask->answer == ANSWER_YES) {
        take_ask(h, &request->yes, i, true);
        if (ask->replayed != 1)
            take_ask(h, &request->made, i, true);
        request->known_us = sooner(request->known_us, ask->to_us);
    }
    request->unknown += ask->answer == ANSWER_UNKNOWN;
    request->refused = request->refused || is_turned_away(j, ask);
    request->voided = request->voided || strcmp(code_of(j, ask->code), "request_void") == 0;
}

/* An attempt that began after somebody knew of the order has not made it. */
static void note_not_after(lt_judging *j, const lt_ask *ask)
{
    lt_request *request = &j->requests[ask->request];
    bool may = ask->answer == ANSWER_YES || ask->answer == ANSWER_UNKNOWN;
    int64_t until_us = known(ask->not_after_us) ? ask->not_after_us : NEVER;
    if (may && ask->from_us <= request->known_us)
        request->not_after_us = later(request->not_after_us, until_us);
}

static void note_payload(lt_judging *j, size_t i)
{
    const lt_ask *ask = &j->history->asks[i];
    lt_request *request = &j->requests[ask->request];
    if (ask->answer == ANSWER_ELSEWHERE)
        return;
    if (!has_payload(request, ask))
        request->mixed = true;
    else if (ask->answer == ANSWER_NEVER)
        take_ask(j->history, &request->never, i, true);
}

/* A lookup with a not_after asks about attempts up to then and voids nothing. It does not answer
 * a lookup about later attempts, and "not yet" does not answer a lookup for a final result. */
static bool is_of_other_tries(const lt_request *request, const lt_look *look)
{
    return look->status == 404 && known(look->not_after_us) &&
           (look->final != 1 || look->not_after_us < request->not_after_us);
}

static void note_look(lt_judging *j, size_t i)
{
    const lt_look *look = &j->history->looks[i];
    lt_request *request = &j->requests[look->request];
    if (!look_is_here(j, look) || is_of_other_tries(request, look))
        return;
    request->looked_us = sooner(request->looked_us, look->from_us);
    if (look->ending == ENDING_CONFIRM && look_put_off(j, look))
        request->put_off_us = sooner(request->put_off_us, look->from_us);
    if (look->ending == ENDING_CANCEL)
        request->cancel_us = sooner(request->cancel_us, look->from_us);
    if (!look_refused(j, look))
        request->ending_us[look->ending] = sooner(request->ending_us[look->ending], look->from_us);
    if (look->ending != ENDING_NONE && look->status == 200)
        take_look(j->history, &request->ended, i);
    if (look->status == 200) {
        take_look(j->history, &request->found, i);
    } else if (look->status == 404 && look->final == 1) {
        take_look(j->history, &request->final, i);
    } else if (look->status == 404 && look->from_us > request->not_yet_us) {
        request->not_yet_us = look->from_us;
    }
}

/* Goes backwards, so that chains are in the order of the lines. */
static void note_orders(lt_judging *j)
{
    lt_history *h = j->history;
    for (size_t i = h->orders_len; i-- > 0;) {
        lt_order *order = &h->orders[i];
        lt_request *request = &j->requests[order->request];
        if (order->audit != j->books)
            continue;
        order->next = request->order;
        request->order = (uint32_t)i;
        request->orders++;
    }
}

bool may_be_undone(const lt_judging *j, const lt_request *request)
{
    return j->history->sale.failovers == 1 && request->unknown > 0;
}

bool is_final(const lt_judging *j, const lt_request *request)
{
    return request->final != NO_ELEMENT &&
           (j->steady || !known(j->history->looks[request->final].not_after_us));
}

static lt_bought sum_up(const lt_judging *j, const lt_request *request)
{
    if (request->attempts == 0)
        return request->bought == BOUGHT_ELSEWHERE ? BOUGHT_ELSEWHERE : BOUGHT_NOBODY;
    if (request->yes != NO_ELEMENT || request->found != NO_ELEMENT)
        return BOUGHT_YES;
    bool taken_back = request->order != NO_ELEMENT && !is_final(j, request);
    if (request->never != NO_ELEMENT || (request->final != NO_ELEMENT && !taken_back))
        return BOUGHT_NO;
    return request->unknown == 0 && j->whole ? BOUGHT_NO : BOUGHT_UNRESOLVED;
}

void requests_collect(lt_judging *j)
{
    for (size_t i = 0; i < j->history->stocks_len; i++) {
        const lt_stock_line *stock = &j->history->stocks[i];
        if (stock_is_ours(j, stock) && stock->from_us > j->current_us)
            j->current_us = stock->from_us;
    }
    lt_history *h = j->history;
    j->sold = texts_add(&h->texts, "sold");
    j->reserved = texts_add(&h->texts, "reserved");
    j->cancelled = texts_add(&h->texts, "cancelled");
    j->expired = texts_add(&h->texts, "expired");
    give_numbers(j);
    for (size_t i = 0; i < h->asks_len; i++)
        note_ask(j, i);
    EACH(lt_request, request, j->requests) {
        uint32_t ask = request->yes != NO_ELEMENT ? request->yes : request->ask;
        if (ask != NO_ELEMENT) {
            request->user = h->asks[ask].user;
            request->quantity = h->asks[ask].quantity;
            request->reserve_us = h->asks[ask].reserve_us;
        }
    }
    for (size_t i = 0; i < h->asks_len; i++)
        note_payload(j, i);
    for (size_t i = 0; i < h->looks_len; i++) {
        lt_request *request = &j->requests[h->looks[i].request];
        if (look_found(j, &h->looks[i]))
            request->known_us = sooner(request->known_us, h->looks[i].to_us);
    }
    for (size_t i = 0; i < h->asks_len; i++)
        note_not_after(j, &h->asks[i]);
    for (size_t i = 0; i < h->looks_len; i++)
        note_look(j, i);
    note_orders(j);
    for (uint32_t i = 0; i < j->requests_len; i++) {
        j->requests[i].bought = sum_up(j, &j->requests[i]);
        if (j->requests[i].buying_us == NEVER)
            j->requests[i].buying_us = j->requests[i].first_us;
        if (!j->whole)
            j->requests[i].first_us = j->requests[i].buying_us = 0;
    }
    reservations_collect(j);
}

void requests_release(lt_judging *j)
{
    free(j->requests);
    free(j->request_of);
    free(j->seen);
    for (int i = 0; i < SPANS; i++)
        free(j->spans[i]);
}
