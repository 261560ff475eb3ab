/*
 * keeper.h - the threads that monitor Redis: whether it answers, whether to sell from it, and which
 * sales are in force.
 *
 * They look every 250 ms, so a new sale or a changed setting is noticed within a second. No buyer
 * waits for a look. A separate thread with its own connection checks whether Redis answers, so no
 * other look and no full pool of connections delays that.
 */
#ifndef FLASHSALE_KEEPER_H
#define FLASHSALE_KEEPER_H

#include "server/sale/sale_table.h"

typedef struct keeper keeper;

/* Store and table are borrowed. NULL: out of memory or threads. */
keeper *keeper_start(fs_store *store, sale_table *sales);

/* Waits until everything was looked at once, or the deadline. */
void keeper_wait(keeper *k, dlock_time deadline);

/* Waits for running looks. NULL is allowed. */
void keeper_stop(keeper *k);

#endif
