/*
 * run.h - one run: create a sale, put the load on it, collect the evidence, judge.
 */
#ifndef LOADTEST_RUN_H
#define LOADTEST_RUN_H

#include "loadtest/judge/result.h"
#include "loadtest/run/progress.h"

struct run_setup {
    const struct load_plan *plan;
    struct sale_spec spec;
    const char *redis_info; /* address for INFO, or NULL */
    enum live_style live;
    const char *label; /* for the live view */
    FILE *log;         /* one line a settled request, or NULL */
};

/*
 * Runs and fills `result`, which the caller frees with run_result_free() in any case. What keeps
 * the run from starting becomes a reason of an INVALID result.
 */
void run_execute(const struct run_setup *setup, struct run_result *result);

/* SIGINT and SIGTERM end the current run early; the result is then marked as partial. A second
 * signal ends the process. */
void run_catch_signals(void);
bool run_interrupted(void);

#endif
