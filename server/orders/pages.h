/*
 * pages.h - reads pages of the feed (server/API.md, "Read the feed") from the database's position
 * on.
 */
#ifndef FLASHSALE_ORDERS_PAGES_H
#define FLASHSALE_ORDERS_PAGES_H

#include "server/orders/records.h"
#include "server/orders/source.h"

typedef enum page_status {
    PAGE_READ = 0,
    PAGE_GONE,    /* Redis no longer keeps the sale */
    PAGE_NOTHING, /* the item has no sale */
    PAGE_FAILED,  /* no instance gave a valid answer: source_error(), or `why` */
    PAGE_DATABASE /* the database did not tell its position: database_error() */
} page_status;

/* A page, and what else the instance says of the segment. */
typedef struct told_page {
    copy_page page; /* borrowed from `answer` */
    answer answer;
    char position[POSITION_MAX_LEN + 1];
    char sale[NAME_MAX_LEN + 1], next_sale[NAME_MAX_LEN + 1];
    int events;
    int64_t behind;    /* events after the page */
    int64_t moment_us; /* of the last event, 0 = none */
    const char *why;   /* the reason: of PAGE_FAILED, if an instance answered; of an empty page
                          with PAGE_READ: the sale is damaged and over */
} told_page;

/* Asks for the events after place->position; sale "" = of the item's oldest kept sale. If Redis has
 * lost events that the database has, finds the last ones that both have (page.rewound). After
 * PAGE_READ free *ret. */
page_status pages_read(source *from, database *db, const copied_part *place, int limit,
                       told_page *ret);
void pages_free(told_page *got);

/* Copies the name of an item or sale, or a position. False: not valid, or too long. */
bool pages_copy_word(char *to, size_t room, const char *text);

/* The number of the last order, and the place of the last move, in "1500-EPOCH.3-EPOCH". */
void pages_position(const char *position, int64_t *orders, int64_t *moves);

/* The items that have a sale, one by one. False: source_error(). */
bool pages_items(source *from, void (*each)(void *arg, const char *item), void *arg);

#endif
