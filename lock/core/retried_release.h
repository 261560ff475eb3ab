/*
 * Retried releases: what a release or a waiter's leaving left open is tried again in the
 * background, until Redis answers or the lease must have ended by itself. A client has two such
 * lists, since a quorum's silent servers must not hold up what is to be released on its redis.
 */
#ifndef DLOCK_CORE_RETRIED_RELEASE_H
#define DLOCK_CORE_RETRIED_RELEASE_H

#include "core/lock.h"

typedef struct retried_releases retried_releases;

retried_releases *dlock_retried_releases_new(dlock_client *client); /* NULL: out of memory */
void dlock_retried_releases_free(retried_releases *r,
                                 dlock_time until); /* waits for what is open */

/* Has the lock, as far as this token has it, released in the background. */
void dlock_retried_releases_add(dlock_lock *lock, const char *token);

#endif
