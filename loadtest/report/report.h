/*
 * report.h - the reports for people and programs; each function is a file of this folder.
 *
 * Functions that return bool: false when writing failed.
 */
#ifndef LOADTEST_REPORT_H
#define LOADTEST_REPORT_H

#include "loadtest/result/comparison.h"

#include <cjson/cJSON.h>
#include <stdio.h>

/* text.c: one run on a screen of 24 lines and 80 columns, the verdict last. Like every report
 * for people it is made from `document`, the result file. */
void report_text(FILE *out, const cJSON *document);

/* table.c: several strategies, likewise, with up to 14 rows. */
void report_table(FILE *out, const cJSON *document);

/* table.c: parts of both: the thresholds, if any; the last line. */
void report_limits(FILE *out, const cJSON *document);
void report_verdict(FILE *out, const char *verdict, const char *sentence);

/* details.c: the rest, in as many lines as it takes. */
void report_details(FILE *out, const cJSON *document);

/* json.c: the result file, "schema": 1. The caller deletes it. NULL when memory is short. */
cJSON *report_json(const lt_comparison *comparison);

/*
 * html.c: the result file as one page that needs nothing else, no network and no other file. The
 * page is page/page.html with its style and scripts, embedded at build time; `json` is the result
 * file, which the page draws from and which can be copied out of it.
 */
bool report_html(FILE *out, const char *json);

/* html.c: likewise a bench file (bench_file.h), with the same charts' code and style. */
bool report_chart(FILE *out, const char *json);

/* hgrm.c: a percentile distribution as HdrHistogram's plotter reads it (.hgrm), in ms. */
bool report_hgrm(FILE *out, const lt_histogram *h);

/*
 * diff.c: what changed between two result files, per strategy and metric, and whether it may. The
 * code is what the process should end with: broken, when a strategy's verdict became worse;
 * threshold, when a limit is; invalid, when a limit has no value, or a strategy is gone. Declared
 * negative controls can not fail. EXIT_USAGE, with a sentence in `err`: one is not a result file.
 */
lt_exit_code report_diff(FILE *out, const char *const files[2], const lt_threshold *thresholds,
                         int threshold_count, char *err, size_t err_len);

#endif
