/*
 * sale_find.h - finds an item's current sale, in the table or in Redis.
 *
 * After a question to Redis the sale goes on, is damaged or halted, or another one is opened in its
 * place. One thread at a time asks about an item; the others wait for its result.
 */
#ifndef FLASHSALE_SALE_FIND_H
#define FLASHSALE_SALE_FIND_H

#include "server/sale/sale_table.h"

/* The item's current sale, to be given back by sale_table_put(). Asks Redis, until the deadline, if
 * the item is not known here; about a halted sale only the keeper asks. */
sale_status sale_find(sale_table *table, const char *item, dlock_time deadline, fs_sale **ret);

/* Compares what is remembered of the item with Redis (sale_check.h), and opens the sale that is in
 * force. Returns that sale's status. */
sale_status sale_refresh(sale_table *table, const char *item, dlock_time deadline);

/* The same for an item that is known to have a sale. If Redis does not answer by the deadline, the
 * keeper opens the sale at its next look. So a process that started or joined a sale remembers it
 * before its first buyer, and is a witness if Redis loses it. */
sale_status sale_watch(sale_table *table, const char *item, dlock_time deadline);

/* As sale_refresh(), for a server that must not be written to yet (fs_node.run_changed); opens no
 * other sale. True: compared, and halted if need be. */
bool sale_compare(sale_table *table, const char *item, dlock_time deadline);

#endif
