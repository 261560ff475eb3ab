/*
 * comparison.h - all runs of one or several strategies, and the row that stands for each.
 *
 * A strategy's row shows one run in full, so its figures agree with each other: the run with the
 * median throughput among those with the worst verdict. Rows are ordered by throughput; unsafe ones
 * come last, whatever their speed. With a run length (see plan.h) two runs stand for a row: the
 * sale as planned tells what was sold, one of the timed runs how fast. All runs are judged, and the
 * worst verdict is the row's.
 *
 * Safe rows, and those of COUNTS_ONLY, also have a rank. Rows share a rank if their ranges overlap,
 * because their runs do not show which is faster, or if other rows' ranges link theirs. The next
 * rank counts all rows above it: 1, 2, 2, 4. One run has no range and gives no rank.
 *
 * Rows that share a rank are then ranked by the CPU time of a sale (see cost.h), the cheaper first:
 * a rank ends where every run of every later row cost more, unless one of the later rows is faster
 * in every run. If a row's cost is unknown, the rank stays shared.
 */
#ifndef LOADTEST_COMPARISON_H
#define LOADTEST_COMPARISON_H

#include "loadtest/result/result.h"
#include "loadtest/result/threshold.h"

typedef struct lt_range {
    double low, high; /* NAN: no values */
} lt_range;

typedef struct lt_row {
    const lt_sale_spec *spec; /* (borrowed) */
    lt_result *runs;
    int run_count;
    int timed_from; /* index of the first run whose speed counts */
    int books;      /* index of the run that tells what was sold; it has the row's verdict */
    int shown;      /* index of the run that tells all else; mostly the same */
    lt_range throughput_rps, goodput_sps, p50_ms, p99_ms, cpu_us_per_sale;
    double of_unlocked;  /* throughput as a share of that of `none`; NAN without one */
    int rank;            /* from 1; 0: none */
    bool shares_rank;    /* with another row */
    bool ranked_by_cost; /* told apart by cost from rows that are as fast */
} lt_row;

typedef struct lt_comparison {
    /* Set by the caller, all borrowed. */
    const lt_plan *plan;
    const lt_threshold *thresholds;
    int threshold_count;
    const char *history; /* --history, or NULL */

    lt_row rows[PLAN_SALES_MAX];
    int row_count;
    bool interrupted;
} lt_comparison;

typedef enum lt_exit_code {
    EXIT_SAFE = 0,
    EXIT_BROKEN = 1,    /* an invariant was broken, by another than a declared negative control */
    EXIT_THRESHOLD = 2, /* a --fail-if limit */
    EXIT_INVALID = 3,   /* a run that says nothing */
    EXIT_USAGE = 64
} lt_exit_code;

/* Makes a row for each sale of the plan, with room for its runs. False when memory is short. */
bool comparison_init(lt_comparison *comparison);
void comparison_release(lt_comparison *comparison);

/* After the runs: chooses what each row shows, drops rows without a run, ranks the others. */
void comparison_rank(lt_comparison *comparison);

/* The run that tells how fast a row was. */
static inline const lt_result *row_shown(const lt_row *row)
{
    return &row->runs[row->shown];
}

/* The run that tells what it sold. */
static inline const lt_result *row_books(const lt_row *row)
{
    return &row->runs[row->books];
}

static inline lt_verdict row_verdict(const lt_row *row)
{
    return row_books(row)->verdict;
}

/* Runs whose speed counts. */
static inline int row_timed_runs(const lt_row *row)
{
    return row->run_count - row->timed_from;
}

/*
 * True for a comparison by preset in which no unlocked run sold wrongly. It proves nothing: the
 * load was too mild for the others' safety to mean anything.
 */
bool comparison_missed_control(const lt_comparison *comparison);

/* The exit code of the process. */
lt_exit_code comparison_exit_code(const lt_comparison *comparison);

#endif
