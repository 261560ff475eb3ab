/*
 * Retried releases: if Redis did not answer a release, or a waiter's leaving, it is tried again in
 * the background until Redis answers, or the lease must have ended. A client has two such lists, so
 * that a quorum's silent servers do not delay releases on its redis.
 */
#ifndef DLOCK_CORE_RETRIED_RELEASE_H
#define DLOCK_CORE_RETRIED_RELEASE_H

#include "core/lock.h"

typedef struct retried_releases retried_releases;

retried_releases *dlock_retried_releases_new(dlock_client *client); /* NULL: out of memory */
void dlock_retried_releases_free(retried_releases *r,
                                 dlock_time until); /* waits for what is open */

/* Releases the lock in the background, if this token has it, with this lease. */
void dlock_retried_releases_add(dlock_lock *lock, const char *token, int64_t lease_ms);

#endif
