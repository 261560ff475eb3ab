/* place.c - reads an order's place in the sequence of its segment from its id. */
#include "loadtest/judge/judging.h"

#include <stdlib.h>
#include <string.h>

/* A decimal number that ends at `end`; UNKNOWN. */
static int64_t digits_of(const char *text, const char **end)
{
    size_t len = strspn(text, "0123456789");
    *end = text + len;
    return len > 0 && len < 17 && text[0] != '0' ? strtoll(text, NULL, 10) : len == 1 ? 0 : UNKNOWN;
}

/* The text after an epoch, 12 hexadecimal digits and a "-"; the text itself if it has none.
 * Numbers are unique within an epoch. */
static const char *behind_epoch(const char *text)
{
    bool has = strspn(text, "0123456789abcdef") == 12 && text[12] == '-';
    return has ? text + 13 : text;
}

/* SALE-[SEGMENT-][EPOCH-]NUMBER, with a segment in a sharded sale. */
lt_place place_of_id(const lt_history *h, lt_text order)
{
    const lt_place unknown = {UNKNOWN, UNKNOWN};
    const char *sale = history_text(h, h->sale.id), *id = history_text(h, order), *end;
    size_t sale_len = strlen(sale);
    lt_place place = {0, UNKNOWN};
    if (!text_told(order) || strncmp(id, sale, sale_len) != 0 || id[sale_len] != '-')
        return unknown;
    id += sale_len + 1;
    if (h->sale.segments > 0) {
        place.segment = digits_of(id, &end);
        id = *end == '-' ? end + 1 : "";
    }
    place.number = digits_of(behind_epoch(id), &end);
    bool is_place = *end == '\0' && place.number > 0 && place.segment >= 0 &&
                    place.segment < (int64_t)history_segments(h);
    return is_place ? place : unknown;
}

lt_place place_of_order(const lt_history *h, const lt_order *order)
{
    return order->number != UNKNOWN ? (lt_place){order->segment, order->number}
                                    : place_of_id(h, order->told.order);
}

const lt_told *first_told(const lt_judging *j, const lt_request *request)
{
    if (request->yes != NO_ELEMENT)
        return &j->history->asks[request->yes].told;
    return request->found != NO_ELEMENT ? &j->history->looks[request->found].told : NULL;
}

lt_place place_of_request(const lt_judging *j, const lt_request *request)
{
    const lt_told *told = first_told(j, request);
    lt_place place = {UNKNOWN, UNKNOWN};
    if (told)
        place = place_of_id(j->history, told->order);
    if (place.number == UNKNOWN && request->order != NO_ELEMENT && request->bought != BOUGHT_NO)
        place = place_of_order(j->history, &j->history->orders[request->order]);
    return place;
}
