/*
 * checkout.h - a buyer's way from the item's name to the answer.
 *
 * Finds the item's current sale and buys there. When that sale has just ended, the buyer is taken
 * to the next one: unless it asked for this sale, or an unknown try could still count.
 *
 * A key belongs to one sale. A client that wants its retry to be known as one when that sale is
 * over says `sale=`: the sale is then asked for the order, for as long as it is kept. Every answer
 * to a buyer names the sale.
 */
#ifndef FLASHSALE_CHECKOUT_H
#define FLASHSALE_CHECKOUT_H

#include "server/sale/sale_table.h"

typedef struct checkout_answer {
    buy_result result;
    char sale[IDENT_MAX + 1]; /* that gave the result */
    bool sharded;             /* whether it is */
} checkout_answer;

/*
 * Sets the request's deadline and buys. `wanted` is the only sale to buy in; "" = the current one.
 *
 * START_OK: *ret says what happened, and in which sale. BUY_CLOSED there: the wanted sale is not
 * the current one, which ret->sale names, and has no order for the request. Otherwise there is no
 * sale, or Redis did not say which; nothing was bought.
 */
start_status checkout(fs_sales *sales, const char *item, const char *wanted, buy_request *request,
                      checkout_answer *ret);

#endif
