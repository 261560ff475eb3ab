/*
 * sale_look.h - what Redis has of a sale: its pointer and terms, and each segment's numbers,
 * history and lost orders. For sale_check.c.
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
    bool due;                  /* units of reservations that are over are to be returned */
    int64_t settled;           /* the place of the last move for somebody (reservations.h) */
    const char *settled_epoch; /* (of the reply) */
    int64_t lost_moves;        /* more than 0: some that were seen are not there */
    char run[RUN_NAME_MAX + 1];
    redisReply *reply;
    seen_ledger ledger; /* (of the reply) */
} stock_seen;

typedef struct sale_seen {
    char pointer[POINTER_MAX + 1];
    sale_status terms_status;
    sale_terms terms;
    redisReply *reply;
    const char *epochs;     /* under the item's own tag, as the next (of the reply) */
    const redisReply *lost; /* also of sales that it does not descend from */
    stock_seen stock[SEGMENTS_MAX];
} sale_seen;

/* By the deadline looks at a sale, and marks what is known of it here (store/known_ledger.h). NULL:
 * not answered. */
sale_seen *sale_look(const open_sale *sale, dlock_time deadline);

/* NULL is allowed. */
void sale_look_free(sale_seen *seen);

/* Whether these are the words of this sale's halt, which are read into *ret. */
bool sale_look_is_halt(const sale_terms *terms, const char *pointer, sale_halt *ret);

#endif
