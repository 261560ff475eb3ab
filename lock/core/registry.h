/*
 * Which context holds which lock: what makes locks reentrant. A context is the calling thread, or
 * an id of the caller's own.
 */
#ifndef DLOCK_CORE_REGISTRY_H
#define DLOCK_CORE_REGISTRY_H

#include "core/grant.h"

typedef struct registry registry;

registry *dlock_registry_new(dlock_client *client); /* NULL: out of memory */
void dlock_registry_free(registry *r);              /* and the holds that nobody released */

/* The calling thread's number: never reused. Its end is noticed from now on: it is reported for
 * each lock that the thread still holds, and the renewal stops. */
uint64_t dlock_registry_thread(void);

/* A thread's number that no thread has. */
uint64_t dlock_registry_nobody(void);

/* The live hold that a context gets again when it asks for this lock, re-entered (count + 1); *ret
 * is NULL where it holds none, or one that can not be re-entered. DLOCK_INVALID: it would wait for
 * itself, since what it holds is less than what it asks for: it reads and wants to write, or its
 * grant has waited for fewer replicas. */
dlock_status dlock_registry_reenter(registry *r, const dlock_lock *wanted, uint64_t context,
                                    bool of_thread, dlock_hold **ret);

void dlock_registry_add(registry *r, dlock_hold *hold);

/* One level less; true and out of the registry at the last one. */
bool dlock_registry_leave(registry *r, dlock_hold *hold);

/* The same if this is the last level; false: it was re-entered, and stays as it is. */
bool dlock_registry_leave_last(registry *r, dlock_hold *hold);

#endif
