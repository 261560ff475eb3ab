/*
 * The lock order checker, a debugging aid: reports locks that are taken in opposite orders. A
 * client has one only with options.check_order.
 */
#ifndef DLOCK_CORE_LOCK_ORDER_H
#define DLOCK_CORE_LOCK_ORDER_H

#include "core/grant.h"

typedef struct lock_order lock_order;

lock_order *dlock_lock_order_new(void); /* NULL: out of memory */
void dlock_lock_order_free(lock_order *order);

/* A hold's context asks for its lock; has it; gives it back. */
void dlock_lock_order_acquiring(const dlock_hold *wanted);
void dlock_lock_order_acquired(const dlock_hold *hold);
void dlock_lock_order_released(const dlock_hold *hold);

#endif
