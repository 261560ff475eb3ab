/*
 * Combines several runs: which of them stands for its strategy, the ranges, the ranks, and the exit
 * code.
 */
#include "loadtest/result/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool comparison_init(lt_comparison *comparison)
{
    const lt_plan *plan = comparison->plan;
    for (int i = 0; i < plan->spec_count; i++) {
        lt_row *row = &comparison->rows[comparison->row_count++];
        row->spec = &plan->specs[i];
        row->timed_from = plan->run_length > 0 ? 1 : 0;
        row->runs = calloc((size_t)plan_turns(plan), sizeof(row->runs[0]));
        if (!row->runs)
            return false;
    }
    return true;
}

/* ---- choosing what stands for a row ---------------------------------------------------------- */

static int by_throughput(const void *a, const void *b)
{
    double x = result_throughput(*(const lt_result *const *)a);
    double y = result_throughput(*(const lt_result *const *)b);
    return (x > y) - (x < y);
}

/* The run of median throughput among those with the worst verdict, from `first` on. */
static int median_of_worst(const lt_row *row, int first)
{
    lt_result *worst[100];
    lt_verdict verdict = VERDICT_SAFE;
    int count = 0;
    for (int i = first; i < row->run_count; i++) {
        if (row->runs[i].verdict > verdict)
            verdict = row->runs[i].verdict;
    }
    for (int i = first; i < row->run_count; i++) {
        if (row->runs[i].verdict == verdict)
            worst[count++] = &row->runs[i];
    }
    qsort(worst, (size_t)count, sizeof(worst[0]), by_throughput);
    return count == 0 ? first : (int)(worst[(count - 1) / 2] - row->runs);
}

static void choose_shown(lt_row *row)
{
    if (row->timed_from >= row->run_count) /* interrupted */
        row->timed_from = 0;
    row->shown = row->books = median_of_worst(row, row->timed_from);
    if (row->timed_from > 0 && row->runs[0].verdict >= row_shown(row)->verdict)
        row->books = 0;
}

/* NAN means no value: fmin() and fmax() of NAN and a value give the value. */
static void widen(lt_range *range, double value)
{
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

static void measure_ranges(lt_row *row)
{
    const lt_range none = {NAN, NAN};
    row->throughput_rps = row->goodput_sps = row->p50_ms = row->p99_ms = none;
    row->cpu_us_per_sale = none;
    for (int i = row->timed_from; i < row->run_count; i++) {
        const lt_result *result = &row->runs[i];
        lt_latency latency = result_headline(result);
        widen(&row->throughput_rps, result_throughput(result));
        widen(&row->goodput_sps, result_goodput(result));
        widen(&row->p50_ms, latency.at[P50]);
        widen(&row->p99_ms, latency.at[P99]);
        widen(&row->cpu_us_per_sale, cost_cpu_us(&result->costs.sale));
    }
}

static void relate_to_unlocked(lt_comparison *comparison)
{
    double unlocked = NAN;
    for (int i = 0; i < comparison->row_count; i++) {
        if (strcmp(comparison->rows[i].spec->strategy, "none") == 0)
            unlocked = result_throughput(row_shown(&comparison->rows[i]));
    }
    for (int i = 0; i < comparison->row_count; i++) {
        lt_row *row = &comparison->rows[i];
        row->of_unlocked = unlocked > 0.0 ? result_throughput(row_shown(row)) / unlocked : NAN;
    }
}

/* Whether the row can have a rank. */
static bool is_sound(const lt_row *row)
{
    return row_verdict(row) <= VERDICT_COUNTS_ONLY;
}

static int by_rank(const void *a, const void *b)
{
    const lt_result *x = row_shown(a), *y = row_shown(b);
    int sound = is_sound(b) - is_sound(a);
    return sound != 0 ? sound : -by_throughput(&x, &y);
}

static double fastest_from(const lt_comparison *comparison, int first, int end)
{
    double fastest = NAN;
    for (int i = first; i < end; i++)
        fastest = fmax(fastest, comparison->rows[i].throughput_rps.high);
    return fastest;
}

/* The number of sound rows, which are the first ones; 0 when one of them has no range. */
static int rankable_rows(const lt_comparison *comparison)
{
    int count = 0;
    for (int i = 0; i < comparison->row_count; i++) {
        const lt_row *row = &comparison->rows[i];
        if (!is_sound(row))
            break;
        if (row_timed_runs(row) < 2)
            return 0;
        count++;
    }
    return count;
}

/* The row at which the rank of row `first` ends: no run of a later row reaches the slowest run
 * before. */
static int end_of_rank(const lt_comparison *comparison, int first, int safe)
{
    double slowest = NAN;
    int i = first;
    do {
        slowest = fmin(slowest, comparison->rows[i++].throughput_rps.low);
    } while (i < safe && fastest_from(comparison, i, safe) >= slowest);
    return i;
}

static int by_cost(const void *a, const void *b)
{
    double x = ((const lt_row *)a)->cpu_us_per_sale.low;
    double y = ((const lt_row *)b)->cpu_us_per_sale.low;
    return (x > y) - (x < y);
}

static int by_rank_alone(const void *a, const void *b)
{
    const lt_row *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : by_rank(x, y);
}

/* Whether rows[0..at) are all cheaper than the others, none of which is certainly faster. */
static bool is_cheaper(const lt_row *rows, int at, int count)
{
    for (int i = 0; i < at; i++) {
        for (int j = at; j < count; j++) {
            if (!(rows[i].cpu_us_per_sale.high < rows[j].cpu_us_per_sale.low) ||
                rows[j].throughput_rps.low > rows[i].throughput_rps.high)
                return false;
        }
    }
    return true;
}

/* Ranks rows by cost that throughput does not tell apart. */
static void rank_by_cost(lt_row *rows, int count, int rank)
{
    bool known = true, apart = false;
    for (int i = 0; i < count; i++) {
        rows[i].rank = rank;
        known = known && !isnan(rows[i].cpu_us_per_sale.low);
    }
    if (!known)
        return;
    qsort(rows, (size_t)count, sizeof(rows[0]), by_cost);
    for (int i = 1; i < count; i++) {
        bool ends = is_cheaper(rows, i, count);
        rows[i].rank = ends ? rank + i : rows[i - 1].rank;
        apart = apart || ends;
    }
    for (int i = 0; i < count; i++)
        rows[i].ranked_by_cost = apart;
    qsort(rows, (size_t)count, sizeof(rows[0]), by_rank_alone);
}

/* The rows are sorted by throughput. */
static void assign_ranks(lt_comparison *comparison)
{
    lt_row *rows = comparison->rows;
    int safe = rankable_rows(comparison);
    for (int first = 0, end; first < safe; first = end) {
        end = end_of_rank(comparison, first, safe);
        rank_by_cost(&rows[first], end - first, first + 1);
    }
    for (int i = 1; i < safe; i++) {
        if (rows[i].rank == rows[i - 1].rank)
            rows[i].shares_rank = rows[i - 1].shares_rank = true;
    }
}

void comparison_rank(lt_comparison *comparison)
{
    int complete = 0; /* rows that had at least one run */
    for (int i = 0; i < comparison->row_count; i++) {
        lt_row *row = &comparison->rows[i];
        if (row->run_count == 0) {
            free(row->runs);
            continue;
        }
        choose_shown(row);
        measure_ranges(row);
        comparison->rows[complete++] = *row;
    }
    comparison->row_count = complete;
    relate_to_unlocked(comparison);
    qsort(comparison->rows, (size_t)complete, sizeof(comparison->rows[0]), by_rank);
    assign_ranks(comparison);
}

void comparison_release(lt_comparison *comparison)
{
    for (int i = 0; i < comparison->row_count; i++) {
        lt_row *row = &comparison->rows[i];
        for (int j = 0; j < row->run_count; j++)
            result_free(&row->runs[j]);
        free(row->runs);
    }
}

/* ---- the exit code --------------------------------------------------------------------------- */

static lt_exit_code row_exit_code(const lt_comparison *comparison, const lt_row *row)
{
    const lt_result *shown = row_shown(row);
    lt_exit_code code = EXIT_SAFE;
    for (int i = 0; i < row->run_count; i++) {
        const lt_result *result = &row->runs[i];
        if (verdict_is_broken(result->verdict) && !row->spec->expect_unsafe)
            return EXIT_BROKEN;
        if (result->reason_count > 0 || result->verdict == VERDICT_INVALID ||
            (result->verdict == VERDICT_COUNTS_ONLY && !comparison->plan->accept_counts))
            code = EXIT_INVALID;
    }
    for (int i = 0; i < comparison->threshold_count && !row->spec->expect_unsafe; i++) {
        double observed;
        switch (threshold_check(&comparison->thresholds[i], shown, &observed)) {
        case THRESHOLD_HOLDS:
            break;
        case THRESHOLD_NO_VALUE:
            code = EXIT_INVALID;
            break;
        case THRESHOLD_BROKEN:
            code = code == EXIT_SAFE ? EXIT_THRESHOLD : code;
            break;
        }
    }
    return code;
}

bool comparison_missed_control(const lt_comparison *comparison)
{
    if (!comparison->plan->needs_control)
        return false;
    /* UNDERSOLD proves nothing, because being slow is enough for it: sales must have gone wrong. */
    for (int i = 0; i < comparison->row_count; i++) {
        if (strcmp(comparison->rows[i].spec->strategy, "none") == 0 &&
            row_verdict(&comparison->rows[i]) >= VERDICT_LOST)
            return false;
    }
    return true;
}

lt_exit_code comparison_exit_code(const lt_comparison *comparison)
{
    /* The gravest comes first: broken, then invalid, then a threshold. */
    static const lt_exit_code weights[] = {EXIT_BROKEN, EXIT_INVALID, EXIT_THRESHOLD};
    if (comparison->interrupted || comparison->row_count == 0)
        return EXIT_INVALID;
    for (size_t w = 0; w < sizeof(weights) / sizeof(weights[0]); w++) {
        for (int i = 0; i < comparison->row_count; i++) {
            if (row_exit_code(comparison, &comparison->rows[i]) == weights[w])
                return weights[w];
        }
    }
    return comparison_missed_control(comparison) ? EXIT_INVALID : EXIT_SAFE;
}
