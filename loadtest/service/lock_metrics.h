/*
 * lock_metrics.h - how long buyers waited for the lock, from the instances' own GET /metrics.
 *
 * Reads the Prometheus histogram flashsale_lock_wait_seconds of every target before and after a
 * run; the difference is the run's. A service without it, or a strategy without a lock, has none.
 */
#ifndef LOADTEST_LOCK_METRICS_H
#define LOADTEST_LOCK_METRICS_H

#include "loadtest/base/plan.h"
#include "loadtest/service/http_client.h"

#define LOCK_METRICS_BUCKETS_MAX 64

typedef struct lt_lock_metrics {
    int count; /* of buckets; 0: nothing is known */
    struct {
        double upto_s;  /* HUGE_VAL for the last */
        double waiters; /* that waited no longer, cumulative */
    } buckets[LOCK_METRICS_BUCKETS_MAX];
} lt_lock_metrics;

/* The sum over all targets. All zero when none has the histogram. */
lt_lock_metrics lock_metrics_read(lt_http *http, const lt_plan *plan);

/* Adds the buckets that a text in Prometheus's format has. */
void lock_metrics_parse(lt_lock_metrics *sum, const char *text);

/*
 * The quantile of the waits between two readings in ms, interpolated in its bucket. False when
 * nobody waited or the buckets of the readings differ.
 */
bool lock_metrics_quantile(const lt_lock_metrics *before, const lt_lock_metrics *after,
                           double quantile, double *ret);

#endif
