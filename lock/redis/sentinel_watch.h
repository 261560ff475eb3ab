/*
 * One sentinel. A thread of its own asks it and listens to it, so that a silent sentinel does not
 * delay the others.
 */
#ifndef DLOCK_REDIS_SENTINEL_WATCH_H
#define DLOCK_REDIS_SENTINEL_WATCH_H

#include "redis/conn.h"

/* How long connecting to a sentinel and all its answers may take together: less than a connect to
 * Redis, so that the first one hears why there is no answer. */
#define SENTINEL_ANSWER_MS 800

enum {
    SENTINEL_ID_LEN = 48,
    SENTINELS_TOLD_MAX = 16,
    REPLICAS_TOLD_MAX = DLOCK_REPLICAS_MAX,
    RIGHT_LEN = 40
};

typedef enum said_kind {
    SAYS_NOTHING, /* not reached, silent, or what it says makes no sense: `wrong` tells */
    KNOWS_NO_SUCH_MASTER,
    NAMES_A_MASTER
} said_kind;

typedef struct told_sentinel {
    char id[SENTINEL_ID_LEN];
    address_host at;
} told_sentinel;

typedef struct told_replica {
    address_host at;
    bool barred; /* its priority is 0 */
    bool lost; /* down, or without a link to its master, for longer than it may be promoted after */
    bool down;
} told_replica;

/* What a sentinel says. Nothing of it need be true. */
typedef struct sentinel_answer {
    said_kind kind;
    address_host master;
    int64_t epoch;            /* of its configuration: a later failover has a higher one */
    char id[SENTINEL_ID_LEN]; /* its own; "" = it did not say */
    told_sentinel others[SENTINELS_TOLD_MAX];
    int others_len;
    char wrong[ERROR_LEN];

    dlock_time asked;      /* when; the replicas are no newer */
    bool sees_master;      /* the master is up, and nothing is failed over at present */
    int64_t down_ms;       /* for so long the master is down, as this one sees it; 0 = up */
    int64_t sentinels;     /* how many there are, itself included; 0: it did not say */
    int64_t down_after_ms; /* -1: it did not say */
    bool lists_replicas;   /* those below are told; there may be none */
    bool more_replicas;    /* than fit */
    told_replica replicas[REPLICAS_TOLD_MAX];
    int replicas_len;
    char denied[RIGHT_LEN]; /* the first right that its user lacks for them; "" = none */
} sentinel_answer;

/* Where all watches of one topology put their answers. */
typedef struct watch_board {
    pthread_mutex_t lock;
    pthread_cond_t answered; /* a question, by some sentinel */
    int bell;                /* eventfd: an answer differs from the one before */
} watch_board;

typedef struct watch watch;

/* Starts it, for a sentinel of the URL of `t`, at `at` (copied); both others are borrowed, and
 * outlive it. It asks at once. NULL: out of memory or threads. */
watch *dlock_watch_new(const topology *t, const address_host *at, watch_board *board);
const address_host *dlock_watch_at(const watch *w);

/* Has it ask once more, without waiting for that. */
void dlock_watch_ask(watch *w);

/* The answer to the last question; NULL: it has not come yet. One that has said nothing says
 * nothing until it answers, so that nobody waits for it time and again. Under the board's lock, and
 * valid as long. */
const sentinel_answer *dlock_watch_answer(const watch *w);

/* The last answer, to whichever question; NULL: there was none yet. Under the board's lock, and
 * valid as long. */
const sentinel_answer *dlock_watch_latest(const watch *w);

/* Asks it to end; free waits for that, for SENTINEL_ANSWER_MS at most and the system's resolver. */
void dlock_watch_stop(watch *w);
void dlock_watch_free(watch *w);

#endif
