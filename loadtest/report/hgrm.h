/*
 * hgrm.h - a percentile distribution as HdrHistogram's plotter reads it (.hgrm), in ms.
 */
#ifndef LOADTEST_HGRM_H
#define LOADTEST_HGRM_H

#include "loadtest/stats/histogram.h"

#include <stdio.h>

/* False when writing failed. */
bool report_hgrm(FILE *out, const lt_histogram *h);

#endif
