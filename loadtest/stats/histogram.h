/*
 * histogram.h - latencies counted in log-linear buckets, three significant digits.
 *
 * Values are microseconds from 0 to about 71 minutes; greater ones are counted in the last bucket
 * (the maximum stays exact). Below 2,048 us every microsecond has its bucket; above, each doubling
 * is divided into 1,024, so that a bucket is never wider than 0.1 % of its values. This is the
 * layout of HdrHistogram with 2,048 sub-buckets.
 *
 * Counters live in pages that appear when first needed: a thousand buyers each have several
 * histograms, and each needs a few kilobytes instead of 188.
 *
 * Any number of threads may record at the same time and others may read while they do; a reader
 * then sees a recent state. Merging is addition, so it loses nothing.
 */
#ifndef LOADTEST_HISTOGRAM_H
#define LOADTEST_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct lt_histogram lt_histogram;

/* NULL when memory is short. */
lt_histogram *histogram_new(void);
void histogram_free(lt_histogram *h);

/* Negative values count as 0. False when memory is short: the value is then lost. */
bool histogram_record(lt_histogram *h, int64_t us);

/* Adds all of `from` to `into`. False when memory is short. */
bool histogram_merge(lt_histogram *into, const lt_histogram *from);

uint64_t histogram_count(const lt_histogram *h);
int64_t histogram_min(const lt_histogram *h); /* 0 when empty */
int64_t histogram_max(const lt_histogram *h);
double histogram_mean(const lt_histogram *h);      /* exact: of the values, not the buckets */
double histogram_deviation(const lt_histogram *h); /* standard deviation, of the buckets */

/*
 * The value that at least `quantile` (0..1) of all values do not exceed, by nearest rank: the
 * greatest value of the bucket it falls in, but never more than the maximum. 0 when empty.
 */
int64_t histogram_at(const lt_histogram *h, double quantile);

/* How many values are <= us, to the precision of a bucket. */
uint64_t histogram_count_upto(const lt_histogram *h, int64_t us);

/* The width of the bucket that `us` falls in: what a printed value may be off by. */
int64_t histogram_bucket_width(int64_t us);

/*
 * Walks the buckets that are not empty, in rising order: *ret_low..*ret_high are its values.
 * Start with *cursor = 0. False at the end.
 */
bool histogram_next(const lt_histogram *h, int *cursor, int64_t *ret_low, int64_t *ret_high,
                    uint64_t *ret_count);

#endif
