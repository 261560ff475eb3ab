/*
 * The watchdog of a client: one thread that has leases renewed and notices their end, whether Redis
 * can be reached or not.
 */
#ifndef DLOCK_CORE_WATCHDOG_H
#define DLOCK_CORE_WATCHDOG_H

#include "core/grant.h"

typedef struct watchdog watchdog;

watchdog *dlock_watchdog_new(dlock_client *client); /* NULL: out of memory or threads */
void dlock_watchdog_free(watchdog *w);

/* Watches the grant, with a reference of its own, until it ends or is removed. */
void dlock_watchdog_add(watchdog *w, grant *g, int64_t first_renewal_ms);

/* Has it renewed at once, if it is watched: it was not renewed for some time. */
void dlock_watchdog_hurry(watchdog *w, grant *g);

/* Has the whole lease renewed now. True: the question was given to the kernel, on its way to as
 * many servers as it needs; its answer is not waited for. */
bool dlock_watchdog_extend(watchdog *w, grant *g);
void dlock_watchdog_remove(watchdog *w, grant *g);

#endif
