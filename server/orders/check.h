/*
 * check.h - compares the database with the ledgers in Redis: each order, move and position of all
 * sales that Redis keeps. Rows that are marked as lost must not be in a ledger.
 *
 * A follower may run meanwhile. So a segment is compared up to the end that its ledger had at the
 * first look, and a difference counts only if it is still there some seconds later.
 */
#ifndef FLASHSALE_ORDERS_CHECK_H
#define FLASHSALE_ORDERS_CHECK_H

#include "server/orders/database.h"
#include "server/orders/source.h"

/* Prints one line per difference. `item` NULL: all. Returns 0 = none; 1 = some; 69 after an error
 * message. */
int check(source *from, database *db, const char *item);

#endif
