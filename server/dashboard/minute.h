/*
 * minute.h - what all instances together have sold in each second of the last minute, and how long
 * that took.
 *
 * It is made of the differences between one record of an instance and its next. A difference is
 * spread evenly over the time between the two, so a record that comes late makes no peak. Seconds
 * are by Redis's clock. For one thread.
 */
#ifndef FLASHSALE_MINUTE_H
#define FLASHSALE_MINUTE_H

#include "server/dashboard/record.h"

#define MINUTE_STEPS 60
#define MINUTE_KEPT  64 /* steps; those that are shown, and those that are still being filled */

/* Buys of one second. */
typedef struct minute_step {
    int64_t second; /* since 1970; 0 = unused */
    double sold, refused, unknown;
    double latency[LATENCY_BUCKETS];
} minute_step;

typedef struct minute {
    minute_step steps[MINUTE_KEPT];
} minute;

/* The records of an instance at two moments, in ms since 1970. */
void minute_add(minute *m, int64_t from_ms, const instance_counts *before, int64_t to_ms,
                const instance_counts *after);

/* As a JSON object. The last step is the second that ended a second ago, at least: by then the
 * records are there. */
void minute_write(const minute *m, int64_t now_ms, fs_text *out);

#endif
