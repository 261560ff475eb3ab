/*
 * sale_table.h - the current sale of every item that this process was asked about.
 *
 *     table ---- item "P0001" ---- sale (current)      reference-counted: buyers hold it
 *          `---- retired: sale, sale                   closed by the reaper after the last use
 *
 * The keeper (keeper.h) keeps the table in step with Redis. If a new sale starts before its next
 * look, the script refuses the buyer, who goes on to the new sale at once. The reaper is a separate
 * thread, because closing a sale waits for running calls of its leaders.
 */
#ifndef FLASHSALE_SALE_TABLE_H
#define FLASHSALE_SALE_TABLE_H

#include "server/base/single_flight.h"
#include "server/sale/sale_state.h"
#include "server/selling/strategy.h"

/* ---- a sale ---------------------------------------------------------------------------------- */

/* The position of a reader of a segment's orders at its last question; see feed_seen.h. */
typedef struct reader_place {
    _Atomic int64_t orders;   /* that it has */
    _Atomic int64_t asked_us; /* dlock_now() then; 0 = never */
} reader_place;

/* A sale that is open in this process: terms, keys, and strategy. */
typedef struct fs_sale {
    open_sale open_sale;
    void *strategy;              /* its own state */
    _Atomic int64_t sold_out_us; /* dlock_now() when zero units were last read; 0 = never */
    reader_place feed[SEGMENTS_MAX];
    const item_state *state; /* of its item (borrowed from the table) */
    atomic_int refs;
    struct fs_sale *next_retired; /* the table's */
} fs_sale;

/* Reads the terms of the item's sale `id`, and opens its strategy. SALE_OK and *ret; SALE_DAMAGED,
 * _UNREADABLE (for another version), _UNAVAILABLE and a sentence in err. */
sale_status fs_sale_open(fs_store *store, const char *item, const char *id, dlock_time deadline,
                         fs_sale **ret, char *err, size_t err_len);

/* The state of its item's sale. */
sale_state fs_sale_state(const fs_sale *sale);

/* It must not be in use. */
void fs_sale_close(fs_sale *sale);

/*
 * Whether a sale descends from the remembered one: through the chain of previous sales, as far as
 * they are kept; or because the admin has since accepted a loss. SALE_OK; SALE_NONE, it does not,
 * so it was started after Redis had lost data; SALE_UNAVAILABLE.
 */
sale_status fs_sale_descends(const fs_sale *sale, const sale_terms *remembered,
                             dlock_time deadline);

/* ---- the table ------------------------------------------------------------------------------- */

typedef struct sale_table sale_table;

/* Starts the reaper. NULL: out of memory or threads. */
sale_table *sale_table_open(fs_store *store);

/* Closes all sales. No request may be running. */
void sale_table_close(sale_table *table);

/* Gives back a sale from sale_find() or sale_table_take(). */
void sale_table_put(fs_sale *sale);

/* Whether sale_find() answers without Redis. */
bool sale_table_knows(sale_table *table, const char *item);

/* Whether the item or a segment of its sale has keys on the server now. */
bool sale_table_is_on(sale_table *table, const char *item, const fs_node *node);

/* Why the item's sale is halted. False: it is not, as far as this process knows. */
bool sale_table_halt(sale_table *table, const char *item, sale_halt *ret);

/* All known items and their sales, unordered; the caller frees the list. NULL and 0: out of
 * memory. */
sale_pointer *sale_table_pointers(sale_table *table, int *ret_count);

/* Calls `each` for the current sale of every known item. */
void sale_table_each(sale_table *table, void (*each)(void *arg, fs_sale *sale), void *arg);

/* Calls `each` for every item whose sale can not be opened here. */
void sale_table_each_unopened(sale_table *table,
                              void (*each)(void *arg, const char *item, sale_state state),
                              void *arg);

/* ---- for sale_find.c alone, which asks Redis and changes the table ------------------------ */

fs_store *sale_table_store(sale_table *table);
single_flight *sale_table_flights(sale_table *table); /* one look at an item at a time */

/* The item's sale in the table, to be given back by sale_table_put(). Does not ask Redis. With
 * `over_too` also one in STATE_OVER. */
bool sale_table_take(sale_table *table, const char *item, bool over_too, fs_sale **ret);

/* Adds the item, so that the keeper looks at it. */
void sale_table_add(sale_table *table, const char *item);

typedef struct sale_news {
    sale_event event;
    const fs_sale *of;     /* only while this is the item's sale; NULL = any */
    fs_sale *now;          /* replaces the item's sale; NULL = no change */
    const sale_halt *halt; /* EVENT_HALTED */
    const char *detail;    /* EVENT_DAMAGED */
} sale_news;

/* The only function that changes an item's state. */
void sale_table_change(sale_table *table, const char *item, const sale_news *news);

#endif
