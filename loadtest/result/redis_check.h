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

typedef enum lt_redis_check {
    CHECK_REMAINING,  /* units left */
    CHECK_SUM,        /* units left, and units ordered */
    CHECK_ORDERED,    /* units ordered */
    CHECK_REPEATED,   /* requests that the ledger has more than once */
    CHECK_FIRST_ORDER /* the order of the run's first request */
} lt_redis_check;

/* Adds the command that shows `what` to an invariant. */
void redis_check(lt_invariant *invariant, const lt_result *result, const lt_plan *plan,
                 lt_redis_check what);

#endif
