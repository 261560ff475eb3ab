/* What the kinds on one server share: running their acquire and release scripts, which all give
 * the same replies. */
#ifndef DLOCK_KINDS_ONE_SERVER_H
#define DLOCK_KINDS_ONE_SERVER_H

#include "core/kind.h"

/* Runs an acquire script, with one more argument: the moment by Redis's clock, in us, after which
 * it is to do nothing, 0 = none. Reply {1, fence, clock us, waiters}, {0, ms left}, or {2, clock
 * us} when it came too late. Frees args. */
dlock_status dlock_one_server_acquire(dlock_lock *lock, dlock_script *script, int keys,
                                      dlock_args *args, answer *ret);

/* Runs a release script. Reply 1, 0 or -1. Frees args. */
dlock_status dlock_one_server_release(dlock_lock *lock, dlock_script *script, int keys,
                                      dlock_args *args);

#endif
