/*
 * ledger.h - all orders of a sale, page by page (GET /orders).
 *
 * Reading changes nothing, so a page whose answer is lost is requested again. A ledger is read to
 * its end or not at all: half a ledger proves neither that an order is there nor that it is
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
    LEDGER_BROKEN /* anything else: not reliable */
} lt_ledger;

/* Reads the ledger of `sale` at a target, of at most `orders_most` entries; each entry is a line
 * of the history, and reading number `n` is one more. The sentence says why it is broken. */
lt_ledger ledger_read(lt_http *http, lt_pen *pen, const lt_plan *plan, const char *sale, int target,
                      int n, int64_t orders_most, char *err, size_t err_len);

#endif
