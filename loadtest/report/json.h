/*
 * json.h - the result file, "schema": 1.
 */
#ifndef LOADTEST_JSON_H
#define LOADTEST_JSON_H

#include "loadtest/run/comparison.h"

#include <cjson/cJSON.h>

/* The whole document; the caller deletes it. NULL when memory is short. */
cJSON *report_json(const lt_comparison *comparison);

/* One run as the summary that rows and samples share (json_run.c). */
cJSON *json_summary(const lt_row *row, const lt_result *result, const lt_plan *plan);

/* Adds what only the row that stands for a strategy has: invariants, errors, curves. */
void json_add_detail(cJSON *json, const lt_result *result, const lt_plan *plan);

/* Adds a number, or null for NAN. */
void json_add_figure(cJSON *json, const char *name, double value);

#endif
