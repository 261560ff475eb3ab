/*
 * metrics.h - counters for Prometheus.
 *
 * Counting is one or two relaxed atomic additions, for it happens at every request. Labels are
 * bounded: outcomes and status codes, never items or users.
 */
#ifndef FLASHSALE_METRICS_H
#define FLASHSALE_METRICS_H

#include "server/store/purchase.h"

#include <stdatomic.h>

#define METRICS_BUCKETS 14
#define METRICS_CODES   600

typedef struct fs_metrics {
    struct {
        _Atomic uint64_t bucket[METRICS_BUCKETS + 1]; /* not cumulative; the last: beyond all */
        _Atomic uint64_t sum_us;
    } buys[BUY_OUTCOMES];
    _Atomic uint64_t replayed;
    _Atomic uint64_t rate_limited;
    _Atomic uint64_t responses[METRICS_CODES]; /* by HTTP status */
} fs_metrics;

void metrics_count_buy(fs_metrics *metrics, purchase_outcome outcome, bool replayed, int64_t us);
void metrics_count_response(fs_metrics *metrics, int status);

/* Everything in the text format, the lock client's counters and the gauges given included. */
void metrics_write(fs_metrics *metrics, fs_store *store, int in_flight, fs_text *out);

#endif
