/*
 * batch.h - group commit: one call to Redis sells to all buyers who wait in this process.
 *
 *     buyers (request threads)          leader (see leaders.h; only while there are buyers)
 *       batch_buy: join a round --------> serve():  acquire the lock, if there is one
 *          |                                        batch_call: buyers stay until their deadline
 *          |                                        batch_take: the first round, FIFO
 *          |                                        one call to Redis for the whole round
 *       all wake, each with its own <---            batch_answer
 *
 * A lone buyer skips batching: it sells to itself, and meanwhile counts as the leader. Buyers that
 * arrive meanwhile get a leader when it is done.
 *
 * A leader never waits for more buyers: it takes those that are there. Under load, buyers gather
 * while the previous round is at Redis, so the cost of a sale falls as the load rises.
 *
 * A buyer may give up while it is queued: it leaves no trace, and a round that all buyers have left
 * is dropped at no cost. Once its round is called, a buyer waits until its deadline, and may still
 * leave without a trace. Once its round is taken, its request is at Redis: then its outcome at the
 * deadline is unknown, and is never guessed.
 */
#ifndef FLASHSALE_BATCH_H
#define FLASHSALE_BATCH_H

#include "server/selling/batch_round.h"

typedef struct fs_batch fs_batch;

/* Serves the buyers in the queue. A leader calls it repeatedly while there are any; different calls
 * may come from different threads. */
typedef void batch_serve(void *arg, fs_batch *batch);

/* Serves a lone buyer on its own thread. False: it must join a batch. */
typedef bool batch_serve_one(void *arg, const purchase *request, purchase_result *result);

/* NULL: out of memory. */
fs_batch *batch_open(const open_sale *sale, batch_serve_one *serve_one, batch_serve *serve,
                     void *arg);

/* No batch_buy() may be running. Waits for the leader's call to end. NULL is allowed. */
void batch_close(fs_batch *batch);

/* Queues for at most `wait_ms`, and returns with the answer. BUY_UNAVAILABLE: no memory, or no
 * thread for a leader. */
void batch_buy(fs_batch *batch, int64_t wait_ms, const purchase *request, purchase_result *result);

/* What all batches of this process have done since its start, and how many buyers wait now, for a
 * leader or for its lock. */
typedef struct batch_counts {
    int64_t batches; /* calls to Redis that sold or refused; a lone buyer is a batch of one */
    int64_t buyers;  /* answered by them */
    int64_t largest; /* buyers in one batch */
    int64_t waiting;
} batch_counts;

void batch_count(batch_counts *ret);

/* ---- for the leader -------------------------------------------------------------------------- */

typedef struct batch_taken {
    sell_buyer buyers[SELL_MAX]; /* in order of arrival */
    int count;                   /* 0: no buyers, or all have left */
    dlock_time deadline;         /* the latest of their deadlines */
    batch_round *round;
} batch_taken;

/* To be called once the lock is acquired. From now on the buyers of the first round, also those
 * that still join it, do not give up before their deadline. Returns after `hold_ms`, or as soon as
 * all of them have left. False: there are no buyers. */
bool batch_call(fs_batch *batch, int64_t hold_ms);

/* Takes the first round out of the queue. Always call batch_answer() or batch_put_back() next. */
void batch_take(fs_batch *batch, batch_taken *taken);

/* Instead of batch_answer(), if nothing was done for the buyers: puts them at the head of the queue
 * again. */
void batch_put_back(fs_batch *batch, batch_taken *taken);

/* Tells each its result. */
void batch_answer(fs_batch *batch, batch_taken *taken);

/* Gives all buyers in the queue the same answer; none was taken. */
void batch_refuse(fs_batch *batch, purchase_outcome outcome);

#endif
