/*
 * transaction.h - the frame of the strategies with optimistic locking: WATCH, MULTI and EXEC.
 *
 *     if (!transaction_begin(&t, sale, request, &left, result))      WATCH, MULTI, a look
 *         return;
 *     transaction_add(&t, WORDS("INCRBY", sale->keys->stock, "-1"));
 *     transaction_commit(&t, left);                                  the order, EXEC
 *
 * Nothing is written if a key of the sale has changed since WATCH (BUY_STALE: checkout.c retries)
 * or if Redis refuses a command. A script inside the transaction records the order. It checks
 * epoch, halt, earlier order and not_after, and undoes the INCRBY if it refuses. So such a strategy
 * is `guarded`.
 */
#ifndef FLASHSALE_TRANSACTION_H
#define FLASHSALE_TRANSACTION_H

#include "server/selling/read_then_write.h"

typedef struct transaction {
    const open_sale *sale;
    const purchase *request;
    purchase_result *result;
    dlock_redis_conn *conn; /* from the pool, to an admitted run of the keys' server */
    int added;              /* commands not sent yet, at most 14 */
} transaction;

/* True: `left` units would be left; call transaction_commit(). False: `result` is the answer. */
bool transaction_begin(transaction *t, const open_sale *sale, const purchase *request,
                       int64_t *left, purchase_result *result);
void transaction_add(transaction *t, const char *const *words);
void transaction_commit(transaction *t, int64_t left); /* answers */

#endif
