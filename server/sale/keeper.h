/*
 * keeper.h - the threads that keep looking at Redis: whether it answers, whether it can be sold
 * from, and the sales that it has in force.
 *
 * They look every quarter of a second, so a new sale, or a setting that is changed while it sells,
 * is noticed within a second. No buyer waits for a look. Whether Redis answers is asked by a thread
 * and on a connection of its own, which no other look and no pool of connections holds up.
 */
#ifndef FLASHSALE_KEEPER_H
#define FLASHSALE_KEEPER_H

#include "server/sale/sale_table.h"

typedef struct keeper keeper;

/* Store and table are borrowed. NULL: out of memory or threads. */
keeper *keeper_start(fs_store *store, sale_table *sales);

/* Waits until all has been looked at once, or the deadline. */
void keeper_wait(keeper *k, dlock_time deadline);

/* Waits for the looks that are under way. NULL is allowed. */
void keeper_stop(keeper *k);

#endif
