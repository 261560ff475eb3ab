/*
 * timeline.h - the run over time: requests by how they ended, and their latency, in bins of equal
 * width.
 *
 * Every request is counted when it ended: at its answer, or, without one, when it failed, timed out
 * or was cut off. Its latency is its age then, so it tells when the request was due. The length of
 * a run of N requests is not known beforehand, so the run is counted at four zoom levels at once;
 * the report uses the finest that covers the whole run. Any thread may add to all counters.
 */
#ifndef LOADTEST_TIMELINE_H
#define LOADTEST_TIMELINE_H

#include "loadtest/base/clock.h"
#include "loadtest/base/outcome.h"

#include <stdint.h>

typedef struct lt_timeline lt_timeline;

lt_timeline *timeline_new(void);
void timeline_free(lt_timeline *timeline);

/* Counts a request of a series (outcome.h) that ended `at` after the start and took `latency`. */
void timeline_record(lt_timeline *timeline, int series, mono_ns at, mono_ns latency);

typedef struct lt_timeline_bin {
    double start_s;
    int64_t outcomes[SERIES_COUNT];
    double p50_ms; /* to about 20 %: for a chart, not for a table; 0 when the bin is empty */
    double p99_ms;
} lt_timeline_bin;

/*
 * The bins that cover `length`, at the finest level that can, in memory from malloc(); their
 * number and width are written. NULL when memory is short.
 */
lt_timeline_bin *timeline_bins(const lt_timeline *timeline, mono_ns length, int *ret_count,
                               double *ret_width_s);

#endif
