/*
 * latency.h - a histogram as the figures that reports print, in ms.
 *
 * A percentile that fewer than five samples lie beyond says more about luck than about the
 * service: it is not given at all. So p50 needs 10 samples, p90 50, p99 500, p99.9 5,000.
 */
#ifndef LOADTEST_LATENCY_H
#define LOADTEST_LATENCY_H

#include "loadtest/stats/histogram.h"

typedef enum lt_percentile { P50, P90, P95, P99, P999, P_COUNT } lt_percentile;

typedef struct lt_latency {
    uint64_t count;
    double min, mean, max; /* valid when count > 0 */
    double at[P_COUNT];    /* NAN: too few samples */
} lt_latency;

/* "p50", "p99.9"; and "p999", as JSON and thresholds write it */
extern const char *const latency_titles[P_COUNT];
extern const char *const latency_names[P_COUNT];
extern const double latency_quantiles[P_COUNT];

/* Of a histogram, or of nothing at all when it is NULL. */
lt_latency latency_of(const lt_histogram *h);

/* Whether so many samples are enough for a quantile. */
bool latency_enough(uint64_t count, double quantile);

#endif
