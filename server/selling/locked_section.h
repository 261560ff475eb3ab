/*
 * locked_section.h - the frame of the strategies that sell under one lock of libdlock a sale.
 *
 * They all have the same shape, so that what differs is all that one sees: take the lock, sell,
 * give it back. The lock's options stand in the strategy's descriptor.
 */
#ifndef FLASHSALE_LOCKED_SECTION_H
#define FLASHSALE_LOCKED_SECTION_H

#include "server/selling/strategy.h"

/* A strategy's open() and close(): the state is the sale's lock, a dlock_lock. */
int locked_section_open(const open_sale *sale, void **ret, char *err, size_t err_len);
void locked_section_close(void *lock);

/* A strategy's buy(), as the articles have it: take the lock; read the stock, write it back;
 * release. The lock alone keeps it right. */
void locked_section_buy(const open_sale *sale, void *lock, const purchase *request,
                        purchase_result *result);

/* Takes a lock for the buyer, who waits for it as long as the sale says and the deadline allows.
 * False: `result` says why not. */
bool locked_section_take(const open_sale *sale, dlock_lock *lock, const purchase *request,
                         dlock_hold **ret, purchase_result *result);

#endif
