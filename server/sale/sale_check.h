/*
 * sale_check.h - comparing what this process remembers of a sale with what Redis has of it.
 *
 * A process remembers which sale is the item's current one, its terms, and the orders that it has
 * seen in each segment, by epoch (store/epochs.h). A Redis that came back empty or older, that sold
 * on without the others, or lost the pointer to the sale, does not have all of that; then the sale
 * is halted (store/halt.h). What is damaged heals when it is mended, and halts nothing.
 *
 * Looking and halting go through the store's connection that is not pinned to a run of the server
 * (redis/server_run.h): who must not write to a server before it has compared, compares by it.
 */
#ifndef FLASHSALE_SALE_CHECK_H
#define FLASHSALE_SALE_CHECK_H

#include "server/selling/open_sale.h"
#include "server/store/halt.h"

#define CHECK_CFG "damaged cfg or sale"

typedef struct sale_checked {
    sale_status status; /* SALE_OK; _NONE: the sale is over, the item has a later one; _DAMAGED;
                           _HALTED, if need be just now; _UNAVAILABLE: not answered, or
                           something has changed meanwhile */
    char next[IDENT_MAX + 1]; /* _NONE: the later one; "" = it is halted, and `halt` names it */
    int64_t lost;             /* _NONE: orders of this sale that are gone */
    char detail[96];          /* _DAMAGED: what is; CHECK_CFG: the terms or the pointer */
    sale_halt halt;           /* _HALTED: why */
} sale_checked;

/* Compares, and halts what is behind. Where nothing is amiss, the orders found are remembered, and
 * the epoch is one that this run of the server has begun: if need be it begins here. */
void sale_check(const open_sale *sale, dlock_time deadline, sale_checked *ret);

typedef struct sale_gone {
    const char *id;
    int64_t orders;
} sale_gone;

/* Halts a sale that does not descend from the one that is remembered, or in whose time orders of
 * that one were lost. SALE_HALTED or _UNAVAILABLE; _OK: the admin has accepted that. */
void sale_halt_foreign(const open_sale *sale, const sale_gone *gone, dlock_time deadline,
                       sale_checked *ret);

/* All orders that this process has seen in the sale. */
int64_t sale_known_orders(const open_sale *sale);

#endif
