/*
 * ledger.h - all orders of a sale, page by page (GET /orders).
 *
 * Reading changes nothing, so a page whose answer is lost is asked for again. A ledger is either
 * read to its end or not at all: half of one proves neither that an order is there nor that it is
 * missing.
 */
#ifndef LOADTEST_LEDGER_H
#define LOADTEST_LEDGER_H

#include "loadtest/base/plan.h"
#include "loadtest/history/order.h"
#include "loadtest/service/http_client.h"

typedef enum lt_ledger {
    LEDGER_NONE,  /* the service has none to show: the first page is answered 404 or 405 */
    LEDGER_WHOLE, /* read to its end */
    LEDGER_BROKEN /* anything else: what it says can not be relied upon */
} lt_ledger;

/* Reads the ledger of `sale` at a target, which may have `orders_most` entries at the most; each is
 * a line of the history, and the reading one more, number `n`. The sentence says why it is broken.
 */
lt_ledger ledger_read(lt_http *http, lt_pen *pen, const lt_plan *plan, const char *sale, int target,
                      int n, int64_t orders_most, char *err, size_t err_len);

#endif
