/*
 * sale_table.h - the current sale of every item that this process has been asked about.
 *
 *     table ---- item "P0001" ---- sale (current)      counted: a buyer keeps it while it buys
 *          `---- retired: sale, sale                   closed by the reaper once nobody has them
 *
 * The keeper (keeper.h) sees to it that Redis says the same. A buyer who comes before it has looked
 * is refused by the script and taken to the new sale at once. The reaper is a thread of its own,
 * for closing a sale waits for what its leaders have under way.
 */
#ifndef FLASHSALE_SALE_TABLE_H
#define FLASHSALE_SALE_TABLE_H

#include "server/base/single_flight.h"
#include "server/sale/fs_sale.h"

typedef struct sale_table sale_table;

/* Starts the reaper. NULL: out of memory or threads. */
sale_table *sale_table_open(fs_store *store);

/* Closes all sales. No request may be under way. */
void sale_table_close(sale_table *table);

/* The item's current sale, for use until sale_table_put(). Redis is asked, until the deadline,
 * about an item that is not known here; of a halted sale only by the keeper. */
sale_status sale_table_get(sale_table *table, const char *item, dlock_time deadline, fs_sale **ret);
void sale_table_put(fs_sale *sale);

/* Whether sale_table_get() answers without Redis. */
bool sale_table_knows(sale_table *table, const char *item);

/* Compares what is remembered of the item with what Redis has now (sale_check.h), and takes up the
 * sale that is in force. How it stands with that sale then. */
sale_status sale_table_refresh(sale_table *table, const char *item, dlock_time deadline);

/* The same for an item that is known to have a sale, also when Redis does not answer by the
 * deadline: then the keeper takes it up at its next look. So whoever has started or joined a sale
 * remembers it before anybody buys from it here, and is a witness when Redis forgets it. */
sale_status sale_table_watch(sale_table *table, const char *item, dlock_time deadline);

/* The same as a refresh, for a server that may not be written to as yet (fs_node.run_changed), when
 * no other sale is taken up. True: compared, and halted if need be. */
bool sale_table_compare(sale_table *table, const char *item, dlock_time deadline);

/* Whether the item, or a segment of its sale, has its keys on the server now. */
bool sale_table_is_on(sale_table *table, const char *item, const fs_node *node);

/* Why the item's sale is halted. False: it is not, as far as is known here. */
bool sale_table_halt(sale_table *table, const char *item, sale_halt *ret);

/* Every item known here and its sale, in no particular order; free the list. NULL, and none: out
 * of memory. */
sale_pointer *sale_table_pointers(sale_table *table, int *ret_count);

/* Calls `each` for the current sale of every item known here. */
void sale_table_each(sale_table *table, void (*each)(void *arg, fs_sale *sale), void *arg);

/* Calls `each` for every item whose sale is halted and can not be opened here. */
void sale_table_each_unopened(sale_table *table, void (*each)(void *arg, const char *item),
                              void *arg);

/* ---- for sale_take_up.c alone, which asks Redis and changes what the table says -------------- */

fs_store *sale_table_store(sale_table *table);
single_flight *sale_table_flights(sale_table *table); /* one look at an item at a time */

/* The item's sale as the table has it, for use until sale_table_put(). Redis is not asked. With
 * `over_too` also one that stands as SALE_UNREADABLE. */
bool sale_table_take(sale_table *table, const char *item, bool over_too, fs_sale **ret);

/* The item is the table's from now on, and the keeper looks at it. */
void sale_table_add(sale_table *table, const char *item);

/* Puts `now` in the place of the item's sale. */
void sale_table_replace(sale_table *table, const char *item, fs_sale *now);

/* How it stands with the item's sale from now on: SALE_OK, SALE_DAMAGED, SALE_HALTED and why, or
 * SALE_UNREADABLE: it is over, for another has come that is not for this program. The same status,
 * for return. */
sale_status sale_table_stands(sale_table *table, fs_sale *sale, sale_status status,
                              const sale_halt *halt);

/* The item's sale is halted, and can not be opened here: SALE_HALTED. */
sale_status sale_table_remember_halt(sale_table *table, const char *item, const sale_halt *halt);

#endif
