/*
 * sale_table.h - the current sale of every item that this process has been asked about.
 *
 *     table ---- item "P0001" ---- sale (current)      counted: a buyer keeps it while it buys
 *          `---- retired: sale, sale                   closed by the reaper once nobody has them
 *
 * The keeper (keeper.h) sees to it that Redis says the same. A buyer who comes before it has looked
 * is refused by the script and taken to the new sale at once. The reaper is a thread of its own,
 * for closing a sale waits for what its leaders have under way.
 */
#ifndef FLASHSALE_SALE_TABLE_H
#define FLASHSALE_SALE_TABLE_H

#include "server/selling/strategy.h"

#include <stdatomic.h>

/* One sale as this process has it: its terms, its keys and its strategy at work. */
typedef struct fs_sale {
    open_sale open_sale;
    void *state;                   /* of the strategy */
    _Atomic int64_t sold_out_us;   /* dlock_now() when zero units were last read; 0 = never */
    _Atomic(const char *) trouble; /* the code of why it can not be sold from; NULL = it can, as far
                                      as is known */
    atomic_int refs;
    struct fs_sale *next_retired; /* the table's */
    _Atomic int64_t known_number[SEGMENTS_MAX];
    sale_keys keys[]; /* open_sale.key_sets of them */
} fs_sale;

typedef struct sale_table sale_table;

/* Starts the reaper. NULL: out of memory or threads. */
sale_table *sale_table_open(fs_store *store);

/* Closes all sales. No request may be under way. */
void sale_table_close(sale_table *table);

/* The item's current sale, for use until sale_table_put(). Redis is asked, until the deadline,
 * about an item that is not known here. */
sale_status sale_table_get(sale_table *table, const char *item, dlock_time deadline, fs_sale **ret);
void sale_table_put(fs_sale *sale);

/* Asks Redis now which sale is the item's current one. */
sale_status sale_table_refresh(sale_table *table, const char *item, dlock_time deadline);

/* Every item known here and its sale, in no particular order; free the list. NULL, and none: out
 * of memory. */
sale_pointer *sale_table_pointers(sale_table *table, int *ret_count);

/* Calls `each` for the current sale of every item known here. */
void sale_table_each(sale_table *table, void (*each)(void *arg, fs_sale *sale), void *arg);

#endif
