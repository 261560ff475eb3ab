/*
 * run.h - all runs of a plan. One run: create a sale, put the load on it, collect the evidence,
 * judge.
 *
 * The strategies take turns (a, b, c, a, b, c, ...), so other activity on the machine affects them
 * all alike.
 */
#ifndef LOADTEST_RUN_H
#define LOADTEST_RUN_H

#include "loadtest/result/comparison.h"

#include <stdio.h>

/*
 * Executes the runs of comparison->plan and ranks them. What keeps a run from starting becomes a
 * reason of an INVALID result. `quiet`: without a progress display; `log` gets a line per settled
 * request, or is NULL.
 *
 * SIGINT and SIGTERM end the current run early, which is then marked as partial, and no other run
 * starts. A second signal ends the process.
 */
void run_all(lt_comparison *comparison, bool quiet, FILE *log);

#endif
