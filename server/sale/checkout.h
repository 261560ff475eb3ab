/*
 * checkout.h - a buyer's way from the item's name to the answer.
 *
 * Finds the item's current sale and buys there. When that sale has just ended, the buyer is taken
 * to the next one: unless it asked for this sale, or an unknown try could still count.
 *
 * What a strategy leaves open is tried again while there is time: a grant that went stale, and an
 * unknown outcome where asking again is answered by the record of the first try. After an unknown
 * try only such a definite answer ends the doubt. Where asking again is no such answer, a keyed
 * request that is sold out is made void first.
 *
 * "Sold out" may be answered from memory for 100 ms after zero units were read, in a sale without
 * reservations, whose stock only falls; but not to a retry, which may have an order.
 *
 * What is asked of an order that there is, to confirm or to cancel it, goes the same way; also when
 * its sale is over, for its buyer may be paying still.
 *
 * A key belongs to one sale. A retry that says `sale=` is known when that sale is over: it is asked
 * for the order, for as long as it is kept. Every answer to a buyer names the sale.
 */
#ifndef FLASHSALE_CHECKOUT_H
#define FLASHSALE_CHECKOUT_H

#include "server/sale/sale_table.h"

typedef struct checkout_answer {
    purchase_result result;
    char sale[IDENT_MAX + 1]; /* that gave the result */
    bool sharded;             /* whether it is */
    int64_t per_user_limit;   /* its own; 0 = none */
} checkout_answer;

/*
 * Buys. Sets the request's deadline, which counts from when it was received, by the sale's terms,
 * and its not_after_us. `wanted` is the only sale to buy in; "" = the current one.
 *
 * SALE_OK: *ret says what happened, and in which sale. BUY_CLOSED there: the wanted sale is not
 * the current one, which ret->sale names, and has no order for the request. Otherwise there is no
 * sale, or Redis did not say which; nothing was bought.
 */
sale_status checkout(sale_table *table, const char *item, const char *wanted, purchase *request,
                     checkout_answer *ret);

#endif
