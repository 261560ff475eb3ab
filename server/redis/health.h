/*
 * health.h - what is wrong with the server at present, as the keeper last found it.
 *
 * Six things can be, and each has its own consequence for the buyers. A server that nobody has
 * looked at yet has all of them, and misses replicas.
 */
#ifndef FLASHSALE_HEALTH_H
#define FLASHSALE_HEALTH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "server/redis/replica_set.h"

typedef enum store_trouble {
    TROUBLE_SILENT,        /* it does not answer, or not to this user */
    TROUBLE_REFUSES,       /* it refuses the scripts that sell */
    TROUBLE_WRITES_PAUSED, /* it answers what only reads, and no script that sells */
    TROUBLE_MAY_EVICT,     /* its maxmemory-policy throws keys away */
    TROUBLE_NO_DISK,       /* it does not put every write on disk before it answers */
    TROUBLE_NO_REPLICAS,   /* a replica that may be promoted is missing, or too few are online */
    TROUBLES               /* how many there are */
} store_trouble;

typedef struct store_complaint {
    char redis[24]; /* the first word of what Redis said, "OOM" for one; "no_answer"; "" */
    char detail[256];
} store_complaint;

/* Makes a complaint of what Redis answered; NULL: it said nothing. */
void complain(store_complaint *ret, const char *answer);

typedef struct store_health {
    pthread_mutex_t lock; /* guards why */
    atomic_bool found[TROUBLES];
    store_complaint why[TROUBLES];
    replica_set replicas;
} store_health;

void health_init(store_health *health);
void health_free(store_health *health);

/* NULL: the trouble is over. */
void health_note(store_health *health, store_trouble trouble, const store_complaint *why);

static inline bool health_has(const store_health *health, store_trouble trouble)
{
    return atomic_load_explicit(&health->found[trouble], memory_order_acquire);
}

/* False, and nothing written: there is no such trouble. */
bool health_why(store_health *health, store_trouble trouble, store_complaint *ret);

#endif
