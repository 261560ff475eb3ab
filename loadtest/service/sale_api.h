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

/* GET /stock. Units are what the orders' quantities add up to. */
struct stock_view {
    char sale[SALE_ID_MAX];
    char strategy[64];
    int64_t initial, remaining, orders, units, oversold, lost_updates;
};

bool sale_stock(struct http *http, const char *target, const char *item,
                struct stock_view *ret_stock, char *err, size_t err_len);

/* Closes the item's sale and starts one as `spec` says, at the first target. */
bool sale_create(struct http *http, const struct load_plan *plan, const struct sale_spec *spec,
                 char ret_sale[SALE_ID_MAX], char *err, size_t err_len);

/* Waits until every target serves `sale`: 3 s at most, as the service promises 1 s. */
bool sale_wait_everywhere(struct http *http, const struct load_plan *plan, const char *sale,
                          char *err, size_t err_len);

/* Whether every target answers HTTP at all; names the first that does not. */
bool sale_targets_alive(struct http *http, const struct load_plan *plan, char *err, size_t err_len);

enum order_state {
    ORDER_FOUND,
    ORDER_NEVER,     /* no such order, and none can come any more */
    ORDER_OPEN,      /* no such order so far */
    ORDER_UNREADABLE /* no usable answer */
};

enum order_state sale_order(struct http *http, const struct load_plan *plan, const char *request);

#endif
