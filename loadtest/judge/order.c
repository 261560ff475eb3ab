/*
 * order.c - order numbers follow real time: within a segment, a buyer who had bought before another
 * one first asked has the smaller number. Order times are true. A refused attempt has bought
 * nothing, so it does not count.
 *
 * So the ledger is linearizable: each buy took effect at one moment between its first attempt that
 * may have bought and its first answer. This holds for every strategy, because a script assigns the
 * number.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>

#define DAY_US INT64_C(86400000000)

/* A request whose order's number is known. */
typedef struct lt_sold {
    lt_place place;
    int64_t from_us, known_us;
    uint32_t request;
} lt_sold;

static int by_segment(const lt_sold *a, const lt_sold *b)
{
    return compare(a->place.segment, b->place.segment);
}

static int by_begin(const void *left, const void *right)
{
    const lt_sold *a = left, *b = right;
    return either(by_segment(a, b), compare(a->from_us, b->from_us));
}

static int by_known(const void *left, const void *right)
{
    const lt_sold *a = left, *b = right;
    return either(by_segment(a, b), compare(a->known_us, b->known_us));
}

static size_t collect(const lt_judging *j, lt_sold *ret)
{
    size_t len = 0;
    for (uint32_t i = 0; i < j->requests_len; i++) {
        const lt_request *request = &j->requests[i];
        lt_place place = place_of_request(j, request);
        if (request->attempts > 0 && place.number != UNKNOWN)
            ret[len++] = (lt_sold){place, request->buying_us, request->known_us, i};
    }
    return len;
}

/* Compares each order with the highest number that was known before it began. */
static void check_times(lt_judging *j, const lt_sold *begins, const lt_sold *knowns, size_t len)
{
    const lt_sold *highest = NULL;
    for (size_t i = 0, k = 0; i < len; i++) {
        const lt_sold *now = &begins[i];
        if (highest && by_segment(highest, now) != 0)
            highest = NULL;
        for (; k < len && (by_segment(&knowns[k], now) < 0 ||
                           (by_segment(&knowns[k], now) == 0 && knowns[k].known_us < now->from_us));
             k++) {
            if (by_segment(&knowns[k], now) == 0 &&
                (!highest || knowns[k].place.number > highest->place.number))
                highest = &knowns[k];
        }
        if (highest && now->place.number < highest->place.number)
            violated(j, "%s has order %" PRId64 ", and began after %s knew of order %" PRId64,
                     text_of(j, j->requests[now->request].name), now->place.number,
                     text_of(j, j->requests[highest->request].name), highest->place.number);
    }
}

void check_order(lt_judging *j)
{
    lt_sold *begins = zeroed(j->requests_len, sizeof(*begins));
    lt_sold *knowns = zeroed(j->requests_len, sizeof(*knowns));
    size_t len = collect(j, begins);
    for (size_t i = 0; i < len; i++)
        knowns[i] = begins[i];
    qsort(begins, len, sizeof(*begins), by_begin);
    qsort(knowns, len, sizeof(*knowns), by_known);
    check_times(j, begins, knowns, len);
    free(begins);
    free(knowns);
    settle(j, len > 0 ? STATE_OK : STATE_NOTHING, "");
}

/* ---- the times of orders --------------------------------------------------------------------- */

int64_t time_of_day(const lt_judging *j, int64_t us)
{
    const lt_sale_line *sale = &j->history->sale;
    bool tells = j->steady && known(sale->wall_us) && known(sale->at_us);
    return tells ? sale->wall_us - sale->at_us + us : UNKNOWN;
}

/* Bounds of the offset of the service's clock from the monotonic one. */
typedef struct lt_offset {
    int64_t least, most;
    int64_t least_line, most_line; /* of what has a time */
} lt_offset;

/* What has this time happened between these two moments; the latter may be NEVER. */
static void note_time(lt_offset *offset, int64_t time_us, int64_t from_us, int64_t to_us,
                      int64_t line)
{
    if (time_us - from_us < offset->most) {
        offset->most = time_us - from_us;
        offset->most_line = line;
    }
    if (to_us != NEVER && time_us - to_us > offset->least) {
        offset->least = time_us - to_us;
        offset->least_line = line;
    }
}

static bool is_days_away(const lt_sale_line *sale, int64_t time_us)
{
    return sale->wall_us != UNKNOWN &&
           (time_us < sale->wall_us - DAY_US || time_us > sale->wall_us + DAY_US);
}

/* False: nothing to compare it with. */
static bool check_time(lt_judging *j, const lt_order *order, lt_offset *offset)
{
    const lt_sale_line *sale = &j->history->sale;
    const lt_request *request = &j->requests[order->request];
    int64_t time_us = order->told.time_us;
    if (known(request->not_after_us) && time_us > request->not_after_us)
        violated(j, "%s has an order (line %" PRId64 ") of %" PRId64 " us after its last not_after",
                 text_of(j, request->name), order->line, time_us - request->not_after_us);
    if (is_days_away(sale, time_us))
        violated(j, "the order of %s is more than a day away from the sale (line %" PRId64 ")",
                 text_of(j, request->name), order->line);
    if (request->attempts == 0 || !j->steady || !j->whole)
        return sale->wall_us != UNKNOWN;
    note_time(offset, time_us, request->first_us, request->known_us, order->line);
    return true;
}

/* When the service read the stock: buyers calculate their not_after from it. */
static void check_readings_times(lt_judging *j, lt_offset *offset)
{
    const lt_history *h = j->history;
    EACH(const lt_stock_line, s, h->stocks) {
        if (!stock_is_ours(j, s) || !known(s->time_us))
            continue;
        if (is_days_away(&h->sale, s->time_us))
            violated(j,
                     "a reading of the stock is more than a day away from the sale (line %" PRId64
                     ")",
                     s->line);
        if (j->steady && j->whole)
            note_time(offset, s->time_us, s->from_us, s->to_us, s->line);
    }
}

/* A request cannot buy if all its attempts began after the end that each of them named. */
static void check_not_after(lt_judging *j)
{
    const lt_history *h = j->history;
    for (uint32_t i = 0; j->whole && i < j->requests_len; i++) {
        const lt_request *request = &j->requests[i];
        int64_t began_us = time_of_day(j, request->buying_us);
        if (request->yes != NO_ELEMENT && known(request->not_after_us) && known(began_us) &&
            began_us - CLOCKS_US > request->not_after_us)
            violated(j,
                     "%s bought (line %" PRId64 "), but began %" PRId64 " us after its not_after",
                     text_of(j, request->name), h->asks[request->yes].line,
                     began_us - request->not_after_us);
    }
}

/* All times are of one clock with a constant offset from ours, unless a fault may have moved it. */
void check_clock(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_offset offset = {.least = INT64_MIN, .most = INT64_MAX};
    bool seen = false;
    check_not_after(j);
    EACH(const lt_order, order, h->orders) {
        if (order->audit != j->books || !known(order->told.time_us))
            continue;
        seen = check_time(j, order, &offset) || seen;
    }
    check_readings_times(j, &offset);
    if (offset.least != INT64_MIN && offset.most != INT64_MAX &&
        offset.least - CLOCKS_US > offset.most)
        violated(j,
                 "the times of lines %" PRId64 " and %" PRId64 " are %" PRId64
                 " ms apart from what was seen",
                 offset.most_line, offset.least_line, (offset.least - offset.most) / 1000);
    settle_by_ledger(j, seen ? STATE_OK : STATE_NOTHING);
}
