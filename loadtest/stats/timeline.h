/*
 * timeline.h - the run over time: answers by outcome, and their latency, in bins of equal width.
 *
 * Nobody knows beforehand how long a run of N requests takes, so every answer is counted at four
 * zoom levels at once; the report uses the finest that covers the whole run. All counters may be
 * added to by any thread.
 */
#ifndef LOADTEST_TIMELINE_H
#define LOADTEST_TIMELINE_H

#include "loadtest/base/clock.h"
#include "loadtest/base/outcome.h"

#include <stdint.h>

struct timeline;

struct timeline *timeline_new(void);
void timeline_free(struct timeline *timeline);

/* Counts an answer that came `at` after the start and took `latency`. */
void timeline_record(struct timeline *timeline, enum outcome outcome, mono_ns at, mono_ns latency);

struct timeline_bin {
    double start_s;
    uint64_t outcomes[OUT_COUNT];
    double p50_ms; /* to about 20 %: for a chart, not for a table; 0 when the bin is empty */
    double p99_ms;
};

/*
 * The bins that cover `length`, at the finest level that can, in memory from malloc(); their
 * number and width are written. NULL when memory is short.
 */
struct timeline_bin *timeline_bins(const struct timeline *timeline, mono_ns length, int *ret_count,
                                   double *ret_width_s);

#endif
