/* checkout.c - see checkout.h. */
#include "server/sale/checkout.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "server/store/ledger.h"
#include "server/store/outcome.h"

#define NEXT_SALE_MS 10 /* pause while the next sale is not quite there yet */

/* After "closed": makes sure that the next look finds what Redis says. */
static void look_for_next_sale(fs_sales *sales, const fs_sale *closed)
{
    fs_sale *now;
    bool same = true;
    sales_refresh(sales, closed->terms.item);
    if (sales_get(sales, closed->terms.item, &now) == START_OK) {
        same = now == closed;
        sales_put(now);
    }
    if (same)
        nanosleep(&(struct timespec){.tv_nsec = NEXT_SALE_MS * 1000000L}, NULL);
}

static void put_sale(checkout_answer *ret, const sale_terms *terms)
{
    snprintf(ret->sale, sizeof(ret->sale), "%s", terms->id);
    ret->sharded = terms->segments > 0;
}

/* Asks a sale that is over for the request's order. LEDGER_OVER: it has none. LEDGER_NOT_YET: not
 * all of its segments are closed yet. Otherwise it is answered. */
static ledger_status ask_ended(const sale_terms *ended, const buy_request *request,
                               checkout_answer *ret)
{
    ledger_entry entry;
    ledger_status status =
        ledger_find(ended, request->request, LEDGER_LOOK, request->deadline, &entry);
    if (status == LEDGER_OVER || status == LEDGER_NOT_YET)
        return status;
    put_sale(ret, ended);
    if (status == LEDGER_FOUND)
        outcome_of_earlier(&entry.order, entry.segment, request, &ret->result);
    else
        buy_answer(&ret->result, status == LEDGER_NEVER ? BUY_VOID : BUY_UNAVAILABLE);
    return status;
}

/* The wanted sale is not the current one. False: look again. */
static bool ask_wanted(const sale_terms *now, const char *wanted, const buy_request *request,
                       checkout_answer *ret)
{
    char err[256];
    sale_terms other;
    start_status status = start_read_terms(now->store, now->item, wanted, &other, err, sizeof(err));
    if (status == START_OK && strcmp(wanted, now->id) > 0)
        return false; /* the next sale, not in force here yet */
    if (status == START_UNAVAILABLE)
        buy_answer(&ret->result, BUY_UNAVAILABLE);
    if (status != START_OK || !request->keyed)
        return true;
    return ask_ended(&other, request, ret) != LEDGER_NOT_YET;
}

/* Buys in this sale, as far as it is the one to buy in. False: look again which one is. */
static bool buy_in(fs_sale *sale, const char *wanted, buy_request *request, checkout_answer *ret)
{
    put_sale(ret, &sale->terms);
    buy_answer(&ret->result, BUY_CLOSED);
    if (wanted[0] != '\0' && strcmp(wanted, sale->terms.id) != 0)
        return ask_wanted(&sale->terms, wanted, request, ret);
    sale_sell(sale, request, &ret->result);
    return ret->result.outcome != BUY_CLOSED;
}

start_status checkout(fs_sales *sales, const char *item, const char *wanted, buy_request *request,
                      checkout_answer *ret)
{
    bool done = false;
    for (bool first = true; !done; first = false) {
        fs_sale *sale;
        start_status status = sales_get(sales, item, &sale);
        if (status != START_OK)
            return status;
        if (first)
            request->deadline = dlock_in_ms(terms_request_ms(&sale->terms));
        done = buy_in(sale, wanted, request, ret);
        if (!done && dlock_passed(request->deadline)) {
            buy_answer(&ret->result, BUY_BUSY);
            done = true;
        }
        if (!done)
            look_for_next_sale(sales, sale);
        sales_put(sale);
    }
    return START_OK;
}
