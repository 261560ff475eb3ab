#include "loadtest/stats/latency.h"

#include <math.h>
#include <stddef.h>

#define SAMPLES_BEYOND 5

const char *const latency_titles[P_COUNT] = {"p50", "p90", "p95", "p99", "p99.9"};
const char *const latency_names[P_COUNT] = {"p50", "p90", "p95", "p99", "p999"};
const double latency_quantiles[P_COUNT] = {0.50, 0.90, 0.95, 0.99, 0.999};

bool latency_enough(uint64_t count, double quantile)
{
    return (double)count * (1.0 - quantile) > SAMPLES_BEYOND - 1e-6;
}

lt_latency latency_of(const lt_histogram *h)
{
    lt_latency latency = {.count = !h ? 0 : histogram_count(h)};
    for (int i = 0; i < P_COUNT; i++) {
        latency.at[i] = NAN;
        if (latency_enough(latency.count, latency_quantiles[i]))
            latency.at[i] = (double)histogram_at(h, latency_quantiles[i]) / 1000.0;
    }
    if (latency.count > 0) {
        latency.min = (double)histogram_min(h) / 1000.0;
        latency.mean = histogram_mean(h) / 1000.0;
        latency.max = (double)histogram_max(h) / 1000.0;
    }
    return latency;
}
