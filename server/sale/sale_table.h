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
#include "server/sale/sale_state.h"
#include "server/selling/strategy.h"

/* ---- a sale ---------------------------------------------------------------------------------- */

/* How far a reader of a segment's orders was at its last question; see feed_seen.h. */
typedef struct reader_place {
    _Atomic int64_t orders;   /* that it has */
    _Atomic int64_t asked_us; /* dlock_now() then; 0 = nobody has asked */
} reader_place;

/* One sale as this process has it: its terms, its keys and its strategy at work. */
typedef struct fs_sale {
    open_sale open_sale;
    void *strategy;              /* its own state */
    _Atomic int64_t sold_out_us; /* dlock_now() when zero units were last read; 0 = never */
    reader_place feed[SEGMENTS_MAX];
    const item_state *state; /* of its item (borrowed from the table) */
    atomic_int refs;
    struct fs_sale *next_retired; /* the table's */
} fs_sale;

/* Reads the terms of the item's sale `id`, which must be for this program, and opens its strategy.
 * SALE_OK and *ret; SALE_DAMAGED, _UNREADABLE, _UNAVAILABLE and a sentence in err. */
sale_status fs_sale_open(fs_store *store, const char *item, const char *id, dlock_time deadline,
                         fs_sale **ret, char *err, size_t err_len);

/* How its item's sale stands. */
sale_state fs_sale_state(const fs_sale *sale);

/* Nobody may be using it. */
void fs_sale_close(fs_sale *sale);

/*
 * Whether a sale follows from the one that is remembered: by the sales that each names as its
 * previous one, as far as they are kept; or because the admin has accepted, after what is
 * remembered, that something was lost in between. SALE_OK; SALE_NONE, it does not, so it was
 * started in a shop that had forgotten; SALE_UNAVAILABLE.
 */
sale_status fs_sale_descends(const fs_sale *sale, const sale_terms *remembered,
                             dlock_time deadline);

/* ---- the table ------------------------------------------------------------------------------- */

typedef struct sale_table sale_table;

/* Starts the reaper. NULL: out of memory or threads. */
sale_table *sale_table_open(fs_store *store);

/* Closes all sales. No request may be under way. */
void sale_table_close(sale_table *table);

/* Gives back a sale that sale_find() or sale_table_take() has given. */
void sale_table_put(fs_sale *sale);

/* Whether sale_find() answers without Redis. */
bool sale_table_knows(sale_table *table, const char *item);

/* Whether the item, or a segment of its sale, has its keys on the server now. */
bool sale_table_is_on(sale_table *table, const char *item, const fs_node *node);

/* Why the item's sale is halted. False: it is not, as far as is known here. */
bool sale_table_halt(sale_table *table, const char *item, sale_halt *ret);

/* Every item known here and its sale, in no particular order; free the list. NULL, and none: out
 * of memory. */
sale_pointer *sale_table_pointers(sale_table *table, int *ret_count);

/* Calls `each` for the current sale of every item known here. */
void sale_table_each(sale_table *table, void (*each)(void *arg, fs_sale *sale), void *arg);

/* Calls `each` for every item that has a sale which can not be opened here. */
void sale_table_each_unopened(sale_table *table,
                              void (*each)(void *arg, const char *item, sale_state state),
                              void *arg);

/* ---- for sale_find.c alone, which asks Redis and changes what the table says -------------- */

fs_store *sale_table_store(sale_table *table);
single_flight *sale_table_flights(sale_table *table); /* one look at an item at a time */

/* The item's sale as the table has it, for use until sale_table_put(). Redis is not asked. With
 * `over_too` also one in STATE_OVER. */
bool sale_table_take(sale_table *table, const char *item, bool over_too, fs_sale **ret);

/* The item is the table's from now on, and the keeper looks at it. */
void sale_table_add(sale_table *table, const char *item);

typedef struct sale_news {
    sale_event event;
    const fs_sale *of;     /* only if this is the item's sale still; NULL = whichever is */
    fs_sale *now;          /* that takes the place of the item's sale; NULL = that stays */
    const sale_halt *halt; /* EVENT_HALTED */
    const char *detail;    /* EVENT_DAMAGED */
} sale_news;

/* The one function that changes an item's state. */
void sale_table_change(sale_table *table, const char *item, const sale_news *news);

#endif
