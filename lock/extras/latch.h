/*
 * A count-down latch: a hash in Redis that opens at zero (latch.lua has its fields), and the
 * waiters of this process.
 */
#ifndef DLOCK_EXTRAS_LATCH_H
#define DLOCK_EXTRAS_LATCH_H

#include "core/subscriber.h"

/* The first number of a reply. */
typedef enum latch_answer {
    ANSWER_STRANGE = -2,
    ANSWER_NOT_SET,
    ANSWER_CLOSED,
    ANSWER_DONE,
    ANSWER_OTHER_ROUND
} latch_answer;

/* How the latch stood when it was asked. */
typedef struct latch_state {
    dlock_time asked;    /* before the question was sent */
    dlock_status status; /* the rest counts only if it is OK */
    latch_answer answer;
    int64_t left, round, first;
} latch_state;

struct dlock_latch {
    dlock_client *client; /* (borrowed) */
    char *name;
    channel channel;       /* on which openings are told */
    _Atomic int64_t round; /* told last; 0 = none yet */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t news;
    bool listens;       /* to the channel */
    bool told;          /* a message came, or may be lost: a waiter must look */
    bool led;           /* one waiter looks for all */
    latch_state latest; /* the last state that a waiter has seen */
};

/* How the latch stands. */
latch_state dlock_latch_look(dlock_latch *latch);

/* The status of an answer: DLOCK_OK for ANSWER_DONE, _BUSY for _CLOSED, _EXPIRED for _NOT_SET,
 * _NOT_OWNER for _STRANGE, _UNAVAILABLE for _OTHER_ROUND; or why there is no answer. */
dlock_status dlock_latch_status(const latch_state *state);

#endif
