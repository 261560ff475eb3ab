/*
 * minute.h - what all instances together have sold in each second of the last minute, and how long
 * that took.
 *
 * The difference between an instance's counts (metrics_read_counts()) at two moments is spread
 * evenly over the time between them, so late counts make no peak. Seconds are by Redis's clock. For
 * one thread.
 */
#ifndef FLASHSALE_MINUTE_H
#define FLASHSALE_MINUTE_H

#include "server/metrics/metrics.h"

#define MINUTE_STEPS 60
#define MINUTE_KEPT  64 /* steps; those that are shown, and those that are still being filled */

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

/* As a JSON object. The last step is the second that ended a second ago, at least: by then the
 * counts are there. */
void minute_write(const minute *m, int64_t now_ms, fs_text *out);

#endif
