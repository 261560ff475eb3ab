/*
 * The watchdog of a client: one thread that renews leases and notices their end, also if Redis can
 * not be reached.
 */
#ifndef DLOCK_CORE_WATCHDOG_H
#define DLOCK_CORE_WATCHDOG_H

#include "core/grant.h"

typedef struct watchdog watchdog;

watchdog *dlock_watchdog_new(dlock_client *client); /* NULL: out of memory or threads */
void dlock_watchdog_free(watchdog *w);

/* Watches the grant, with a reference of its own, until it ends or is removed. */
void dlock_watchdog_add(watchdog *w, grant *g, int64_t first_renewal_ms);

/* Renews the grant at once, if it is watched, because it was not renewed for some time. */
void dlock_watchdog_hurry(watchdog *w, grant *g);

/* Renews the whole lease now. True: the kernel has the request, for as many servers as it needs. It
 * does not wait for the answer. */
bool dlock_watchdog_extend(watchdog *w, grant *g);
void dlock_watchdog_remove(watchdog *w, grant *g);

#endif
