/*
 * records.h - the tables of orders, and the transactions that change them.
 *
 *     flashsale_orders     one row per order, as its buyer was told
 *     flashsale_moves      what became of reservations
 *     flashsale_positions  how far each segment of a sale is copied, and how long Redis keeps it at
 *                          least; end 1: there are no more events; end 2: it is no longer kept
 *     flashsale_leader     the fence of the leading follower
 *     flashsale_order_states (a view)  orders, with the state after their moves
 *
 * Each order is there exactly once, for two reasons. One transaction writes the rows of a page and
 * the new position, and only if the old position is still the one that the page was asked with. So
 * whatever was killed, and whether or not the last COMMIT was executed, the database tells where to
 * continue. And the key is the service's identity of an order: its number, and the epoch
 * (server/README.md) in which the number was given.
 *
 * An order that Redis has lost keeps its row, and lost_us gets the time when this was noticed. Its
 * number may be given again in another epoch, so only among rows that are not lost is a number
 * unique in its segment. If a lost order reappears, its row loses the mark.
 */
#ifndef FLASHSALE_ORDERS_RECORDS_H
#define FLASHSALE_ORDERS_RECORDS_H

#include "server/orders/database.h"

#define NAME_MAX_LEN     64
#define POSITION_MAX_LEN 64
#define POSITION_START   "0"

/* One segment of a sale, and how far its events are copied. */
typedef struct copied_part {
    char item[NAME_MAX_LEN + 1];
    char sale[NAME_MAX_LEN + 1];
    int segment;
    char position[POSITION_MAX_LEN + 1]; /* as the feed gives it: "1500-a1b2c3d4e5f6.2-..." */
} copied_part;

/* A page of the feed after place.position, as received. */
typedef struct copy_page {
    const char *json;
    const char *position;  /* after the page */
    const char *next_sale; /* NULL = none yet */
    int segments;
    bool end;       /* no event follows */
    bool rewound;   /* Redis has lost what the database has after the next two */
    int64_t orders; /* the last order and the last move that both have */
    int64_t moves;
    int64_t time_us; /* Redis's, when it was read */
    int64_t kept_us; /* Redis keeps the sale at least until then; -1 = unchanged */
} copy_page;

typedef enum write_status {
    WRITE_OK = 0,
    WRITE_NOT_LEADING, /* another follower leads since: nothing was written */
    WRITE_ELSEWHERE,   /* the position has changed: likewise */
    WRITE_FAILED       /* database_error(); perhaps written; the connection is closed */
} write_status;

/* Creates missing tables. False: database_error(). */
bool records_create(database *db);

/* Calls `each` for the places without an end, sorted by item and sale. */
bool records_places(database *db, void (*each)(void *arg, const copied_part *place), void *arg);

/* Writes the page and its position. `fence` 0: there is no election. *lost is the number of orders
 * and moves that were marked. */
write_status records_write(database *db, const copied_part *place, const copy_page *page,
                           uint64_t fence, int64_t *lost);

/* Ends a sale that Redis no longer keeps; it is not asked for again. If Redis should still keep it,
 * it has lost the sale, and the orders are marked: *lost. If no later sale of the item is known,
 * earlier ones are asked for again, because an older copy of Redis may sell in one of them. */
write_status records_give_up(database *db, const copied_part *place, int64_t now_us, uint64_t fence,
                             int64_t *lost);

/* Begins with a sale, or continues one whose end was written. */
write_status records_begin(database *db, const char *item, const char *sale, int segments,
                           uint64_t fence);

/* The position of the last rows that are not lost, up to this order and this move. False:
 * database_error(). */
bool records_position(database *db, const copied_part *place, int64_t orders, int64_t moves,
                      char ret[POSITION_MAX_LEN + 1]);

#endif
