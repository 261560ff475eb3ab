/*
 * report.h - what was found out, as people and programs read it: each function is a file of this
 * folder.
 *
 * Functions that return bool: false when writing failed.
 */
#ifndef LOADTEST_REPORT_H
#define LOADTEST_REPORT_H

#include "loadtest/result/comparison.h"

#include <cjson/cJSON.h>
#include <stdio.h>

/* text.c: one run, in full; the verdict first, then what explains it. */
void report_text(FILE *out, const lt_plan *plan, const lt_row *row);

/* table.c: several strategies. */
void report_table(FILE *out, const lt_comparison *comparison);

/* table.c: what stands below both. The article's figures, for the reference preset; thresholds. */
void report_closing(FILE *out, const lt_comparison *comparison);

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
 * diff.c: what changed between two result files, per strategy and metric. False, with a sentence in
 * `err`, when one of them is not a result file.
 */
bool report_diff(FILE *out, const char *before, const char *after, char *err, size_t err_len);

#endif
