/*
 * feed.h - pages of the feed (server/API.md, "Read the feed"), asked for from the position that the
 * database has.
 */
#ifndef FLASHSALE_ORDERS_FEED_H
#define FLASHSALE_ORDERS_FEED_H

#include "server/orders/records.h"
#include "server/orders/source.h"

typedef enum feed_status {
    FEED_PAGE = 0,
    FEED_GONE,    /* the sale is not kept any more */
    FEED_NOTHING, /* the item has no sale */
    FEED_FAILED,  /* no instance has answered as it should: source_error(), or `why` */
    FEED_DATABASE /* the database did not say what it has: database_error() */
} feed_status;

/* A page, and what else the instance says of the segment. */
typedef struct feed_page {
    copy_page page; /* borrowed from `answer` */
    answer answer;
    char position[POSITION_MAX_LEN + 1];
    char sale[NAME_MAX_LEN + 1];
    int events;
    int64_t behind;    /* events that are neither in the page nor before it */
    int64_t moment_us; /* the last event's, 0 = there is none */
    const char *why;   /* what is wrong: FEED_FAILED, when an instance has answered; FEED_PAGE, when
                          the sale is damaged and over, and the page is empty */
} feed_page;

/* Asks for what is behind place->position; sale "" = for the item's oldest sale that is kept. Where
 * Redis has lost what the database has, the two look for what both have (page.rewound). With
 * FEED_PAGE *ret is to be freed. */
feed_status feed_read(source *from, database *db, const feed_place *place, int limit,
                      feed_page *ret);
void feed_page_free(feed_page *got);

/* Copies the name of an item or of a sale, or a position. False: it is none, or has no room. */
bool feed_copy_word(char *to, size_t room, const char *text);

/* The items that have a sale, one by one. False: source_error(). */
bool feed_items(source *from, void (*each)(void *arg, const char *item), void *arg);

#endif
