/*
 * books.c - compares what was told of orders with the ledger.
 *
 * What was told is compared with the ledger's entry, whichever of the two is wrong. Two orders of
 * one request are a violation of their own; then what was told may be either.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <string.h>

/* Whether what was told is the entry's id. For a ledger that was read from Redis, the number
 * stands for the id. */
static bool is_of_entry(const lt_judging *j, lt_text told, const lt_order *order)
{
    char digits[24];
    if (text_told(order->told.order) || !text_told(told))
        return !texts_differ(told, order->told.order);
    lt_place place = place_of_id(j->history, told);
    snprintf(digits, sizeof(digits), "%" PRId64, order->number);
    return place.number == UNKNOWN
               ? strcmp(text_of(j, told), digits) == 0
               : place.number == order->number && place.segment == order->segment;
}

const char *told_difference(const lt_told *told, const lt_told *is)
{
    const struct {
        const char *name;
        bool differs;
    } members[] = {{"user", texts_differ(told->user, is->user)},
                   {"quantity", differ(told->quantity, is->quantity)},
                   {"item", texts_differ(told->item, is->item)},
                   {"sale", texts_differ(told->sale, is->sale)},
                   {"remaining", differ(told->remaining, is->remaining)},
                   {"fence", differ(told->fence, is->fence)},
                   {"instance", texts_differ(told->instance, is->instance)},
                   {"time", differ(told->time_us, is->time_us)},
                   {"expiry", differ(told->expires_us, is->expires_us)}};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (members[i].differs)
            return members[i].name;
    }
    return NULL;
}

/* The members that entries have: all of them in a ledger from the service, otherwise those that
 * any entry has. */
static lt_told find_listed(const lt_judging *j)
{
    const lt_history *h = j->history;
    bool all = h->audits_len > 0;
    lt_told listed = {.instance = all ? j->sold : TEXT_NONE,
                      .remaining = all ? 0 : UNKNOWN,
                      .fence = all ? 0 : UNKNOWN,
                      .time_us = all ? 0 : UNKNOWN,
                      .expires_us = all && is_reserving(j) ? 0 : UNKNOWN};
    for (size_t i = 0; i < h->orders_len; i++) {
        const lt_told *told = &h->orders[i].told;
        listed.instance = later(listed.instance, told->instance);
        listed.remaining = later(listed.remaining, told->remaining);
        listed.fence = later(listed.fence, told->fence);
        listed.time_us = later(listed.time_us, told->time_us);
        listed.expires_us = later(listed.expires_us, told->expires_us);
    }
    return listed;
}

static bool lacks(int64_t told, int64_t is, int64_t listed)
{
    return known(told) && !known(is) && known(listed);
}

/* Also notices a member that was told but is missing in the ledger. */
static const char *entry_difference(const lt_told *told, const lt_told *is, const lt_told *listed)
{
    const char *what = told_difference(told, is);
    bool no_instance = text_told(told->instance) && !text_told(is->instance);
    return what                                                          ? what
           : lacks(told->remaining, is->remaining, listed->remaining)    ? "remaining"
           : lacks(told->fence, is->fence, listed->fence)                ? "fence"
           : no_instance && text_told(listed->instance)                  ? "instance"
           : lacks(told->time_us, is->time_us, listed->time_us)          ? "time"
           : lacks(told->expires_us, is->expires_us, listed->expires_us) ? "expiry"
                                                                         : NULL;
}

/* NULL, or the member in which the request's entries differ from it. */
static const char *difference_in_books(const lt_judging *j, const lt_request *request,
                                       const lt_told *told, const lt_told *listed,
                                       int64_t *ret_line)
{
    const char *last = NULL;
    for (uint32_t k = request->order; k != NO_ELEMENT; k = j->history->orders[k].next) {
        const lt_order *order = &j->history->orders[k];
        last = is_of_entry(j, told->order, order) ? entry_difference(told, &order->told, listed)
                                                  : "id";
        *ret_line = order->line;
        if (!last)
            return NULL;
    }
    return last;
}

/* What was not told must be as asked for; user NONE: what was asked for is not known. */
static lt_told told_or_asked(const lt_judging *j, lt_told told, lt_text user, int64_t quantity)
{
    const lt_sale_line *sale = &j->history->sale;
    told.user = told.user != TEXT_NONE ? told.user : user;
    told.quantity = told.quantity != UNKNOWN ? told.quantity : quantity;
    told.item = told.item != TEXT_NONE ? told.item : sale->item;
    told.sale = told.sale != TEXT_NONE ? told.sale : sale->id;
    return told;
}

static void say_otherwise(lt_judging *j, const lt_request *request, const char *what, int64_t line,
                          int64_t at)
{
    if (what)
        violated(j,
                 "%s was told another %s (line %" PRId64 ") than its order has (line %" PRId64 ")",
                 text_of(j, request->name), what, line, at);
}

static void hold_to_books(lt_judging *j, const lt_request *request, lt_told told,
                          const lt_told *listed, int64_t line)
{
    int64_t at = 0;
    const char *what = difference_in_books(j, request, &told, listed, &at);
    say_otherwise(j, request, what, line, at);
}

/* Compares an entry of a reading that was cut off with what was told first. */
static void hold_to_told(lt_judging *j, const lt_order *order)
{
    const lt_history *h = j->history;
    const lt_request *request = &j->requests[order->request];
    const lt_told *first = first_told(j, request);
    bool certain = first && request->attempts > 0 && !request->mixed;
    if (!first || !is_cut_off(j, order->audit))
        return;
    lt_told told = told_or_asked(j, *first, certain ? request->user : TEXT_NONE,
                                 certain ? request->quantity : UNKNOWN);
    const char *what =
        is_of_entry(j, told.order, order) ? told_difference(&told, &order->told) : "id";
    say_otherwise(j, request, what,
                  request->yes != NO_ELEMENT ? h->asks[request->yes].line
                                             : h->looks[request->found].line,
                  order->line);
}

void check_agrees(lt_judging *j)
{
    const lt_history *h = j->history;
    const lt_told listed = find_listed(j);
    for (size_t i = 0; j->ledger && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        if (ask->answer == ANSWER_YES)
            hold_to_books(j, &j->requests[ask->request],
                          told_or_asked(j, ask->told, ask->user, ask->quantity), &listed,
                          ask->line);
    }
    for (size_t i = 0; j->ledger && i < h->looks_len; i++) {
        const lt_look *look = &h->looks[i];
        const lt_request *request = &j->requests[look->request];
        bool certain = request->attempts > 0 && !request->mixed;
        if (look_found(j, look))
            hold_to_books(j, request,
                          told_or_asked(j, look->told, certain ? request->user : TEXT_NONE,
                                        certain ? request->quantity : UNKNOWN),
                          &listed, look->line);
    }
    EACH(const lt_order, order, h->orders) {
        hold_to_told(j, order);
        if (!is_reserving(j) && order->told.state != TEXT_NONE && order->told.state != j->sold)
            violated(j, "the order of %s is %s (line %" PRId64 "), and nobody reserves",
                     text_of(j, order->told.request), text_of(j, order->told.state), order->line);
    }
    settle_by_ledger(j, STATE_OK);
}

void check_acknowledged(lt_judging *j)
{
    const lt_history *h = j->history;
    for (uint32_t i = 0; j->ledger && i < j->requests_len; i++) {
        const lt_request *request = &j->requests[i];
        bool told = request->yes != NO_ELEMENT || request->found != NO_ELEMENT;
        if (told && request->order == NO_ELEMENT)
            violated(j, "%s was told that it has bought (line %" PRId64 "), and has no order",
                     text_of(j, request->name),
                     request->yes != NO_ELEMENT ? h->asks[request->yes].line
                                                : h->looks[request->found].line);
    }
    settle_by_ledger(j, STATE_OK);
}
