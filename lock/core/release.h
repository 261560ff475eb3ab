/* What blocking and pending releases begin and end with. */
#ifndef DLOCK_CORE_RELEASE_H
#define DLOCK_CORE_RELEASE_H

#include "core/grant.h"
#include "core/lock.h"

/* A hold that is gone; its grant is to be given back to Redis. */
typedef struct grant_release {
    grant *grant; /* (a reference) NULL: nothing is to be asked, and `status` is the end */
    bool was_ours;
    dlock_status status;
} grant_release;

/* One level less, and what can be done without Redis. The hold is freed at the last one. */
grant_release dlock_release_begin(dlock_hold *hold);

/* The same for a hold whose grant is exchanged for another: the grant is passed on to nobody of a
 * cohort. False: the hold was re-entered, and stays as it is. */
bool dlock_release_begin_exchange(dlock_hold *hold, grant_release *ret);

/* Redis was asked to release the grant's token, with this outcome. Returns the release's. */
dlock_status dlock_release_end(grant_release *r, dlock_status status);

#endif
