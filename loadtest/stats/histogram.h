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
 * One thread records, or merges, into a histogram; any others may read meanwhile, and see a recent
 * state. Each thread has its own, and merging them is addition, so it loses nothing.
 */
#ifndef LOADTEST_HISTOGRAM_H
#define LOADTEST_HISTOGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A counter that one thread adds to and others may read meanwhile, for display; exactly only after
 * that thread was joined. So relaxed order is enough, and no addition needs a locked instruction.
 */
typedef _Atomic int64_t lt_counter;

static inline int64_t counter_get(const lt_counter *counter)
{
    return atomic_load_explicit((lt_counter *)counter, memory_order_relaxed);
}

static inline void counter_add(lt_counter *counter, int64_t n)
{
    atomic_store_explicit(counter, counter_get(counter) + n, memory_order_relaxed);
}

typedef struct lt_histogram lt_histogram;

/* NULL when memory is short. */
lt_histogram *histogram_new(void);
void histogram_free(lt_histogram *h);

/* Negative values count as 0. False when memory is short: the value is then lost. */
bool histogram_record(lt_histogram *h, int64_t us);

/* Adds all of `from` to `into`. False when memory is short. */
bool histogram_merge(lt_histogram *into, const lt_histogram *from);

int64_t histogram_count(const lt_histogram *h);
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
int64_t histogram_count_upto(const lt_histogram *h, int64_t us);

/* The width of the bucket that `us` falls in: what a printed value may be off by. */
int64_t histogram_bucket_width(int64_t us);

/*
 * Walks the buckets that are not empty, in rising order: *ret_low..*ret_high are its values.
 * Start with *cursor = 0. False at the end.
 */
bool histogram_next(const lt_histogram *h, int *cursor, int64_t *ret_low, int64_t *ret_high,
                    int64_t *ret_count);

typedef enum lt_percentile { P50, P90, P95, P99, P999, P_COUNT } lt_percentile;

/* "p50", "p99.9"; and "p999", as JSON writes it */
extern const char *const percentile_titles[P_COUNT];
extern const char *const percentile_names[P_COUNT];

/*
 * A histogram as the figures that reports print, in ms. A percentile that fewer than five samples
 * lie beyond says more about luck than about the service: it is not given at all. So p50 needs 10
 * samples, p90 50, p99 500, p99.9 5,000.
 */
typedef struct lt_latency {
    int64_t count;
    double min, mean, max; /* valid when count > 0 */
    double at[P_COUNT];    /* NAN: too few samples */
} lt_latency;

/* Of a histogram, or of nothing at all when it is NULL. */
lt_latency latency_of(const lt_histogram *h);

/* Whether so many samples are enough for a quantile. */
bool latency_enough(int64_t count, double quantile);

#endif
