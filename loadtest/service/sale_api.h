/*
 * sale_api.h - what a run asks of the service besides buying: create the sale, read the stock, look
 * up an order.
 *
 * Functions return false with a sentence in `err` when the service did not answer as its contract
 * says.
 */
#ifndef LOADTEST_SALE_API_H
#define LOADTEST_SALE_API_H

#include "loadtest/base/plan.h"
#include "loadtest/service/http_client.h"

#define SALE_ID_MAX 72

/* What of GET /stock is of use here. Units are what the orders' quantities add up to. */
typedef struct lt_stock {
    char sale[SALE_ID_MAX];
    int64_t remaining, orders, units, oversold;
} lt_stock;

bool sale_stock(lt_http *http, const char *target, const char *item, lt_stock *ret, char *err,
                size_t err_len);

/* Closes the item's sale and starts one as `spec` says, at the first target. */
bool sale_create(lt_http *http, const lt_plan *plan, const lt_sale_spec *spec,
                 char ret[SALE_ID_MAX], char *err, size_t err_len);

/* Waits until every target serves `sale`: 3 s at most, as the service promises 1 s. */
bool sale_wait_everywhere(lt_http *http, const lt_plan *plan, const char *sale, char *err,
                          size_t err_len);

/* Whether every target answers HTTP at all; names the first that does not. */
bool sale_targets_alive(lt_http *http, const lt_plan *plan, char *err, size_t err_len);

/* Whether it is certain what became of a request: its order is there, or can never come any more.
 */
bool sale_order_is_final(lt_http *http, const lt_plan *plan, const char *request);

#endif
