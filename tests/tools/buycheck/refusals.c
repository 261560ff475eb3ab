/*
 * refusals.c - I5: who was told "no" has no order, nobody has one who did not ask, and what nobody
 * knew is known in the end. And "sold out" was not said of units that are still there.
 *
 * What is still open because nobody looked leaves I5 unchecked; what stays open although somebody
 * looks again and again violates it.
 */
#include "tests/tools/buycheck/checks.h"

#include <inttypes.h>
#include <string.h>

/* Told yes and no: both are for good. */
static void check_contradiction(bc_report *report, const bc_request *request, const char *name)
{
    const bc_history *h = report->history;
    bool never = request->never != NO_ELEMENT;
    if (request->verdict != BOUGHT_YES || (!never && request->final == NO_ELEMENT))
        return;
    bool told = request->yes != NO_ELEMENT;
    violated(report, CHECK_I5,
             "%s was told yes (line %" PRId64 ") and, for good, no (line %" PRId64 ")", name,
             told ? h->asks[request->yes].line : h->looks[request->found].line,
             never ? h->asks[request->never].line : h->looks[request->final].line);
}

static void check_request(bc_report *report, size_t i)
{
    const bc_history *h = report->history;
    const bc_request *request = &h->requests[i];
    const char *name = h->request_names.names[i];
    check_contradiction(report, request, name);
    if (request->verdict == BOUGHT_NO && request->order != NO_ELEMENT)
        violated(report, CHECK_I5, "%s was told no, and has an order (line %" PRId64 ")", name,
                 h->orders[request->order].line);
    if (request->verdict == BOUGHT_ELSEWHERE && request->order != NO_ELEMENT)
        violated(report, CHECK_I5, "%s has an order (line %" PRId64 "), and nobody asked for it",
                 name, h->orders[request->order].line);
    if (request->verdict == BOUGHT_UNRESOLVED && request->not_yet_us != UNKNOWN &&
        request->not_yet_us - request->looked_us >= report->options.final_us)
        violated(report, CHECK_I5,
                 "%s is not resolved %" PRId64 " ms after it was first looked for", name,
                 (request->not_yet_us - request->looked_us) / 1000);
}

static void check_sold_out(bc_report *report)
{
    const bc_history *h = report->history;
    int64_t most = most_left(h);
    bool known = report->remaining != UNKNOWN;
    for (size_t i = 0; known && i < h->asks_len; i++) {
        const bc_ask *ask = &h->asks[i];
        if (ask->answer == ANSWER_NEVER && strcmp(ask->code, "sold_out") == 0 &&
            ask->quantity <= most)
            violated(report, CHECK_SOLD_OUT,
                     "%s was told that %" PRId64 " are sold out (line %" PRId64 "), and %" PRId64
                     " are left",
                     ask->request_name, ask->quantity, ask->line, most);
    }
    settle(report, CHECK_SOLD_OUT, known ? STATE_OK : STATE_UNCHECKED,
           "the stock at rest is not known");
}

void check_refusals(bc_report *report)
{
    const bc_history *h = report->history;
    for (size_t i = 0; i < h->request_names.len; i++)
        check_request(report, i);
    bool open = report->figures.unresolved > 0;
    settle(report, CHECK_I5, h->has_ledger && !open ? STATE_OK : STATE_UNCHECKED,
           h->has_ledger ? "some requests are not resolved" : "the orders are not known");
    check_sold_out(report);
}
