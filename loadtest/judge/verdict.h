/*
 * verdict.h - the business result: did the service sell what it had, once, to those it told so?
 *
 *     oversold      = max(0, units sold - stock)
 *     lost updates  = max(0, units sold - (stock - remaining)): sales that the stock forgot
 *     undersold     = units left, at most as many as buyers were turned away as busy or failed
 *     duplicates    = orders beyond the first of a request, and replays answered differently
 *
 * "Units sold" is what the buyers were told, plus the orders that unknown outcomes turned out to
 * have. A broken invariant stands even when the run is otherwise invalid; a run without one is
 * INVALID when there is a reason, and only then UNDERSOLD or SAFE.
 */
#ifndef LOADTEST_VERDICT_H
#define LOADTEST_VERDICT_H

#include "loadtest/judge/result.h"

/* Judges a finished run: fills the last part of the result. */
void verdict_reach(lt_result *result, const lt_plan *plan);

/* Whether the verdict says that the service broke its promise. */
bool verdict_is_broken(lt_verdict verdict);

#endif
