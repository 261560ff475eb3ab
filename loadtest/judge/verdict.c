/*
 * Three steps: the figures, the invariants that they must satisfy, and the reasons not to believe a
 * run at all. Only then the verdict, by the worst that was found. The limits below say what is too
 * much for a run to count.
 */
#include "loadtest/judge/verdict.h"

#include "loadtest/judge/redis_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define SHARE_SATURATED 0.90 /* of all cores that the generator may use */
#define SHARE_FAILED    0.05 /* of the requests, and the run says little about the service */
#define SHARE_STARVED   0.05 /* of the users */
#define SHARE_ON_TIME   0.95 /* of what the schedule of an open model asks for */
#define SHARE_WAITED    0.10 /* of its requests may wait for a connection */
#define LATE_MS         10.0 /* a send lag worth a thought ... */
#define LATE_SHARE      0.50 /* ... when it makes up so much of the latency */

bool verdict_is_broken(lt_verdict verdict)
{
    return verdict != VERDICT_SAFE && verdict != VERDICT_INVALID;
}

static int64_t at_least_zero(int64_t value)
{
    return value > 0 ? value : 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- the figures ----------------------------------------------------------------------------- */

static int64_t turned_away(const lt_result *result)
{
    int64_t count = counter_get(&result->tally->unfinished);
    for (int i = 0; i < OUT_COUNT; i++) {
        if (!outcome_is_served((lt_outcome)i))
            count += result_count(result, (lt_outcome)i);
    }
    return at_least_zero(count - result->audit.unknown_sold);
}

static void compute_figures(lt_result *result, const lt_plan *plan)
{
    result->sold = result_count(result, OUT_SOLD);
    result->sold_units = (result->sold + result->audit.unknown_sold) * plan->quantity;
    result->oversold = at_least_zero(result->sold_units - plan->stock);
    result->duplicates = result->audit.duplicates + counter_get(&result->tally->replays_broken);
    if (!result->stock_known)
        return;
    result->lost_updates =
        at_least_zero(result->sold_units - (plan->stock - result->stock.remaining));
    result->undersold =
        smaller(at_least_zero(result->stock.remaining), turned_away(result) * plan->quantity);
    /* Units that no longer belong to a lost update are no longer for sale either. */
    result->undersold = smaller(result->undersold, at_least_zero(plan->stock - result->sold_units));
}

/* ---- the invariants -------------------------------------------------------------------------- */

static lt_invariant *add(lt_result *result, const char *id, const char *name, int64_t observed,
                         const char *relation, int64_t expected)
{
    lt_invariant *invariant = &result->invariants[result->invariant_count++];
    *invariant = (lt_invariant){.id = id,
                                .name = name,
                                .observed = observed,
                                .relation = relation,
                                .expected = expected,
                                .ok = relation[0] == '>'   ? observed >= expected
                                      : relation[0] == '<' ? observed <= expected
                                                           : observed == expected};
    return invariant;
}

/* I1 and I2: from GET /stock, at rest and while the run lasted. */
static void check_stock(lt_result *result, const lt_plan *plan)
{
    const lt_stock *stock = &result->stock;
    int64_t lowest = stock->remaining, most_units = stock->units;
    for (int i = 0; i < result->sample_count; i++) {
        lowest = smaller(lowest, result->samples[i].remaining);
        if (result->samples[i].units > most_units)
            most_units = result->samples[i].units;
    }
    redis_check(add(result, "I1", "stock = remaining + units ordered",
                    stock->remaining + stock->units, "=", plan->stock),
                result, plan, CHECK_SUM);
    redis_check(add(result, "I2", "remaining is never below 0 (lowest seen)", lowest, ">=", 0),
                result, plan, CHECK_REMAINING);
    redis_check(add(result, "I2", "units ordered never exceed the stock (most seen)", most_units,
                    "<=", plan->stock),
                result, plan, CHECK_ORDERED);
    redis_check(add(result, "", "units told sold are gone from the stock",
                    plan->stock - stock->remaining, ">=", result->sold_units),
                result, plan, CHECK_REMAINING);
    redis_check(
        add(result, "", "units left while buyers were turned away", result->undersold, "=", 0),
        result, plan, CHECK_REMAINING);
}

/* I3 to I5: from the ledger. */
static void check_audit(lt_result *result, const lt_plan *plan)
{
    const lt_audit *audit = &result->audit;
    if (audit->complete) {
        redis_check(
            add(result, "I3", "orders beyond the first of a request", audit->duplicates, "=", 0),
            result, plan, CHECK_REPEATED);
        redis_check(add(result, "I4", "every 201 has its order, with the id it was told",
                        audit->matched, "=", result->sold),
                    result, plan, CHECK_FIRST_ORDER);
        add(result, "I5", "refused requests that have an order", audit->unannounced, "=", 0);
        add(result, "I5", "unknown outcomes that stay unknown", audit->unknown_open, "=", 0);
    } else if (result->stock_known) {
        add(result, "I4", "the service counts the orders buyers were told of", result->stock.orders,
            "=", result->sold + audit->unknown_sold);
    }
    if (counter_get(&result->tally->replays) > 0)
        add(result, "I3", "replays that were not answered with the same order",
            counter_get(&result->tally->replays_broken), "=", 0);
}

static void check_accounts(lt_result *result)
{
    const lt_tally *tally = result->tally;
    add(result, "", "issued = completed + failed + unfinished",
        counter_get(&tally->completed) + counter_get(&tally->failed) +
            counter_get(&tally->unfinished),
        "=", counter_get(&tally->issued));
}

/* ---- reasons not to believe it --------------------------------------------------------------- */

static void check_generator(lt_result *result)
{
    if (result->health.share >= SHARE_SATURATED)
        result_invalid(result,
                       "the generator was saturated: it used %.0f %% of its %d cores, so it "
                       "measured itself",
                       result->health.share * 100.0, result->health.cores);
}

/* An open load is one that nothing held up: not the generator, nor a lack of connections. */
static void check_open_load(lt_result *result, const lt_plan *plan)
{
    const lt_tally *tally = result->tally;
    double waited = (double)counter_get(&tally->waited);
    double due = (double)(counter_get(&tally->issued) + counter_get(&tally->unsent));
    double asked = plan->rate * result->offered_s;
    if (plan->model != MODEL_OPEN)
        return;
    /* Poisson arrivals scatter by the root of their number. */
    if (due < SHARE_ON_TIME * asked - 3.0 * sqrt(asked))
        result_invalid(result,
                       "the generator could not keep the schedule: %.0f requests a second were "
                       "asked for, %.0f were started",
                       plan->rate, due / result->offered_s);
    if (waited > SHARE_WAITED * due)
        result_invalid(result,
                       "%.0f of %.0f requests waited for one of the %d connections, so this was "
                       "no open load: raise --users, or lower --rate",
                       waited, due, plan->users);
}

/*
 * Requests that left late because the generator was busy. Of an open load one in a hundred is
 * enough to spoil it. Closed users all start at once, and a flash is nothing else, so some lag is
 * in their nature: there the median counts, and in a flash not even that.
 */
static void check_lag(lt_result *result, const lt_plan *plan)
{
    lt_percentile p = plan->model == MODEL_OPEN ? P99 : P50;
    lt_latency lag = latency_of(tally_histogram(&result->tally->lag));
    double latency_ms = latency_of(result->all_due).at[p];
    if (plan->model == MODEL_FLASH ||
        (double)counter_get(&result->tally->waited) > SHARE_WAITED * (double)lag.count)
        return;
    if (lag.at[p] > LATE_MS && lag.at[p] > LATE_SHARE * latency_ms)
        result_invalid(result,
                       "the generator was late: %s of the send lag is %.0f ms, most of the %.0f "
                       "ms that were measured",
                       percentile_titles[p], lag.at[p], latency_ms);
}

static void check_transport(lt_result *result, const lt_plan *plan)
{
    const lt_tally *tally = result->tally;
    double issued = (double)counter_get(&tally->issued);
    double lost = (double)(counter_get(&tally->failed) + counter_get(&tally->unfinished));
    double bad = (double)result_count(result, OUT_ERROR);
    if (issued == 0.0)
        result_invalid(result, "no request was sent");
    else if (lost > SHARE_FAILED * issued)
        result_invalid(result, "%.0f of %.0f requests got no answer", lost, issued);
    if (bad > SHARE_FAILED * issued)
        result_invalid(result, "%.0f of %.0f requests ended in errors, most of them \"%s\"", bad,
                       issued, result->error_count > 0 ? result->errors[0].code : "");
    for (int i = 0; i < plan->target_count; i++) {
        const lt_histogram_slot *slot = &tally->targets[i].latency;
        if (!tally_histogram(slot) && counter_get(&tally->targets[i].failed) > 0)
            result_invalid(result, "target %s answered nothing at all", plan->targets[i]);
    }
}

/*
 * A server with fewer threads than users leaves some of them without any answer from the start, and
 * the others look all the faster. Users who starve later, after a good answer before the start,
 * starve by the strategy: that is a finding (fairness), not a fault of the run.
 */
static void check_users(lt_result *result, const lt_plan *plan)
{
    const lt_fairness *fairness = &result->fairness;
    int64_t strangers = 0;
    for (int i = 0; i < result->error_count; i++) {
        if (result->errors[i].phase == PHASE_WARM_UP)
            strangers += result->errors[i].count;
    }
    if ((double)strangers > SHARE_STARVED * plan->users)
        result_invalid(result,
                       "%" PRId64 " users got no good answer to GET /livez before the start: more "
                       "users than server threads?",
                       strangers);
    if ((double)fairness->unanswered > SHARE_STARVED * fairness->users)
        result_invalid(result, "%d of %d users never got any answer", fairness->unanswered,
                       fairness->users);
}

static void check_evidence(lt_result *result)
{
    if (!result->stock_known)
        result_invalid(result, "GET /stock was not answered after the run");
    if (result->audit.available && !result->audit.complete)
        result_invalid(result, "GET /orders broke off: the ledger could not be read to its end");
    if (result->audit.strangers > 0)
        result_invalid(result, "%" PRId64 " orders are from other buyers than this run's",
                       result->audit.strangers);
    if (result->audit.unknown_open > 0)
        result_invalid(result, "%" PRId64 " unknown outcomes could not be resolved",
                       result->audit.unknown_open);
    if (result->partial)
        result_invalid(result, "interrupted: this is a partial report");
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static bool invariant_fails(const lt_result *result, const char *id)
{
    for (int i = 0; i < result->invariant_count; i++) {
        if (!result->invariants[i].ok && result->invariants[i].id[0] == id[0] &&
            result->invariants[i].id[1] == id[1])
            return true;
    }
    return false;
}

static lt_verdict judge(const lt_result *result)
{
    if (result->oversold > 0 || result->stock.oversold > 0 || invariant_fails(result, "I2"))
        return VERDICT_OVERSOLD;
    if (result->duplicates > 0)
        return VERDICT_DUPLICATED;
    if (result->lost_updates > 0 || invariant_fails(result, "I1") ||
        result->audit.missing + result->audit.differing + result->audit.unannounced > 0)
        return VERDICT_LOST;
    if (result->reason_count > 0)
        return VERDICT_INVALID;
    return result->undersold > 0 ? VERDICT_UNDERSOLD : VERDICT_SAFE;
}

void verdict_reach(lt_result *result, const lt_plan *plan)
{
    if (!result->tally) {
        result->verdict = VERDICT_INVALID;
        return;
    }
    compute_figures(result, plan);
    if (result->stock_known)
        check_stock(result, plan);
    check_audit(result, plan);
    check_accounts(result);
    check_generator(result);
    check_open_load(result, plan);
    check_lag(result, plan);
    check_transport(result, plan);
    check_users(result, plan);
    check_evidence(result);
    result->verdict = judge(result);
}
