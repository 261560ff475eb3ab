/*
 * ledger.c - I3: one order a request. I4: who was told "bought" has that order.
 *
 * What was told is held to the ledger's line, whoever is to blame for a difference. Where a request
 * has two orders, that is I3's affair, and what was told may be either.
 */
#include "tests/tools/buycheck/checks.h"

#include <inttypes.h>
#include <string.h>

/* ---- I3 -------------------------------------------------------------------------------------- */

/* Where each answer stands against the first of its request. */
static void check_told_once(bc_report *report)
{
    const bc_history *h = report->history;
    for (size_t i = 0; i < h->asks_len; i++) {
        const bc_ask *ask = &h->asks[i];
        const bc_request *request = &h->requests[ask->request];
        if (ask->answer != ANSWER_YES || request->yes == i)
            continue;
        const bc_ask *before = &h->asks[request->yes];
        if (ask->number == before->number && ask->segment == before->segment &&
            ask->quantity == before->quantity && ask->user == before->user &&
            ask->fence == before->fence && ask->remaining == before->remaining)
            continue;
        violated(report, CHECK_I3,
                 "%s was told of order %s (line %" PRId64 ") and of %s (line %" PRId64
                 "), or differently of it",
                 ask->request_name, before->order, before->line, ask->order, ask->line);
    }
}

static void check_one_each(bc_report *report)
{
    const bc_history *h = report->history;
    for (size_t i = 0; i < h->request_names.len; i++) {
        const bc_request *request = &h->requests[i];
        if (request->orders > 1)
            violated(report, CHECK_I3, "%s has %zu orders (line %" PRId64 " and after)",
                     h->request_names.names[i], request->orders, h->orders[request->order].line);
    }
    check_told_once(report);
    settle(report, CHECK_I3, h->has_ledger ? STATE_OK : STATE_UNCHECKED,
           "the orders are not known");
}

/* ---- I4 -------------------------------------------------------------------------------------- */

/* Not told, or told as it is. */
static bool agrees(int64_t told, int64_t is)
{
    return told == UNKNOWN || is == UNKNOWN || told == is;
}

static const char *difference(const bc_ask *told, const bc_order *order)
{
    if (told->number != order->number || !agrees(told->segment, order->segment))
        return "number";
    if (told->user != order->user)
        return "user";
    if (told->quantity != order->quantity)
        return "quantity";
    if (!agrees(told->fence, order->fence))
        return "fence";
    if (!agrees(told->remaining, order->remaining))
        return "remaining";
    return NULL;
}

static const char *difference_found(const bc_look *look, const bc_order *order)
{
    if (!agrees(look->number, order->number) || !agrees(look->segment, order->segment))
        return "number";
    if (look->user_name && strcmp(look->user_name, order->user_name) != 0)
        return "user";
    return agrees(look->quantity, order->quantity) ? NULL : "quantity";
}

/* Against each order of the request; `last` is what the last of them differs in. */
static void hold_to_orders(bc_report *report, const bc_request *request, const bc_ask *ask,
                           const bc_look *look)
{
    const bc_history *h = report->history;
    const char *last = NULL;
    int64_t line = ask ? ask->line : look->line, at = 0;
    for (size_t k = request->order; k != NO_ELEMENT; k = h->orders[k].next) {
        const bc_order *order = &h->orders[k];
        last = ask ? difference(ask, order) : difference_found(look, order);
        at = order->line;
        if (!last)
            return;
    }
    const char *name = ask ? ask->request_name : look->request_name;
    if (last)
        violated(report, CHECK_I4,
                 "%s was told another %s (line %" PRId64 ") than its order has (line %" PRId64 ")",
                 name, last, line, at);
    else
        violated(report, CHECK_I4,
                 "%s was told that it has bought (line %" PRId64 "), and has no order", name, line);
}

static void check_acknowledged(bc_report *report)
{
    const bc_history *h = report->history;
    for (size_t i = 0; h->has_ledger && i < h->asks_len; i++) {
        const bc_ask *ask = &h->asks[i];
        if (ask->answer == ANSWER_YES)
            hold_to_orders(report, &h->requests[ask->request], ask, NULL);
    }
    for (size_t i = 0; h->has_ledger && i < h->looks_len; i++) {
        const bc_look *look = &h->looks[i];
        if (look->status == 200 && look->found != 0)
            hold_to_orders(report, &h->requests[look->request], NULL, look);
    }
    settle(report, CHECK_I4, h->has_ledger ? STATE_OK : STATE_UNCHECKED,
           "the orders are not known");
}

void check_ledger(bc_report *report)
{
    check_one_each(report);
    check_acknowledged(report);
}
