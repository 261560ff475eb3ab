/*
 * stock.c - the units left stay between zero and the stock, and only fall.
 *
 * They are seen in three places: in samples of the stock, in what each buyer was told was left, and
 * at rest. A rise is what a lost update looks like: somebody wrote a number that was read before
 * another one was written. A strategy without a guarded write may give back units of requests that
 * ended without a sale; a failover may bring all units back.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>

void check_below_zero(lt_judging *j)
{
    const lt_history *h = j->history;
    EACH(const lt_stock_line, stock, h->stocks) {
        if (stock_is_ours(j, stock) && known(stock->remaining) && stock->remaining < 0)
            violated(j, "%" PRId64 " units are left (line %" PRId64 ")", stock->remaining,
                     stock->line);
    }
    for (size_t i = 0; i < h->rests_len; i++) {
        if (known(h->rests[i].remaining) && h->rests[i].remaining < 0)
            violated(j, "%" PRId64 " units are left at rest (line %" PRId64 ")",
                     h->rests[i].remaining, h->rests[i].line);
    }
    settle(j, STATE_OK, "");
}

void check_range(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t most = h->sale.stock;
    EACH(const lt_stock_line, stock, h->stocks) {
        if (stock_is_ours(j, stock) && known(stock->remaining) && stock->remaining > most)
            violated(j, "%" PRId64 " units are left, of %" PRId64 " (line %" PRId64 ")",
                     stock->remaining, most, stock->line);
    }
    EACH(const lt_ask, ask, h->asks) {
        int64_t left = ask->told.remaining;
        int64_t took = known(ask->told.quantity) ? ask->told.quantity : ask->quantity;
        if (ask->answer == ANSWER_YES && known(left) && (left < 0 || left > most - took))
            violated(j, "%s was told that %" PRId64 " units are left (line %" PRId64 ")",
                     text_of(j, ask->request_name), left, ask->line);
    }
    settle(j, STATE_OK, "");
}

/* ---- falling --------------------------------------------------------------------------------- */

/* So many units were left in a segment, at some moment within this span. */
typedef struct lt_point {
    int64_t segment; /* UNKNOWN: the whole of a sharded sale */
    int64_t from_us, to_us, units, line;
} lt_point;

typedef struct lt_falling {
    lt_point *points;
    size_t len;
    lt_given *begins, *ends; /* units that may come back: of requests without a sale, or reserved */
    size_t given_len;
} lt_falling;

static int by_begin(const void *left, const void *right)
{
    const lt_point *a = left, *b = right;
    return either(compare(a->segment, b->segment),
                  either(compare(a->from_us, b->from_us), compare(a->line, b->line)));
}

static int by_end(const void *left, const void *right)
{
    const lt_point *a = left, *b = right;
    return either(compare(a->segment, b->segment),
                  either(compare(a->to_us, b->to_us), compare(a->line, b->line)));
}

static int by_time(const void *left, const void *right)
{
    const lt_given *a = left, *b = right;
    return compare(a->at_us, b->at_us);
}

void given_add_up(lt_given *given, size_t len)
{
    qsort(given, len, sizeof(*given), by_time);
    for (size_t i = 1; i < len; i++)
        given[i].units += given[i - 1].units;
}

int64_t given_by(const lt_given *given, size_t len, int64_t us, bool too)
{
    size_t low = 0, high = len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (given[middle].at_us < us || (too && given[middle].at_us == us))
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? given[low - 1].units : 0;
}

static void collect_given(const lt_judging *j, lt_falling *f)
{
    const lt_history *h = j->history;
    f->begins = zeroed(h->asks_len + j->requests_len, sizeof(*f->begins));
    f->ends = zeroed(h->asks_len + j->requests_len, sizeof(*f->ends));
    for (size_t i = 0; h->sale.guarded == 0 && i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        if (ask->answer == ANSWER_YES)
            continue;
        f->begins[f->given_len] = (lt_given){ask->from_us, ask->quantity};
        f->ends[f->given_len++] = (lt_given){ask->to_us, ask->quantity};
    }
    for (uint32_t i = 0; is_reserving(j) && i < j->requests_len; i++) {
        const lt_request *request = &j->requests[i];
        if (request->owed)
            continue;
        f->begins[f->given_len] = (lt_given){request->first_us, request->quantity};
        f->ends[f->given_len++] = (lt_given){NEVER, request->quantity};
    }
    given_add_up(f->begins, f->given_len);
    given_add_up(f->ends, f->given_len);
}

/* Units that may have come back after they were seen to be gone. */
static int64_t given_back(const lt_falling *f, const lt_point *away)
{
    return given_by(f->begins, f->given_len, away->to_us, true) -
           given_by(f->ends, f->given_len, away->from_us, false);
}

static void collect_points(const lt_judging *j, lt_falling *f)
{
    const lt_history *h = j->history;
    f->points = zeroed(h->stocks_len + j->requests_len, sizeof(*f->points));
    EACH(const lt_stock_line, s, h->stocks) {
        if (stock_is_ours(j, s) && known(s->remaining))
            f->points[f->len++] =
                (lt_point){s->segment, s->from_us, s->to_us, s->remaining, s->line};
    }
    EACH(const lt_request, request, j->requests) {
        const lt_told *told = first_told(j, request);
        if (!told || !known(told->remaining) || request->attempts == 0)
            continue;
        int64_t line =
            request->yes != NO_ELEMENT ? h->asks[request->yes].line : h->looks[request->found].line;
        int64_t segment = h->sale.segments == 0 ? 0 : place_of_request(j, request).segment;
        if (segment != UNKNOWN)
            f->points[f->len++] =
                (lt_point){segment, request->buying_us, request->known_us, told->remaining, line};
    }
}

/* Compares each value with the lowest of those that had ended before it began. */
static void check_points(lt_judging *j, const lt_falling *f)
{
    lt_point *ends = zeroed(f->len, sizeof(*ends));
    const lt_point *lowest = NULL;
    qsort(f->points, f->len, sizeof(*f->points), by_begin);
    for (size_t i = 0; i < f->len; i++)
        ends[i] = f->points[i];
    qsort(ends, f->len, sizeof(*ends), by_end);
    for (size_t i = 0, k = 0; i < f->len; i++) {
        const lt_point *now = &f->points[i];
        if (lowest && lowest->segment != now->segment)
            lowest = NULL;
        for (; k < f->len && (ends[k].segment < now->segment ||
                              (ends[k].segment == now->segment && ends[k].to_us < now->from_us));
             k++) {
            if (ends[k].segment == now->segment && (!lowest || ends[k].units < lowest->units))
                lowest = &ends[k];
        }
        if (lowest && now->units > lowest->units + given_back(f, lowest))
            violated(j,
                     "%" PRId64 " units are left (line %" PRId64 "), after %" PRId64
                     " were (line %" PRId64 ")",
                     now->units, now->line, lowest->units, lowest->line);
    }
    free(ends);
}

/* ---- by what was sold ------------------------------------------------------------------------ */

/* No sample shows more than was left when some units were known to be sold, or less than was sold
 * to those who began later. */
static void check_samples(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_given *sold = zeroed(j->requests_len, sizeof(*sold));
    lt_given *begun = zeroed(j->requests_len, sizeof(*begun));
    bool falls = h->sale.guarded == 1 && !is_reserving(j) && j->calm;
    size_t len = 0;
    EACH(const lt_request, request, j->requests) {
        if (request->bought == BOUGHT_YES) {
            begun[len] = (lt_given){request->buying_us, request->quantity};
            sold[len++] = (lt_given){request->known_us, request->quantity};
        }
    }
    given_add_up(sold, len);
    given_add_up(begun, len);
    EACH(const lt_stock_line, stock, h->stocks) {
        int64_t most = h->sale.stock;
        int64_t before = is_reserving(j) ? units_held(j, stock->from_us, stock->to_us)
                                         : given_by(sold, len, stock->from_us, false);
        bool is_whole = stock->segment == UNKNOWN || h->sale.segments == 0;
        if (stock_is_ours(j, stock) && is_whole && known(stock->remaining) && before <= most &&
            stock->remaining > most - before && stock->remaining <= most)
            violated(j,
                     "%" PRId64 " units are left (line %" PRId64 "), and %" PRId64 " of %" PRId64
                     " had been sold before",
                     stock->remaining, stock->line, before, most);
        int64_t after =
            len == 0 ? 0 : begun[len - 1].units - given_by(begun, len, stock->to_us, true);
        if (falls && stock_is_ours(j, stock) && is_whole && known(stock->remaining) &&
            stock->remaining >= 0 && stock->remaining < after)
            violated(
                j, "%" PRId64 " units are left (line %" PRId64 "), and %" PRId64 " were sold later",
                stock->remaining, stock->line, after);
    }
    free(sold);
    free(begun);
}

/* ---- by the number --------------------------------------------------------------------------- */

typedef struct lt_numbered {
    lt_place place;
    const lt_ask *ask;
} lt_numbered;

static int by_number(const void *left, const void *right)
{
    const lt_numbered *a = left, *b = right;
    return either(compare_places(a->place, b->place), compare(a->ask->line, b->ask->line));
}

/* What buyers were told, in the order of sale. */
static void check_numbered(lt_judging *j, const lt_falling *f)
{
    const lt_history *h = j->history;
    lt_numbered *told = zeroed(h->asks_len, sizeof(*told));
    size_t len = 0;
    EACH(const lt_ask, ask, h->asks) {
        lt_place place = place_of_id(h, ask->told.order);
        if (ask->answer == ANSWER_YES && known(ask->told.remaining) && place.number != UNKNOWN)
            told[len++] = (lt_numbered){place, ask};
    }
    qsort(told, len, sizeof(*told), by_number);
    for (size_t i = 1; i < len; i++) {
        const lt_numbered *a = &told[i - 1], *b = &told[i];
        lt_point away = {.from_us = a->ask->from_us, .to_us = a->ask->to_us};
        if (a->place.segment == b->place.segment && a->place.number < b->place.number &&
            b->ask->told.remaining >
                a->ask->told.remaining - b->ask->quantity + given_back(f, &away))
            violated(j,
                     "order %" PRId64 " left %" PRId64 " units (line %" PRId64 "), order %" PRId64
                     " of %" PRId64 " left %" PRId64 " (line %" PRId64 ")",
                     a->place.number, a->ask->told.remaining, a->ask->line, b->place.number,
                     b->ask->quantity, b->ask->told.remaining, b->ask->line);
    }
    free(told);
}

void check_falling(lt_judging *j)
{
    lt_falling f = {0};
    if (j->history->sale.failovers == 1) {
        settle(j, STATE_NOTHING, "");
        return;
    }
    collect_given(j, &f);
    collect_points(j, &f);
    check_points(j, &f);
    check_samples(j);
    check_numbered(j, &f);
    settle(j, f.len > 0 ? STATE_OK : STATE_UNCHECKED,
           "nobody saw the stock before it came to rest");
    free(f.points);
    free(f.begins);
    free(f.ends);
}
