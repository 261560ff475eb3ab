/*
 * text.h - the report for people: the verdict first, then what explains it.
 */
#ifndef LOADTEST_TEXT_H
#define LOADTEST_TEXT_H

#include "loadtest/run/comparison.h"

#include <stdio.h>

/* One run, in full. */
void report_run(FILE *out, const struct options *options, const struct comparison_row *row);

/* The table of several strategies. */
void report_table(FILE *out, const struct comparison *comparison);

/* The article's figures beside ours, for the reference preset. */
void report_reference(FILE *out, const struct comparison *comparison);

/* Thresholds, and the files that were written. */
void report_closing(FILE *out, const struct comparison *comparison);

/* A sentence on what a verdict means in this run. */
void verdict_sentence(const struct run_result *result, const struct load_plan *plan, char *text,
                      size_t size);

#endif
