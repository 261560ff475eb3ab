/*
 * A log-linear histogram in the layout of HdrHistogram, made to be read while it grows: its pages
 * appear atomically and its counters are atomic, but as only one thread writes, nothing is ever
 * compared and swapped.
 *
 * Bucket numbers, with S = 2,048 sub-buckets and H = S/2:
 *
 *     value          bucket                               width
 *     0 .. S-1       value                                1 us
 *     2^k.. (k>=11)  (shift + 1) * H + (value >> shift) - H, with shift = k - 10   2^shift us
 *
 * The two meet: for S the second formula gives 2 * H = S.
 */
#include "loadtest/stats/histogram.h"

#include <math.h>
#include <stdlib.h>

#define HALF_BITS      10
#define HALF           (1 << HALF_BITS)
#define VALUE_BITS     32
#define VALUE_LIMIT    ((INT64_C(1) << VALUE_BITS) - 1) /* us */
#define BUCKETS        ((VALUE_BITS - HALF_BITS + 1) * HALF)
#define PAGE_BUCKETS   128
#define PAGES          (BUCKETS / PAGE_BUCKETS)
#define SAMPLES_BEYOND 5 /* a percentile, for it to be given */

const char *const percentile_titles[P_COUNT] = {"p50", "p90", "p95", "p99", "p99.9"};
const char *const percentile_names[P_COUNT] = {"p50", "p90", "p95", "p99", "p999"};
static const double quantiles[P_COUNT] = {0.50, 0.90, 0.95, 0.99, 0.999};

typedef struct lt_page {
    lt_counter counts[PAGE_BUCKETS];
} lt_page;

struct lt_histogram {
    lt_counter sum; /* us */
    _Atomic int64_t min;
    _Atomic int64_t max;
    _Atomic(lt_page *) pages[PAGES];
};

static int bucket_of(int64_t us)
{
    if (us < 2 * HALF)
        return (int)us;
    if (us > VALUE_LIMIT)
        us = VALUE_LIMIT;
    int shift = 63 - __builtin_clzll((unsigned long long)us) - HALF_BITS;
    return (shift + 1) * HALF + (int)(us >> shift) - HALF;
}

static int64_t bucket_low(int bucket)
{
    if (bucket < 2 * HALF)
        return bucket;
    int shift = bucket / HALF - 1;
    return (int64_t)(bucket % HALF + HALF) << shift;
}

static int64_t bucket_width(int bucket)
{
    return bucket < 2 * HALF ? 1 : INT64_C(1) << (bucket / HALF - 1);
}

lt_histogram *histogram_new(void)
{
    lt_histogram *h = calloc(1, sizeof(*h));
    if (h)
        atomic_init(&h->min, INT64_MAX);
    return h;
}

void histogram_free(lt_histogram *h)
{
    if (!h)
        return;
    for (int i = 0; i < PAGES; i++)
        free(atomic_load_explicit(&h->pages[i], memory_order_relaxed));
    free(h);
}

static lt_page *page_at(const lt_histogram *h, int number)
{
    return atomic_load_explicit((_Atomic(lt_page *) *)&h->pages[number], memory_order_acquire);
}

/* The page, made when it is not there. NULL when memory is short. */
static lt_page *page_need(lt_histogram *h, int number)
{
    lt_page *page = page_at(h, number);
    if (!page) {
        page = calloc(1, sizeof(*page));
        atomic_store_explicit(&h->pages[number], page, memory_order_release);
    }
    return page;
}

static int64_t limit_get(const _Atomic int64_t *limit)
{
    return atomic_load_explicit((_Atomic int64_t *)limit, memory_order_relaxed);
}

/* Makes the limits as wide as low..high. */
static void widen(lt_histogram *h, int64_t low, int64_t high)
{
    if (low < limit_get(&h->min))
        atomic_store_explicit(&h->min, low, memory_order_relaxed);
    if (high > limit_get(&h->max))
        atomic_store_explicit(&h->max, high, memory_order_relaxed);
}

bool histogram_record(lt_histogram *h, int64_t us)
{
    if (us < 0)
        us = 0;
    int bucket = bucket_of(us);
    lt_page *page = page_need(h, bucket / PAGE_BUCKETS);
    if (!page)
        return false;
    counter_add(&page->counts[bucket % PAGE_BUCKETS], 1);
    counter_add(&h->sum, us);
    widen(h, us, us);
    return true;
}

bool histogram_merge(lt_histogram *into, const lt_histogram *from)
{
    for (int i = 0; i < PAGES; i++) {
        lt_page *source = page_at(from, i);
        if (!source)
            continue;
        lt_page *target = page_need(into, i);
        if (!target)
            return false;
        for (int j = 0; j < PAGE_BUCKETS; j++) {
            int64_t count = counter_get(&source->counts[j]);
            if (count > 0)
                counter_add(&target->counts[j], count);
        }
    }
    counter_add(&into->sum, counter_get(&from->sum));
    widen(into, limit_get(&from->min), limit_get(&from->max));
    return true;
}

bool histogram_next(const lt_histogram *h, int *cursor, int64_t *ret_low, int64_t *ret_high,
                    int64_t *ret_count)
{
    while (*cursor < BUCKETS) {
        lt_page *page = page_at(h, *cursor / PAGE_BUCKETS);
        if (!page) {
            *cursor += PAGE_BUCKETS - *cursor % PAGE_BUCKETS;
            continue;
        }
        int bucket = (*cursor)++;
        int64_t count = counter_get(&page->counts[bucket % PAGE_BUCKETS]);
        if (count == 0)
            continue;
        *ret_low = bucket_low(bucket);
        *ret_high = bucket_low(bucket) + bucket_width(bucket) - 1;
        *ret_count = count;
        return true;
    }
    return false;
}

int64_t histogram_count(const lt_histogram *h)
{
    int64_t low, high;
    int64_t count, total = 0;
    for (int cursor = 0; histogram_next(h, &cursor, &low, &high, &count);)
        total += count;
    return total;
}

int64_t histogram_min(const lt_histogram *h)
{
    int64_t min = limit_get(&h->min);
    return min == INT64_MAX ? 0 : min;
}

int64_t histogram_max(const lt_histogram *h)
{
    return limit_get(&h->max);
}

double histogram_mean(const lt_histogram *h)
{
    int64_t count = histogram_count(h);
    return count == 0 ? 0.0 : (double)counter_get(&h->sum) / (double)count;
}

double histogram_deviation(const lt_histogram *h)
{
    double mean = histogram_mean(h), squares = 0.0;
    int64_t low, high;
    int64_t count, total = 0;
    for (int cursor = 0; histogram_next(h, &cursor, &low, &high, &count); total += count) {
        double distance = (double)(low + high) / 2.0 - mean;
        squares += distance * distance * (double)count;
    }
    return total == 0 ? 0.0 : sqrt(squares / (double)total);
}

int64_t histogram_at(const lt_histogram *h, double quantile)
{
    int64_t total = histogram_count(h);
    int64_t rank = (int64_t)ceil(quantile * (double)total - 1e-9);
    int64_t low, high, max = histogram_max(h);
    int64_t count, seen = 0;
    for (int cursor = 0; histogram_next(h, &cursor, &low, &high, &count);) {
        seen += count;
        if (seen >= rank)
            return high < max ? high : max;
    }
    return total == 0 ? 0 : max;
}

int64_t histogram_count_upto(const lt_histogram *h, int64_t us)
{
    int64_t low, high;
    int64_t count, total = 0;
    for (int cursor = 0; histogram_next(h, &cursor, &low, &high, &count) && low <= us;)
        total += count;
    return total;
}

int64_t histogram_bucket_width(int64_t us)
{
    return bucket_width(bucket_of(us < 0 ? 0 : us));
}

bool latency_enough(int64_t count, double quantile)
{
    return (double)count * (1.0 - quantile) > SAMPLES_BEYOND - 1e-6;
}

lt_latency latency_of(const lt_histogram *h)
{
    lt_latency latency = {.count = !h ? 0 : histogram_count(h)};
    for (int i = 0; i < P_COUNT; i++) {
        latency.at[i] = NAN;
        if (latency_enough(latency.count, quantiles[i]))
            latency.at[i] = (double)histogram_at(h, quantiles[i]) / 1000.0;
    }
    if (latency.count > 0) {
        latency.min = (double)histogram_min(h) / 1000.0;
        latency.mean = histogram_mean(h) / 1000.0;
        latency.max = (double)histogram_max(h) / 1000.0;
    }
    return latency;
}
