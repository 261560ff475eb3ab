/*
 * sale_look.h - reads a sale from Redis: its pointer and terms, and each segment's numbers, epochs
 * and lost orders. For sale_check.c.
 */
#ifndef FLASHSALE_SALE_LOOK_H
#define FLASHSALE_SALE_LOOK_H

#include "server/selling/open_sale.h"
#include "server/store/halt.h"

#define NO_TEXT "?" /* a pointer that is no text, or not one of ours */

typedef struct stock_seen {
    char pointer[POINTER_MAX + 1];
    char damaged[64];        /* "" = nothing */
    int64_t remaining, sold; /* -1 = no number */
    int64_t reserved;
    bool due;                  /* units of expired reservations must return */
    int64_t settled;           /* the place of the last confirm or cancel (reservations.h) */
    const char *settled_epoch; /* (of the reply) */
    int64_t lost_moves;        /* how many known moves are missing */
    char run[RUN_NAME_MAX + 1];
    redisReply *reply;
    seen_ledger ledger; /* (of the reply) */
} stock_seen;

typedef struct sale_seen {
    char pointer[POINTER_MAX + 1];
    sale_status terms_status;
    sale_terms terms;
    redisReply *reply;
    const char *epochs;     /* this and the next: under the item's own tag (of the reply) */
    const redisReply *lost; /* also for sales that it does not descend from */
    stock_seen stock[SEGMENTS_MAX];
} sale_seen;

/* Reads a sale by the deadline, and marks what is known of it here (store/known_ledger.h). NULL: no
 * answer. */
sale_seen *sale_look(const open_sale *sale, dlock_time deadline);

/* NULL is allowed. */
void sale_look_free(sale_seen *seen);

/* Whether the pointer is a halt of this sale; *ret gets it. */
bool sale_look_is_halt(const sale_terms *terms, const char *pointer, sale_halt *ret);

#endif
