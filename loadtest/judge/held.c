/*
 * held.c - no unit is two buyers' at a time where buys reserve: by what was told, whenever somebody
 * knew of an order; and along the ledger, by what each order found beside those before it.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- what an order found --------------------------------------------------------------------- */

/* An entry of the ledger, and what the entries before it come to. */
typedef struct lt_entry {
    lt_place place;
    const lt_order *order;
} lt_entry;

static int by_number(const void *left, const void *right)
{
    const lt_entry *a = left, *b = right;
    if (a->place.segment != b->place.segment)
        return compare(a->place.segment, b->place.segment);
    if (a->place.number != b->place.number)
        return compare(a->place.number, b->place.number);
    return compare(a->order->told.quantity, b->order->told.quantity);
}

static size_t collect_entries(const lt_judging *j, lt_entry *ret)
{
    const lt_history *h = j->history;
    size_t len = 0;
    for (size_t i = 0; i < h->orders_len; i++) {
        lt_place place = place_of_order(h, &h->orders[i]);
        if (h->orders[i].audit == j->books && place.number != UNKNOWN)
            ret[len++] = (lt_entry){place, &h->orders[i]};
    }
    qsort(ret, len, sizeof(*ret), by_number);
    return len;
}

/* Units that are back by the time of an order (expired), or of who knows of it (cancelled). What an
 * order became first counts: what the ledger has then instead is a violation of its own. */
static void collect_back(const lt_judging *j, const lt_entry *entries, size_t len,
                         lt_given *expired, lt_given *cancelled)
{
    for (size_t i = 0; i < len; i++) {
        const lt_told *is = &entries[i].order->told;
        const lt_request *request = &j->requests[entries[i].order->request];
        bool open = request->fate->state == TEXT_NONE && is->state == j->reserved;
        bool ends = open || request->fate->state == j->expired;
        bool cancels = request->fate->state == j->cancelled && request->attempts > 0;
        bool lasts = cancels || request->fate->state == j->sold;
        int64_t over_us = ends && j->steady && known(is->expires_us) ? is->expires_us : INT64_MIN;
        expired[i] = (lt_given){lasts ? NEVER : over_us, is->quantity};
        cancelled[i] = (lt_given){cancels ? request->cancel_us : NEVER, is->quantity};
    }
    given_add_up(expired, len);
    given_add_up(cancelled, len);
}

/* Along the ledger: what an order took and left was there beside what others had then, who came
 * before it. */
static void check_entries(lt_judging *j)
{
    lt_entry *entries = zeroed(j->history->orders_len, sizeof(*entries));
    size_t len = collect_entries(j, entries);
    lt_given *expired = zeroed(len, sizeof(*expired)), *cancelled = zeroed(len, sizeof(*cancelled));
    int64_t before = 0;
    collect_back(j, entries, len, expired, cancelled);
    for (size_t i = 0; i < len; i++) {
        const lt_order *order = entries[i].order;
        int64_t known_us = j->requests[order->request].known_us - 1;
        int64_t time_us = known(order->told.time_us) ? order->told.time_us : NEVER - 1;
        if (i > 0 && entries[i - 1].place.segment != entries[i].place.segment)
            before = 0;
        int64_t held = before - given_by(expired, len, time_us, true) -
                       given_by(cancelled, len, known_us, true);
        int64_t found = order->told.remaining + order->told.quantity;
        if (known(order->told.remaining) && found > j->history->sale.stock - (held > 0 ? held : 0))
            violated(j,
                     "the order of %s has %" PRId64 " units and left %" PRId64 " of %" PRId64
                     ", and %" PRId64 " were others' (line %" PRId64 ")",
                     text_of(j, order->told.request), order->told.quantity, order->told.remaining,
                     j->history->sale.stock, held > 0 ? held : 0, order->line);
        before += order->told.quantity;
    }
    free(expired);
    free(cancelled);
    free(entries);
}

/* Whenever somebody knows of an order. */
void check_held(lt_judging *j)
{
    int64_t stock = j->history->sale.stock;
    if (is_reserving(j) && j->ledger)
        check_entries(j);
    for (size_t i = 0; i < j->spans_len; i++) {
        int64_t at_us = j->spans[SPAN_HAS][i].at_us;
        int64_t held = at_us == NEVER ? 0 : units_held(j, at_us, at_us);
        if (held > stock)
            violated(j, "%" PRId64 " units of %" PRId64 " are reserved or sold at %" PRId64 " us",
                     held, stock, at_us);
    }
    settle_reserving(j, NULL);
}
