/*
 * figures.c - the figures, and the checks that need nothing else.
 *
 * If an acknowledged order is no longer in the ledger, its units may be sold again and are then
 * owed to two buyers. So `oversold` counts the orders plus what was acknowledged without an order.
 * A request's second order is a duplicate and does not count as oversold.
 */
#include "loadtest/judge/checks.h"

#include <inttypes.h>
#include <stdlib.h>

static void add_up_rest(lt_judging *j)
{
    const lt_history *h = j->history;
    bool all =
        h->rests_len == history_segments(h) || (h->rests_len == 1 && h->rests[0].segment < 0);
    j->remaining = all && j->whole ? 0 : UNKNOWN;
    for (size_t i = 0; i < h->rests_len && j->remaining != UNKNOWN; i++) {
        int64_t left = h->rests[i].remaining;
        j->remaining = left == UNKNOWN ? UNKNOWN : j->remaining + left;
    }
    j->ledger_units = 0;
    EACH(const lt_order, order, h->orders) {
        if (order->audit != j->books || !known(order->told.quantity) || !holds_units(j, order))
            continue;
        j->ledger_units += order->told.quantity;
        j->open_units += order->told.state == j->reserved ? order->told.quantity : 0;
    }
}

static void add_up_requests(lt_judging *j)
{
    const lt_history *h = j->history;
    lt_figures *figures = &j->judgement->figures;
    EACH(const lt_request, request, j->requests) {
        bool ordered = request->order != NO_ELEMENT;
        figures->requests += request->attempts > 0;
        figures->attempts += (int64_t)request->attempts;
        figures->duplicates += beyond((int64_t)request->orders, 1);
        figures->unresolved += request->bought == BOUGHT_UNRESOLVED;
        bool sure = j->ledger || request->owed || !is_reserving(j);
        if (request->bought == BOUGHT_YES && !request->released && sure)
            figures->sold += request->quantity;
        bool reserved = request->bought == BOUGHT_YES && is_reserving(j);
        figures->reserved += reserved;
        figures->confirmed += reserved && request->fate->state == j->sold;
        figures->cancelled += reserved && request->fate->state == j->cancelled;
        figures->expired += reserved && request->fate->state == j->expired;
        if (request->bought == BOUGHT_YES && !ordered)
            figures->acked_lost += request->quantity;
        for (uint32_t k = request->order; request->bought == BOUGHT_NO && k != NO_ELEMENT;
             k = h->orders[k].next) {
            if (known(h->orders[k].told.quantity))
                figures->refused_sold += h->orders[k].told.quantity;
        }
    }
}

/* Units in the first order of each request; `ours`: only of requests that somebody sent. */
static int64_t first_units(const lt_judging *j, bool ours)
{
    int64_t units = 0;
    EACH(const lt_request, request, j->requests) {
        if (request->order == NO_ELEMENT || request->released ||
            (ours && request->bought == BOUGHT_NOBODY))
            continue;
        int64_t quantity = j->history->orders[request->order].told.quantity;
        units += known(quantity) ? quantity : 0;
    }
    return units;
}

/* Units that an unknown attempt may have had until a failover. */
static int64_t units_undone(const lt_judging *j)
{
    int64_t units = 0;
    EACH(const lt_request, request, j->requests) {
        bool has = request->bought == BOUGHT_YES || request->order != NO_ELEMENT;
        if (may_be_undone(j, request) && !has)
            units += request->quantity;
    }
    return units;
}

/* The most units that one segment certainly has left: if only the total is known, its equal
 * share. */
int64_t most_left(const lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t most = 0;
    for (size_t i = 0; i < h->rests_len; i++) {
        int64_t left = h->rests[i].remaining, segments = (int64_t)history_segments(h);
        if (h->rests[i].segment == UNKNOWN && left > 0)
            left = (left + segments - 1) / segments;
        most = left > most ? left : most;
    }
    return beyond(most, units_undone(j));
}

/* Whether a buyer was turned away who asked for no more than one segment had left. */
static bool somebody_went_without(const lt_judging *j)
{
    int64_t most = most_left(j), limit = j->history->sale.limit;
    int64_t *has = units_of_users(j, false);
    bool any = false;
    for (uint32_t i = 0; i < j->requests_len && !any; i++) {
        const lt_request *request = &j->requests[i];
        bool refused = request->refused || (request->voided && request->final == NO_ELEMENT);
        bool without = request->bought == BOUGHT_NO || request->bought == BOUGHT_UNRESOLVED;
        bool turned_away = (without && refused) || request->unpaid;
        bool may = limit == 0 || has[request->user] + request->quantity <= limit;
        any = turned_away && may && request->quantity <= most;
    }
    free(has);
    return any;
}

/* If no order was seen, what buyers were told counts. */
static void count_without_ledger(lt_judging *j)
{
    lt_figures *figures = &j->judgement->figures;
    int64_t stock = j->history->sale.stock, taken = stock - j->remaining;
    bool counted = j->counts_only && j->remaining != UNKNOWN;
    int64_t owed = figures->sold > j->ledger_units ? figures->sold : j->ledger_units;
    figures->oversold = beyond(owed, stock);
    if (figures->oversold == 0 && !j->counts_only)
        figures->oversold = UNKNOWN;
    figures->lost_updates = counted ? beyond(figures->sold, taken) : UNKNOWN;
    figures->unordered =
        counted && figures->unresolved == 0 ? beyond(taken, figures->sold) : UNKNOWN;
    figures->duplicates = figures->acked_lost = figures->refused_sold = UNKNOWN;
}

void count_figures(lt_judging *j)
{
    lt_figures *figures = &j->judgement->figures;
    *figures = (lt_figures){.landed = j->history->landed};
    add_up_rest(j);
    add_up_requests(j);
    int64_t stock = j->history->sale.stock, ledger = j->ledger_units;
    figures->undersold = UNKNOWN;
    if (j->remaining != UNKNOWN && (j->ledger || j->counts_only))
        figures->undersold = j->remaining > 0 && somebody_went_without(j) ? j->remaining : 0;
    if (!j->ledger) {
        count_without_ledger(j);
        return;
    }
    int64_t listed = first_units(j, false), owed = first_units(j, true) + figures->acked_lost;
    figures->oversold = beyond(listed > owed ? listed : owed, stock);
    figures->lost_updates = figures->unordered = UNKNOWN;
    if (j->remaining == UNKNOWN)
        return;
    int64_t taken = stock - j->remaining;
    figures->lost_updates = beyond(figures->sold > ledger ? figures->sold : ledger, taken);
    figures->unordered = beyond(taken, ledger);
}

void check_units(lt_judging *j)
{
    const lt_figures *figures = &j->judgement->figures;
    int64_t stock = j->history->sale.stock;
    bool rests = j->open_units == 0;
    bool known_of = j->remaining != UNKNOWN && (j->ledger || j->counts_only) && rests;
    if (known_of && j->ledger && j->remaining + j->ledger_units != stock)
        violated(j, "%" PRId64 " units are left and %" PRId64 " are in orders, of %" PRId64,
                 j->remaining, j->ledger_units, stock);
    else if (known_of && (figures->lost_updates > 0 || figures->unordered > 0))
        violated(j, "%" PRId64 " units are left and %" PRId64 " are sold, of %" PRId64,
                 j->remaining, figures->sold, stock);
    bool counted = known_of && figures->unordered != UNKNOWN;
    settle(j, counted ? STATE_OK : STATE_UNCHECKED,
           !rests      ? "some reservations are still open"
           : known_of  ? "some requests are not resolved"
           : j->ledger ? "the stock at rest is not known"
                       : "stock and orders at rest are not known");
}

/* ---- no more than there is ------------------------------------------------------------------- */

void check_oversold(lt_judging *j)
{
    const lt_history *h = j->history;
    int64_t most = h->sale.stock;
    if (j->judgement->figures.oversold > 0)
        violated(j, "%" PRId64 " units are sold beyond the stock of %" PRId64,
                 j->judgement->figures.oversold, most);
    EACH(const lt_stock_line, stock, h->stocks) {
        if (!stock_is_ours(j, stock))
            continue;
        if (known(stock->units) && stock->units > most)
            violated(j, "%" PRId64 " units are in orders, of %" PRId64 " (line %" PRId64 ")",
                     stock->units, most, stock->line);
        else if (known(stock->oversold) && stock->oversold > 0)
            violated(j, "the service says that %" PRId64 " units are oversold (line %" PRId64 ")",
                     stock->oversold, stock->line);
    }
    if (j->counts_only)
        settle(j, STATE_OK, "");
    else
        settle_by_ledger(j, STATE_OK);
}

void check_turned_away(lt_judging *j)
{
    int64_t undersold = j->judgement->figures.undersold;
    if (undersold > 0)
        violated(j,
                 "%" PRId64 " units are left, and somebody was turned away who asked for no more",
                 undersold);
    settle(j, undersold != UNKNOWN ? STATE_OK : STATE_UNCHECKED,
           "stock and orders at rest are not known");
}
