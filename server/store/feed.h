/*
 * feed.h - the events of one segment of a sale, page by page, for whoever copies them elsewhere.
 *
 * An event is an order, as it was at first, or a move: what became of reservations
 * (reservations.h). Orders come before moves, so a move's order is always known to who reads it. A
 * position is the last order and the last move that the asker has. Each is a number and the epoch
 * (epochs.h) in which it was given: the two name one event, whatever Redis forgets and whichever
 * server is promoted. A position that this ledger does not have is refused (FEED_REWOUND), with two
 * numbers up to which ledger and asker may agree. Whoever asks again with what it has there, and
 * again if need be, comes to where they do, for a number that does not agree is followed by a
 * smaller one; and 0 agrees.
 *
 * In a replicated sale nothing is told that a failover may undo, nor by a primary that was cut off:
 * the page is read, its server's replicas confirm that they follow it (ledger_confirm()), and then
 * the page's end is looked for once more, for another server may have been promoted in between.
 * Where there is nothing to tell nothing is confirmed, so that idle questions only read.
 */
#ifndef FLASHSALE_FEED_H
#define FLASHSALE_FEED_H

#include "server/store/purchase.h"
#include "server/store/terms.h"

#define FEED_LIMIT       1000 /* events in a page */
#define FEED_NUMBER_MOST INT64_C(999999999999999)

typedef struct feed_place {
    int64_t number; /* 0 = the beginning; up to FEED_NUMBER_MOST, as far as scripts count */
    char epoch[EPOCH_LEN + 1];
} feed_place;

typedef struct feed_position {
    feed_place orders, moves;
} feed_position;

typedef struct feed_move {
    feed_place place;
    const char *what;            /* confirmed, cancelled, expired (static) */
    char request[IDENT_MAX + 1]; /* "" = expired: all that was reserved until one moment */
    int64_t quantity;
    int64_t time_us;    /* Unix time by Redis's clock */
    int64_t expires_us; /* expired: that moment; otherwise 0 */
} feed_move;

/* Who is told of a page's events, in their order. What is told counts only if FEED_OK follows. */
typedef struct feed_reader {
    void (*order)(void *arg, const char *request, const fs_order *order);
    void (*move)(void *arg, const feed_move *move);
    void *arg;
} feed_reader;

typedef struct feed_question {
    fs_store *store;
    const sale_terms *terms;
    int segment;
    feed_position after;
    int limit; /* events, 1 to FEED_LIMIT */
    dlock_time deadline;
} feed_question;

typedef struct feed_page {
    feed_position end;     /* behind the page; FEED_REWOUND: up to which both may agree, numbers */
    int64_t orders, moves; /* that the segment has */
    int64_t time_us;       /* by Redis's clock */
    bool over; /* the segment will never have another event, and the page has the last */
    char next_sale[IDENT_MAX + 1]; /* the item's sale behind this one, once this one has no more
                                      orders and the page has the last; otherwise "" */
} feed_page;

typedef enum feed_status {
    FEED_OK = 0,
    FEED_REWOUND,
    FEED_UNCONFIRMED, /* a failover may undo what there is to tell */
    FEED_DAMAGED,     /* logged when it begins or changes */
    FEED_UNAVAILABLE
} feed_status;

feed_status feed_read(const feed_question *question, const feed_reader *reader, feed_page *ret);

/* Makes of a sale's terms those of the oldest sale behind `than` ("" = of all) that can be reached
 * from it by the sales that each names as its previous one. SALE_OK, _UNAVAILABLE. */
sale_status feed_oldest(fs_store *store, const char *than, dlock_time deadline, sale_terms *terms);

#endif
