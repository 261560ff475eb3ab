/*
 * pages.h - pages of the feed (server/API.md, "Read the feed"), asked for from the position that
 * the database has.
 */
#ifndef FLASHSALE_ORDERS_PAGES_H
#define FLASHSALE_ORDERS_PAGES_H

#include "server/orders/records.h"
#include "server/orders/source.h"

typedef enum page_status {
    PAGE_READ = 0,
    PAGE_GONE,    /* the sale is not kept any more */
    PAGE_NOTHING, /* the item has no sale */
    PAGE_FAILED,  /* no instance has answered as it should: source_error(), or `why` */
    PAGE_DATABASE /* the database did not say what it has: database_error() */
} page_status;

/* A page, and what else the instance says of the segment. */
typedef struct told_page {
    copy_page page; /* borrowed from `answer` */
    answer answer;
    char position[POSITION_MAX_LEN + 1];
    char sale[NAME_MAX_LEN + 1], next_sale[NAME_MAX_LEN + 1];
    int events;
    int64_t behind;    /* events that are neither in the page nor before it */
    int64_t moment_us; /* the last event's, 0 = there is none */
    const char *why;   /* what is wrong: PAGE_FAILED, when an instance has answered; PAGE_READ, when
                          the sale is damaged and over, and the page is empty */
} told_page;

/* Asks for what is behind place->position; sale "" = for the item's oldest sale that is kept. Where
 * Redis has lost what the database has, the two look for what both have (page.rewound). With
 * PAGE_READ *ret is to be freed. */
page_status pages_read(source *from, database *db, const copied_part *place, int limit,
                       told_page *ret);
void pages_free(told_page *got);

/* Copies the name of an item or of a sale, or a position. False: it is none, or has no room. */
bool pages_copy_word(char *to, size_t room, const char *text);

/* The number of the last order, and the place of the last move, in "1500-EPOCH.3-EPOCH". */
void pages_position(const char *position, int64_t *orders, int64_t *moves);

/* The items that have a sale, one by one. False: source_error(). */
bool pages_items(source *from, void (*each)(void *arg, const char *item), void *arg);

#endif
