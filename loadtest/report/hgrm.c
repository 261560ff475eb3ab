/*
 * The format is that of HdrHistogram's outputPercentileDistribution(): columns value, quantile,
 * number of values so far, 1 / (1 - quantile); the quantiles get denser towards 1, five to each
 * halving of what is left; then a footer of comments.
 */
#include "loadtest/report/report.h"

#include <inttypes.h>
#include <math.h>

#define TICKS_PER_HALVING 5

static void write_line(FILE *out, double ms, double quantile, int64_t upto)
{
    fprintf(out, "%12.3f %2.12f %10" PRId64, ms, quantile, upto);
    if (quantile < 1.0)
        fprintf(out, " %14.2f", 1.0 / (1.0 - quantile));
    fputc('\n', out);
}

/* The next quantile: a fifth of the way to where half of the rest is left. */
static double next_quantile(double quantile)
{
    double halvings = floor(log2(1.0 / (1.0 - quantile))) + 1.0;
    return quantile + 1.0 / (exp2(halvings) * TICKS_PER_HALVING);
}

bool report_hgrm(FILE *out, const lt_histogram *h)
{
    int64_t total = histogram_count(h);
    double last = total == 0 ? 0.0 : 1.0 - 1.0 / (double)total;
    fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
            "1/(1-Percentile)");
    double quantile = 0.0;
    while (quantile < last) {
        int64_t us = histogram_at(h, quantile);
        write_line(out, (double)us / 1000.0, quantile, histogram_count_upto(h, us));
        quantile = next_quantile(quantile);
    }
    if (total > 0)
        write_line(out, (double)histogram_max(h) / 1000.0, 1.0, total);
    fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", histogram_mean(h) / 1000.0,
            histogram_deviation(h) / 1000.0);
    fprintf(out, "#[Max     = %12.3f, Total count    = %12" PRId64 "]\n",
            (double)histogram_max(h) / 1000.0, total);
    fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", 22, 2048);
    return fflush(out) == 0 && !ferror(out);
}
