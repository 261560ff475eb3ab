/*
 * sale_find.h - an item's current sale: as the table has it, or as Redis says.
 *
 * When Redis is asked, the sale goes on, it is damaged or halted, or another is taken up in its
 * place. One thread at a time asks about an item; the others wait for its answer.
 */
#ifndef FLASHSALE_SALE_FIND_H
#define FLASHSALE_SALE_FIND_H

#include "server/sale/sale_table.h"

/* The item's current sale, for use until sale_table_put(). Redis is asked, until the deadline,
 * about an item that is not known here; of a halted sale only by the keeper. */
sale_status sale_find(sale_table *table, const char *item, dlock_time deadline, fs_sale **ret);

/* Compares what is remembered of the item with what Redis has now (sale_check.h), and takes up the
 * sale that is in force. How it stands with that sale then. */
sale_status sale_refresh(sale_table *table, const char *item, dlock_time deadline);

/* The same for an item that is known to have a sale, also when Redis does not answer by the
 * deadline: then the keeper takes it up at its next look. So whoever has started or joined a sale
 * remembers it before anybody buys from it here, and is a witness when Redis forgets it. */
sale_status sale_watch(sale_table *table, const char *item, dlock_time deadline);

/* The same as a refresh, for a server that may not be written to as yet (fs_node.run_changed), when
 * no other sale is taken up. True: compared, and halted if need be. */
bool sale_compare(sale_table *table, const char *item, dlock_time deadline);

#endif
