/* What all parts need of their client: the check for a fork, reports, counters, its servers'
 * clocks, and statuses in words. */
#include "core/client.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* ---- what it counts and reports -------------------------------------------------------------- */

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

/* ---- its servers' clocks --------------------------------------------------------------------- */

int64_t dlock_server_clock_at(const server_clock *clock, dlock_time moment)
{
    int64_t offset_us = atomic_load(&clock->offset_us);
    return offset_us ? moment.us + offset_us : 0;
}

/* The offset lies between `least` and `most`. `most` is too large by the way to the server, and by
 * any pause of this process before it sent; so a smaller known offset in between is better, and is
 * kept. A known offset outside shows that a clock was set, or runs at another rate. */
void dlock_server_clock_learn(server_clock *clock, int64_t server_us, dlock_time asked)
{
    int64_t most = server_us - asked.us, least = server_us - dlock_now().us;
    int64_t known = atomic_load(&clock->offset_us);
    if (known == 0 || known > most || known < least)
        atomic_store(&clock->offset_us, most);
}

/* ---- statuses -------------------------------------------------------------------------------- */

const char *dlock_status_text(dlock_status status)
{
    static const char *const texts[] = {
        [DLOCK_OK] = "ok",
        [DLOCK_BUSY] = "held by another",
        [DLOCK_CANCELLED] = "cancelled",
        [DLOCK_EXPIRED] = "its time was over",
        [DLOCK_NOT_OWNER] = "not the owner",
        [DLOCK_STALE] = "stale: not the owner, or a later fence was issued",
        [DLOCK_UNAVAILABLE] = "Redis could not be asked, or refused",
        [DLOCK_UNKNOWN] = "unknown: asked, but no reply",
        [DLOCK_FAILED] = "Redis answered with an error",
        [DLOCK_INVALID] = "bad argument",
        [DLOCK_NO_MEMORY] = "out of memory or descriptors",
        [DLOCK_FORKED] = "called in a forked child",
        [DLOCK_PENDING] = "not decided as yet",
    };
    size_t i = (size_t)status;
    return i < sizeof(texts) / sizeof(texts[0]) ? texts[i] : "no such status";
}

dlock_status dlock_status_of(dlock_redis_outcome outcome)
{
    switch (outcome) {
    case DLOCK_REDIS_OK:
        return DLOCK_OK;
    case DLOCK_REDIS_NOT_SENT:
    case DLOCK_REDIS_REFUSED:
        return DLOCK_UNAVAILABLE;
    case DLOCK_REDIS_ERROR:
        return DLOCK_FAILED;
    case DLOCK_REDIS_UNKNOWN:
        break;
    }
    return DLOCK_UNKNOWN;
}

bool dlock_status_open(dlock_status status)
{
    return status == DLOCK_UNAVAILABLE || status == DLOCK_UNKNOWN;
}
