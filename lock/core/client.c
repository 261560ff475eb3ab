/* What all parts need of their client: the check for a fork, reports, counters, the last error. */
#include "core/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { REPORT_LEN = 1152 }; /* two names of locks, and words */

bool dlock_client_forked(const dlock_client *client)
{
    return client->pid != getpid();
}

void dlock_client_report(dlock_client *client, dlock_report what, const char *format, ...)
{
    if (!client->options.report)
        return;
    char text[REPORT_LEN];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    client->options.report(client->options.report_arg, what, text);
}

void dlock_client_count(dlock_client *client, uint64_t *counter, int more)
{
    pthread_mutex_lock(&client->stats_lock);
    *counter += (uint64_t)more;
    pthread_mutex_unlock(&client->stats_lock);
}

void dlock_client_time(dlock_client *client, dlock_histogram *histogram, dlock_time since)
{
    uint64_t us = (uint64_t)(dlock_now().us - since.us);
    int bucket = 0;
    while (bucket < DLOCK_HISTOGRAM_BUCKETS - 1 && us >= (uint64_t)1 << bucket)
        bucket++;
    pthread_mutex_lock(&client->stats_lock);
    histogram->count++;
    histogram->sum_us += us;
    histogram->bucket[bucket]++;
    pthread_mutex_unlock(&client->stats_lock);
}

void dlock_client_stats(dlock_client *client, dlock_stats *ret)
{
    *ret = (dlock_stats){0};
    if (dlock_client_forked(client)) /* another thread may have had the mutex at the fork */
        return;
    pthread_mutex_lock(&client->stats_lock);
    *ret = client->stats;
    pthread_mutex_unlock(&client->stats_lock);
}

void dlock_last_error(dlock_client *client, char *buf, size_t buf_len)
{
    dlock_redis *redis = client->options.redis ? client->options.redis : client->options.quorum[0];
    snprintf(buf, buf_len, "%s", "");
    if (dlock_client_forked(client))
        return;
    dlock_redis_last_error(redis, buf, buf_len);
}

dlock_redis *dlock_client_redis(const dlock_client *client)
{
    return dlock_client_forked(client) ? NULL : client->options.redis;
}

const char *dlock_client_id(const dlock_client *client)
{
    return client->id;
}
