/*
 * checkout.h - a buyer's way from the item's name to the answer.
 *
 * Finds the item's current sale and buys there. When that sale has just ended, the buyer is taken
 * to the next one: unless it asked for this sale, or an unknown try could still count.
 */
#ifndef FLASHSALE_CHECKOUT_H
#define FLASHSALE_CHECKOUT_H

#include "server/sales.h"

/*
 * Sets the request's deadline and buys. `wanted` is the only sale to buy in; "" = the current one.
 *
 * START_OK: `result` says what happened in sale *ret, which is to be given back with sales_put().
 * BUY_CLOSED there: the wanted sale is not the current one. Otherwise there is no sale, or Redis
 * did not say which; nothing was bought.
 */
start_status checkout(fs_sales *sales, const char *item, const char *wanted, buy_request *request,
                      buy_result *result, fs_sale **ret);

#endif
