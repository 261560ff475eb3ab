/*
 * locked_section.h - the frame of the strategies that sell under one lock of libdlock per sale.
 *
 * All have the same shape, so that only their differences show: acquire the lock, sell, release it.
 * The strategy's descriptor has the lock's options.
 */
#ifndef FLASHSALE_LOCKED_SECTION_H
#define FLASHSALE_LOCKED_SECTION_H

#include "server/selling/strategy.h"

/* A strategy's open() and close(): the state is the sale's lock, a dlock_lock. */
int locked_section_open(const open_sale *sale, void **ret, char *err, size_t err_len);
void locked_section_close(void *lock);

/* A strategy's buy(), as in the articles: acquire the lock, read the stock, write it back, release.
 * Correct only while the lock is held. */
void locked_section_buy(const open_sale *sale, void *lock, const purchase *request,
                        purchase_result *result);

/* Acquires a lock for the buyer; waits for the sale's wait_ms, but not beyond the deadline.
 * False: `result` says why not. */
bool locked_section_take(const open_sale *sale, dlock_lock *lock, const purchase *request,
                         dlock_hold **ret, purchase_result *result);

#endif
