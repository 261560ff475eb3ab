/*
 * sale.h - one sale as this process has it: its terms, its shelves and its strategy at work.
 *
 * A sale is shared by all threads and counted; see sale_table.h for who owns it.
 */
#ifndef FLASHSALE_SALE_H
#define FLASHSALE_SALE_H

#include "server/selling/strategy.h"

#include <stdatomic.h>

typedef struct fs_sale {
    sale_terms terms;
    void *state;                 /* of the strategy */
    _Atomic int64_t sold_out_us; /* dlock_now() when zero units were last read; 0 = never */
    atomic_int refs;
    struct fs_sale *next_retired;
    fs_shelf shelves[]; /* one, or one a segment */
} fs_sale;

/* Opens the strategy. NULL and a sentence in err. */
fs_sale *sale_open(const sale_terms *terms, char *err, size_t err_len);

/* Nobody may be using it. */
void sale_close(fs_sale *sale);

/*
 * Sells, or says why not; `request` has everything but not_after_us filled in.
 *
 * What a strategy leaves open is tried again here while there is time: a grant that went stale,
 * and an unknown outcome where asking again is answered by the record of the first try. After an
 * unknown try only such a definite answer ends the doubt; anything else leaves it "unknown".
 * Where asking again is no such answer, a keyed request that is sold out is made void first.
 *
 * "Sold out" may be answered from memory for 100 ms after zero units were read, since stock only
 * falls; but not to a retry, which may have an order.
 */
void sale_sell(fs_sale *sale, buy_request *request, buy_result *result);

#endif
