/*
 * outcome.h - what can become of a buy: the one table of it.
 *
 * What an outcome is called, what its buyer is told, and what the buyer may do then, stands in
 * outcome.c and nowhere else. Questions about orders and sales are refused by the same table, where
 * the reason is the same. tests/server/store/test_outcome.c holds API.md, openapi.json and the
 * load test to it.
 */
#ifndef FLASHSALE_OUTCOME_H
#define FLASHSALE_OUTCOME_H

#include <stdbool.h>

typedef enum purchase_outcome {
    BUY_SOLD = 0,
    BUY_SOLD_OUT,      /* fewer units are left than asked for */
    BUY_LIMIT_REACHED, /* the user would have more than the sale allows */
    BUY_CONFLICT,      /* the request id has an order of another user or quantity */
    BUY_VOID,          /* the request id was declared dead by GET /orders; see ledger.h */
    BUY_TOO_LATE,      /* the time that the client had set has passed */
    BUY_BUSY,          /* the lock was not acquired in time, or the deadline came first */
    BUY_UNAVAILABLE,   /* Redis could not be asked, or refused; nothing was written */
    BUY_DAMAGED,       /* the sale's keys are not what they were; this try bought nothing */
    BUY_ROLLED_BACK,   /* Redis has lost orders that it had acknowledged; this try bought nothing */
    BUY_MAY_EVICT,     /* the server may throw the sale's keys away; this try bought nothing */
    BUY_NOT_DURABLE,   /* it does not keep the sale's durability; this try bought nothing */
    BUY_WRITES_PAUSED, /* the server answers, and takes no writes; nothing was written */
    BUY_STALE,         /* the guard refused the holder; worth a new grant */
    BUY_CLOSED,        /* the sale is not the item's current one any more */
    BUY_UNKNOWN,       /* written or not, or later */
    BUY_NOT_OFFERED,   /* the sale has no reservations, or none for so long */
    BUY_RESERVED,      /* these three are for what is counted: each ends as BUY_SOLD */
    BUY_CONFIRMED,     /* a reservation is sold */
    BUY_CANCELLED,     /* its units are back */
    BUY_NO_ORDER,      /* to confirm or cancel: there is none, or it is another user's */
    BUY_EXPIRED,       /* its reservation is over */
    BUY_WAS_CANCELLED, /* it can not be confirmed any more */
    BUY_WAS_SOLD,      /* only the admin cancels it now */
    BUY_OUTCOMES       /* how many there are */
} purchase_outcome;

/* What the buyer may do with the same request. */
typedef enum outcome_again {
    AGAIN_NO,    /* it would be answered in the same way */
    AGAIN_YES,   /* send it again after retry_after_s: this try bought nothing */
    AGAIN_ADMIN, /* the same, but only the admin can end the reason */
    AGAIN_ASK    /* bought or not: another try tells, or GET /orders */
} outcome_again;

typedef struct outcome_words {
    const char *name; /* in metrics and on the live page */
    int status;       /* of the HTTP answer */
    const char *code; /* of the problem; NULL = it is none */
    outcome_again again;
    bool definite; /* also of the request's earlier tries: the record of an order, or its lack, has
                      given the answer */
    const char *sentence;
} outcome_words;

extern const outcome_words outcome_table[BUY_OUTCOMES];

#endif
