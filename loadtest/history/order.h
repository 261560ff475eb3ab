/*
 * order.h - an order as the service tells it: by a 201, by GET /orders/{request}, in its ledger.
 * Read once for all three, and written into the history member by member as it was told.
 */
#ifndef LOADTEST_HISTORY_ORDER_H
#define LOADTEST_HISTORY_ORDER_H

#include "loadtest/base/json.h"
#include "loadtest/history/recorder.h"

typedef struct lt_order {
    lt_text order, request, item, sale, user, instance, state;
    lt_whole quantity, remaining, fence, time_us, expires_us;
} lt_order;

/* Reads what the object has of an order. NULL: nothing. */
void order_from_json(const cJSON *object, lt_order *ret);

/* Adds its members to a line of asking or looking, in which the request, the item, the user and the
 * quantity that were asked for stand, too. */
void order_write_told(lt_pen *pen, const lt_order *order);

/* Likewise to a line of the ledger, all of whose members are told. `page` names item and sale where
 * the entry leaves them out. */
void order_write_listed(lt_pen *pen, const lt_order *order, const lt_order *page);

#endif
