/*
 * redis_check.h - the redis-cli command with which a reader sees for himself what an invariant
 * says.
 *
 * A sale keeps its stock and ledger under fs:{item}:<sale>:..., a sharded one under
 * fs:{item#k}:<sale>:... for each segment k. The commands work while these keys live, 24 hours
 * after the sale.
 */
#ifndef LOADTEST_REDIS_CHECK_H
#define LOADTEST_REDIS_CHECK_H

#include "loadtest/base/plan.h"
#include "loadtest/result/result.h"

/* Adds the command that shows what a guarantee is about, where there is one. */
void redis_check(lt_invariant *invariant, const lt_result *result, const lt_plan *plan);

#endif
