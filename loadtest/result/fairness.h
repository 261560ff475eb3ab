/*
 * fairness.h - how evenly the users of a closed or flash run were served.
 *
 * Throughput alone flatters a lock that lets one user go on buying while the others wait. Every
 * user has its own share of the requests, so at the end all would have bought alike. So fairness
 * compares what users were sold by the time half of the requests had been made.
 */
#ifndef LOADTEST_FAIRNESS_H
#define LOADTEST_FAIRNESS_H

#include "loadtest/result/result.h"

/*
 * Fills the result's fairness and user_sales. A user is starved when its first answer came only
 * after another user had used up its share (or the run was over), although users had several
 * answers each.
 */
void fairness_measure(lt_result *result, lt_run_state *state);

#endif
