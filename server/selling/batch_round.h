/*
 * batch_round.h - a round of buyers who are answered together, and how each of them waits.
 *
 * Most buyers wait for one word, "answered", and one system call wakes them all. Waking each buyer
 * separately would cost a system call per buyer, and the first ones would preempt the leader before
 * it has answered the others. Buyers whose client can be answered directly (direct_answer) sleep on
 * the client's socket: the leader sends the order, and does not wake them.
 *
 * The buyers share a round with the queue and later with the leader; the last user frees it. So a
 * buyer may leave at its deadline while the leader still writes its answer.
 */
#ifndef FLASHSALE_BATCH_ROUND_H
#define FLASHSALE_BATCH_ROUND_H

#include <stdatomic.h>

#include "server/selling/sell.h"

/* Which thread answers the client; so two threads never do. Only the leader changes ASLEEP to
 * TELLING, and only the buyer changes it back to AWAKE, each by one compare-and-swap. */
typedef enum {
    TURN_AWAKE,   /* the buyer, once the round is answered */
    TURN_ASLEEP,  /* the leader, or the buyer at its deadline, whichever comes first */
    TURN_TELLING, /* the leader is answering; the buyer waits until the round is answered */
    TURN_TOLD,    /* the leader has answered */
    TURN_HANDED,  /* the buyer, with the result in its place */
} batch_turn;

typedef struct batch_place {
    bool left;        /* set by the batch: the buyer left before the round was taken */
    bool in_doubt;    /* likewise: it left, or is leaving, after the round was taken */
    atomic_int turn;  /* batch_turn */
    purchase request; /* a copy: the buyer's own may be freed before the leader is done */
    purchase_result result;
} batch_place;

typedef enum { QUEUED, CALLED, TAKEN } batch_stage;

typedef struct batch_round {
    struct batch_round *next; /* in the queue */
    atomic_uint answered;     /* 0, then 1 when answered or dropped */
    atomic_int users;         /* buyers, and the queue or the leader */
    int count;                /* places in use; this and the next two belong to the batch */
    int gone;                 /* buyers that have left */
    batch_stage stage;
    batch_place places[SELL_MAX];
} batch_round;

/* Initialises an empty round with one user. */
void round_init(batch_round *round);

/* Adds a buyer, who becomes a user of the round. `direct`: the leader may answer its client. */
batch_place *round_add(batch_round *round, const purchase *request, bool direct);

/* Drops one user. True: it was the last one, and the caller must free the round. */
bool round_let_go(batch_round *round);

/* Waits for the whole round. True: it was answered or dropped in time. */
bool round_wait(batch_round *round, dlock_time until);

/* Waits for this buyer's answer. True: it came; result.told says whether the client has it. */
bool round_wait_answer(batch_round *round, batch_place *place, dlock_time until);

/* At the deadline: stops the leader from answering the client. False: the leader has answered, or
 * is answering; call round_wait_answer(). */
bool round_give_up(batch_place *place);

/* Sends orders to the clients that can be answered directly, if sale_may_tell() allows it, wakes
 * all other buyers, and ends the round. */
void round_answer(batch_round *round, const open_sale *sale);

/* Ends the round and wakes its waiters; sends nothing to clients. */
void round_end(batch_round *round);

#endif
