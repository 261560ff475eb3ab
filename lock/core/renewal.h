/*
 * Renewals: a request to each server that a grant needs. A renewal is decided when enough of them
 * have answered. Nothing waits for it: it wakes the watchdog's thread when it is decided.
 */
#ifndef DLOCK_CORE_RENEWAL_H
#define DLOCK_CORE_RENEWAL_H

#include "core/client.h"
#include "core/grant.h"
#include "redis/pipeline.h"

typedef struct renewal renewal;

/* Those of a client. */
typedef struct renewals {
    dlock_client *client; /* (borrowed) */
    /* The renewal was granted; called from any thread. It gets the reference that the list of
     * decided renewals would have; the others stay in that list. */
    void (*granted)(struct renewals *all, renewal *r);
    pthread_mutex_t lock;   /* guards the rest, and what of a grant is the watchdog's */
    pthread_cond_t changed; /* one is decided */
    pthread_cond_t written; /* one was written, or is decided without that */
    renewal *decided;
    pipeline *to_redis;              /* to the client's redis, ... */
    pipeline *to_quorum[QUORUM_MAX]; /* ... and to its quorum; NULL until needed, set once */
} renewals;

void dlock_renewals_init(renewals *all, dlock_client *client,
                         void (*granted)(renewals *all, renewal *r)); /* zeroed */
void dlock_renewals_free(renewals *all); /* waits for those under way */

/* The caller has a reference. The renewal is decided at its limit at the latest. NULL: out of
 * memory. */
renewal *dlock_renewal_start(renewals *all, grant *g);
void dlock_renewal_unref(renewal *r);         /* NULL is allowed */
grant *dlock_renewal_grant(const renewal *r); /* (borrowed) */

/* Waits until the kernel has its bytes, for as many servers as it needs: the whole lease begins.
 * False: it was refused before, or its limit has come. NULL is allowed. */
bool dlock_renewal_is_written(renewal *r);

/* Takes a decided renewal, with its reference. NULL: there is none. Under the mutex. */
renewal *dlock_renewals_take(renewals *all);

/* Applies the decision to the grant: renewed (true), or over, or neither. */
bool dlock_renewal_conclude(const renewal *r);

#endif
