/*
 * Each level is a table of 400 bins; a bin counts requests by series, and latencies in buckets of a
 * quarter of a doubling. The threads of all buyers add to the same bins, so these counters, unlike
 * those of a tally, are incremented atomically.
 */
#include "loadtest/stats/timeline.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#define LEVELS          4
#define BINS            400
#define LATENCY_BUCKETS 112 /* four to each doubling, from 16 us to 71 minutes */
#define LATENCY_FIRST   16  /* us */

/* These cover 8 s, 40 s, 400 s and 3 hours; later ones are left out. */
static const mono_ns level_width[LEVELS] = {20 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_S,
                                            30 * NS_PER_S};

typedef struct lt_bin {
    _Atomic uint32_t outcomes[SERIES_COUNT];
    _Atomic uint32_t latency[LATENCY_BUCKETS];
} lt_bin;

struct lt_timeline {
    lt_bin bins[LEVELS][BINS];
};

lt_timeline *timeline_new(void)
{
    return calloc(1, sizeof(lt_timeline));
}

void timeline_free(lt_timeline *timeline)
{
    free(timeline);
}

static int latency_bucket(mono_ns latency)
{
    int64_t us = latency / NS_PER_US;
    if (us < LATENCY_FIRST)
        return 0;
    int doubling = 63 - __builtin_clzll((unsigned long long)us);
    int quarter = (int)((us >> (doubling - 2)) & 3);
    int bucket = (doubling - 4) * 4 + quarter;
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The middle of a bucket, in ms. */
static double bucket_ms(int bucket)
{
    double low = ldexp(1.0 + (bucket % 4) / 4.0, bucket / 4 + 4);
    return (low + ldexp(0.125, bucket / 4 + 4)) / 1000.0;
}

void timeline_record(lt_timeline *timeline, int series, mono_ns at, mono_ns latency)
{
    int bucket = latency_bucket(latency);
    for (int level = 0; level < LEVELS; level++) {
        int64_t number = at / level_width[level];
        if (number < 0 || number >= BINS)
            continue;
        lt_bin *bin = &timeline->bins[level][number];
        atomic_fetch_add_explicit(&bin->outcomes[series], 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&bin->latency[bucket], 1, memory_order_relaxed);
    }
}

static double latency_at(const uint32_t *counts, double quantile)
{
    int64_t total = 0, seen = 0;
    for (int i = 0; i < LATENCY_BUCKETS; i++)
        total += counts[i];
    for (int i = 0; i < LATENCY_BUCKETS; i++) {
        seen += counts[i];
        if (seen > 0 && (double)seen >= quantile * (double)total)
            return bucket_ms(i);
    }
    return 0.0;
}

static lt_timeline_bin bin_summary(const lt_bin *bin, double start_s)
{
    lt_timeline_bin summary = {.start_s = start_s};
    uint32_t latency[LATENCY_BUCKETS];
    for (int i = 0; i < SERIES_COUNT; i++)
        summary.outcomes[i] = bin->outcomes[i];
    for (int i = 0; i < LATENCY_BUCKETS; i++)
        latency[i] = bin->latency[i];
    summary.p50_ms = latency_at(latency, 0.50);
    summary.p99_ms = latency_at(latency, 0.99);
    return summary;
}

lt_timeline_bin *timeline_bins(const lt_timeline *timeline, mono_ns length, int *ret_count,
                               double *ret_width_s)
{
    int level = 0;
    while (level < LEVELS - 1 && length >= level_width[level] * BINS)
        level++;
    int64_t wanted = length / level_width[level] + 1;
    int count = wanted < BINS ? (int)wanted : BINS;
    lt_timeline_bin *bins = calloc((size_t)count, sizeof(*bins));
    if (!bins)
        return NULL;
    double width_s = clock_seconds(level_width[level]);
    for (int i = 0; i < count; i++)
        bins[i] = bin_summary(&timeline->bins[level][i], i * width_s);
    *ret_count = count;
    *ret_width_s = width_s;
    return bins;
}
