/*
 * keeper.h - the thread that keeps looking at Redis: its time, and the sales that it has in force.
 *
 * It looks every quarter of a second. So a new sale is in force here well within a second, and what
 * the service says of Redis is what is so now. No buyer waits for it.
 */
#ifndef FLASHSALE_KEEPER_H
#define FLASHSALE_KEEPER_H

#include "server/sale/sale_table.h"

typedef struct keeper keeper;

/* Store and table are borrowed. NULL: out of memory or threads. */
keeper *keeper_start(fs_store *store, sale_table *sales);

/* Waits for the look that is under way. NULL is allowed. */
void keeper_stop(keeper *k);

#endif
