/*
 * sale_table.h - the current sale of every item that this process has been asked about.
 *
 *     sales ---- item "P0001" ---- sale (current)      counted: a buyer keeps it while it buys
 *          `---- retired: sale, sale                   closed by the reaper once nobody has them
 *
 * A keeper thread looks every quarter of a second whether Redis says the same, and keeps
 * Redis's time meanwhile. So a new sale is in force here well within a second; and a buyer who
 * comes in between is refused by the script and taken to the new sale at once. The reaper is a
 * thread of its own, for closing a sale waits for what its leaders have under way.
 */
#ifndef FLASHSALE_SALE_TABLE_H
#define FLASHSALE_SALE_TABLE_H

#include "server/sale/sale.h"
#include "server/sale/sale_start.h"

typedef struct fs_sales fs_sales;

/* Starts both threads. NULL: out of memory or threads. */
fs_sales *sales_open(fs_store *store);

/* Closes all sales. No request may be under way. */
void sales_close(fs_sales *sales);

/* The item's current sale, for use until sales_put(): START_OK, _NONE, _UNREADABLE,
 * _UNAVAILABLE. */
start_status sales_get(fs_sales *sales, const char *item, fs_sale **ret);
void sales_put(fs_sale *sale);

/* Asks Redis now which sale is the item's current one. */
start_status sales_refresh(fs_sales *sales, const char *item);

/* Calls `each` for the current sale of every item known here. */
void sales_each(fs_sales *sales, void (*each)(void *arg, fs_sale *sale), void *arg);

#endif
