/*
 * The table of several strategies, and what stands below every report: the article's figures and
 * the thresholds.
 */
#include "loadtest/report/report.h"
#include "loadtest/report/style.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static lt_figure range_text(lt_range range, int runs)
{
    return runs > 1 && !isnan(range.low) ? figure_range(range.low, range.high)
                                         : (lt_figure){.text = ""};
}

static void table_head(FILE *out)
{
    fprintf(out, "%s%-20s %-10s %6s %6s %6s %6s %6s  %9s %-15s %8s %8s %8s %8s %8s %9s%s\n",
            style_bold(out), "strategy", "verdict", "sold", "over", "lost", "under", "dup.",
            "answers/s", "(range)", "p50 ms", "p99 ms", "fairness", "x none", "cmds/sale",
            "lock p99", style_end(out));
}

static void table_row(FILE *out, const lt_row *row)
{
    const lt_result *result = row_shown(row);
    lt_latency latency = result_latency(result, OUT_SOLD);
    fprintf(out, "%-20.40s %s%-10s%s %6" PRId64 " %6" PRId64 " %6" PRId64 " %6" PRId64 " %6" PRId64,
            row->spec->label, style_verdict(out, result->verdict), verdict_name(result->verdict),
            style_end(out), result->sold, result->oversold, result->lost_updates, result->undersold,
            result->duplicates);
    fprintf(out, "  %9s %-15s %8s %8s %8s %8s %8s %9s\n", figure_of(result_throughput(result)).text,
            range_text(row->throughput_rps, row->run_count).text, figure_of(latency.at[P50]).text,
            figure_of(latency.at[P99]).text, figure_of(result->fairness.ratio).text,
            figure_of(row->of_unlocked).text, figure_of(result->redis_per_sale).text,
            figure_of(result->lock_wait_p99_ms).text);
}

void report_table(FILE *out, const lt_comparison *comparison)
{
    const lt_plan *plan = comparison->plan;
    int runs = plan->runs;
    fprintf(out, "\n%s model, %d users, stock %ld, %d %s each; safe ones first, by throughput\n\n",
            model_name(plan->model), plan->users, plan->stock, runs,
            runs == 1 ? "run" : "interleaved runs");
    table_head(out);
    for (int i = 0; i < comparison->row_count; i++)
        table_row(out, &comparison->rows[i]);
    fprintf(
        out,
        "\n  The row shows the run with the median throughput among those with the worst verdict.\n"
        "  x none: throughput as a share of the unlocked one's, the price of safety.\n"
        "  cmds/sale: Redis commands per sale; lock p99: wait for the lock, in ms, as the\n"
        "  instances count it. p50 and p99 are of sold requests.\n");
    if (comparison_missed_control(comparison))
        fprintf(out, "  invalid: no unlocked run sold wrongly, so this load proves nothing "
                     "about the others\n");
    for (int i = 0; i < comparison->row_count; i++) {
        const lt_row *row = &comparison->rows[i];
        for (int j = 0; j < row_shown(row)->reason_count; j++)
            fprintf(out, "  %s is invalid: %s\n", row->spec->label, row_shown(row)->reasons[j]);
    }
}

static void report_reference(FILE *out, const lt_comparison *comparison)
{
    if (comparison->plan->preset != PRESET_REFERENCE)
        return;
    fprintf(out,
            "\nThe article's own figures (measured elsewhere, on another machine, over a network: "
            "compare ratios, not figures):\n"
            "  hand-made lock   average 362 ms   246 requests/s\n"
            "  Redisson         average 222 ms   384 requests/s\n"
            "Ours:\n");
    for (int i = 0; i < comparison->row_count; i++) {
        const lt_row *row = &comparison->rows[i];
        lt_latency latency = latency_of(row_shown(row)->all_due);
        fprintf(out, "  %-16s average %s ms   %s requests/s   %s\n", row->spec->label,
                figure_of(latency.count > 0 ? latency.mean : NAN).text,
                figure_of(result_throughput(row_shown(row))).text,
                verdict_name(row_shown(row)->verdict));
    }
}

static void report_thresholds(FILE *out, const lt_comparison *comparison, const lt_row *row)
{
    static const char *const words[] = {
        [THRESHOLD_HOLDS] = "ok", [THRESHOLD_BROKEN] = "BROKEN", [THRESHOLD_NO_VALUE] = "NO VALUE"};
    for (int i = 0; i < comparison->threshold_count; i++) {
        const lt_threshold *threshold = &comparison->thresholds[i];
        double observed;
        lt_threshold_state state = threshold_check(threshold, row_shown(row), &observed);
        fprintf(out, "  %-8s fail if %-20s observed %s (%s)\n", words[state], threshold->text,
                figure_of(observed).text, row->spec->label);
    }
}

void report_closing(FILE *out, const lt_comparison *comparison)
{
    report_reference(out, comparison);
    if (comparison->threshold_count > 0)
        fprintf(out, "\n%sThresholds%s\n", style_bold(out), style_end(out));
    for (int i = 0; i < comparison->row_count; i++) {
        if (!comparison->rows[i].spec->expect_unsafe)
            report_thresholds(out, comparison, &comparison->rows[i]);
    }
}
