/*
 * metrics.h - what the instances count themselves, from GET /metrics: their CPU time, and how long
 * buyers waited for the lock.
 *
 * Counters only grow, so a run's values are the difference of two readings. Each target is assumed
 * to be a process of its own. The histogram is flashsale_lock_wait_seconds; a strategy without a
 * lock has no waits.
 */
#ifndef LOADTEST_METRICS_H
#define LOADTEST_METRICS_H

#include "loadtest/base/plan.h"
#include "loadtest/service/http_client.h"

#define METRICS_BUCKETS_MAX 64

typedef struct lt_metrics {
    double cpu_s; /* process_cpu_seconds_total; NAN: a target has none */
    int count;    /* of buckets; 0: nothing is known */
    struct {
        double upto_s;  /* HUGE_VAL for the last */
        double waiters; /* waiters up to this time, cumulative */
    } buckets[METRICS_BUCKETS_MAX];
} lt_metrics;

/* The sum over all targets. */
lt_metrics metrics_read(lt_http *http, const lt_plan *plan);

/* Adds the buckets and the processor time that a target's text in Prometheus's format has. */
void metrics_add(lt_metrics *sum, const char *text);

/*
 * The quantile of the waits for the lock between two readings in ms, interpolated in its bucket.
 * False when nobody waited or the buckets of the readings differ.
 */
bool metrics_lock_wait(const lt_metrics *before, const lt_metrics *after, double quantile,
                       double *ret);

#endif
