/*
 * outcome.h - the table of all outcomes of a buy.
 *
 * Only outcome.c says what an outcome is called, what the buyer is told, and whether a retry makes
 * sense. Refusals of questions about orders and sales use the same table where the reason is the
 * same. tests/server/store/test_outcome.c holds API.md, openapi.json and the load test to it.
 */
#ifndef FLASHSALE_OUTCOME_H
#define FLASHSALE_OUTCOME_H

#include <stdbool.h>

typedef enum purchase_outcome {
    BUY_SOLD = 0,
    BUY_SOLD_OUT,      /* fewer units are left than asked for */
    BUY_LIMIT_REACHED, /* the user would have more than the sale allows */
    BUY_CONFLICT,      /* the request id has an order of another user or quantity */
    BUY_VOID,          /* GET /orders has declared the request id void; see ledger.h */
    BUY_TOO_LATE,      /* the client's time limit has passed */
    BUY_BUSY,          /* the lock was not acquired in time, or the deadline came first */
    BUY_UNAVAILABLE,   /* Redis could not be asked, or refused; nothing was written */
    BUY_DAMAGED,       /* the sale's keys are damaged; this try bought nothing */
    BUY_ROLLED_BACK,   /* Redis has lost acknowledged orders; this try bought nothing */
    BUY_MAY_EVICT,     /* the server may evict the sale's keys; this try bought nothing */
    BUY_NOT_DURABLE,   /* the server lacks the sale's durability; this try bought nothing */
    BUY_WRITES_PAUSED, /* the server answers, and takes no writes; nothing was written */
    BUY_STALE,         /* the guard refused the holder; a new grant may help */
    BUY_CLOSED,        /* the sale is no longer the item's current one */
    BUY_UNKNOWN,       /* sent without an answer: perhaps written, now or later */
    BUY_NOT_OFFERED,   /* the sale has no reservations, or none for so long */
    BUY_RESERVED,      /* these three are only counted: the result is BUY_SOLD */
    BUY_CONFIRMED,     /* a reservation is sold */
    BUY_CANCELLED,     /* its units were returned */
    BUY_NO_ORDER,      /* nothing to confirm or cancel, or it is another user's order */
    BUY_EXPIRED,       /* its reservation has expired */
    BUY_WAS_CANCELLED, /* it can no longer be confirmed */
    BUY_WAS_SOLD,      /* only the admin can cancel it now */
    BUY_OUTCOMES       /* how many there are */
} purchase_outcome;

/* What the buyer may do with the same request. */
typedef enum outcome_again {
    AGAIN_NO,    /* the answer would be the same */
    AGAIN_YES,   /* send it again after retry_after_s: this try bought nothing */
    AGAIN_ADMIN, /* the same, but only the admin can end the reason */
    AGAIN_ASK    /* bought or not: another try tells, or GET /orders */
} outcome_again;

typedef struct outcome_words {
    const char *name; /* in metrics and on the live page */
    int status;       /* of the HTTP answer */
    const char *code; /* of the problem; NULL = it is none */
    outcome_again again;
    bool definite; /* the answer also holds for earlier tries of the request, because it comes from
                      an order's record or its absence */
    const char *sentence;
} outcome_words;

extern const outcome_words outcome_table[BUY_OUTCOMES];

#endif
