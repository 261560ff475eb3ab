/*
 * A client's beginning and end: checks its options, gives it its identity, starts its parts, and
 * stops them in the order in which they need each other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/client.h"
#include "core/lock_order.h"
#include "core/registry.h"
#include "core/retried_release.h"
#include "core/watchdog.h"
#include "redis/reserved.h"

#define IO_DEFAULT_MS      1000
#define CLAIM_DEFAULT_MS   250
#define RECHECK_DEFAULT_MS 100
#define RECHECK_MAX_MS     1000

enum { LABEL_LEN = 24 };

/* What a token may have before its first '/', and a label before its '@'. */
static void make_label(const char *label, char ret[LABEL_LEN + 1])
{
    snprintf(ret, LABEL_LEN + 1, "%s", label ? label : "");
    for (char *c = ret; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              strchr("._-", *c)))
            *c = '_';
}

/* "<host>/<pid>/<random>", or "<label>@<host>/...": the last for uniqueness, the others for people.
 */
static bool make_id(dlock_client *client)
{
    char label[LABEL_LEN + 1], host[64] = "", who[83];
    uint64_t random[2];
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        return false;
    if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == 0)
        snprintf(host, sizeof(host), "unknown");
    for (char *c = host; *c; c++)
        if (*c == ':' || *c == '/' || *c == '@' || *c <= ' ')
            *c = '_';
    make_label(client->options.label, label);
    client->options.label = NULL; /* it was borrowed */
    if (*label)                   /* for both an id has not always room */
        snprintf(who, sizeof(who), "%s@%.57s", label, host);
    else
        snprintf(who, sizeof(who), "%s", host);
    snprintf(client->id, sizeof(client->id), "%s/%ld/%016llx%016llx", who, (long)client->pid,
             (unsigned long long)random[0], (unsigned long long)random[1]);
    return true;
}

static const char *check(const dlock_client_options *o)
{
    if (!o || (!o->redis && o->quorum_len == 0))
        return "a client needs a server: options.redis, or options.quorum";
    if (o->quorum_len < 0 || o->quorum_len > QUORUM_MAX || (o->quorum_len > 0 && !o->quorum))
        return "quorum_len must be 0..16";
    for (int i = 0; i < o->quorum_len; i++)
        if (!o->quorum[i])
            return "a server of the quorum is NULL";
    if (o->io_ms < 0 || o->claim_ms < 0 || o->recheck_ms < 0)
        return "times must not be negative";
    if (o->recheck_ms > RECHECK_MAX_MS)
        return "recheck_ms must be at most 1,000: a process counts as dead after 2,000";
    if (o->io_ms > TIME_MAX_MS || o->claim_ms > TIME_MAX_MS)
        return "times must be at most a year, 31,536,000,000 ms";
    if (HAS_RESERVED(o))
        return "dlock_client_options: " RESERVED_IN_USE;
    return NULL;
}

/* Stops and frees whatever parts there are. */
static void take_apart(dlock_client *client)
{
    if (client->workers)
        client->end_workers(client->workers);
    if (client->engine)
        client->end_engine(client->engine);
    dlock_watchdog_free(client->watchdog); /* it may still leave a release to be tried again */
    dlock_time until = dlock_in_ms(client->options.io_ms);
    for (int i = 0; i < 2; i++)
        dlock_retried_releases_free(client->retried[i], until);
    dlock_registry_free(client->registry);
    dlock_lock_order_free(client->order);
    pthread_mutex_destroy(&client->locks_lock);
    pthread_mutex_destroy(&client->stats_lock);
    dlock_redis_close(client->opened);
    free(client);
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
    if (!client) {
        snprintf(err, err_len, "out of memory");
        return DLOCK_NO_MEMORY;
    }
    dlock_client_options *o = &client->options;
    *o = *options;
    o->io_ms = o->io_ms ? o->io_ms : IO_DEFAULT_MS;
    o->claim_ms = o->claim_ms ? o->claim_ms : CLAIM_DEFAULT_MS;
    o->recheck_ms = o->recheck_ms ? o->recheck_ms : RECHECK_DEFAULT_MS;
    client->pid = getpid();
    pthread_mutex_init(&client->locks_lock, NULL);
    pthread_mutex_init(&client->stats_lock, NULL);
    if (!make_id(client) || !(client->registry = dlock_registry_new(client)) ||
        (o->check_order && !(client->order = dlock_lock_order_new())) ||
        !(client->retried[0] = dlock_retried_releases_new(client)) ||
        !(client->retried[1] = dlock_retried_releases_new(client)) ||
        !(client->watchdog = dlock_watchdog_new(client))) {
        snprintf(err, err_len, "out of memory, threads or randomness");
        take_apart(client);
        return DLOCK_NO_MEMORY;
    }
    *ret = client;
    return DLOCK_OK;
}

dlock_status dlock_client_open(const char *url, const dlock_client_options *options,
                               dlock_client **ret, char *err, size_t err_len)
{
    dlock_client_options o = options ? *options : (dlock_client_options){0};
    const char *wrong = o.redis ? "dlock_client_open() opens `redis` itself" : NULL;
    if (!wrong && !url)
        wrong = "a client needs a URL";
    if (wrong) {
        snprintf(err, err_len, "%s", wrong);
        return DLOCK_INVALID;
    }
    bool sooner = o.io_ms > 0 && o.io_ms < IO_DEFAULT_MS; /* a connect is part of a question */
    dlock_redis_options of_redis = {.url = url, .connect_ms = sooner ? o.io_ms : 0};
    if (dlock_redis_open(&of_redis, &o.redis, err, err_len) != 0)
        return DLOCK_INVALID;
    dlock_status status = dlock_client_new(&o, ret, err, err_len);
    if (status == DLOCK_OK)
        (*ret)->opened = o.redis;
    else
        dlock_redis_close(o.redis);
    return status;
}

void dlock_client_free(dlock_client *client)
{
    if (client && !dlock_client_forked(client)) /* a child has no threads to stop */
        take_apart(client);
}
