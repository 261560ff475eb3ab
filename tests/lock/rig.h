/* What the lock's tests share: a real Redis, a client on it, and locks by one line each. */
#ifndef TESTS_LOCK_RIG_H
#define TESTS_LOCK_RIG_H

#include "lock/dlock.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rig {
    fx_redis *server;
    dlock_redis *redis;
    dlock_client *client;
} rig;

static inline dlock_redis *rig_redis(const char *url)
{
    char err[256] = "";
    dlock_redis *redis = NULL;
    if (dlock_redis_open(&(dlock_redis_options){.url = url}, &redis, err, sizeof(err)) != 0)
        fail_msg("%s", err);
    return redis;
}

static inline dlock_client *rig_client(const dlock_client_options *options)
{
    char err[256] = "";
    dlock_client *client = NULL;
    if (dlock_client_new(options, &client, err, sizeof(err)) != DLOCK_OK)
        fail_msg("%s", err);
    return client;
}

static inline dlock_lock *rig_lock(dlock_client *client, const char *name, dlock_options options)
{
    char err[256] = "";
    dlock_lock *lock = NULL;
    if (dlock_lock_new(client, name, &options, &lock, err, sizeof(err)) != DLOCK_OK)
        fail_msg("%s", err);
    return lock;
}

static inline int rig_begin(void **state, fx_redis *server)
{
    static rig r;
    r.server = server;
    r.redis = rig_redis(fx_redis_url(r.server));
    r.client = rig_client(&(dlock_client_options){.redis = r.redis});
    *state = &r;
    return 0;
}

static inline int rig_setup(void **state)
{
    return rig_begin(state, fx_redis_start(NULL));
}

/* On one server, whatever FX_REDIS says: for a program with proxies before it. */
static inline int rig_setup_single(void **state)
{
    return rig_begin(state, fx_redis_start_single(NULL));
}

static inline int rig_teardown(void **state)
{
    rig *r = *state;
    dlock_client_free(r->client);
    dlock_redis_close(r->redis);
    fx_redis_stop(r->server);
    return 0;
}

/* One command on the fixture's own connection; its reply as an integer, or its text's length. */
static inline long long rig_ask(rig *r, const char *command, const char *key)
{
    redisReply *reply = fx_redis_reply(r->server, command, key);
    assert_non_null(reply);
    long long n = reply->type == REDIS_REPLY_INTEGER ? reply->integer : (long long)reply->len;
    freeReplyObject(reply);
    return n;
}

/* What a client reports: how often each, and the last text. */
typedef struct rig_reports {
    atomic_int count[4];
    char text[512];
} rig_reports;

static inline void rig_note(void *arg, dlock_report what, const char *text)
{
    rig_reports *all = arg;
    snprintf(all->text, sizeof(all->text), "%s", text);
    atomic_fetch_add(&all->count[what], 1);
}

#endif
