/*
 * fs_sale.h - one sale as this process has it: how it is opened, and whether it may be the item's
 * current one at all.
 */
#ifndef FLASHSALE_FS_SALE_H
#define FLASHSALE_FS_SALE_H

#include "server/sale/sale_state.h"
#include "server/selling/strategy.h"

/* Its terms, its keys and its strategy at work. */
typedef struct fs_sale {
    open_sale open_sale;
    void *strategy;              /* its own state */
    _Atomic int64_t sold_out_us; /* dlock_now() when zero units were last read; 0 = never */
    const item_state *state;     /* of its item (borrowed from the table) */
    atomic_int refs;
    struct fs_sale *next_retired; /* the table's */
} fs_sale;

/* Reads the terms of the item's sale `id`, which must be for this program, and opens its strategy.
 * SALE_OK and *ret; SALE_DAMAGED, _UNREADABLE, _UNAVAILABLE and a sentence in err. */
sale_status fs_sale_open(fs_store *store, const char *item, const char *id, dlock_time deadline,
                         fs_sale **ret, char *err, size_t err_len);

/* How its item's sale stands. */
static inline sale_state fs_sale_state(const fs_sale *sale)
{
    return (sale_state)atomic_load_explicit(&sale->state->is, memory_order_acquire);
}

/* Nobody may be using it. */
void fs_sale_close(fs_sale *sale);

/*
 * Whether a sale follows from the one that is remembered: by the sales that each names as its
 * previous one, as far as they are kept; or because the admin has accepted, after what is
 * remembered, that something was lost in between. SALE_OK; SALE_NONE, it does not, so it was
 * started in a shop that had forgotten; SALE_UNAVAILABLE.
 */
sale_status fs_sale_descends(const fs_sale *sale, const sale_terms *remembered,
                             dlock_time deadline);

#endif
