/*
 * json_detail.h - the detail of a row in the result file: invariants, errors and stock of the run
 * that tells what was sold; targets, time and users of the run that tells how fast.
 */
#ifndef LOADTEST_JSON_DETAIL_H
#define LOADTEST_JSON_DETAIL_H

#include "loadtest/result/result.h"

#include <cjson/cJSON.h>

void json_add_detail(cJSON *json, const lt_result *books, const lt_result *shown,
                     const lt_plan *plan);

#endif
