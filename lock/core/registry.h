/*
 * Which context holds which lock. This makes locks reentrant. A context is the calling thread, or
 * an id that the caller chooses.
 */
#ifndef DLOCK_CORE_REGISTRY_H
#define DLOCK_CORE_REGISTRY_H

#include "core/grant.h"

typedef struct registry registry;

registry *dlock_registry_new(dlock_client *client); /* NULL: out of memory */
void dlock_registry_free(registry *r);              /* and the holds that nobody released */

/* The calling thread's number, which is never reused. From now on the thread's end is noticed: it
 * is reported for each lock that the thread still holds, and their renewal stops. */
uint64_t dlock_registry_thread(void);

/* A thread's number that no thread has. */
uint64_t dlock_registry_nobody(void);

/* From now on the calling thread counts as another one, which has never held anything and whose end
 * is not noticed. For threads of the library alone. */
void dlock_registry_be_nobody(void);

/* If the context holds this lock alive, *ret is that hold, re-entered (count + 1). *ret is NULL if
 * it holds none, or one that can not be re-entered. DLOCK_INVALID: the context would wait for
 * itself, because it holds less than it asks for: it reads and wants to write, or its grant waited
 * for fewer replicas. */
dlock_status dlock_registry_reenter(registry *r, const dlock_lock *wanted, uint64_t context,
                                    bool of_thread, dlock_hold **ret);

void dlock_registry_add(registry *r, dlock_hold *hold);

/* One level less; true and out of the registry at the last one. */
bool dlock_registry_leave(registry *r, dlock_hold *hold);

/* The same if this is the last level; false: it was re-entered, and stays as it is. */
bool dlock_registry_leave_last(registry *r, dlock_hold *hold);

#endif
