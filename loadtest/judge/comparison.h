/*
 * comparison.h - all runs of one or several strategies, and the row that stands for each.
 *
 * The row of a strategy shows one run in full, so that its figures agree with each other: the run
 * with the median throughput among those with the worst verdict. Rows are ranked: unsafe ones last,
 * whatever their speed.
 */
#ifndef LOADTEST_COMPARISON_H
#define LOADTEST_COMPARISON_H

#include "loadtest/judge/result.h"
#include "loadtest/judge/threshold.h"

typedef struct lt_range {
    double low, high; /* NAN: no values */
} lt_range;

typedef struct lt_row {
    const lt_sale_spec *spec; /* (borrowed) */
    lt_result *runs;
    int run_count;
    int shown; /* index of the run that stands for the row */
    lt_range throughput_rps, goodput_sps, p50_ms, p99_ms;
    double of_unlocked; /* throughput as a share of that of `none`; NAN without one */
} lt_row;

typedef struct lt_comparison {
    /* Set by the caller, all borrowed. */
    const lt_plan *plan;
    const lt_threshold *thresholds;
    int threshold_count;

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

/* A row for each sale of the plan, with room for its runs. False when memory is short. */
bool comparison_init(lt_comparison *comparison);
void comparison_release(lt_comparison *comparison);

/* After the runs: chooses what each row shows, drops rows without any run, ranks the others. */
void comparison_rank(lt_comparison *comparison);

/* The run that stands for a row. */
static inline const lt_result *row_shown(const lt_row *row)
{
    return &row->runs[row->shown];
}

/*
 * A comparison by preset without an unlocked run that sold wrongly proves nothing: the load was too
 * mild for the others' safety to mean anything. True when that happened.
 */
bool comparison_missed_control(const lt_comparison *comparison);

/* What the process shall end with. */
lt_exit_code comparison_exit_code(const lt_comparison *comparison);

#endif
