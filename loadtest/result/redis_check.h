/*
 * redis_check.h - the redis-cli command that shows a reader what an invariant is about.
 *
 * A sale keeps its stock and ledger under fs:{item}:<sale>:..., a sharded one under
 * fs:{item#k}:<sale>:... for each segment k. The commands work as long as these keys live, 24 hours
 * after the sale.
 */
#ifndef LOADTEST_REDIS_CHECK_H
#define LOADTEST_REDIS_CHECK_H

#include "loadtest/base/plan.h"
#include "loadtest/result/result.h"

/* Adds the command for a guarantee, where there is one. */
void redis_check(lt_invariant *invariant, const lt_result *result, const lt_plan *plan);

#endif
