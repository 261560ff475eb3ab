/*
 * The report of one run. It says first what a reader must know (the verdict, and why), then what
 * explains it; sections with nothing to say are left out.
 */
#include "loadtest/base/number.h"
#include "loadtest/result/invariants.h"
#include "loadtest/result/verdict.h"
#include "loadtest/report/report.h"
#include "loadtest/report/style.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SECOND_HISTOGRAM 0.20 /* shown when the two differ by more */
#define LAG_WORTH_SAYING 1.0  /* ms */
#define BARS             12
#define BAR_WIDTH        40

static void heading(FILE *out, const char *text)
{
    fprintf(out, "\n%s%s%s\n", style_bold(out), text, style_end(out));
}

/* ---- verdict --------------------------------------------------------------------------------- */

/* The figure that a verdict is about; 0: another invariant than the figure's is broken. */
static int64_t verdict_figure(const lt_result *result)
{
    switch (result->verdict) {
    case VERDICT_OVERSOLD:
        return result->oversold;
    case VERDICT_DUPLICATED:
        return result->duplicates;
    case VERDICT_LOST:
        return result->lost_updates;
    case VERDICT_UNDERSOLD:
        return result->undersold;
    default:
        return 0;
    }
}

static void broken_sentence(const lt_result *result, char *text, size_t size)
{
    const lt_invariant *broken = invariants_broken(result, result->verdict);
    if (broken)
        snprintf(text, size, "%s: %" PRId64 ", expected %s %" PRId64, broken->name,
                 broken->observed, broken->relation, broken->expected);
}

/* What a verdict means in this run. */
static void verdict_sentence(const lt_result *result, const lt_plan *plan, char *text, size_t size)
{
    int64_t figure = verdict_figure(result);
    switch (result->verdict) {
    case VERDICT_SAFE:
        snprintf(text, size, "sold %" PRId64 " of %ld, each to one buyer, each on the books",
                 result->sold_units, plan->stock);
        return;
    case VERDICT_OVERSOLD:
        snprintf(text, size,
                 "sold %" PRId64 " of %ld: %" PRId64 " buyers were sold what is not there",
                 result->sold_units, plan->stock, figure);
        break;
    case VERDICT_DUPLICATED:
        snprintf(text, size, "%" PRId64 " requests ended in more than one order", figure);
        break;
    case VERDICT_LOST:
        snprintf(text, size, "%" PRId64 " of %" PRId64 " units sold are missing from the stock",
                 figure, result->sold_units);
        break;
    case VERDICT_UNDERSOLD:
        snprintf(text, size, "%" PRId64 " units were left although buyers were turned away",
                 figure);
        break;
    case VERDICT_INVALID:
        snprintf(text, size, "this run can not be judged");
        return;
    }
    if (figure == 0)
        broken_sentence(result, text, size);
}

static void report_verdict(FILE *out, const lt_plan *plan, const lt_row *row)
{
    const lt_result *result = row_shown(row);
    char sentence[200];
    verdict_sentence(result, plan, sentence, sizeof(sentence));
    fprintf(out, "%s%s%s  %s: %s%s\n", style_verdict(out, result->verdict),
            verdict_name(result->verdict), style_end(out), row->spec->label, sentence,
            row->spec->expect_unsafe && verdict_is_broken(result->verdict) ? " (as expected of it)"
                                                                           : "");
    if (result->partial)
        fprintf(out, "PARTIAL REPORT: the run was interrupted\n");
    for (int i = 0; i < result->reason_count; i++)
        fprintf(out, "  invalid because: %s\n", result->reasons[i]);
}

static void report_invariants(FILE *out, const lt_result *result)
{
    fprintf(out, "\n%s%-59s %10s %9s%s\n", style_bold(out), "Invariants", "expected", "observed",
            style_end(out));
    for (int i = 0; i < result->invariant_count; i++) {
        const lt_invariant *invariant = &result->invariants[i];
        const char *relation = invariant->relation[0] == '=' ? "" : invariant->relation;
        char expected[32];
        snprintf(expected, sizeof(expected), "%s%s%" PRId64, relation, relation[0] ? " " : "",
                 invariant->expected);
        fprintf(out, "  %-4s %-2s  %-48s %10s %9" PRId64 "\n", invariant->ok ? "ok" : "FAIL",
                invariant->id, invariant->name, expected, invariant->observed);
    }
    if (result->audit.unknown_sold + result->audit.unknown_not_sold > 0)
        fprintf(out,
                "  unknown outcomes, looked up afterwards: %" PRId64 " had bought, %" PRId64
                " had not\n",
                result->audit.unknown_sold, result->audit.unknown_not_sold);
    if (result->audit.ledger == LEDGER_NONE)
        fprintf(out, "  (the service does not list its orders: I3 to I5 were checked by its counts "
                     "only)\n");
    else if (result->audit.ledger == LEDGER_BROKEN)
        fprintf(out, "  (its ledger could not be read: I3 to I5 were not checked)\n");
}

/* ---- traffic --------------------------------------------------------------------------------- */

static void report_sale(FILE *out, const lt_result *result)
{
    heading(out, "Sale");
    fprintf(out, "  sold out after   %s s   goodput %s sales/s\n",
            figure_of(result->sellout_s).text, figure_of(result_goodput(result)).text);
    fprintf(out, "  traffic          %s answers/s over %s s (%s)\n",
            figure_of(result_throughput(result)).text, figure_of(result->elapsed_s).text,
            stop_reason_name(result->stop_reason));
    fprintf(out, "  outcomes        ");
    for (int i = 0; i < OUT_COUNT; i++) {
        if (result_count(result, (lt_outcome)i) > 0)
            fprintf(out, " %s %" PRId64, outcome_name((lt_outcome)i),
                    result_count(result, (lt_outcome)i));
    }
    const lt_tally *tally = result->tally;
    fprintf(out,
            "\n  accounts         issued %" PRId64 " = completed %" PRId64 " + failed %" PRId64
            " + unfinished %" PRId64 "\n",
            counter_get(&tally->issued), counter_get(&tally->completed),
            counter_get(&tally->failed), counter_get(&tally->unfinished));
    if (counter_get(&tally->retries) + counter_get(&tally->replays) > 0)
        fprintf(out,
                "  repeats          %" PRId64 " retries, %" PRId64 " replays (%" PRId64
                " answered with the same order, %" PRId64 " with another, %" PRId64 " refused)\n",
                counter_get(&tally->retries), counter_get(&tally->replays),
                counter_get(&tally->replays_same), counter_get(&tally->replays_other),
                counter_get(&tally->replays_refused));
}

static void latency_line(FILE *out, const char *name, const lt_histogram *h)
{
    lt_latency latency = latency_of(h);
    fprintf(out, "  %-14s %8" PRId64 " %9s", name, latency.count, figure_of(latency.mean).text);
    for (int i = 0; i < P_COUNT; i++)
        fprintf(out, " %12s", figure_latency(latency.at[i], latency.count).text);
    fprintf(out, " %9s\n", figure_of(latency.max).text);
}

/* Whether latency from the schedule and from the send tell different stories. */
static bool clocks_differ(const lt_result *result)
{
    static const double quantiles[] = {0.5, 0.9, 0.99};
    const lt_histogram *from_send = tally_histogram(&result->tally->from_send);
    for (size_t i = 0; from_send && i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        double due = (double)histogram_at(result->all_due, quantiles[i]);
        double sent = (double)histogram_at(from_send, quantiles[i]);
        if (due > sent * (1.0 + SECOND_HISTOGRAM))
            return true;
    }
    return false;
}

static void report_latency(FILE *out, const lt_result *result)
{
    heading(out, "Latency in ms, from the scheduled start to the answer");
    fprintf(out, "  %-14s %8s %9s %12s %12s %12s %12s %12s %9s\n", "", "n", "average", "p50", "p90",
            "p95", "p99", "p99.9", "max");
    for (int i = 0; i < OUT_COUNT; i++) {
        const lt_histogram *h = tally_histogram(&result->tally->from_due[i]);
        if (h)
            latency_line(out, outcome_name((lt_outcome)i), h);
    }
    latency_line(out, "all", result->all_due);
    if (!clocks_differ(result))
        return;
    latency_line(out, "all, from send", tally_histogram(&result->tally->from_send));
    fprintf(out, "  Requests left late: the last line leaves that wait out. Believe the others.\n");
}

/* A dozen bars between the lowest and the highest latency, each bound twice the one before. */
static void report_histogram(FILE *out, const lt_result *result)
{
    int64_t counts[BARS] = {0}, most = 0, below = 0;
    double low = (double)histogram_min(result->all_due),
           high = (double)histogram_max(result->all_due);
    if (histogram_count(result->all_due) < 2 || high <= low)
        return;
    heading(out, "How the latencies are spread");
    low = low < 1.0 ? 1.0 : low;
    double factor = pow(high / low, 1.0 / BARS);
    for (int i = 0; i < BARS; i++) {
        int64_t upto = i == BARS - 1 ? histogram_count(result->all_due)
                                     : histogram_count_upto(result->all_due,
                                                            (int64_t)(low * pow(factor, i + 1)));
        counts[i] = upto - below;
        most = number_larger(most, counts[i]);
        below = upto;
    }
    for (int i = 0; i < BARS; i++) {
        int width = (int)ceil((double)counts[i] * BAR_WIDTH / (double)most);
        fprintf(out, "  %9s ms |%-*.*s %" PRId64 "\n",
                figure_of(low * pow(factor, i + 1) / 1000.0).text, BAR_WIDTH, width,
                "########################################", counts[i]);
    }
}

/* ---- who was served -------------------------------------------------------------------------- */

/* The busiest target's answers beyond the idlest one's, as a share. */
static void report_skew(FILE *out, const lt_plan *plan, const lt_result *result)
{
    int64_t least = INT64_MAX, most = 0;
    for (int i = 0; i < plan->target_count; i++) {
        const lt_histogram *h = tally_histogram(&result->tally->targets[i].latency);
        int64_t answers = !h ? 0 : histogram_count(h);
        least = number_smaller(least, answers);
        most = number_larger(most, answers);
    }
    if (plan->target_count > 1 && least > 0)
        fprintf(out, "  skew: the busiest target answered %.1f %% more than the idlest\n",
                100.0 * (double)(most - least) / (double)least);
}

static void report_targets(FILE *out, const lt_plan *plan, const lt_result *result)
{
    heading(out, "Targets");
    fprintf(out, "  %-28s %9s %9s %9s %9s %9s\n", "", "answers", "sold", "failed", "p50 ms",
            "p99 ms");
    for (int i = 0; i < plan->target_count; i++) {
        const lt_target_tally *target = &result->tally->targets[i];
        lt_latency latency = latency_of(tally_histogram(&target->latency));
        fprintf(out, "  %-28s %9" PRId64 " %9" PRId64 " %9" PRId64 " %9s %9s\n", plan->targets[i],
                latency.count, counter_get(&target->sold), counter_get(&target->failed),
                figure_of(latency.at[P50]).text, figure_of(latency.at[P99]).text);
    }
    report_skew(out, plan, result);
}

static void report_fairness(FILE *out, const lt_result *result)
{
    const lt_fairness *fairness = &result->fairness;
    if (fairness->users + fairness->never_asked == 0)
        return;
    heading(out, "Users");
    fprintf(
        out,
        "  fairness %s, Jain's index %s: by the sales in the first half of the requests; in all\n"
        "  least / most sales of a user: %" PRId64 " / %" PRId64 "\n",
        figure_of(fairness->ratio).text, figure_of(fairness->jain).text, fairness->least,
        fairness->most);
    fprintf(out, "  users who asked %d, never asked %d, never served %d, starved %d\n",
            fairness->users, fairness->never_asked, fairness->never_served, fairness->starved);
}

static void report_errors(FILE *out, const lt_plan *plan, const lt_result *result)
{
    if (result->error_count == 0)
        return;
    heading(out, "Errors");
    for (int i = 0; i < result->error_count; i++) {
        const lt_error_entry *entry = &result->errors[i];
        fprintf(out, "  %8" PRId64 "  %-8s %-20s %s\n            %s\n", entry->count,
                error_phase_name(entry->phase), entry->code, plan->targets[entry->target],
                error_hint(entry));
    }
}

static void report_health(FILE *out, const lt_result *result)
{
    lt_latency lag = latency_of(tally_histogram(&result->tally->lag));
    heading(out, "Generator");
    fprintf(
        out, "  processor %.0f %% of %d cores (%s us a request), send lag p99 %s ms, max %s ms\n",
        result->health.share * 100.0, result->health.cores,
        figure_of(result->health.cpu_s * 1e6 / (double)counter_get(&result->tally->issued)).text,
        figure_latency(lag.at[P99], lag.count).text, figure_of(lag.max).text);
    if (counter_get(&result->tally->waited) > 0)
        fprintf(out,
                "  %" PRId64 " requests waited for a free connection, %" PRId64
                " of them in vain\n",
                counter_get(&result->tally->waited), counter_get(&result->tally->unsent));
    if (!isnan(result->lock_wait_p50_ms))
        fprintf(out, "  wait for the lock, as the instances count it: p50 %s ms, p99 %s ms\n",
                figure_of(result->lock_wait_p50_ms).text, figure_of(result->lock_wait_p99_ms).text);
    if (!isnan(result->redis_per_sale))
        fprintf(out, "  Redis commands per sale: %s\n", figure_of(result->redis_per_sale).text);
}

/* The row that readers of JMeter's Aggregate Report look for. */
static void report_jmeter(FILE *out, const lt_result *result)
{
    lt_latency all = latency_of(tally_histogram(&result->tally->from_send));
    const lt_tally *tally = result->tally;
    double issued = (double)counter_get(&tally->issued);
    double bad = (double)(result_errors(result) + result_count(result, OUT_UNKNOWN));
    heading(out, "As JMeter's Aggregate Report (ms, from send)");
    fprintf(out, "  %-5s %9s %8s %8s %8s %8s %8s %6s %8s %8s %12s %16s %12s\n", "Label",
            "# Samples", "Average", "Median", "90% Line", "95% Line", "99% Line", "Min", "Maximum",
            "Error %", "Throughput", "Received KB/sec", "Sent KB/sec");
    fprintf(
        out, "  %-5s %9" PRId64 " %8.0f %8s %8s %8s %8s %6.0f %8.0f %7.2f%% %8.1f/sec %16s %12s\n",
        "buy", all.count, all.mean, figure_of(all.at[P50]).text, figure_of(all.at[P90]).text,
        figure_of(all.at[P95]).text, figure_of(all.at[P99]).text, all.min, all.max,
        issued > 0.0 ? 100.0 * bad / issued : 0.0, result_throughput(result),
        figure_of((double)counter_get(&tally->bytes_received) / 1024.0 / result->elapsed_s).text,
        figure_of((double)counter_get(&tally->bytes_sent) / 1024.0 / result->elapsed_s).text);
}

void report_text(FILE *out, const lt_plan *plan, const lt_row *row)
{
    const lt_result *result = row_shown(row);
    report_verdict(out, plan, row);
    if (!result->tally)
        return;
    report_invariants(out, result);
    report_sale(out, result);
    if (counter_get(&result->tally->completed) > 0) {
        report_latency(out, result);
        report_histogram(out, result);
    }
    report_targets(out, plan, result);
    report_fairness(out, result);
    report_errors(out, plan, result);
    report_health(out, result);
    if (counter_get(&result->tally->completed) > 0)
        report_jmeter(out, result);
}
