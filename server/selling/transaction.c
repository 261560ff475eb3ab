/* transaction.c - three round trips: WATCH and MULTI; a look; the writes and EXEC. */
#include "server/selling/transaction.h"

#include <stdio.h>
#include <string.h>

void transaction_add(transaction *t, const char *const *words)
{
    dlock_args args = store_words(words);
    dlock_redis_queue(t->conn, &args);
    dlock_args_free(&args);
    t->added++;
}

/* Sends what was added. The last answer; NULL: an error is among them, or `silence`; answered. */
static redisReply *ask(transaction *t, dlock_time deadline, dlock_redis_outcome silence)
{
    redisReply *replies[16], *last = NULL;
    int count = t->added, good = 0;
    bool heard = dlock_redis_answers(t->conn, deadline, count, replies);
    while (heard && good < count && replies[good]->type != REDIS_REPLY_ERROR)
        good++;
    t->added = 0;
    if (good == count) {
        last = replies[--count];
    } else {
        const char *why = heard ? replies[good]->str : "";
        silence = heard ? DLOCK_REDIS_REFUSED : silence;
        purchase_answer(t->result, purchase_write_failed(t->sale->store, silence));
        snprintf(t->result->redis, sizeof(t->result->redis), "%.*s", (int)strcspn(why, " "), why);
        transaction_add(t, WORDS("DISCARD")); /* a command that is not sent: so it is closed */
        dlock_redis_give_back(t->conn);
    }
    while (count > 0)
        freeReplyObject(replies[--count]);
    return last;
}

bool transaction_begin(transaction *t, const open_sale *sale, const purchase *request,
                       int64_t *left, purchase_result *result)
{
    const sale_keys *k = sale->keys;
    dlock_time deadline = store_read_deadline(request->deadline);
    *t = (transaction){.sale = sale, .request = request, .result = result};
    if (dlock_redis_lend(sale->store->redis, k->current, deadline, &t->conn) != DLOCK_REDIS_OK) {
        purchase_answer(result, purchase_write_failed(sale->store, DLOCK_REDIS_NOT_SENT));
        return false;
    }
    transaction_add(t, WORDS("WATCH", k->current, k->stock, k->sold, k->orders, k->ledger, k->users,
                             k->epochs));
    transaction_add(t, WORDS("MULTI")); /* unless it is answered, a write would run by itself */
    redisReply *reply = ask(t, deadline, DLOCK_REDIS_NOT_SENT);
    if (!reply)
        return false;
    freeReplyObject(reply);
    if (order_look(sale, request, 0, left, result))
        return true;
    transaction_add(t, WORDS("DISCARD"));
    if (dlock_redis_answers(t->conn, deadline, 1, &reply) && reply->type == REDIS_REPLY_ERROR)
        transaction_add(t, WORDS("DISCARD"));
    freeReplyObject(reply);
    dlock_redis_give_back(t->conn);
    return false;
}

void transaction_commit(transaction *t, int64_t left)
{
    dlock_args args;
    order_put_words(&args, t->sale, t->request, 0, left);
    /* By its text: if its hash were unknown the other commands would run without it. */
    dlock_redis_queue_script(t->conn, &order_record, STATE_KEYS, &args, true);
    dlock_args_free(&args);
    size_t record = (size_t)t->added++;
    transaction_add(t, WORDS("EXEC"));
    redisReply *exec = ask(t, t->request->deadline, DLOCK_REDIS_UNKNOWN);
    if (!exec)
        return;
    purchase_answer(t->result, exec->type == REDIS_REPLY_NIL ? BUY_STALE : BUY_UNKNOWN);
    if (exec->type != REDIS_REPLY_NIL &&
        dlock_redis_conn_check(t->conn, "EXEC", exec, exec->elements == record + 1))
        sale_answer(t->sale, t->sale->keys, exec->element[record], t->request, t->result);
    freeReplyObject(exec);
    dlock_redis_give_back(t->conn);
}
