/*
 * items.h - the names of all items that have had a sale.
 *
 * A name is there before its sale is started, so no sale is ever without. It is written again by
 * every instance that takes the sale up: an older version wrote none, and Redis may have lost the
 * set. In a cluster the set is on one server, mostly another than the item's.
 */
#ifndef FLASHSALE_ITEMS_H
#define FLASHSALE_ITEMS_H

#include "server/store/store.h"

#define ITEMS_KEY  "fs:items" /* sorted set, all scores 0 */
#define ITEMS_PAGE 1000

/* Adds a name. False: perhaps not added; logged. */
bool items_add(fs_store *store, const char *item, dlock_time deadline);

/* The names behind `after`, "" = from the first on, by name: a page, and one more if there are
 * more. The caller's. NULL: not answered; logged. */
redisReply *items_read(fs_store *store, const char *after, dlock_time deadline);

#endif
