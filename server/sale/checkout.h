/*
 * checkout.h - from the item's name to the buyer's answer.
 *
 * It finds the item's current sale and buys there. If that sale has just ended, it goes on to the
 * next one, unless the buyer asked for this sale or an unknown try could still count.
 *
 * It retries while there is time: after a stale grant, and after an unknown outcome if the strategy
 * is replayable, so that the record of the first try answers. After an unknown try only such a
 * definite answer ends the doubt. If the strategy is not replayable, a keyed request that is sold
 * out is first made void.
 *
 * "Sold out" may be answered from memory for 100 ms after zero units were read. This applies only
 * to sales without reservations, whose stock never rises, and not to retries, which may have an
 * order.
 *
 * Requests to confirm or cancel an order take the same path, even when the sale is over, because
 * the buyer may still be paying.
 *
 * A request id belongs to one sale. A retry with `sale=` is answered after that sale is over: its
 * order is looked up for as long as it is kept. Every answer to a buyer names the sale.
 */
#ifndef FLASHSALE_CHECKOUT_H
#define FLASHSALE_CHECKOUT_H

#include "server/sale/sale_table.h"

typedef struct checkout_answer {
    purchase_result result;
    char sale[IDENT_MAX + 1]; /* the sale of the result */
    bool sharded;             /* that sale is sharded */
    int64_t per_user_limit;   /* of that sale; 0 = none */
} checkout_answer;

/*
 * Buys. Sets the request's deadline by the sale's terms, counted from its arrival, and its
 * not_after_us. `wanted` is the only sale to buy in; "" = the current one.
 *
 * SALE_OK: *ret has the result and its sale. Its outcome BUY_CLOSED means: the wanted sale is not
 * the current one, which ret->sale names, and has no order for the request. Any other status: there
 * is no sale, or Redis did not say which, and nothing was bought.
 */
sale_status checkout(sale_table *table, const char *item, const char *wanted, purchase *request,
                     checkout_answer *ret);

#endif
