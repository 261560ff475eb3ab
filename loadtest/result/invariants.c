/*
 * Four sources, one after the other: what the buyers were told, GET /stock, the ledger, and the
 * replays. What a source does not tell is not a row: that it is missing is for validity.c to say.
 */
#include "loadtest/result/invariants.h"

#include "loadtest/base/number.h"
#include "loadtest/result/redis_check.h"

#include <inttypes.h>

static bool holds(int64_t observed, const char *relation, int64_t expected)
{
    if (relation[0] == '>')
        return observed >= expected;
    return relation[0] == '<' ? observed <= expected : observed == expected;
}

/* A row that stands for `verdict`: it fails, and the run's verdict is that, or a worse one. */
static lt_invariant *add(lt_result *result, lt_verdict verdict, const char *id, const char *name,
                         int64_t observed, const char *relation, int64_t expected)
{
    lt_invariant *invariant = &result->invariants[result->invariant_count++];
    *invariant = (lt_invariant){.id = id,
                                .name = name,
                                .observed = observed,
                                .relation = relation,
                                .expected = expected,
                                .verdict = verdict,
                                .ok = holds(observed, relation, expected)};
    if (!invariant->ok && verdict == VERDICT_INVALID)
        result_invalid(result, "%s: %" PRId64 " (expected %s %" PRId64 ")", name, observed,
                       relation, expected);
    return invariant;
}

/* Whether no request can still change the stock. One whose outcome stays unknown may be between its
 * two writes, and sums that do not match prove nothing. */
static bool is_at_rest(const lt_audit *audit)
{
    return audit->unknown == 0 || (audit->ledger == LEDGER_WHOLE && audit->unknown_open == 0);
}

/* I1 and I2: from GET /stock, at rest and while the run lasted. */
static void check_stock(lt_result *result, const lt_plan *plan)
{
    lt_verdict of_sum = is_at_rest(&result->audit) ? VERDICT_LOST : VERDICT_INVALID;
    const lt_stock *stock = &result->stock;
    const lt_stock_watch *watch = &result->watch;
    int64_t lowest = number_smaller(stock->remaining, watch->lowest);
    int64_t most_units = number_larger(stock->units, watch->most_units);
    redis_check(add(result, of_sum, "I1", "stock = remaining + units ordered",
                    stock->remaining + stock->units, "=", plan->stock),
                result, plan, CHECK_SUM);
    redis_check(add(result, VERDICT_OVERSOLD, "I2", "remaining is never below 0 (lowest seen)",
                    lowest, ">=", 0),
                result, plan, CHECK_REMAINING);
    redis_check(add(result, VERDICT_OVERSOLD, "I2",
                    "units ordered never exceed the stock (most seen)", most_units,
                    "<=", plan->stock),
                result, plan, CHECK_ORDERED);
    redis_check(add(result, VERDICT_LOST, "", "units told sold are gone from the stock",
                    plan->stock - stock->remaining, ">=", result->sold_units),
                result, plan, CHECK_REMAINING);
    redis_check(add(result, VERDICT_UNDERSOLD, "", "units left while buyers were turned away",
                    result->undersold, "=", 0),
                result, plan, CHECK_REMAINING);
    add(result, VERDICT_OVERSOLD, "", "units oversold, by the service's own count",
        number_larger(stock->oversold, watch->most_oversold), "=", 0);
    add(result, VERDICT_LOST, "", "lost updates, by the service's own count",
        number_larger(stock->lost_updates, watch->most_lost), "=", 0);
}

/* I2 to I5: from the ledger, all of it. */
static void check_ledger(lt_result *result, const lt_plan *plan)
{
    const lt_audit *audit = &result->audit;
    if (audit->strangers == 0)
        add(result, VERDICT_OVERSOLD, "I2", "first orders in the ledger never exceed the stock",
            audit->first_units, "<=", plan->stock);
    redis_check(add(result, VERDICT_DUPLICATED, "I3", "orders beyond the first of a request",
                    audit->duplicates, "=", 0),
                result, plan, CHECK_REPEATED);
    redis_check(add(result, VERDICT_LOST, "I4", "every 201 has its order, as it was told",
                    audit->matched, "=", result->sold),
                result, plan, CHECK_FIRST_ORDER);
    add(result, VERDICT_LOST, "I4", "orders of another user, item, sale or quantity", audit->other,
        "=", 0);
    add(result, VERDICT_INVALID, "I4", "orders without id, user, item, sale or quantity",
        audit->incomplete, "=", 0);
    add(result, VERDICT_LOST, "I5", "refused requests that have an order", audit->unannounced, "=",
        0);
    add(result, VERDICT_INVALID, "I5", "unknown outcomes that stay unknown", audit->unknown_open,
        "=", 0);
    add(result, VERDICT_LOST, "I5", "unknown outcomes looked up, and not as said",
        audit->contradicted, "=", 0);
}

/* The ledger against the stock: the same sale twice, unless others are buying from it still. */
static void check_sums(lt_result *result, const lt_plan *plan)
{
    const lt_audit *audit = &result->audit;
    add(result, VERDICT_LOST, "I1", "units in the ledger are those gone from the stock",
        audit->units, "=", plan->stock - result->stock.remaining);
    add(result, VERDICT_LOST, "I1", "the service counts the orders in its ledger",
        result->stock.orders, "=", audit->orders);
}

/* In the place of a ledger, where a service has none to show: its counts. */
static void check_counts(lt_result *result, const lt_plan *plan)
{
    add(result, VERDICT_LOST, "I4", "the service counts the orders buyers were told of",
        result->stock.orders, "=", result->sold);
    add(result, VERDICT_LOST, "I4", "the service counts the units buyers were told of",
        result->stock.units, "=", result->sold * plan->quantity);
}

/* What the answers themselves prove. */
static void check_told(lt_result *result, const lt_plan *plan)
{
    const lt_tally *tally = result->tally;
    const lt_audit *audit = &result->audit;
    long limit = result->spec->per_user_limit;
    add(result, VERDICT_OVERSOLD, "I2", "units told sold never exceed the stock",
        result->sold_units, "<=", plan->stock);
    add(result, VERDICT_DUPLICATED, "I3", "requests with the order of another request",
        audit->shared, "=", 0);
    add(result, VERDICT_LOST, "I4", "201 that are not what was asked for",
        counter_get(&tally->told_other), "=", 0);
    add(result, VERDICT_INVALID, "I4", "201 without all that they must say",
        counter_get(&tally->told_less), "=", 0);
    add(result, VERDICT_UNDERSOLD, "", "refused by a limit that was not reached, or is none",
        audit->wrong_limit, "=", 0);
    if (limit > 0)
        add(result, VERDICT_OVERSOLD, "", "units of the user with the most, by the limit",
            audit->most_units, "<=", limit);
}

#define REPLAYS_SURE 20 /* expected, and that none is made is no chance any more */

static void check_replays(lt_result *result, const lt_plan *plan)
{
    int64_t bought = result->sold + result->audit.unknown_sold;
    const lt_tally *tally = result->tally;
    int64_t told = counter_get(&tally->replays_same) + counter_get(&tally->replays_other) +
                   counter_get(&tally->replays_refused);
    if (plan->replay * (double)bought >= REPLAYS_SURE)
        add(result, VERDICT_INVALID, "I3", "sold requests sent again, as asked for",
            counter_get(&tally->replays), ">=", 1);
    if (counter_get(&tally->replays) == 0)
        return;
    add(result, VERDICT_DUPLICATED, "I3", "replays that were answered with another order",
        counter_get(&tally->replays_other), "=", 0);
    add(result, VERDICT_LOST, "I3", "replays refused as if nothing had been sold",
        counter_get(&tally->replays_refused), "=", 0);
    add(result, VERDICT_INVALID, "I3", "replays whose answer tells", told, ">=", 1);
}

static void check_accounts(lt_result *result)
{
    const lt_tally *tally = result->tally;
    add(result, VERDICT_INVALID, "", "issued = completed + failed + unfinished",
        counter_get(&tally->completed) + counter_get(&tally->failed) +
            counter_get(&tally->unfinished),
        "=", counter_get(&tally->issued));
}

void invariants_check(lt_result *result, const lt_plan *plan)
{
    const lt_audit *audit = &result->audit;
    if (result->stock_known)
        check_stock(result, plan);
    if (audit->ledger == LEDGER_WHOLE)
        check_ledger(result, plan);
    if (audit->ledger == LEDGER_WHOLE && result->stock_known && audit->strangers == 0 &&
        is_at_rest(audit))
        check_sums(result, plan);
    if (audit->ledger == LEDGER_NONE && result->stock_known && audit->unknown == 0)
        check_counts(result, plan);
    check_told(result, plan);
    check_replays(result, plan);
    check_accounts(result);
}

const lt_invariant *invariants_broken(const lt_result *result, lt_verdict verdict)
{
    for (int i = 0; i < result->invariant_count; i++) {
        const lt_invariant *invariant = &result->invariants[i];
        if (!invariant->ok && invariant->verdict == verdict)
            return invariant;
    }
    return NULL;
}
