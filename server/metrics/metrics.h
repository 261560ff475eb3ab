/*
 * metrics.h - counters for Prometheus.
 *
 * Counting is one or two relaxed atomic additions, for it happens at every request. Labels are
 * bounded: outcomes and status codes, never users; items only as sale_metrics.h bounds them.
 */
#ifndef FLASHSALE_METRICS_H
#define FLASHSALE_METRICS_H

#include "server/dashboard/latency.h"
#include "server/store/purchase.h"

#include <stdatomic.h>

#define METRICS_BUCKETS 14
#define METRICS_CODES   600

typedef struct fs_metrics {
    struct {
        _Atomic uint64_t bucket[METRICS_BUCKETS + 1]; /* not cumulative; the last: beyond all */
        _Atomic uint64_t sum_us;
    } buys[BUY_OUTCOMES];
    _Atomic uint64_t sold_latency[LATENCY_BUCKETS]; /* of those sold, for the live page */
    _Atomic uint64_t replayed;
    _Atomic uint64_t told_directly; /* orders that were sent by another thread than the client's */
    _Atomic uint64_t rate_limited;
    _Atomic uint64_t connections_ended; /* idle or slow ones, as others needed their threads */
    _Atomic uint64_t responses[METRICS_CODES]; /* by HTTP status */
} fs_metrics;

/* Upper ends of the buckets, in microseconds. */
static const int64_t metrics_bucket_us[METRICS_BUCKETS] = {
    500,    1000,   2500,   5000,    10000,   25000,   50000,
    100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000};

static inline void metrics_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static inline void metrics_count_buy(fs_metrics *metrics, purchase_outcome outcome, bool replayed,
                                     int64_t us)
{
    int i = 0;
    while (i < METRICS_BUCKETS && us > metrics_bucket_us[i])
        i++;
    metrics_add(&metrics->buys[outcome].bucket[i], 1);
    metrics_add(&metrics->buys[outcome].sum_us, (uint64_t)us);
    if (outcome == BUY_SOLD)
        metrics_add(&metrics->sold_latency[latency_bucket(us)], 1);
    if (replayed)
        metrics_add(&metrics->replayed, 1);
}

static inline void metrics_count_response(fs_metrics *metrics, int status)
{
    if (status >= 0 && status < METRICS_CODES)
        metrics_add(&metrics->responses[status], 1);
}

/* All of it in the text format, with the lock client's counters and how the servers are. */
void metrics_write(fs_metrics *metrics, fs_store *store, fs_text *out);

#endif
