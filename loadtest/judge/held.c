/*
 * held.c - where buys reserve: no unit belongs to two buyers at a time, and no user exceeds the
 * limit at any time. Both checks walk the ledger and compare each order with those before it; the
 * first check also uses what buyers were told, at every moment when an order was known.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- what an order found --------------------------------------------------------------------- */

/* An entry of the ledger, with the sums of the entries before it. */
typedef struct lt_entry {
    lt_place place;
    const lt_order *order;
} lt_entry;

static int by_number(const void *left, const void *right)
{
    const lt_entry *a = left, *b = right;
    return either(compare_places(a->place, b->place),
                  compare(a->order->told.quantity, b->order->told.quantity));
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

/* When an order's units are back: by another order's time if it expired, or when somebody knew
 * it if it was cancelled. The first state counts: if the ledger has another one later, that is a
 * violation of its own. */
typedef struct lt_back {
    int64_t expired_us, cancelled_us;
} lt_back;

static lt_back back_of(const lt_judging *j, const lt_order *order)
{
    const lt_request *request = &j->requests[order->request];
    bool open = request->fate->state == TEXT_NONE && order->told.state == j->reserved;
    bool ends = open || request->fate->state == j->expired;
    bool cancels = request->fate->state == j->cancelled && request->attempts > 0;
    bool lasts = cancels || request->fate->state == j->sold;
    bool timed = ends && j->steady && known(order->told.expires_us);
    return (lt_back){lasts   ? NEVER
                     : timed ? order->told.expires_us
                             : INT64_MIN,
                     cancels ? request->cancel_us : NEVER};
}

static void collect_back(const lt_judging *j, const lt_entry *entries, size_t len,
                         lt_given *expired, lt_given *cancelled)
{
    for (size_t i = 0; i < len; i++) {
        lt_back back = back_of(j, entries[i].order);
        expired[i] = (lt_given){back.expired_us, entries[i].order->told.quantity};
        cancelled[i] = (lt_given){back.cancelled_us, entries[i].order->told.quantity};
    }
    given_add_up(expired, len);
    given_add_up(cancelled, len);
}

static int64_t time_of(const lt_order *order)
{
    return known(order->told.time_us) ? order->told.time_us : NEVER - 1;
}

/* Walks the ledger: adds what a user takes to what the same user has sold or reserved at that
 * time. */
void check_limit_meanwhile(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_entry *entries = zeroed(h->orders_len, sizeof(*entries));
    size_t len = collect_entries(j, entries);
    size_t *before = zeroed(len, sizeof(*before)); /* the same user's entry before, from 1 */
    size_t *last = zeroed(h->texts.len, sizeof(*last));
    for (size_t i = 0; i < len; i++) {
        const lt_order *order = entries[i].order;
        int64_t known_us = j->requests[order->request].known_us - 1, has = order->told.quantity;
        if (order->told.user <= TEXT_UNFIT)
            continue;
        before[i] = last[order->told.user];
        last[order->told.user] = i + 1;
        for (size_t k = before[i]; k > 0; k = before[k - 1]) {
            if (entries[k - 1].place.segment != entries[i].place.segment)
                break; /* which came first is not known */
            lt_back back = back_of(j, entries[k - 1].order);
            if (back.expired_us > time_of(order) && back.cancelled_us > known_us)
                has += entries[k - 1].order->told.quantity;
        }
        if (has > h->sale.limit)
            violated(j,
                     "%s has %" PRId64 " units, not %" PRId64
                     ", with the order of %s (line %" PRId64 ")",
                     text_of(j, order->told.user), has, h->sale.limit,
                     text_of(j, order->told.request), order->line);
    }
    free(last);
    free(before);
    free(entries);
}

/* Walks the ledger: what an order took and left must have been there, beside what earlier orders
 * held at that time. */
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
        int64_t time_us = time_of(order);
        if (i > 0 && entries[i - 1].place.segment != entries[i].place.segment)
            before = 0;
        int64_t held = before - given_by(expired, len, time_us, true) -
                       given_by(cancelled, len, known_us, true);
        int64_t found = order->told.remaining + order->told.quantity;
        if (known(order->told.remaining) && found > j->history->sale.stock - (held > 0 ? held : 0))
            violated(j,
                     "the order of %s has %" PRId64 " units and left %" PRId64 " of %" PRId64
                     ", others had %" PRId64 " (line %" PRId64 ")",
                     text_of(j, order->told.request), order->told.quantity, order->told.remaining,
                     j->history->sale.stock, held > 0 ? held : 0, order->line);
        before += order->told.quantity;
    }
    free(expired);
    free(cancelled);
    free(entries);
}

/* Checks every moment at which somebody knew of an order. */
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
