/* minute.c - a ring of seconds; percentiles by linear interpolation in their bucket, as
 * Prometheus's histogram_quantile() does it. */
#include "server/dashboard/minute.h"

#include <string.h>

#define STEP_MS 1000
#define LATE_MS 1000 /* for a record to come */

/* NULL: it is over for longer than the ring is. */
static minute_step *step_of(minute *m, int64_t second)
{
    minute_step *step = &m->steps[second % MINUTE_KEPT];
    if (step->second < second)
        *step = (minute_step){.second = second};
    return step->second == second ? step : NULL;
}

/* What was counted in between; 0 where the counter began anew. */
static double grown(int64_t before, int64_t after)
{
    return after > before ? (double)(after - before) : 0;
}

static void add_share(minute *m, int64_t second, double share, const instance_counts *before,
                      const instance_counts *after)
{
    minute_step *step = step_of(m, second);
    for (int o = 0; step && o < BUY_OUTCOMES; o++) {
        double *sum = o == BUY_SOLD      ? &step->sold
                      : o == BUY_UNKNOWN ? &step->unknown
                                         : &step->refused;
        *sum += share * grown(before->outcomes[o], after->outcomes[o]);
    }
    for (int b = 0; step && b < LATENCY_BUCKETS; b++)
        step->latency[b] += share * grown(before->latency[b], after->latency[b]);
}

void minute_add(minute *m, int64_t from_ms, const instance_counts *before, int64_t to_ms,
                const instance_counts *after)
{
    int64_t most_ms = (int64_t)MINUTE_STEPS * STEP_MS;
    if (to_ms <= from_ms)
        return;
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

/* ---- writing --------------------------------------------------------------------------------- */

/* In ms; -1: nothing was sold. */
static double percentile(const minute_step *step, double share)
{
    double total = 0, below = 0;
    for (int b = 0; b < LATENCY_BUCKETS; b++)
        total += step->latency[b];
    if (total <= 0)
        return -1;
    int b = 0;
    while (b < LATENCY_BUCKETS - 1 && below + step->latency[b] < share * total)
        below += step->latency[b++];
    double from = (double)latency_from_us(b), to = (double)latency_from_us(b + 1);
    if (b == LATENCY_BUCKETS - 1)
        return from / 1000;
    return (from + (to - from) * (share * total - below) / step->latency[b]) / 1000;
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

static double sold_of(const minute_step *step)
{
    return step->sold;
}

static double refused_of(const minute_step *step)
{
    return step->refused;
}

static double unknown_of(const minute_step *step)
{
    return step->unknown;
}

static double p50_of(const minute_step *step)
{
    return percentile(step, 0.5);
}

static double p99_of(const minute_step *step)
{
    return percentile(step, 0.99);
}

void minute_write(const minute *m, int64_t now_ms, fs_text *out)
{
    static const struct {
        const char *name;
        double (*value)(const minute_step *step);
        int digits;
    } rows[] = {{"sold_per_s", sold_of, 1},
                {"refused_per_s", refused_of, 1},
                {"unknown_per_s", unknown_of, 1},
                {"p50_ms", p50_of, 2},
                {"p99_ms", p99_of, 2}};
    static const minute_step idle;
    int64_t last = (now_ms - LATE_MS) / STEP_MS - 1;
    text_printf(out, "{\"step_ms\":%d", STEP_MS);
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        text_printf(out, ",\"%s\":", rows[r].name);
        for (int64_t second = last - MINUTE_STEPS + 1; second <= last; second++) {
            const minute_step *step = &m->steps[second % MINUTE_KEPT];
            bool kept = second > 0 && step->second == second;
            text_add(out, second == last - MINUTE_STEPS + 1 ? "[" : ",");
            put(out, rows[r].value(kept ? step : &idle), rows[r].digits);
        }
        text_add(out, "]");
    }
    text_add(out, "}");
}
