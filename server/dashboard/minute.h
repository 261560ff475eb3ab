/*
 * minute.h - the sales of all instances together in each second of the last minute, and their
 * latency.
 *
 * The difference between two readings of an instance's counts (metrics_read_counts()) is spread
 * evenly over the time between them, so late counts make no peak. Seconds are by Redis's clock. For
 * one thread.
 */
#ifndef FLASHSALE_MINUTE_H
#define FLASHSALE_MINUTE_H

#include "server/metrics/metrics.h"

#define MINUTE_STEPS 60
#define MINUTE_KEPT  64 /* steps: the shown ones, and those still being filled */

typedef struct minute_step {
    int64_t second; /* since 1970; 0 = unused */
    double counts[METRICS_COUNTS];
} minute_step;

typedef struct minute {
    minute_step steps[MINUTE_KEPT];
} minute;

/* The counts of an instance at two moments, in ms since 1970. */
void minute_add(minute *m, int64_t from_ms, const int64_t *before, int64_t to_ms,
                const int64_t *after);

/* Appends a JSON object. Its last step is a second that ended at least one second ago: by then the
 * counts have arrived. */
void minute_write(const minute *m, int64_t now_ms, fs_text *out);

#endif
