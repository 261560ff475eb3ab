/*
 * A histogram of durations from 1 ns to days, exact to 3 %: 32 buckets for each power
 * of two. A plain value without pointers, so that it can live in memory shared by processes.
 */
#ifndef DLOCK_CMD_LATENCY_H
#define DLOCK_CMD_LATENCY_H

#include <stdint.h>

#define LATENCY_BUCKETS 1600

typedef struct latency_histogram {
    uint64_t count;
    int64_t max_ns;
    uint64_t bucket[LATENCY_BUCKETS];
} latency_histogram;

void latency_record(latency_histogram *self, int64_t ns);
void latency_add(latency_histogram *self, const latency_histogram *other);

/* The duration that the share `quantile` (0..1) of all samples did not exceed, in us. NAN when
 * fewer than 5 samples lie beyond it: then it would tell chance, not the system. */
double latency_us(const latency_histogram *self, double quantile);

#endif
