/*
 * verdict.h - the judge's word (judge/judge.h) on a run's histories, put into its result.
 *
 *     oversold      = max(0, units sold - stock)
 *     lost updates  = max(0, units sold - (stock - remaining)): sales that the stock forgot
 *     undersold     = units left although a buyer who could have had them was turned away
 *     duplicates    = orders beyond the first of a request, and replays answered with another
 *
 * "Units sold" is what the buyers were told, plus the orders that unknown outcomes turned out to
 * have.
 */
#ifndef LOADTEST_VERDICT_H
#define LOADTEST_VERDICT_H

#include "loadtest/result/result.h"

/* Judges the history of the run, and that of the sale before it where that was held: the worse of
 * the two verdicts counts. `old_path` may be NULL. */
void verdict_reach(lt_result *result, const lt_plan *plan, const char *path, const char *old_path);

#endif
