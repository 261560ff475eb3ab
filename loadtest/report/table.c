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

/* "2=": a rank that others have too. */
static lt_figure rank_text(const lt_row *row)
{
    lt_figure figure = {.text = "-"};
    if (row->rank > 0)
        snprintf(figure.text, sizeof(figure.text), "%d%s", row->rank, row->shares_rank ? "=" : "");
    return figure;
}

static void table_head(FILE *out)
{
    fprintf(out, "%s%-20s %-10s %6s %6s %6s %6s %6s %5s %10s %-15s %8s %8s %8s %8s %8s %9s%s\n",
            style_bold(out), "strategy", "verdict", "sold", "over", "lost", "under", "dup.", "rank",
            "answers/s", "(range)", "p50 ms", "p99 ms", "fairness", "x none", "cmds/sale",
            "lock p99", style_end(out));
}

static void table_row(FILE *out, const lt_row *row)
{
    const lt_result *books = row_books(row), *result = row_shown(row);
    lt_latency latency = result_latency(result, OUT_SOLD);
    fprintf(out, "%-20.40s %s%-10s%s %6" PRId64 " %6" PRId64 " %6" PRId64 " %6" PRId64 " %6" PRId64,
            row->spec->label, style_verdict(out, books->verdict), verdict_name(books->verdict),
            style_end(out), books->sold, books->oversold, books->lost_updates, books->undersold,
            books->duplicates);
    fprintf(out, " %5s %10s %-15s %8s %8s %8s %8s %8s %9s\n", rank_text(row).text,
            figure_of(result_throughput(result)).text,
            range_text(row->throughput_rps, row_timed_runs(row)).text,
            figure_of(latency.at[P50]).text, figure_of(latency.at[P99]).text,
            figure_of(result->fairness.ratio).text, figure_of(row->of_unlocked).text,
            figure_of(result->redis_per_sale).text, figure_of(result->lock_wait_p99_ms).text);
}

static void table_title(FILE *out, const lt_plan *plan)
{
    const char *runs = plan->runs == 1 ? "run" : "interleaved runs";
    fprintf(out, "\n%s model, %d users, stock %ld, ", model_name(plan->model), plan->users,
            plan->stock);
    if (plan->run_length > 0)
        fprintf(out, "%ld requests once; then %d %s of %s s each; ", (long)plan->requests,
                plan->runs, runs, figure_of(clock_seconds(plan->run_length)).text);
    else
        fprintf(out, "%d %s each; ", plan->runs, runs);
    fputs("safe ones first, by throughput\n\n", out);
}

static void table_notes(FILE *out, const lt_plan *plan)
{
    if (plan->run_length > 0)
        fprintf(out,
                "\n  sold to dup.: of the sale of %ld units. The rest: of the runs after it, the\n"
                "  one with the median throughput. In them the users ask for %s s, whatever the\n"
                "  strategy, and about half of that time there is stock left. Every run is judged\n"
                "  in full, and the verdict is the worst of all.\n",
                plan->stock, figure_of(clock_seconds(plan->run_length)).text);
    else
        fprintf(out, "\n  The row shows the run with the median throughput among those with the "
                     "worst verdict.\n");
    fprintf(out,
            "  rank: among the safe ones. \"2=\" is shared by those whose ranges overlap, or\n"
            "  are linked by others' that do: the runs do not tell which is the faster.\n"
            "  x none: throughput as a share of the unlocked one's, the price of safety.\n"
            "  cmds/sale: Redis commands per sale; lock p99: wait for the lock, in ms, as the\n"
            "  instances count it. p50 and p99 are of sold requests.\n");
}

static void table_reasons(FILE *out, const char *label, const lt_result *result)
{
    for (int i = 0; i < result->reason_count; i++)
        fprintf(out, "  %s is invalid: %s\n", label, result->reasons[i]);
}

void report_table(FILE *out, const lt_comparison *comparison)
{
    table_title(out, comparison->plan);
    table_head(out);
    for (int i = 0; i < comparison->row_count; i++)
        table_row(out, &comparison->rows[i]);
    table_notes(out, comparison->plan);
    if (comparison_missed_control(comparison))
        fprintf(out, "  invalid: no unlocked run sold wrongly, so this load proves nothing "
                     "about the others\n");
    for (int i = 0; i < comparison->row_count; i++) {
        const lt_row *row = &comparison->rows[i];
        table_reasons(out, row->spec->label, row_books(row));
        if (row->shown != row->books)
            table_reasons(out, row->spec->label, row_shown(row));
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
                figure_of(result_throughput(row_shown(row))).text, verdict_name(row_verdict(row)));
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
