/*
 * A run can fail by the generator, by the way to the service, by its users, and by evidence that is
 * not to be had. The limits below say what is too much for a run to count.
 */
#include "loadtest/result/validity.h"

#include <inttypes.h>
#include <math.h>

#define SHARE_SATURATED 0.90 /* of all cores that the generator may use */
#define SHARE_FAILED    0.05 /* of the requests, and the run says little about the service */
#define SHARE_STARVED   0.05 /* of the users */
#define SHARE_ON_TIME   0.95 /* of what the schedule of an open model asks for */
#define SHARE_WAITED    0.10 /* of its requests may wait for a connection */
#define LATE_MS         10.0 /* a send lag worth a thought ... */
#define LATE_SHARE      0.50 /* ... when it makes up so much of the latency */

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
        const lt_target_tally *target = &tally->targets[i];
        if (!tally_histogram(&target->latency) &&
            counter_get(&target->failed) + counter_get(&target->unfinished) > 0)
            result_invalid(result, "target %s answered nothing at all", plan->targets[i]);
    }
}

/* Whether the plan has a request for every user, and nothing but its end kept one from asking. */
static bool all_must_ask(const lt_result *result, const lt_plan *plan)
{
    return plan->model != MODEL_OPEN && result->stop_reason != STOP_SOLD_OUT &&
           (plan->requests == 0 || plan->requests >= plan->users);
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
    if (fairness->never_asked > 0 && all_must_ask(result, plan))
        result_invalid(result, "%d of %d users never asked", fairness->never_asked, plan->users);
    if ((double)fairness->unanswered > SHARE_STARVED * fairness->users)
        result_invalid(result, "%d of %d users never got any answer", fairness->unanswered,
                       fairness->users);
}

/* What could not be checked is not fine. */
static void check_evidence(lt_result *result)
{
    const lt_audit *audit = &result->audit;
    if (audit->ledger == LEDGER_BROKEN && audit->broken[0] != '\0')
        result_invalid(result, "GET /orders: the ledger can not be relied upon: %s", audit->broken);
    if (audit->ledger != LEDGER_WHOLE && audit->unknown > 0)
        result_invalid(result,
                       "%" PRId64 " outcomes are unknown, and there is no whole ledger to look "
                       "them up in",
                       audit->unknown);
    if (audit->strangers > 0)
        result_invalid(result, "%" PRId64 " orders are from other buyers than this run's",
                       audit->strangers);
    if (counter_get(&result->tally->receipts_lost) > 0)
        result_invalid(result, "%" PRId64 " receipts did not fit into memory",
                       counter_get(&result->tally->receipts_lost));
    if (result->partial)
        result_invalid(result, "interrupted: this is a partial report");
}

/* The stock while the run lasted. Readings that fail now and then are no harm; but when most of
 * them do, nobody knows where the stock has been. */
static void check_watch(lt_result *result)
{
    const lt_stock_watch *watch = &result->watch;
    if (watch->foreign > 0)
        result_invalid(result, "%" PRId64 " readings of the stock got that of another sale",
                       watch->foreign);
    if (watch->other > 0)
        result_invalid(result,
                       "%" PRId64 " readings of the stock got another initial stock or strategy "
                       "than asked for",
                       watch->other);
    if (watch->failed > watch->while_buying)
        result_invalid(result,
                       "%" PRId64 " readings of the stock failed while the run lasted, and %d did "
                       "not",
                       watch->failed, watch->while_buying);
}

void validity_check(lt_result *result, const lt_plan *plan)
{
    check_generator(result);
    check_open_load(result, plan);
    check_lag(result, plan);
    check_transport(result, plan);
    check_users(result, plan);
    check_evidence(result);
    check_watch(result);
}
