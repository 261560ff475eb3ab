/*
 * sale_check.h - compares what this process remembers of a sale with what Redis has.
 *
 * A process remembers the item's current sale, its terms, and the highest order number that it has
 * seen in each epoch of each segment (store/epochs.h). If Redis came back empty or older, sold on
 * during a split brain, or lost the pointer to the sale, it lacks some of that: then the sale is
 * halted (store/halt.h). Damage does not halt a sale; once it is mended, the sale goes on.
 *
 * Looks and halts use the store's connection that is not pinned to an admitted run of the server
 * (redis/server_run.h), because they must happen before a run is admitted.
 */
#ifndef FLASHSALE_SALE_CHECK_H
#define FLASHSALE_SALE_CHECK_H

#include "server/selling/open_sale.h"
#include "server/store/halt.h"

#define CHECK_CFG "damaged cfg or sale"

typedef struct sale_checked {
    sale_status status; /* SALE_OK; _NONE: the sale is over, the item has a later one; _DAMAGED;
                           _HALTED, before or just now; _UNAVAILABLE: no answer, or something has
                           changed meanwhile */
    char next[IDENT_MAX + 1]; /* _NONE: the later sale; "" = it is halted, and `halt` names it */
    int64_t lost;             /* _NONE: lost orders of this sale */
    char detail[96];          /* _DAMAGED: the damaged key; CHECK_CFG: the terms or the pointer */
    sale_halt halt;           /* _HALTED: why */
} sale_checked;

/* Compares, and halts the sale if Redis lacks orders. If all is well, remembers the orders found,
 * and begins an epoch of this run of the server unless it has one. */
void sale_check(const open_sale *sale, dlock_time deadline, sale_checked *ret);

typedef struct sale_gone {
    const char *id;
    int64_t orders;
} sale_gone;

/* Halts a sale that does not descend from the remembered one, or whose start lost orders of that
 * one. SALE_HALTED or _UNAVAILABLE; _OK: the admin has accepted the loss. */
void sale_halt_foreign(const open_sale *sale, const sale_gone *gone, dlock_time deadline,
                       sale_checked *ret);

/* How many orders this process has seen in the sale. */
int64_t sale_known_orders(const open_sale *sale);

#endif
