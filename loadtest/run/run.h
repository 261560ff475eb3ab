/*
 * run.h - one run: create a sale, put the load on it, collect the evidence, judge.
 */
#ifndef LOADTEST_RUN_H
#define LOADTEST_RUN_H

#include "loadtest/judge/result.h"
#include "loadtest/run/progress.h"

typedef struct lt_run_setup {
    const lt_plan *plan;
    lt_sale_spec spec;
    const char *redis_info; /* address for INFO, or NULL */
    lt_progress_style progress;
    const char *label; /* for the live view */
    FILE *log;         /* one line a settled request, or NULL */
} lt_run_setup;

/*
 * Runs and fills `result`, which the caller frees with result_free() in any case. What keeps
 * the run from starting becomes a reason of an INVALID result.
 */
void run_execute(const lt_run_setup *setup, lt_result *result);

/* SIGINT and SIGTERM end the current run early; the result is then marked as partial. A second
 * signal ends the process. */
void run_catch_signals(void);
bool run_interrupted(void);

#endif
