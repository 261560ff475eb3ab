/* What blocking and pending releases begin and end with. */
#ifndef DLOCK_CORE_RELEASE_H
#define DLOCK_CORE_RELEASE_H

#include "core/grant.h"
#include "core/lock.h"

/* A hold that is gone. Its grant must still be released in Redis. */
typedef struct grant_release {
    grant *grant; /* (a reference) NULL: Redis need not be asked; `status` is the result */
    bool was_ours;
    dlock_status status;
} grant_release;

/* Gives up one level, and does what needs no Redis. At the last level it frees the hold. */
grant_release dlock_release_begin(dlock_hold *hold);

/* The same for a hold whose grant is exchanged for another one: it is not passed on in a cohort.
 * False: the hold was re-entered, and stays as it is. */
bool dlock_release_begin_exchange(dlock_hold *hold, grant_release *ret);

/* Redis was asked to release the grant's token, with this outcome. Returns the release's. */
dlock_status dlock_release_end(grant_release *r, dlock_status status);

#endif
