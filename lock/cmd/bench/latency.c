/* The buckets of the histogram, and quantiles from them. */
#include "cmd/bench/latency.h"

#include <math.h>

#define SUB_BITS    5 /* 32 buckets for each power of two */
#define SUB         (1 << SUB_BITS)
#define SAMPLES_MIN 5 /* beyond a quantile, to print it */

/* Below 64 ns a bucket is one value; above, the leading 6 bits of the value name the bucket. */
static int bucket_of(uint64_t ns)
{
    int shift = ns < SUB ? 0 : 63 - __builtin_clzll(ns) - SUB_BITS;
    int bucket = shift * SUB + (int)(ns >> shift);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The largest value that falls into the bucket. */
static int64_t bucket_end(int bucket)
{
    int shift = bucket < 2 * SUB ? 0 : bucket / SUB - 1;
    return ((int64_t)(bucket - shift * SUB + 1) << shift) - 1;
}

void latency_record(latency_histogram *self, int64_t ns)
{
    if (ns < 0)
        ns = 0;
    self->bucket[bucket_of((uint64_t)ns)]++;
    self->count++;
    if (ns > self->max_ns)
        self->max_ns = ns;
}

void latency_add(latency_histogram *self, const latency_histogram *other)
{
    for (int i = 0; i < LATENCY_BUCKETS; i++)
        self->bucket[i] += other->bucket[i];
    self->count += other->count;
    if (other->max_ns > self->max_ns)
        self->max_ns = other->max_ns;
}

double latency_us(const latency_histogram *self, double quantile)
{
    if ((double)self->count * (1 - quantile) < SAMPLES_MIN)
        return NAN;
    uint64_t rank = (uint64_t)ceil((double)self->count * quantile);
    uint64_t seen = 0;
    for (int i = 0; i < LATENCY_BUCKETS; i++) {
        seen += self->bucket[i];
        if (seen >= rank)
            return (double)(bucket_end(i) < self->max_ns ? bucket_end(i) : self->max_ns) / 1000;
    }
    return (double)self->max_ns / 1000;
}
