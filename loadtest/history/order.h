/*
 * order.h - an order as the service tells it: in a 201, in GET /orders/{request}, in its ledger.
 * One function reads all three; the order is written into the history member by member as it was
 * told.
 */
#ifndef LOADTEST_HISTORY_ORDER_H
#define LOADTEST_HISTORY_ORDER_H

#include "loadtest/base/json.h"
#include "loadtest/history/recorder.h"

typedef struct lt_order {
    lt_text order, request, item, sale, user, instance, state;
    lt_whole quantity, remaining, fence, time_us, expires_us;
} lt_order;

/* Reads the members of an order from the object. NULL: none. */
void order_from_json(const cJSON *object, lt_order *ret);

/* Adds its members to a line of a buy or a lookup, which already has the request, item, user and
 * quantity that were asked for. */
void order_write_told(lt_pen *pen, const lt_order *order);

/* Likewise to a line of the ledger, where all members are told. `page` has item and sale where
 * the entry leaves them out. */
void order_write_listed(lt_pen *pen, const lt_order *order, const lt_order *page);

#endif
