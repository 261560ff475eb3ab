/*
 * order.c - orders are numbered in the order of real time: who had bought before another one asked
 * for the first time has the smaller number, within a segment. And no two have the same.
 *
 * With that, the ledger is a true sequence: each buy took effect at one moment between its first
 * try and its first answer. It holds for every strategy, for a script gives the number.
 */
#include "tests/tools/buycheck/checks.h"

#include <inttypes.h>
#include <stdlib.h>

/* A request whose order's number is known. */
typedef struct bc_bought {
    int64_t segment, number, from_us, known_us;
    size_t request;
} bc_bought;

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_segment(const bc_bought *a, const bc_bought *b)
{
    return compare(a->segment, b->segment);
}

static int by_begin(const void *left, const void *right)
{
    const bc_bought *a = left, *b = right;
    return by_segment(a, b) ? by_segment(a, b) : compare(a->from_us, b->from_us);
}

static int by_known(const void *left, const void *right)
{
    const bc_bought *a = left, *b = right;
    return by_segment(a, b) ? by_segment(a, b) : compare(a->known_us, b->known_us);
}

static int by_number(const void *left, const void *right)
{
    const bc_bought *a = left, *b = right;
    if (by_segment(a, b))
        return by_segment(a, b);
    return a->number != b->number ? compare(a->number, b->number)
                                  : compare((int64_t)a->request, (int64_t)b->request);
}

/* What was told, or else found, or else stands in the ledger. False: nothing. */
static bool find_number(const bc_history *h, const bc_request *request, bc_bought *ret)
{
    if (request->yes != NO_ELEMENT) {
        ret->segment = h->asks[request->yes].segment;
        ret->number = h->asks[request->yes].number;
    } else if (request->found != NO_ELEMENT && h->looks[request->found].number != UNKNOWN) {
        ret->segment = h->looks[request->found].segment;
        ret->number = h->looks[request->found].number;
    } else if (request->order != NO_ELEMENT && request->verdict != BOUGHT_NO) {
        ret->segment = h->orders[request->order].segment;
        ret->number = h->orders[request->order].number;
    } else {
        return false;
    }
    if (ret->segment == UNKNOWN && request->order != NO_ELEMENT)
        ret->segment = h->orders[request->order].segment;
    return ret->segment != UNKNOWN && ret->number > 0;
}

static size_t collect(const bc_history *h, bc_bought *ret)
{
    size_t len = 0;
    for (size_t i = 0; i < h->request_names.len; i++) {
        const bc_request *request = &h->requests[i];
        bc_bought bought = {
            .request = i, .from_us = request->first_us, .known_us = request->known_us};
        if (request->attempts > 0 && find_number(h, request, &bought))
            ret[len++] = bought;
    }
    return len;
}

static void check_same(bc_report *report, const bc_bought *sorted, size_t len)
{
    const char **names = report->history->request_names.names;
    for (size_t i = 1; i < len; i++) {
        const bc_bought *a = &sorted[i - 1], *b = &sorted[i];
        if (a->segment == b->segment && a->number == b->number)
            violated(report, CHECK_ORDER,
                     "%s and %s both have order %" PRId64 " of segment %" PRId64, names[a->request],
                     names[b->request], a->number, a->segment);
    }
}

/* Each against the highest number that was known before it began. */
static void check_times(bc_report *report, const bc_bought *begins, const bc_bought *knowns,
                        size_t len)
{
    const char **names = report->history->request_names.names;
    const bc_bought *highest = NULL;
    for (size_t i = 0, k = 0; i < len; i++) {
        const bc_bought *now = &begins[i];
        if (highest && highest->segment != now->segment)
            highest = NULL;
        for (; k < len && (knowns[k].segment < now->segment || (knowns[k].segment == now->segment &&
                                                                knowns[k].known_us < now->from_us));
             k++) {
            if (knowns[k].segment == now->segment &&
                (!highest || knowns[k].number > highest->number))
                highest = &knowns[k];
        }
        if (highest && now->number < highest->number)
            violated(report, CHECK_ORDER,
                     "%s has order %" PRId64 ", and began after %s knew of order %" PRId64,
                     names[now->request], now->number, names[highest->request], highest->number);
    }
}

void check_order(bc_report *report)
{
    const bc_history *h = report->history;
    bc_bought *begins = zeroed(h->request_names.len, sizeof(*begins));
    bc_bought *knowns = zeroed(h->request_names.len, sizeof(*knowns));
    size_t len = collect(h, begins);
    qsort(begins, len, sizeof(*begins), by_number);
    check_same(report, begins, len);
    for (size_t i = 0; i < len; i++)
        knowns[i] = begins[i];
    qsort(begins, len, sizeof(*begins), by_begin);
    qsort(knowns, len, sizeof(*knowns), by_known);
    check_times(report, begins, knowns, len);
    free(begins);
    free(knowns);
    settle(report, CHECK_ORDER, len > 0 ? STATE_OK : STATE_NOTHING, "");
}
