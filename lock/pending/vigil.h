/*
 * A vigil: keeps watch over one lock for all pending acquisitions that wait for it, so that each
 * of them can sleep until it is woken.
 */
#ifndef DLOCK_PENDING_VIGIL_H
#define DLOCK_PENDING_VIGIL_H

#include "pending/engine.h"

typedef struct vigil vigil;

/* One more, or less, waits for the lock. NULL: out of memory. On the engine's thread, as all of
 * this. */
vigil *dlock_vigil_join(engine *e, dlock_lock *lock);
void dlock_vigil_leave(vigil *v);

/* One sleeps that was told so. */
void dlock_vigil_hears(vigil *v, const answer *a);

#endif
