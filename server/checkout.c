/* checkout.c - see checkout.h. */
#include "server/checkout.h"

#include <string.h>
#include <time.h>

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

start_status checkout(fs_sales *sales, const char *item, const char *wanted, buy_request *request,
                      buy_result *result, fs_sale **ret)
{
    bool first = true;
    for (;;) {
        start_status status = sales_get(sales, item, ret);
        if (status != START_OK)
            return status;
        const sale_terms *terms = &(*ret)->terms;
        if (first)
            request->deadline = dlock_in_ms(terms_request_ms(terms));
        first = false;
        if (wanted[0] != '\0' && strcmp(wanted, terms->id) != 0) {
            buy_answer(result, BUY_CLOSED);
            return START_OK;
        }
        sale_sell(*ret, request, result);
        if (result->outcome != BUY_CLOSED)
            return START_OK;
        if (dlock_passed(request->deadline)) {
            buy_answer(result, BUY_BUSY);
            return START_OK;
        }
        look_for_next_sale(sales, *ret);
        sales_put(*ret);
    }
}
