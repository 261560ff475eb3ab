/*
 * batch_round.h - a round of buyers who are answered together, and how each of them waits.
 *
 * Most wait for one word, "answered", and one system call wakes them all: to wake each by itself
 * would cost a call a buyer, and let the first ones push the leader off its processor before it has
 * told the others. Those whose client can be answered directly (direct_answer) sleep on its
 * socket; the leader sends them their order, and they are not woken at all.
 *
 * A round is shared by its buyers and by the queue, then the leader; who is the last to let go
 * of it gives it back. So a buyer may go at its deadline while the leader still writes its answer.
 */
#ifndef FLASHSALE_BATCH_ROUND_H
#define FLASHSALE_BATCH_ROUND_H

#include <stdatomic.h>

#include "server/selling/sell.h"

/* Who answers the client: the one rule that keeps two threads from doing it. Only the leader goes
 * from ASLEEP to TELLING, and only the buyer back to AWAKE, each by one compare-and-swap. */
typedef enum {
    TURN_AWAKE,   /* the buyer, once the round is answered */
    TURN_ASLEEP,  /* whoever comes first: the leader, or the buyer at its deadline */
    TURN_TELLING, /* the leader is at it; the buyer waits until the round is answered */
    TURN_TOLD,    /* the leader has done it */
    TURN_HANDED,  /* the buyer, with the result that is there */
} batch_turn;

typedef struct batch_place {
    bool left;        /* the batch's: gone before the round was taken */
    bool in_doubt;    /* likewise: gone, or about to go, while it is taken */
    atomic_int turn;  /* batch_turn */
    purchase request; /* a copy: the buyer's own may be gone before the leader is done */
    purchase_result result;
} batch_place;

typedef enum { QUEUED, CALLED, TAKEN } batch_stage;

typedef struct batch_round {
    struct batch_round *next; /* in the queue */
    atomic_uint answered;     /* 0, then 1 when answered or dropped */
    atomic_int users;         /* buyers, and the queue or the leader */
    int count;                /* places given out; this and the next two are the batch's */
    int gone;                 /* how many of them have left */
    batch_stage stage;
    batch_place places[SELL_MAX];
} batch_round;

/* Makes an empty round of this memory, with one user. */
void round_init(batch_round *round);

/* A place for another buyer, who is one user more; `direct`: whose client the leader may answer. */
batch_place *round_add(batch_round *round, const purchase *request, bool direct);

/* False: somebody uses it still. True: it is the caller's to give back. */
bool round_let_go(batch_round *round);

/* Waits for the round as a whole. True when it was answered, or dropped, by then. */
bool round_wait(batch_round *round, dlock_time until);

/* Waits for this buyer's answer. True: it is there; result.told says whether the client has it. */
bool round_wait_answer(batch_round *round, batch_place *place, dlock_time until);

/* At the deadline: from now on the leader does not tell the client. False: it has, or is at it, so
 * round_wait_answer() is due. */
bool round_give_up(batch_place *place);

/* Tells the clients that can be told directly of their orders, as far as sale_may_tell() says that
 * the order may be told, wakes everybody else, and ends the round. */
void round_answer(batch_round *round, const open_sale *sale);

/* Ends the round and wakes who waits for it; by itself without a word to any client. */
void round_end(batch_round *round);

#endif
