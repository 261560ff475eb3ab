/*
 * check.h - compares the database with the ledgers that Redis keeps: each order, each move, each
 * position, of all sales that are kept. Rows that are marked as lost must not be there.
 *
 * A follower may be at work meanwhile. So a segment is compared as far as its ledger goes at the
 * first look, and what differs is looked at again for some seconds: a difference is one that stays.
 */
#ifndef FLASHSALE_ORDERS_CHECK_H
#define FLASHSALE_ORDERS_CHECK_H

#include "server/orders/database.h"
#include "server/orders/source.h"

/* Prints each difference as a line. `item` NULL: all. 0; 1 = there are some; 69 after a
 * complaint. */
int check(source *from, database *db, const char *item);

#endif
