/*
 * A run can fail because of the generator, a target that is down, or its users. The limits below
 * say how much is too much. Requests without an answer are no reason: they are looked up, and the
 * judge says whether they were resolved.
 */
#include "loadtest/result/validity.h"

#include <inttypes.h>
#include <math.h>

#define SHARE_SATURATED 0.90 /* of all cores that the generator may use */
#define SHARE_UNSENT    0.05 /* of the requests */
#define SHARE_STARVED   0.05 /* of the users */
#define SHARE_ON_TIME   0.95 /* of what the schedule of an open model asks for */
#define SHARE_WAITED    0.10 /* of its requests may wait for a connection */
#define LATE_MS         10.0 /* a send lag that matters ... */
#define LATE_SHARE      0.50 /* ... if it is this share of the latency */

static void check_generator(lt_result *result)
{
    if (result->health.share >= SHARE_SATURATED)
        result_invalid(result,
                       "the generator was saturated: it used %.0f %% of its %d cores, so it "
                       "measured itself",
                       result->health.share * 100.0, result->health.cores);
}

/* Nothing may hold up an open load: neither the generator nor a lack of connections. */
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
 * Requests that were sent late because the generator was busy. For an open load one in a hundred is
 * too many. Closed users all start at once, so some lag is natural: there the median counts. In a
 * flash, which is one such start, lag does not count.
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
    int64_t issued = counter_get(&tally->issued), unsent = 0;
    for (int i = 0; i < result->error_count; i++)
        unsent += result->errors[i].phase == PHASE_CONNECT ? result->errors[i].count : 0;
    if (issued == 0)
        result_invalid(result, "no request was sent");
    else if ((double)unsent > SHARE_UNSENT * (double)issued)
        result_invalid(result,
                       "%" PRId64 " of %" PRId64 " requests found no connection: a target is down, "
                       "or this process has too few descriptors (ulimit -n)",
                       unsent, issued);
    for (int i = 0; i < plan->target_count; i++) {
        const lt_target_tally *target = &tally->targets[i];
        if (target_answers(target) <= 0 &&
            counter_get(&target->failed) + counter_get(&target->unfinished) > 0)
            result_invalid(result, "target %s answered nothing at all", plan->targets[i]);
    }
}

/* Whether the plan has a request for every user, and only the end of the sale may keep a user
 * from asking. */
static bool all_must_ask(const lt_result *result, const lt_plan *plan)
{
    return plan->model != MODEL_OPEN && result->stop_reason != STOP_SOLD_OUT &&
           (plan->requests == 0 || plan->requests >= plan->users);
}

/*
 * A server with fewer threads than users leaves some users without any answer from the start, and
 * the others look faster. Users who starve later, after a good answer before the start, starve
 * because of the strategy: that is a finding (fairness), not a fault of the run.
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

/* The judge sees what is missing; this adds the reason. */
static void check_evidence(lt_result *result)
{
    if (result->evidence.why[0] != '\0')
        result_invalid(result, "%s", result->evidence.why);
    if (result->partial)
        result_invalid(result, "interrupted: this is a partial report");
}

void validity_check(lt_result *result, const lt_plan *plan)
{
    check_generator(result);
    check_open_load(result, plan);
    check_lag(result, plan);
    check_transport(result, plan);
    check_users(result, plan);
    check_evidence(result);
}
