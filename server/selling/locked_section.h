/*
 * locked_section.h - the frame of the strategies that sell under one lock a sale.
 *
 * They all have the same shape, so that what differs is all that one sees: take the lock, sell,
 * give it back.
 */
#ifndef FLASHSALE_LOCKED_SECTION_H
#define FLASHSALE_LOCKED_SECTION_H

#include "server/selling/read_then_write.h"

typedef struct fs_locked {
    const sale_terms *terms; /* (borrowed) */
    dlock_lock *lock;
} fs_locked;

/* Makes the sale's lock from `options`; lease and companion are filled in here. A strategy's
 * open(): *state becomes a `locked`. */
int locked_open(const sale_terms *terms, const dlock_options *options, void **state, char *err,
                size_t err_len);
void locked_close(void *state);

/* A strategy's buy(), as the articles have it: take the lock; read the stock, write it back;
 * release. The lock alone keeps it right. */
void locked_buy(void *state, const buy_request *request, buy_result *result);

/* Takes the lock for the buyer, who waits for it as long as the sale says and the deadline allows.
 * False: `result` says why not. */
bool locked_take(const fs_locked *locked, const buy_request *request, dlock_hold **ret,
                 buy_result *result);

/* The same for any lock, and a context of the caller's own (0 = the thread). */
bool locked_take_one(const sale_terms *terms, dlock_lock *lock, uint64_t context,
                     const buy_request *request, dlock_hold **ret, buy_result *result);

/* Makes the critical section last as long as the sale says, but not beyond the deadline. */
void locked_dwell(const sale_terms *terms, dlock_time deadline);

#endif
