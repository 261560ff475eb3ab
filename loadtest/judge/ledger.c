/*
 * ledger.c - orders and their numbers: one order per request, one request per order, and no number
 * without the one before it.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- one order a request, one request an order ----------------------------------------------- */

/* Whether an answer told another order than the first one did. */
static bool tells_other(lt_judging *j, const lt_request *request, const lt_told *told, int64_t line)
{
    const lt_told *before = first_told(j, request);
    if (!texts_differ(told->order, before->order))
        return false;
    violated(j, "%s was told of order %s, and of %s (line %" PRId64 ")", text_of(j, request->name),
             text_of(j, before->order), text_of(j, told->order), line);
    return true;
}

/* Counts requests that stand twice in one of the other readings. */
static int64_t check_other_readings(lt_judging *j)
{
    const lt_order **orders = sorted_entries(j);
    int64_t twice = 0;
    for (size_t i = 1; i < j->history->orders_len; i++) {
        const lt_order *a = orders[i - 1], *b = orders[i];
        if (a->audit == j->books || a->audit != b->audit || a->request != b->request)
            continue;
        twice++;
        violated(j, "%s has two orders in another reading (lines %" PRId64 ", %" PRId64 ")",
                 text_of(j, a->told.request), a->line, b->line);
    }
    free(orders);
    return twice;
}

void check_one_order(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t other = 0;
    EACH(const lt_request, request, j->requests) {
        if (request->orders > 1)
            violated(j, "%s has %" PRIu32 " orders (line %" PRId64 " and after)",
                     text_of(j, request->name), request->orders, h->orders[request->order].line);
    }
    for (size_t i = 0; i < h->asks_len; i++) {
        const lt_ask *ask = &h->asks[i];
        bool tells =
            ask->answer == ANSWER_YES || (ask->answer == ANSWER_UNKNOWN && ask->status / 100 == 2);
        if (tells && first_told(j, &j->requests[ask->request]))
            other += tells_other(j, &j->requests[ask->request], &ask->told, ask->line);
    }
    for (size_t i = 0; i < h->looks_len; i++) {
        if (look_found(j, &h->looks[i]))
            other += tells_other(j, &j->requests[h->looks[i].request], &h->looks[i].told,
                                 h->looks[i].line);
    }
    lt_figures *figures = &j->judgement->figures;
    figures->retold = other;
    other += check_other_readings(j);
    if (other > 0)
        figures->duplicates = other + (figures->duplicates != UNKNOWN ? figures->duplicates : 0);
    settle_by_ledger(j, STATE_OK);
}

/* An order, by its id or its number, and the request it belongs to. */
typedef struct lt_owned {
    lt_place place;
    uint32_t request;
} lt_owned;

static int by_place(const void *left, const void *right)
{
    const lt_owned *a = left, *b = right;
    return either(compare_places(a->place, b->place), compare(a->request, b->request));
}

/* If an id tells no place, its text's number serves as one. */
static void own(const lt_judging *j, lt_owned *owned, size_t *len, lt_text order, lt_place place,
                uint32_t request)
{
    if (place.number == UNKNOWN && !text_told(order))
        return;
    if (place.number == UNKNOWN)
        place = (lt_place){(int64_t)history_segments(j->history), order};
    owned[(*len)++] = (lt_owned){place, request};
}

void check_one_request(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_owned *owned = zeroed(h->asks_len + h->looks_len + h->orders_len, sizeof(*owned));
    size_t len = 0;
    for (size_t i = 0; i < h->asks_len; i++) {
        lt_text order = h->asks[i].told.order;
        if (h->asks[i].answer == ANSWER_YES)
            own(j, owned, &len, order, place_of_id(h, order), h->asks[i].request);
    }
    for (size_t i = 0; i < h->looks_len; i++) {
        lt_text order = h->looks[i].told.order;
        if (look_found(j, &h->looks[i]))
            own(j, owned, &len, order, place_of_id(h, order), h->looks[i].request);
    }
    for (size_t i = 0; i < h->orders_len; i++)
        own(j, owned, &len, h->orders[i].told.order, place_of_order(h, &h->orders[i]),
            h->orders[i].request);
    qsort(owned, len, sizeof(*owned), by_place);
    for (size_t i = 1; i < len; i++) {
        const lt_owned *a = &owned[i - 1], *b = &owned[i];
        bool by_id = a->place.segment == (int64_t)history_segments(h);
        char number[24];
        snprintf(number, sizeof(number), "%" PRId64, a->place.number);
        if (a->request != b->request && a->place.segment == b->place.segment &&
            a->place.number == b->place.number)
            violated(j, "%s and %s both have order %s", text_of(j, j->requests[a->request].name),
                     text_of(j, j->requests[b->request].name),
                     by_id ? text_of(j, (lt_text)a->place.number) : number);
    }
    free(owned);
    settle(j, STATE_OK, "");
}

/* ---- the ledger by itself -------------------------------------------------------------------- */

/* A segment begins a new epoch when its server was restarted, or when a halted sale goes on. The
 * recorder must say that neither happens. */
static void check_epochs(lt_judging *j)
{
    const lt_history *h = j->history;
    const char **first = zeroed(history_segments(h), sizeof(*first));
    for (size_t i = 0; h->sale.failovers == 0 && i < h->orders_len; i++) {
        const char *id = text_of(j, h->orders[i].told.order);
        lt_place place = place_of_id(h, h->orders[i].told.order);
        if (place.number == UNKNOWN)
            continue;
        const char **at = &first[place.segment];
        *at = *at ? *at : id;
        if (strncmp(id, *at, (size_t)(strrchr(id, '-') + 1 - id)) != 0)
            violated(j,
                     "order %s (line %" PRId64 ") is of another epoch than %s, and nothing failed"
                     " over",
                     id, h->orders[i].line, *at);
    }
    free(first);
}

static bool same_epoch(const char *a, const char *b)
{
    size_t len = (size_t)(strrchr(a, '-') + 1 - a);
    return strncmp(a, b, len) == 0 && strrchr(b, '-') + 1 - b == (ptrdiff_t)len;
}

/* A server's run ends when its next one begins, so an epoch never comes back. `orders` are
 * sorted by their places. */
static void check_runs(lt_judging *j, const lt_owned *orders, size_t len)
{
    const char **runs = zeroed(len, sizeof(*runs)); /* of the segment, up to this order */
    size_t runs_len = 0, k;
    for (size_t i = 0; i < len; i++) {
        const lt_order *order = &j->history->orders[j->requests[orders[i].request].order];
        const char *id = text_of(j, order->told.order);
        if (place_of_id(j->history, order->told.order).number == UNKNOWN)
            continue;
        if (i > 0 && orders[i - 1].place.segment != orders[i].place.segment)
            runs_len = 0;
        for (k = 0; k < runs_len && !same_epoch(runs[k], id);)
            k++;
        if (k == runs_len)
            runs[runs_len++] = id;
        else if (k + 1 < runs_len)
            violated(j, "order %s (line %" PRId64 ") is of an epoch that was over before %s", id,
                     order->line, runs[runs_len - 1]);
    }
    free(runs);
}

/* If some ids tell a number, all do. */
static void check_forms(lt_judging *j)
{
    const lt_history *h = j->history;
    EACH(const lt_order, order, h->orders) {
        if (order->audit == j->books && place_of_order(h, order).number == UNKNOWN)
            violated(j, "order %s (line %" PRId64 ") has no number, and others have",
                     text_of(j, order->told.order), order->line);
    }
}

/* A segment's numbers have no gap. */
void check_gaps(lt_judging *j)
{
    check_epochs(j);
    const lt_history *h = j->history;
    lt_owned *owned = zeroed(h->orders_len, sizeof(*owned));
    size_t len = 0, expected = 0;
    for (size_t i = 0; j->ledger && i < h->orders_len; i++) {
        lt_place place = place_of_order(h, &h->orders[i]);
        if (h->orders[i].audit != j->books)
            continue;
        expected++;
        if (place.number != UNKNOWN)
            owned[len++] = (lt_owned){place, h->orders[i].request};
    }
    if (len > 0 && len < expected)
        check_forms(j);
    bool numbered = len > 0 && len == expected && h->sale.failovers != 1;
    qsort(owned, len, sizeof(*owned), by_place);
    check_runs(j, owned, len);
    for (size_t i = 0; numbered && i < len; i++) {
        bool goes_on = i > 0 && owned[i - 1].place.segment == owned[i].place.segment;
        int64_t before = goes_on ? owned[i - 1].place.number : 0;
        if (owned[i].place.number > before + 1)
            violated(j, "there is no order %" PRId64 " of segment %" PRId64 ", but %" PRId64,
                     before + 1, owned[i].place.segment, owned[i].place.number);
    }
    free(owned);
    settle_by_ledger(j, numbered ? STATE_OK : STATE_NOTHING);
}
