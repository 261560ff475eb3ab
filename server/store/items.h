/*
 * items.h - the names of all items that have had a sale.
 *
 * A name is written before its sale starts, so every sale has its name there. Each instance that
 * opens the sale writes it again: an older version wrote none, and Redis may have lost the set. In
 * a cluster the set is on one server, which is usually not the item's.
 */
#ifndef FLASHSALE_ITEMS_H
#define FLASHSALE_ITEMS_H

#include "server/store/store.h"

#define ITEMS_KEY  "fs:items" /* sorted set, all scores 0 */
#define ITEMS_PAGE 1000

/* Adds a name. False: it may be missing; logged. */
bool items_add(fs_store *store, const char *item, dlock_time deadline);

/* A page of the names after `after` ("" = from the first), sorted; one name more than a page if
 * there are more. The caller frees it. NULL: no answer; logged. */
redisReply *items_read(fs_store *store, const char *after, dlock_time deadline);

#endif
