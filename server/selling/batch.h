/*
 * batch.h - combining: one call to Redis sells for everybody who is waiting in this process.
 *
 *     buyers (request threads)          leader (see leaders.h; only while there are buyers)
 *       batch_buy: join the round ------> serve():  take the lock, if there is one
 *          |                                        batch_call: somebody is there, sell soon
 *          |                                        batch_take: the round, in order of arrival
 *          |                                        one call to Redis for all of it
 *       all wake, each with its own <---            batch_answer
 *
 * A buyer that finds nobody there sells to itself first, and meanwhile counts as the leader; those
 * who come meanwhile get a leader when it is done.
 *
 * A batch never waits for company: the leader takes who is there. Under load they gather while the
 * round before is at Redis, so the busier it is the less each sale costs.
 *
 * A buyer that gives up while it queues leaves without a trace; a round that all have left is
 * dropped, so it costs nothing. Who was called waits until its deadline, and then still leaves
 * without a trace. One that was taken is at Redis; at its deadline its outcome is unknown, never
 * guessed.
 */
#ifndef FLASHSALE_BATCH_H
#define FLASHSALE_BATCH_H

#include "server/selling/batch_round.h"

typedef struct fs_batch fs_batch;

/* Serves those who wait; called by the leader again and again while somebody does. One call ends
 * on the thread that it began on, the next may come from another. */
typedef void batch_serve(void *arg, fs_batch *batch);

/* Serves a buyer that nobody is with, on its own thread. False: it has to join a batch. */
typedef bool batch_serve_one(void *arg, const purchase *request, purchase_result *result);

/* NULL: out of memory. */
fs_batch *batch_open(const open_sale *sale, batch_serve_one *serve_one, batch_serve *serve,
                     void *arg);

/* No batch_buy() may be under way. Waits for what the leader has under way. NULL is allowed. */
void batch_close(fs_batch *batch);

/* Queues up, at most `wait_ms`, and returns with the answer. BUY_UNAVAILABLE where there is no
 * memory, or no thread for a leader. */
void batch_buy(fs_batch *batch, int64_t wait_ms, const purchase *request, purchase_result *result);

/* What all batches of this process have done since its start, and who waits now: for a leader to
 * take them, or for its lock. */
typedef struct batch_counts {
    int64_t batches; /* calls to Redis that sold, or refused; a buyer alone is a batch of one */
    int64_t buyers;  /* answered by them */
    int64_t largest; /* buyers of one */
    int64_t waiting;
} batch_counts;

void batch_count(batch_counts *ret);

/* ---- for the leader -------------------------------------------------------------------------- */

typedef struct batch_taken {
    sell_buyer buyers[SELL_MAX]; /* to sell to, in the order of their arrival */
    int count;                   /* 0: there is nobody, or they all have left meanwhile */
    dlock_time deadline;         /* the latest of theirs */
    batch_round *round;
} batch_taken;

/* Once the lock is had: the buyers of the first round, those who join it meanwhile too, do not give
 * up any more before their deadline. Returns after `hold_ms`, or as soon as they all have left.
 * False: there is nobody to sell to. */
bool batch_call(fs_batch *batch, int64_t hold_ms);

/* Takes the first round out of the queue. batch_answer() or batch_put_back() is due in any case. */
void batch_take(fs_batch *batch, batch_taken *taken);

/* Instead of batch_answer(): nothing was done for them, and they are the first in the queue again.
 */
void batch_put_back(fs_batch *batch, batch_taken *taken);

/* Tells each its result. */
void batch_answer(fs_batch *batch, batch_taken *taken);

/* Tells everybody in the queue the same: nobody was taken. */
void batch_refuse(fs_batch *batch, purchase_outcome outcome);

#endif
