/*
 * diff.h - loadtest compare BEFORE.json AFTER.json: what changed, per strategy and metric.
 */
#ifndef LOADTEST_DIFF_H
#define LOADTEST_DIFF_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Reads both files and prints the changes. False, with a sentence in `err`, when one of them is
 * not a result file.
 */
bool report_diff(FILE *out, const char *before, const char *after, char *err, size_t err_len);

#endif
