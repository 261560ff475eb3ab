/*
 * compare.h - compares one segment of a sale, page by page: joins the feed with the rows that
 * should match, and checks rows beyond its end. Only for check.c.
 */
#ifndef FLASHSALE_ORDERS_COMPARE_H
#define FLASHSALE_ORDERS_COMPARE_H

#include "server/orders/pages.h"

typedef struct checker {
    source *from;
    database *db;
    copied_part at;
    const char *what; /* "order", "move" */
    bool prints;
    int64_t found;         /* in this look */
    int64_t orders, moves; /* of the segment at the first look; -1 = no look yet */
    int64_t differences, compared, sales;
    int64_t older;      /* orders of sales that Redis no longer keeps */
    int64_t patient_ms; /* until then */
    bool failed;
    char position[2 * POSITION_MAX_LEN], rows[2 * POSITION_MAX_LEN];
} checker;

/* Asks the database; remembers in `failed` that it did not answer. */
void checker_ask(checker *c, const char *sql, const char *const *params, database_row *row,
                 void *arg);

/* pages_read() at c->at; prints why it failed. */
page_status checker_read(checker *c, int limit, told_page *ret);

/* Compares the segment at c->at from its beginning, and prints each difference. *segments is the
 * sale's number of segments; next gets the next sale, or "". */
page_status compare_segment(checker *c, int *segments, char next[NAME_MAX_LEN + 1]);

#endif
