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

/* GET /stock. Units are what the orders' quantities add up to; the last two are the service's own
 * account of what went wrong. */
typedef struct lt_stock {
    char sale[SALE_ID_MAX];
    char strategy[64];
    int64_t initial, remaining, orders, units, oversold, lost_updates;
} lt_stock;

bool sale_stock(lt_http *http, const char *target, const char *item, lt_stock *ret, char *err,
                size_t err_len);

/* Likewise once the run is over, as evidence: of the first target, asked again when it fails. */
bool sale_stock_at_rest(lt_http *http, const lt_plan *plan, lt_stock *ret, char *err,
                        size_t err_len);

/* A sale as it was started. */
typedef struct lt_sale {
    char id[SALE_ID_MAX];
    int64_t wait_ms;  /* the longest that a request waits for a lock */
    int64_t segments; /* that its stock is split into: 1 when it is not */
} lt_sale;

/* Closes the item's sale and starts one as `spec` says, at the first target. What the answer does
 * not say is as `spec` has it, or at its most; what it says must be what was asked for. */
bool sale_create(lt_http *http, const lt_plan *plan, const lt_sale_spec *spec, lt_sale *ret,
                 char *err, size_t err_len);

/* How long after the first question it may take until the service can say for certain that there
 * will be no order: the time of a request, which follows from the sale's wait, and a margin. */
mono_ns sale_final_after(const lt_sale *sale);

/* Waits until every target serves `sale`: 3 s at most, as the service promises 1 s. */
bool sale_wait_everywhere(lt_http *http, const lt_plan *plan, const char *sale, char *err,
                          size_t err_len);

/* Whether every target answers HTTP at all; names the first that does not. */
bool sale_targets_alive(lt_http *http, const lt_plan *plan, char *err, size_t err_len);

typedef enum lt_fate {
    FATE_OPEN,  /* no order yet; or no answer */
    FATE_SOLD,  /* it has an order */
    FATE_OTHER, /* it has one, of another user, item, sale or quantity */
    FATE_NEVER  /* it has none, and none can come any more */
} lt_fate;

/* What the service says became of a request that this user made in this sale (GET
 * /orders/{request}). */
lt_fate sale_fate(lt_http *http, const lt_plan *plan, const char *sale, const char *request,
                  const char *user);

#endif
