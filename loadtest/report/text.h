/*
 * text.h - the report for people: the verdict first, then what explains it.
 */
#ifndef LOADTEST_TEXT_H
#define LOADTEST_TEXT_H

#include "loadtest/run/comparison.h"

#include <stdio.h>

/* One run, in full. */
void report_run(FILE *out, const lt_options *options, const lt_row *row);

/* The table of several strategies. */
void report_table(FILE *out, const lt_comparison *comparison);

/* The article's figures beside ours, for the reference preset. */
void report_reference(FILE *out, const lt_comparison *comparison);

/* Thresholds, and the files that were written. */
void report_closing(FILE *out, const lt_comparison *comparison);

/* A sentence on what a verdict means in this run. */
void verdict_sentence(const lt_result *result, const lt_plan *plan, char *text, size_t size);

#endif
