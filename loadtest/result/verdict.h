/*
 * verdict.h - the business result: did the service sell what it had, once, to those it told so?
 *
 *     oversold      = max(0, units sold - stock)
 *     lost updates  = max(0, units sold - (stock - remaining)): sales that the stock forgot
 *     undersold     = units left, at most as many as buyers were turned away for: as busy, as
 *                     failed, or as sold out, which was not true then
 *     duplicates    = orders beyond the first of a request, and replays answered with another
 *
 * "Units sold" is what the buyers were told, plus the orders that unknown outcomes turned out to
 * have.
 *
 * Each invariant stands for one verdict, and each reason not to believe the run for INVALID; the
 * run's verdict is the worst of those that it earned. From the worst:
 *
 *     OVERSOLD, DUPLICATED, LOST   proven by what was seen: that something else could not be seen
 *                                  takes nothing back. In the order of what they cost a seller
 *     INVALID                      something could not be checked, so the run may be any of these
 *     UNDERSOLD                    a loss of sales, not of trust; and one that a run which is to be
 *                                  doubted (users starved, targets down) brings about by itself
 *     SAFE                         all was checked, and all held
 */
#ifndef LOADTEST_VERDICT_H
#define LOADTEST_VERDICT_H

#include "loadtest/result/result.h"

/* Judges a finished run: fills the last part of the result. */
void verdict_reach(lt_result *result, const lt_plan *plan);

/* Whether the verdict says that the service broke its promise. */
bool verdict_is_broken(lt_verdict verdict);

#endif
