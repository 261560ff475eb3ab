/*
 * Buckets of several instances and label sets are added up by their bounds. The text is scanned for
 * two metrics; a whole parser of Prometheus's format is not needed.
 */
#include "loadtest/service/metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_BUCKET "flashsale_lock_wait_seconds_bucket{"
#define CPU         "process_cpu_seconds_total "
#define ANSWER_MS   2000L

static void add_bucket(lt_metrics *sum, double upto_s, double waiters)
{
    int i = 0;
    while (i < sum->count && sum->buckets[i].upto_s < upto_s)
        i++;
    if (i == sum->count || sum->buckets[i].upto_s != upto_s) {
        if (sum->count == METRICS_BUCKETS_MAX)
            return;
        memmove(&sum->buckets[i + 1], &sum->buckets[i],
                (size_t)(sum->count - i) * sizeof(sum->buckets[0]));
        sum->buckets[i].upto_s = upto_s;
        sum->buckets[i].waiters = 0.0;
        sum->count++;
    }
    sum->buckets[i].waiters += waiters;
}

/* One line: WAIT_BUCKET...,le="0.01"} 123 */
static void parse_bucket(lt_metrics *sum, const char *line, const char *end)
{
    const char *le = memmem(line, (size_t)(end - line), "le=\"", 4);
    const char *close = !le ? NULL : memchr(le, '}', (size_t)(end - le));
    if (!close)
        return;
    double upto_s = strncmp(le + 4, "+Inf", 4) == 0 ? HUGE_VAL : strtod(le + 4, NULL);
    add_bucket(sum, upto_s, strtod(close + 1, NULL));
}

void metrics_add(lt_metrics *sum, const char *text)
{
    double cpu_s = NAN;
    while (*text != '\0') {
        const char *end = strchrnul(text, '\n');
        if (strncmp(text, WAIT_BUCKET, sizeof(WAIT_BUCKET) - 1) == 0)
            parse_bucket(sum, text, end);
        else if (strncmp(text, CPU, sizeof(CPU) - 1) == 0)
            cpu_s = strtod(text + sizeof(CPU) - 1, NULL);
        text = *end == '\0' ? end : end + 1;
    }
    sum->cpu_s += cpu_s;
}

lt_metrics metrics_read(lt_http *http, const lt_plan *plan)
{
    lt_metrics sum = {.count = 0};
    for (int i = 0; i < plan->target_count; i++) {
        char url[512];
        lt_http_reply reply;
        snprintf(url, sizeof(url), "%s/metrics", plan->targets[i]);
        http_call(http, "GET", url, NULL, ANSWER_MS, &reply);
        metrics_add(&sum, reply.status == 200 ? reply.body : "");
    }
    return sum;
}

/* The waiters of bucket i between the readings, cumulative. */
static double waiters_upto(const lt_metrics *before, const lt_metrics *after, int i)
{
    double earlier = before->count == 0 ? 0.0 : before->buckets[i].waiters;
    return after->buckets[i].waiters - earlier;
}

bool metrics_lock_wait(const lt_metrics *before, const lt_metrics *after, double quantile,
                       double *ret)
{
    if (after->count == 0 || (before->count != 0 && before->count != after->count))
        return false;
    double total = waiters_upto(before, after, after->count - 1);
    if (total <= 0.0)
        return false;
    double rank = quantile * total, below = 0.0, low_s = 0.0;
    for (int i = 0; i < after->count; i++) {
        double upto = waiters_upto(before, after, i), high_s = after->buckets[i].upto_s;
        if (upto >= rank && upto > below) {
            if (isinf(high_s))
                high_s = low_s; /* nothing is known beyond the last bound */
            *ret = 1000.0 * (low_s + (high_s - low_s) * (rank - below) / (upto - below));
            return true;
        }
        below = upto;
        low_s = high_s;
    }
    return false;
}
