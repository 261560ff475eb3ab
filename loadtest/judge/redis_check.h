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
void redis_check_remaining(lt_invariant *i, const lt_result *r, const lt_plan *p);
void redis_check_sum(lt_invariant *i, const lt_result *r, const lt_plan *p);
void redis_check_ordered(lt_invariant *i, const lt_result *r, const lt_plan *p);
void redis_check_repeated(lt_invariant *i, const lt_result *r, const lt_plan *p);

/* The order of the run's first request. */
void redis_check_first_order(lt_invariant *i, const lt_result *r, const lt_plan *p);

#endif
