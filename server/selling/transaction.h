/*
 * transaction.h - the frame of the strategies that write by WATCH, MULTI and EXEC.
 *
 *     if (!transaction_begin(&t, sale, request, &left, result))      WATCH, MULTI, and a look
 *         return;
 *     transaction_add(&t, WORDS("INCRBY", sale->keys->stock, "-1"));
 *     transaction_commit(&t, left);                                  the order, EXEC
 *
 * Nothing is written when a key of the sale has changed since WATCH (BUY_STALE: checkout.c tries
 * again) or Redis refuses a command. The order is recorded by a script inside the transaction,
 * which looks at epoch, halt, earlier order and not_after, and undoes that INCRBY when it refuses.
 * So such a strategy is `guarded`.
 */
#ifndef FLASHSALE_TRANSACTION_H
#define FLASHSALE_TRANSACTION_H

#include "server/selling/read_then_write.h"

typedef struct transaction {
    const open_sale *sale;
    const purchase *request;
    purchase_result *result;
    dlock_redis_conn *conn; /* the pool's: to an admitted run of the server that has the keys */
    int added;              /* commands that are not sent yet, 14 at most */
} transaction;

/* True: `left` would be left, and transaction_commit() is due. False: answered. */
bool transaction_begin(transaction *t, const open_sale *sale, const purchase *request,
                       int64_t *left, purchase_result *result);
void transaction_add(transaction *t, const char *const *words);
void transaction_commit(transaction *t, int64_t left); /* answers */

#endif
