/*
 * purchase.h - what a buyer asks, and what a strategy answers.
 *
 * An outcome is an answer, not an error. Three families matter:
 *   - sold;
 *   - definitely not bought: no order exists under this request id, and none will from this try;
 *   - unknown: a write was sent and nobody said what became of it. Never reported as yes or no.
 */
#ifndef FLASHSALE_PURCHASE_H
#define FLASHSALE_PURCHASE_H

#include "lock/dlock_redis.h"
#include "server/store/order.h"

typedef enum buy_outcome {
    BUY_SOLD = 0,
    BUY_SOLD_OUT,      /* fewer units are left than asked for */
    BUY_LIMIT_REACHED, /* the user would have more than the sale allows */
    BUY_CONFLICT,      /* the request id has an order of another user or quantity */
    BUY_VOID,          /* the request id was declared dead by GET /orders; see ledger.h */
    BUY_BUSY,          /* the lock was not to be had in time, or the deadline came first */
    BUY_UNAVAILABLE,   /* Redis could not be asked, or refused; nothing was written */
    BUY_STALE,         /* the guard refused the holder; worth a new grant */
    BUY_CLOSED,        /* the sale is not the item's current one any more */
    BUY_UNKNOWN,       /* written or not, or later */
    BUY_OUTCOMES       /* how many there are */
} buy_outcome;

/* The outcome as a word for metrics, "sold_out" for one. */
const char *buy_outcome_name(buy_outcome outcome);

typedef struct buy_request {
    char user[IDENT_MAX + 1];
    char request[IDENT_MAX + 1];
    int64_t quantity;
    bool keyed;           /* the client gave the request id, so this may be a retry */
    dlock_time deadline;  /* by then the buyer is answered */
    int64_t not_after_us; /* the same moment by Redis's clock: no script writes beyond it */
} buy_request;

typedef struct buy_result {
    buy_outcome outcome;
    bool replayed;     /* sold: the order is from an earlier try */
    int segment;       /* sold: the shelf that has the order; 0 unless the sale is sharded */
    fs_order order;    /* sold */
    int64_t remaining; /* units left when it was decided; -1 = not known */
} buy_result;

/* Makes `result` say `outcome` and nothing else. */
void buy_answer(buy_result *result, buy_outcome outcome);

#endif
