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
#include "loadtest/service/http_client.h"

#include <cjson/cJSON.h>

typedef enum lt_ledger {
    LEDGER_NONE,  /* the service has none to show: the first page is answered 404 or 405 */
    LEDGER_WHOLE, /* read to its end */
    LEDGER_BROKEN /* anything else: what it says can not be relied upon */
} lt_ledger;

/* Takes an entry. The page's own members stand for what the entry leaves out. False: it is no
 * order, and the reading ends. */
typedef bool lt_ledger_entry(void *arg, const cJSON *page, const cJSON *order);

/* Reads the ledger of `sale`, which may have `orders_most` entries at the most. */
lt_ledger ledger_read(lt_http *http, const lt_plan *plan, const char *sale, int64_t orders_most,
                      lt_ledger_entry *entry, void *arg, char *err, size_t err_len);

#endif
