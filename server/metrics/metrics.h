/*
 * metrics.h - counters for Prometheus.
 *
 * Every request is counted, so counting takes only a few atomic additions. The number of labels is
 * bounded: outcomes, status codes and a limited number of items, never users.
 */
#ifndef FLASHSALE_METRICS_H
#define FLASHSALE_METRICS_H

#include <stdatomic.h>

#include "server/sale/sale_table.h"

#define METRICS_BUCKETS 14
#define METRICS_CODES   600

/* Durations for percentiles on the live page: four buckets per power of two of microseconds, so an
 * interpolated percentile is off by a few percent only. */
enum {
    LATENCY_FIRST = 7, /* bucket 0: below 2^7 us */
    LATENCY_LAST = 24, /* the last one: 2^24 us (17 s) and more */
    LATENCY_BUCKETS = (LATENCY_LAST - LATENCY_FIRST) * 4 + 2,
};

static inline int latency_bucket(int64_t us)
{
    if (us < 1 << LATENCY_FIRST)
        return 0;
    if (us >= 1 << LATENCY_LAST)
        return LATENCY_BUCKETS - 1;
    int power = 63 - __builtin_clzll((unsigned long long)us);
    return (power - LATENCY_FIRST) * 4 + (int)(us >> (power - 2) & 3) + 1;
}

/* Where a bucket begins, in us; it ends where the next one begins. */
static inline int64_t latency_from_us(int bucket)
{
    int quarters = bucket - 1;
    return bucket == 0 ? 0 : (int64_t)(4 + quarters % 4) << (LATENCY_FIRST - 2 + quarters / 4);
}

typedef struct fs_metrics {
    struct {
        _Atomic uint64_t bucket[METRICS_BUCKETS + 1]; /* not cumulative; the last: beyond all */
        _Atomic uint64_t sum_us;
    } buys[BUY_OUTCOMES];
    _Atomic uint64_t
        sold_latency[LATENCY_BUCKETS]; /* of those sold or reserved, for the live page */
    _Atomic uint64_t replayed;
    _Atomic uint64_t told_directly; /* orders sent by a thread other than the client's */
    _Atomic uint64_t rate_limited;
    _Atomic uint64_t
        connections_ended; /* idle or slow ones, for others that needed their threads */
    _Atomic uint64_t responses[METRICS_CODES]; /* by HTTP status */
    atomic_int in_flight;                      /* requests being answered */
    atomic_bool draining;                      /* no longer ready, but still selling */
} fs_metrics;

/* Upper ends of the buckets, in microseconds. */
static const int64_t metrics_bucket_us[METRICS_BUCKETS] = {
    500,    1000,   2500,   5000,    10000,   25000,   50000,
    100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000};

static inline void metrics_count_buy(fs_metrics *metrics, purchase_outcome outcome, bool replayed,
                                     int64_t us)
{
    int i = 0;
    while (i < METRICS_BUCKETS && us > metrics_bucket_us[i])
        i++;
    metrics->buys[outcome].bucket[i] += 1;
    metrics->buys[outcome].sum_us += (uint64_t)us;
    if (outcome == BUY_SOLD || outcome == BUY_RESERVED)
        metrics->sold_latency[latency_bucket(us)] += 1;
    if (replayed)
        metrics->replayed += 1;
}

static inline void metrics_count_response(fs_metrics *metrics, int status)
{
    if (status >= 0 && status < METRICS_CODES)
        metrics->responses[status] += 1;
}

/* The counts of buys for the live page: one per outcome, then the latencies of sold ones in
 * LATENCY_BUCKETS. */
#define METRICS_COUNTS (BUY_OUTCOMES + LATENCY_BUCKETS)
void metrics_read_counts(fs_metrics *metrics, int64_t ret[METRICS_COUNTS]);

/* A metric is a head (HELP and TYPE), directly followed by all its samples. `type` is counter,
 * gauge or histogram. */
void metric_head(fs_text *out, const char *name, const char *type, const char *help);

/* Head and sample of a metric without labels. Counts are written exactly. */
void metric_counter(fs_text *out, const char *name, const char *help, uint64_t value);
void metric_gauge(fs_text *out, const char *name, const char *help, double value);

/* All counters, with those of the lock client and the state of the servers. */
void metrics_write(fs_metrics *metrics, fs_store *store, fs_text *out);

/* What the lock client counts (lock_metrics.c), of all its locks and of each. At most so many names
 * get a label of their own: the first that are found, of those that were ever asked for. */
#define LOCK_METRICS_NAMES 64
#define LOCK_NAME_MAX      128
void lock_metrics_write(dlock_client *locks, fs_text *out);

/* The current sales (sale_metrics.c), as of the keeper's last look (sale/keeper.h), so a scrape
 * costs Redis nothing. Every instance reports the items that it knows: over instances, sum what
 * they did, and take the maximum of what they saw. At most so many items get their own label, those
 * in trouble first. */
#define SALE_METRICS_ITEMS 64
void sale_metrics_write(sale_table *sales, fs_text *out);

/* The process (process_metrics.c), with the names of Prometheus's client libraries. Unknown values
 * are left out. */
void process_metrics_write(fs_text *out);

#endif
