/* minute.c - a ring of seconds; percentiles by linear interpolation in their bucket, as
 * Prometheus's histogram_quantile() does it. */
#include "server/dashboard/minute.h"

#define STEP_MS 1000
#define LATE_MS 1000 /* for counts to come */

/* NULL: the second is older than the ring. */
static minute_step *step_of(minute *m, int64_t second)
{
    minute_step *step = &m->steps[second % MINUTE_KEPT];
    if (step->second < second)
        *step = (minute_step){.second = second};
    return step->second == second ? step : NULL;
}

/* A counter that was reset adds nothing. */
static void add_share(minute *m, int64_t second, double share, const int64_t *before,
                      const int64_t *after)
{
    minute_step *step = step_of(m, second);
    for (int i = 0; step && i < METRICS_COUNTS; i++)
        if (after[i] > before[i])
            step->counts[i] += share * (double)(after[i] - before[i]);
}

void minute_add(minute *m, int64_t from_ms, const int64_t *before, int64_t to_ms,
                const int64_t *after)
{
    int64_t most_ms = (int64_t)MINUTE_STEPS * STEP_MS;
    if (to_ms - from_ms > most_ms)
        from_ms = to_ms - most_ms;
    for (int64_t at = from_ms; at < to_ms;) {
        int64_t end = (at / STEP_MS + 1) * STEP_MS;
        if (end > to_ms)
            end = to_ms;
        add_share(m, at / STEP_MS, (double)(end - at) / (double)(to_ms - from_ms), before, after);
        at = end;
    }
}

enum { SOLD, REFUSED, UNKNOWN, P50, P99, ROWS };

/* In ms; -1: nothing was sold. */
static double percentile(const double *latency, double share)
{
    double total = 0, below = 0;
    for (int b = 0; b < LATENCY_BUCKETS; b++)
        total += latency[b];
    if (total <= 0)
        return -1;
    int b = 0;
    while (b < LATENCY_BUCKETS - 1 && below + latency[b] < share * total)
        below += latency[b++];
    double from = (double)latency_from_us(b), to = (double)latency_from_us(b + 1);
    if (b == LATENCY_BUCKETS - 1)
        return from / 1000;
    return (from + (to - from) * (share * total - below) / latency[b]) / 1000;
}

static double value_of(const double *counts, int row)
{
    double refused = 0;
    if (row == SOLD)
        return counts[BUY_SOLD] + counts[BUY_CONFIRMED];
    if (row == UNKNOWN)
        return counts[BUY_UNKNOWN];
    if (row != REFUSED)
        return percentile(counts + BUY_OUTCOMES, row == P50 ? 0.5 : 0.99);
    for (int o = 0; o < BUY_OUTCOMES; o++)
        refused += outcome_table[o].status < 400 || o == BUY_UNKNOWN ? 0 : counts[o];
    return refused;
}

/* Short: most are 0. */
static void put(fs_text *out, double value, int digits)
{
    if (value < 0)
        text_add(out, "null");
    else if (value < 0.005)
        text_add(out, "0");
    else
        text_printf(out, "%.*f", digits, value);
}

void minute_write(const minute *m, int64_t now_ms, fs_text *out)
{
    static const char *const names[ROWS] = {"sold_per_s", "refused_per_s", "unknown_per_s",
                                            "p50_ms", "p99_ms"};
    static const minute_step idle;
    int64_t last = (now_ms - LATE_MS) / STEP_MS - 1, first = last - MINUTE_STEPS + 1;
    text_printf(out, "{\"step_ms\":%d", STEP_MS);
    for (int row = 0; row < ROWS; row++) {
        text_put(out, AS_IS(names[row], "["));
        for (int64_t second = first; second <= last; second++) {
            const minute_step *step = &m->steps[second % MINUTE_KEPT];
            bool kept = second > 0 && step->second == second;
            text_next(out, "");
            put(out, value_of(kept ? step->counts : idle.counts, row), row < P50 ? 1 : 2);
        }
        text_add(out, "]");
    }
    text_add(out, "}");
}
