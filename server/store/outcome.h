/*
 * outcome.h - what Redis's and the lock's answers mean for a buyer.
 *
 * The rule behind all of it: as long as no write was sent, a failure is definite and the buyer
 * hears "store unavailable". After that, only an answer is definite; silence is "unknown".
 */
#ifndef FLASHSALE_OUTCOME_H
#define FLASHSALE_OUTCOME_H

#include "server/store/purchase.h"
#include "server/store/store.h"

/* A read that was not answered (any outcome but OK). Failures are logged, a line a second. */
buy_outcome outcome_of_read(fs_store *store, dlock_redis_outcome outcome);

/* A write that was not answered (any outcome but OK). */
buy_outcome outcome_of_write(fs_store *store, dlock_redis_outcome outcome);

/* A lock that was not obtained (any status but DLOCK_OK). */
buy_outcome outcome_of_lock(fs_store *store, dlock_status status);

/* A guarded write that was not answered (any status but DLOCK_OK). */
buy_outcome outcome_of_guard(fs_store *store, dlock_status status);

/* A script's answer to one buyer: a record, "=" and an earlier record, or a refusal's word. */
void outcome_of_answer(const char *answer, size_t len, const buy_request *request,
                       buy_result *result);

/* The order that the request's id has from an earlier try, on shelf `segment`. */
void outcome_of_earlier(const fs_order *order, int segment, const buy_request *request,
                        buy_result *result);

#endif
