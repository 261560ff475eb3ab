/*
 * redis_check.h - the redis-cli command with which a reader sees for himself what an invariant
 * says.
 *
 * A sale keeps its books under fs:{item}:<sale>:..., a sharded one under fs:{item#k}:<sale>:... for
 * each segment k. The commands work while these keys live, 24 hours after the sale.
 */
#ifndef LOADTEST_REDIS_CHECK_H
#define LOADTEST_REDIS_CHECK_H

#include "loadtest/base/plan.h"
#include "loadtest/judge/result.h"

/* Units left; units left and units ordered; orders; requests in the ledger more than once. */
void recheck_remaining(struct invariant *i, const struct run_result *r, const struct load_plan *p);
void recheck_sum(struct invariant *i, const struct run_result *r, const struct load_plan *p);
void recheck_ordered(struct invariant *i, const struct run_result *r, const struct load_plan *p);
void recheck_repeated(struct invariant *i, const struct run_result *r, const struct load_plan *p);

/* The order of the run's first request. */
void recheck_first_order(struct invariant *i, const struct run_result *r,
                         const struct load_plan *p);

#endif
