/* The client: identity, threads' numbers, reports, statistics. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/internal.h"

/* ---- threads and their ends ------------------------------------------------------------------ */

static pthread_mutex_t clients_lock = PTHREAD_MUTEX_INITIALIZER;
static dlock_client *clients; /* all of this process, so that a thread's end can be told to them */
static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;
static _Thread_local uint64_t thread_number;

static void thread_ended(void *number)
{
    pthread_mutex_lock(&clients_lock);
    for (dlock_client *c = clients; c; c = c->next)
        if (!dlock_client_forked(c))
            dlock_registry_thread_ended(c, (uint64_t)(uintptr_t)number);
    pthread_mutex_unlock(&clients_lock);
}

static void make_thread_key(void)
{
    pthread_key_create(&thread_key, thread_ended);
}

uint64_t dlock_registry_thread(void)
{
    static atomic_uint_fast64_t last;
    if (thread_number == 0) {
        thread_number = atomic_fetch_add(&last, 1) + 1;
        pthread_once(&thread_key_once, make_thread_key);
        pthread_setspecific(thread_key, (void *)(uintptr_t)thread_number);
    }
    return thread_number;
}

bool dlock_client_forked(const dlock_client *client)
{
    return client->pid != getpid();
}

/* ---- reports and statistics ------------------------------------------------------------------ */

void dlock_client_report(dlock_client *client, dlock_report what, const char *format, ...)
{
    if (!client->options.report)
        return;
    char text[2 * NAME_MAX_LEN + 128];
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

const char *dlock_client_id(const dlock_client *client)
{
    return client->id;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* "<host>/<pid>/<random>": the first two for people, the last for uniqueness. */
static bool make_id(dlock_client *client)
{
    char host[64] = "";
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return false;
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == 0)
        snprintf(host, sizeof(host), "unknown");
    for (char *c = host; *c; c++)
        if (*c == ':' || *c == '/' || *c <= ' ')
            *c = '_';
    snprintf(client->id, sizeof(client->id), "%s/%ld/%016llx%016llx", host, (long)client->pid,
             (unsigned long long)random[0], (unsigned long long)random[1]);
    return true;
}

static const char *check(const dlock_client_options *o)
{
    if (!o || (!o->redis && o->quorum_len == 0))
        return "a client needs a server: options.redis, or options.quorum";
    if (o->quorum_len < 0 || o->quorum_len > 16 || (o->quorum_len > 0 && !o->quorum))
        return "quorum_len must be 0..16";
    if (o->io_ms < 0 || o->claim_ms < 0 || o->recheck_ms < 0)
        return "times must not be negative";
    if (o->recheck_ms > RECHECK_MAX_MS)
        return "recheck_ms must be at most 1,000: a process counts as dead after 2,000";
    return NULL;
}

dlock_status dlock_client_new(const dlock_client_options *options, dlock_client **ret, char *err,
                              size_t err_len)
{
    const char *wrong = check(options);
    if (wrong) {
        snprintf(err, err_len, "%s", wrong);
        return DLOCK_INVALID;
    }
    dlock_client *client = calloc(1, sizeof(*client));
    if (!client)
        return DLOCK_NO_MEMORY;
    dlock_client_options *o = &client->options;
    *o = *options;
    o->io_ms = o->io_ms ? o->io_ms : IO_DEFAULT_MS;
    o->claim_ms = o->claim_ms ? o->claim_ms : CLAIM_DEFAULT_MS;
    o->recheck_ms = o->recheck_ms ? o->recheck_ms : RECHECK_DEFAULT_MS;
    client->pid = getpid();
    pthread_mutex_init(&client->locks_lock, NULL);
    pthread_mutex_init(&client->stats_lock, NULL);
    for (int i = 0; i < REGISTRY_BUCKETS; i++)
        pthread_mutex_init(&client->registry[i].lock, NULL);
    if (!make_id(client) || !(client->order = dlock_lock_order_new()) ||
        !(client->retried_releases = dlock_retried_releases_new(client)) ||
        !(client->watchdog = dlock_watchdog_new(client))) {
        snprintf(err, err_len, "out of memory, threads or randomness");
        dlock_retried_releases_free(client->retried_releases);
        dlock_lock_order_free(client->order);
        free(client);
        return DLOCK_NO_MEMORY;
    }
    pthread_mutex_lock(&clients_lock);
    client->next = clients;
    clients = client;
    pthread_mutex_unlock(&clients_lock);
    *ret = client;
    return DLOCK_OK;
}

void dlock_client_free(dlock_client *client)
{
    if (!client || dlock_client_forked(client)) /* a child has no threads to stop */
        return;
    pthread_mutex_lock(&clients_lock);
    dlock_client **at = &clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    pthread_mutex_unlock(&clients_lock);
    dlock_watchdog_free(client->watchdog); /* it may still leave something to settle */
    dlock_retried_releases_free(client->retried_releases);
    dlock_registry_free(client);
    dlock_lock_order_free(client->order);
    pthread_mutex_destroy(&client->locks_lock);
    pthread_mutex_destroy(&client->stats_lock);
    free(client);
}
