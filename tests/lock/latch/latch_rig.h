/* What the latches' tests share: latches by one line each, one behind a proxy, and one who waits.
 */
#ifndef TESTS_LOCK_LATCH_LATCH_RIG_H
#define TESTS_LOCK_LATCH_LATCH_RIG_H

#include "tests/lock/rig.h"
#include "tests/support/proxy.h"

#include <pthread.h>
#include <signal.h>

enum { SOON_MS = 20000, IO_MS = 300, MANY = 20 };

static inline dlock_latch *latch_of(dlock_client *client, const char *name)
{
    char err[256] = "";
    dlock_latch *latch = NULL;
    if (dlock_latch_new(client, name, &latch, err, sizeof(err)) != DLOCK_OK)
        fail_msg("%s", err);
    return latch;
}

static inline int64_t left_of(dlock_latch *latch)
{
    int64_t left = -1;
    assert_int_equal(dlock_latch_left(latch, &left), DLOCK_OK);
    return left;
}

static inline void down(dlock_latch *latch, const char *who, int64_t left)
{
    int64_t now = -1;
    assert_int_equal(dlock_latch_count_down(latch, who, &now), DLOCK_OK);
    assert_int_equal(now, left);
}

/* ---- a client behind a proxy, and one who waits ---------------------------------------------- */

typedef struct far_client {
    fx_proxy *proxy;
    dlock_redis *redis;
    dlock_client *client;
    dlock_latch *latch;
} far_client;

static inline far_client far_of(const rig *r, const char *name)
{
    far_client far = {.proxy = fx_proxy_start(fx_redis_url(r->server))};
    far.redis = rig_redis(fx_proxy_url(far.proxy));
    far.client = rig_client(&(dlock_client_options){.redis = far.redis, .io_ms = IO_MS});
    far.latch = latch_of(far.client, name);
    return far;
}

static inline void far_end(far_client *far)
{
    dlock_latch_free(far->latch);
    dlock_client_free(far->client);
    dlock_redis_close(far->redis);
    fx_proxy_stop(far->proxy);
}

typedef struct wish {
    dlock_latch *latch;
    dlock_wait wait;
    dlock_status status;
    pthread_t thread;
} wish;

static inline void *come_true(void *arg)
{
    wish *w = arg;
    w->status = dlock_latch_wait(w->latch, &w->wait);
    return NULL;
}

static inline void wish_begin(wish *w)
{
    assert_int_equal(pthread_create(&w->thread, NULL, come_true, w), 0);
}

static inline dlock_status wish_end(wish *w)
{
    pthread_join(w->thread, NULL);
    return w->status;
}

typedef struct listeners {
    rig *r;
    const char *channel;
    long long count;
} listeners;

static inline bool are_there(void *arg)
{
    const listeners *wanted = arg;
    redisReply *reply = fx_redis_reply(wanted->r->server, "PUBSUB NUMSUB %s", wanted->channel);
    bool there = reply->elements == 2 && reply->element[1]->integer == wanted->count;
    freeReplyObject(reply);
    return there;
}

static inline void until_listened_for(rig *r, const char *channel, long long count)
{
    listeners wanted = {r, channel, count};
    assert_true(fx_wait_until(are_there, &wanted, SOON_MS));
}

/* How often scripts were called so far. */
static inline long script_calls(fx_redis *server)
{
    redisReply *reply = fx_redis_reply(server, "INFO commandstats");
    const char *at = strstr(reply->str, "cmdstat_evalsha:calls=");
    long n = at ? strtol(strchr(at, '=') + 1, NULL, 10) : 0;
    freeReplyObject(reply);
    return n;
}

typedef struct script_count {
    fx_redis *server;
    long count;
} script_count;

static inline bool have_run(void *arg)
{
    const script_count *wanted = arg;
    return script_calls(wanted->server) >= wanted->count;
}

#endif
