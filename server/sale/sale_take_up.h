/*
 * sale_take_up.h - what becomes of an item in the table when Redis is asked about its sale: it goes
 * on, it is damaged or halted, or another is taken up in its place.
 *
 * One thread at a time asks about an item; the others wait for its answer.
 */
#ifndef FLASHSALE_SALE_TAKE_UP_H
#define FLASHSALE_SALE_TAKE_UP_H

#include "server/sale/sale_table.h"

/* For sale_table_get(): looks at an item that is not known, or waits for who does. */
sale_status sale_find(sale_table *table, const char *item, dlock_time deadline);

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
