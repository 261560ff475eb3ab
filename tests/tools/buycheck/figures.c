/*
 * figures.c - the figures, and I1, which is one of them.
 *
 * Where an acknowledged order is not in the ledger any more, its units may be sold once more. They
 * are owed to two people then; so oversold counts the orders and, besides, what was told and has no
 * order.
 */
#include "tests/tools/buycheck/checks.h"

#include <inttypes.h>
#include <stdlib.h>

static int64_t beyond(int64_t units, int64_t most)
{
    return units > most ? units - most : 0;
}

static void add_up_rest(bc_report *report)
{
    const bc_history *h = report->history;
    report->ledger_units = report->remaining = UNKNOWN;
    if (!h->has_ledger)
        return;
    report->ledger_units = report->remaining = 0;
    for (size_t i = 0; i < h->rests_len && report->remaining != UNKNOWN; i++) {
        int64_t left = h->rests[i].remaining;
        report->remaining = left == UNKNOWN ? UNKNOWN : report->remaining + left;
    }
    for (size_t i = 0; i < h->orders_len; i++)
        report->ledger_units += h->orders[i].quantity;
}

static void add_up_requests(bc_report *report)
{
    const bc_history *h = report->history;
    bc_figures *figures = &report->figures;
    for (size_t i = 0; i < h->request_names.len; i++) {
        const bc_request *request = &h->requests[i];
        bool ordered = request->order != NO_ELEMENT;
        figures->requests += request->attempts > 0;
        figures->attempts += (int64_t)request->attempts;
        figures->duplicates += beyond((int64_t)request->orders, 1);
        figures->unresolved += request->verdict == BOUGHT_UNRESOLVED;
        if (request->verdict == BOUGHT_YES)
            figures->sold += request->quantity;
        if (request->verdict == BOUGHT_YES && !ordered)
            figures->acked_lost += request->quantity;
        for (size_t k = request->order; request->verdict == BOUGHT_NO && k != NO_ELEMENT;
             k = h->orders[k].next)
            figures->refused_sold += h->orders[k].quantity;
    }
}

int64_t most_left(const bc_history *h)
{
    int64_t most = 0;
    for (size_t i = 0; i < h->rests_len; i++)
        most = h->rests[i].remaining > most ? h->rests[i].remaining : most;
    return most;
}

/* Somebody did not get what is left in one piece. */
static bool somebody_went_without(const bc_history *h)
{
    int64_t most = most_left(h);
    for (size_t i = 0; i < h->request_names.len; i++) {
        const bc_request *request = &h->requests[i];
        bool without = request->verdict == BOUGHT_NO || request->verdict == BOUGHT_UNRESOLVED;
        if (without && request->refused && request->quantity <= most)
            return true;
    }
    return false;
}

void count_figures(bc_report *report)
{
    const bc_history *h = report->history;
    bc_figures *figures = &report->figures;
    *figures = (bc_figures){.landed = h->landed};
    add_up_rest(report);
    add_up_requests(report);
    int64_t stock = h->sale.stock;
    if (!h->has_ledger) {
        figures->oversold = beyond(figures->sold, stock);
        if (figures->oversold == 0)
            figures->oversold = UNKNOWN;
        figures->lost_updates = figures->unordered = figures->undersold = UNKNOWN;
        figures->duplicates = figures->acked_lost = figures->refused_sold = UNKNOWN;
        return;
    }
    int64_t ledger = report->ledger_units;
    figures->oversold = beyond(ledger + figures->acked_lost, stock);
    if (report->remaining == UNKNOWN) {
        figures->lost_updates = figures->unordered = figures->undersold = UNKNOWN;
        return;
    }
    int64_t taken = stock - report->remaining;
    figures->lost_updates = beyond(figures->sold > ledger ? figures->sold : ledger, taken);
    figures->unordered = beyond(taken, ledger);
    figures->undersold = report->remaining > 0 && somebody_went_without(h) ? report->remaining : 0;
}

void check_units(bc_report *report)
{
    const bc_history *h = report->history;
    bool known = report->remaining != UNKNOWN;
    if (known && report->remaining + report->ledger_units != h->sale.stock)
        violated(report, CHECK_I1,
                 "%" PRId64 " units are left and %" PRId64 " are in orders, of %" PRId64,
                 report->remaining, report->ledger_units, h->sale.stock);
    settle(report, CHECK_I1, known ? STATE_OK : STATE_UNCHECKED,
           "stock and orders at rest are not known");
}

void check_limit(bc_report *report)
{
    const bc_history *h = report->history;
    int64_t limit = h->sale.limit;
    int64_t *has = zeroed(h->user_names.len, sizeof(*has));
    for (size_t i = 0; i < h->orders_len; i++)
        has[h->orders[i].user] += h->orders[i].quantity;
    for (size_t i = 0; i < h->request_names.len; i++) {
        const bc_request *request = &h->requests[i];
        if (request->verdict == BOUGHT_YES && request->order == NO_ELEMENT)
            has[h->asks[request->ask].user] += request->quantity;
    }
    for (size_t i = 0; limit > 0 && i < h->user_names.len; i++) {
        if (has[i] > limit)
            violated(report, CHECK_LIMIT, "%s has %" PRId64 " units, not %" PRId64,
                     h->user_names.names[i], has[i], limit);
    }
    free(has);
    bc_state state = h->has_ledger ? STATE_OK : STATE_UNCHECKED;
    settle(report, CHECK_LIMIT, limit > 0 ? state : STATE_NOTHING, "the orders are not known");
}
