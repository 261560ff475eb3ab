/*
 * fairness.h - how evenly the users of a closed or flash run were served.
 *
 * Throughput alone flatters a lock that lets one user go on buying while the others wait.
 */
#ifndef LOADTEST_FAIRNESS_H
#define LOADTEST_FAIRNESS_H

#include "loadtest/judge/result.h"

/*
 * Fills the result's fairness and user_sales. A user is starved when its first answer came only
 * after nobody could get a ticket any more, although the others had each had several by then.
 */
void fairness_measure(lt_result *result, lt_run_state *state);

#endif
