/*
 * Three steps: the figures, the invariants that they must satisfy, and the reasons not to believe a
 * run at all. Only then the verdict: the worst that any of these stands for.
 */
#include "loadtest/result/verdict.h"

#include "loadtest/base/number.h"
#include "loadtest/result/invariants.h"
#include "loadtest/result/validity.h"

bool verdict_is_broken(lt_verdict verdict)
{
    return verdict != VERDICT_SAFE && verdict != VERDICT_INVALID;
}

static int64_t at_least_zero(int64_t value)
{
    return number_larger(value, 0);
}

/* Requests that got nothing, and not because their user had all that a limit allows. */
static int64_t turned_away(const lt_result *result)
{
    int64_t count = counter_get(&result->tally->unfinished);
    for (int i = 0; i < OUT_COUNT; i++) {
        if (i != OUT_SOLD && i != OUT_LIMIT)
            count += result_count(result, (lt_outcome)i);
    }
    return at_least_zero(count - result->audit.unknown_sold);
}

/*
 * Units that buyers went without. Stock only ever falls, so what is left at rest was there when
 * they asked: a refusal as sold out was wrong too, provided that there were enough units for a
 * request. Of a stock in segments one of them has enough if there are more than all can hold too
 * few of.
 */
static int64_t units_undersold(const lt_result *result, const lt_plan *plan)
{
    int64_t left = at_least_zero(result->stock.remaining);
    if (left <= result->segments * (plan->quantity - 1))
        return 0;
    left = number_smaller(left, turned_away(result) * plan->quantity);
    /* Units that no longer belong to a lost update are no longer for sale either. */
    return number_smaller(left, at_least_zero(plan->stock - result->sold_units));
}

static void compute_figures(lt_result *result, const lt_plan *plan)
{
    result->sold = result_count(result, OUT_SOLD);
    result->sold_units = (result->sold + result->audit.unknown_sold) * plan->quantity;
    result->oversold = at_least_zero(result->sold_units - plan->stock);
    result->duplicates = result->audit.duplicates + counter_get(&result->tally->replays_other);
    if (!result->stock_known)
        return;
    result->lost_updates =
        at_least_zero(result->sold_units - (plan->stock - result->stock.remaining));
    result->undersold = units_undersold(result, plan);
}

static lt_verdict worst(const lt_result *result)
{
    lt_verdict verdict = result->reason_count > 0 ? VERDICT_INVALID : VERDICT_SAFE;
    for (int i = 0; i < result->invariant_count; i++) {
        const lt_invariant *invariant = &result->invariants[i];
        if (!invariant->ok && invariant->verdict > verdict)
            verdict = invariant->verdict;
    }
    return verdict;
}

void verdict_reach(lt_result *result, const lt_plan *plan)
{
    if (!result->tally) {
        result->verdict = VERDICT_INVALID;
        return;
    }
    compute_figures(result, plan);
    invariants_check(result, plan);
    validity_check(result, plan);
    result->verdict = worst(result);
}
