/*
 * records.h - the tables of orders, and the transactions that change them.
 *
 *     flashsale_orders     one row an order, as its buyer was told it
 *     flashsale_moves      what became of reservations
 *     flashsale_positions  how far each segment of a sale has been copied, and until when Redis
 *                          keeps it at least; it has ended (1): there are no more events; or is
 *                          not kept any more (2)
 *     flashsale_leader     the fence of the follower that leads
 *     flashsale_order_states (a view)  orders, with the state that the moves give them
 *
 * Each order is there exactly once, for two reasons. The position is in the transaction that writes
 * the rows behind it, which is made only from the position that the page was asked with: whatever
 * was killed, and whether the last COMMIT was executed or not, the database says where to go on.
 * And the key is what the service names an order by: its number, and the epoch (server/README.md)
 * under which the number was given.
 *
 * An order that Redis has lost keeps its row, with the time when that was seen as lost_us. Its
 * number may be given again, in another epoch: so among the rows that are not lost a number is
 * unique in its segment. A row that turns out to be there after all loses the mark.
 */
#ifndef FLASHSALE_ORDERS_RECORDS_H
#define FLASHSALE_ORDERS_RECORDS_H

#include "server/orders/database.h"

#define NAME_MAX_LEN     64
#define POSITION_MAX_LEN 64
#define POSITION_START   "0"

/* One segment of a sale: where its events come from, and how far they are in the database. */
typedef struct copied_part {
    char item[NAME_MAX_LEN + 1];
    char sale[NAME_MAX_LEN + 1];
    int segment;
    char position[POSITION_MAX_LEN + 1]; /* as the feed gives it: "1500-a1b2c3d4e5f6.2-..." */
} copied_part;

/* A page of the feed behind place.position, as it came. */
typedef struct copy_page {
    const char *json;
    const char *position;  /* behind it */
    const char *next_sale; /* NULL = none as yet */
    int segments;
    bool end;       /* no event comes behind it */
    bool rewound;   /* Redis has lost what the database has behind the next two */
    int64_t orders; /* the last order and the last move that both have */
    int64_t moves;
    int64_t time_us; /* Redis's, when it was read */
    int64_t kept_us; /* Redis keeps the sale until then, at least; -1 = as was known */
} copy_page;

typedef enum write_status {
    WRITE_OK = 0,
    WRITE_NOT_LEADING, /* another follower has led since: nothing was written */
    WRITE_ELSEWHERE,   /* the position is not the page's any more: likewise */
    WRITE_FAILED       /* database_error(); written or not, and the connection is closed */
} write_status;

/* Creates what is not there. False: database_error(). */
bool records_create(database *db);

/* Calls `each` for the places whose end is not written, in the order of items and sales. */
bool records_places(database *db, void (*each)(void *arg, const copied_part *place), void *arg);

/* Writes the page and its position. `fence` 0: no lock leads. *lost is how many orders and
 * moves have been marked. */
write_status records_write(database *db, const copied_part *place, const copy_page *page,
                           uint64_t fence, int64_t *lost);

/* Redis does not keep the sale any more, and is not asked of it again. Before its time it has lost
 * the sale, whose orders are marked then: *lost. Where no later sale of the item is known, those
 * before it are asked once more: a Redis that went back may sell in one of them. */
write_status records_give_up(database *db, const copied_part *place, int64_t now_us, uint64_t fence,
                             int64_t *lost);

/* Begins with a sale, or goes on where its end was written before. */
write_status records_begin(database *db, const char *item, const char *sale, int segments,
                           uint64_t fence);

/* The position of the rows that are not lost, up to this order and this move. False:
 * database_error(). */
bool records_position(database *db, const copied_part *place, int64_t orders, int64_t moves,
                      char ret[POSITION_MAX_LEN + 1]);

#endif
