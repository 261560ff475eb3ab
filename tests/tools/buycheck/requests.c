/*
 * requests.c - what attempts, looks and orders say together of each request; by the rules at the
 * end of event.h.
 *
 * None of it depends on the order of a request's attempts. A "sold out" is for good, for stock only
 * falls: a write that is still under way is refused like the try that was told so.
 */
#include "tests/tools/buycheck/history.h"

#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *code, const char *const *codes)
{
    while (code && *codes && strcmp(code, *codes) != 0)
        codes++;
    return code && *codes;
}

static bc_answer answer_of(const bc_sale *sale, const bc_ask *ask)
{
    static const char *const for_good[] = {"sold_out",     "limit_reached", "quantity_above_limit",
                                           "request_void", "sale_closed",   NULL};
    if (ask->sale && strcmp(ask->sale, sale->id) != 0)
        return ANSWER_ELSEWHERE;
    if (ask->status == 201)
        return ANSWER_YES;
    if (ask->status == 409 && is_one_of(ask->code, for_good))
        return ANSWER_NEVER;
    if ((ask->status >= 400 && ask->status <= 499) || ask->status == 503)
        return ANSWER_NO;
    return ANSWER_UNKNOWN;
}

/* ---- the order's id -------------------------------------------------------------------------- */

/* A number of digits alone, which `end` follows; -1. */
static int64_t digits_of(const char *text, const char **end)
{
    char *behind;
    size_t len = strspn(text, "0123456789");
    long long number = len > 0 && len < 17 ? strtoll(text, &behind, 10) : -1;
    *end = text + len;
    return number;
}

/* Reads NUMBER, SALE-NUMBER or SALE-SEGMENT-NUMBER; a number of -1 is no order's. */
static void read_order(const bc_history *h, const char *order, int64_t *segment, int64_t *number)
{
    const char *end;
    size_t sale_len = strlen(h->sale.id);
    *segment = h->sale.segments == 0 ? 0 : UNKNOWN;
    *number = UNKNOWN;
    if (!order)
        return;
    if (strncmp(order, h->sale.id, sale_len) == 0 && order[sale_len] == '-')
        order += sale_len + 1;
    *number = digits_of(order, &end);
    if (*number >= 0 && *end == '-' && h->sale.segments > 0) {
        *segment = *number;
        *number = digits_of(end + 1, &end);
    }
    if (*end != '\0' || *number <= 0 ||
        (*segment != UNKNOWN && *segment >= (int64_t)history_segments(h)))
        *number = -1;
}

/* ---- collecting ------------------------------------------------------------------------------ */

static void first(size_t *place, size_t i)
{
    if (*place == NO_ELEMENT)
        *place = i;
}

static void note_ask(bc_history *h, size_t i)
{
    bc_ask *ask = &h->asks[i];
    bc_request *request = &h->requests[ask->request];
    ask->answer = answer_of(&h->sale, ask);
    read_order(h, ask->order, &ask->segment, &ask->number);
    if (ask->answer == ANSWER_ELSEWHERE)
        return;
    request->attempts++;
    first(&request->ask, i);
    if (ask->from_us < request->first_us)
        request->first_us = ask->from_us;
    if (ask->answer == ANSWER_YES) {
        first(&request->yes, i);
        if (ask->to_us < request->known_us)
            request->known_us = ask->to_us;
    } else if (ask->answer == ANSWER_NEVER) {
        first(&request->never, i);
    }
    request->unknown += ask->answer == ANSWER_UNKNOWN;
    request->refused = request->refused || ask->answer == ANSWER_UNKNOWN || ask->status == 503 ||
                       (ask->code && strcmp(ask->code, "sold_out") == 0);
}

static void note_look(bc_history *h, size_t i)
{
    bc_look *look = &h->looks[i];
    bc_request *request = &h->requests[look->request];
    read_order(h, look->order, &look->segment, &look->number);
    if (look->from_us < request->looked_us)
        request->looked_us = look->from_us;
    if (look->status == 200 && look->found != 0) {
        first(&request->found, i);
        if (look->to_us < request->known_us)
            request->known_us = look->to_us;
    } else if (look->status == 404 && look->final == 1) {
        first(&request->final, i);
    } else if (look->status == 404 && look->from_us > request->not_yet_us) {
        request->not_yet_us = look->from_us;
    }
}

/* From the last to the first, so that chains are in the order of lines. */
static void note_orders(bc_history *h)
{
    for (size_t i = h->orders_len; i-- > 0;) {
        bc_order *order = &h->orders[i];
        bc_request *request = &h->requests[order->request];
        order->next = request->order;
        request->order = i;
        request->orders++;
    }
}

static void judge(const bc_history *h, bc_request *request)
{
    bool yes = request->yes != NO_ELEMENT || request->found != NO_ELEMENT;
    bool never = request->never != NO_ELEMENT || request->final != NO_ELEMENT;
    if (request->attempts == 0)
        request->verdict = BOUGHT_ELSEWHERE;
    else if (yes)
        request->verdict = BOUGHT_YES;
    else if (never || request->unknown == 0)
        request->verdict = BOUGHT_NO;
    else
        request->verdict = BOUGHT_UNRESOLVED;
    size_t ask = request->yes != NO_ELEMENT ? request->yes : request->ask;
    request->quantity = ask == NO_ELEMENT ? 0 : h->asks[ask].quantity;
}

static void give_numbers(bc_history *h)
{
    for (size_t i = 0; i < h->asks_len; i++) {
        h->asks[i].request = names_add(&h->request_names, h->asks[i].request_name);
        h->asks[i].user = names_add(&h->user_names, h->asks[i].user_name);
    }
    for (size_t i = 0; i < h->looks_len; i++)
        h->looks[i].request = names_add(&h->request_names, h->looks[i].request_name);
    for (size_t i = 0; i < h->orders_len; i++) {
        h->orders[i].request = names_add(&h->request_names, h->orders[i].request_name);
        h->orders[i].user = names_add(&h->user_names, h->orders[i].user_name);
    }
}

void history_collect(bc_history *h)
{
    give_numbers(h);
    h->requests = zeroed(h->request_names.len, sizeof(bc_request));
    for (size_t i = 0; i < h->request_names.len; i++)
        h->requests[i] = (bc_request){.ask = NO_ELEMENT,
                                      .yes = NO_ELEMENT,
                                      .never = NO_ELEMENT,
                                      .found = NO_ELEMENT,
                                      .final = NO_ELEMENT,
                                      .order = NO_ELEMENT,
                                      .first_us = NEVER,
                                      .known_us = NEVER,
                                      .looked_us = NEVER,
                                      .not_yet_us = UNKNOWN};
    for (size_t i = 0; i < h->asks_len; i++)
        note_ask(h, i);
    for (size_t i = 0; i < h->looks_len; i++)
        note_look(h, i);
    note_orders(h);
    for (size_t i = 0; i < h->request_names.len; i++)
        judge(h, &h->requests[i]);
}
