/*
 * stock.h - reads and records GET /stock: the units of a sale, and the service's own account of
 * what went wrong. Each reading is a line of the history, failed readings too.
 */
#ifndef LOADTEST_STOCK_H
#define LOADTEST_STOCK_H

#include "loadtest/base/json.h"
#include "loadtest/base/plan.h"
#include "loadtest/history/recorder.h"
#include "loadtest/service/http_client.h"

#define SALE_ID_MAX 136 /* as long as any text of json.h */

/* Units are what the orders' quantities add up to. */
typedef struct lt_stock {
    char sale[SALE_ID_MAX];
    char strategy[64];
    int64_t initial, remaining, orders, units, oversold, lost_updates;
    int64_t unordered, lost_orders; /* 0 where they are left out */
    lt_whole reserved, sold;        /* the units; perhaps left out */
    lt_whole time_us;               /* of the reading, by the service's clock; likewise */
    char halted[64];                /* "" = it is not */
} lt_stock;

/* Reads the stock at a target, and records it; `pen` may be NULL. False, with a sentence, when
 * there is none. `patient`: asks again after a passing problem (http_read()). */
bool stock_read(lt_http *http, lt_pen *pen, const lt_plan *plan, int target, bool patient,
                lt_stock *ret, char *err, size_t err_len);

/* Writes a line "rest": these are the units left at rest. */
void stock_write_rest(lt_pen *pen, const lt_stock *stock);

/* Writes a sentence about an unexpected answer: what is `wrong` with it. Nothing is quoted from
 * a page that is not the service's own. */
void describe_reply(const char *what, const char *url, const lt_http_reply *reply,
                    const char *wrong, char *err, size_t err_len);

#endif
