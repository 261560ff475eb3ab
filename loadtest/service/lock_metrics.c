/*
 * Buckets of several instances, and of several label sets, are added up by their bounds. Text is
 * scanned for the one metric; a whole parser of Prometheus's format would gain nothing.
 */
#include "loadtest/service/lock_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define METRIC    "flashsale_lock_wait_seconds_bucket"
#define ANSWER_MS 2000L

static void add_bucket(lt_lock_metrics *sum, double upto_s, double waiters)
{
    int i = 0;
    while (i < sum->count && sum->buckets[i].upto_s < upto_s)
        i++;
    if (i == sum->count || sum->buckets[i].upto_s != upto_s) {
        if (sum->count == LOCK_METRICS_BUCKETS_MAX)
            return;
        memmove(&sum->buckets[i + 1], &sum->buckets[i],
                (size_t)(sum->count - i) * sizeof(sum->buckets[0]));
        sum->buckets[i].upto_s = upto_s;
        sum->buckets[i].waiters = 0.0;
        sum->count++;
    }
    sum->buckets[i].waiters += waiters;
}

/* One line: METRIC{...,le="0.01"} 123 */
static void parse_line(lt_lock_metrics *sum, const char *line, const char *end)
{
    const char *le = memmem(line, (size_t)(end - line), "le=\"", 4);
    const char *close = !le ? NULL : memchr(le, '}', (size_t)(end - le));
    if (!close)
        return;
    double upto_s = strncmp(le + 4, "+Inf", 4) == 0 ? HUGE_VAL : strtod(le + 4, NULL);
    add_bucket(sum, upto_s, strtod(close + 1, NULL));
}

void lock_metrics_parse(lt_lock_metrics *sum, const char *text)
{
    while (*text != '\0') {
        const char *end = strchrnul(text, '\n');
        if (strncmp(text, METRIC, sizeof(METRIC) - 1) == 0)
            parse_line(sum, text, end);
        text = *end == '\0' ? end : end + 1;
    }
}

lt_lock_metrics lock_metrics_read(lt_http *http, const lt_plan *plan)
{
    lt_lock_metrics sum = {.count = 0};
    for (int i = 0; i < plan->target_count; i++) {
        char url[512];
        lt_http_reply reply;
        snprintf(url, sizeof(url), "%s/metrics", plan->targets[i]);
        http_call(http, "GET", url, NULL, ANSWER_MS, &reply);
        if (reply.status == 200)
            lock_metrics_parse(&sum, reply.body);
    }
    return sum;
}

/* The waiters of bucket i between the readings, cumulative. */
static double waiters_upto(const lt_lock_metrics *before, const lt_lock_metrics *after, int i)
{
    double earlier = before->count == 0 ? 0.0 : before->buckets[i].waiters;
    return after->buckets[i].waiters - earlier;
}

bool lock_metrics_quantile(const lt_lock_metrics *before, const lt_lock_metrics *after,
                           double quantile, double *ret)
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
