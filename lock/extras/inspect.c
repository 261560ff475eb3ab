/* Who holds a lock, and taking it away. Kind QUORUM is looked at on its first server, a multi-lock
 * at its first name; both are taken away everywhere. */
#include <stdio.h>
#include <stdlib.h>

#include "core/client.h"
#include "core/lock.h"
#include "core/status.h"
#include "extras/force.lua.h"
#include "extras/inspect.lua.h"
#include "kinds/fair.lua.h"
#include "kinds/fence.lua.h"

static dlock_script look = DLOCK_SCRIPT("inspect", "#!lua flags=no-writes\n" INSPECT_LUA);
static dlock_script force =
    DLOCK_SCRIPT("force", "#!lua flags=allow-oom\n" FENCE_LUA FAIR_LUA FORCE_LUA);

/* "<host>/<pid>/<32 hex digits>:<number>", or somebody else's token. */
static void read_owner(dlock_info *info)
{
    char host[sizeof(info->host)], random[33];
    long pid;
    unsigned long long number;
    if (sscanf(info->owner, "%63[^/]/%ld/%32[0-9a-f]:%llu", host, &pid, random, &number) != 4)
        return;
    snprintf(info->host, sizeof(info->host), "%s", host);
    info->pid = pid;
    info->since_us = (int64_t)info->fence;
}

static dlock_redis *server_of(const dlock_lock *lock)
{
    const dlock_client_options *o = &lock->client->options;
    return lock->options.kind == DLOCK_QUORUM ? o->quorum[0] : o->redis;
}

dlock_status dlock_inspect(dlock_lock *lock, dlock_info *ret)
{
    redisReply *reply = NULL;
    if (dlock_client_forked(lock->client))
        return DLOCK_FORKED;
    dlock_args args;
    dlock_args_init(&args);
    dlock_lock_add_keys(lock, 0, 3, &args);
    dlock_status status =
        dlock_script_call(lock->client, server_of(lock), &look, 3, &args, 0, &reply);
    dlock_args_free(&args);
    if (status != DLOCK_OK)
        return status;
    *ret = (dlock_info){.ttl_ms = -2};
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 4) {
        snprintf(ret->owner, sizeof(ret->owner), "%s", reply->element[0]->str);
        ret->ttl_ms = reply->element[1]->integer;
        ret->held = ret->ttl_ms != -2;
        ret->fence = strtoull(reply->element[2]->str, NULL, 10);
        ret->waiters = reply->element[3]->integer;
        read_owner(ret);
    } else {
        status = DLOCK_FAILED;
    }
    freeReplyObject(reply);
    return status;
}

static dlock_status force_on(dlock_lock *lock, dlock_redis *redis, int name)
{
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    dlock_lock_add_keys(lock, name, 6, &args);
    dlock_args_int(&args, lock->claim_ms);
    dlock_args_int(&args, lock->kind->queues);
    dlock_status status = dlock_script_call(lock->client, redis, &force, 6, &args, 0, &reply);
    dlock_args_free(&args);
    if (status != DLOCK_OK)
        return status;
    status = reply->type == REDIS_REPLY_INTEGER && reply->integer == 1 ? DLOCK_OK : DLOCK_NOT_OWNER;
    freeReplyObject(reply);
    return status;
}

dlock_status dlock_force_release(dlock_lock *lock)
{
    const dlock_client_options *o = &lock->client->options;
    if (dlock_client_forked(lock->client))
        return DLOCK_FORKED;
    bool quorum = lock->options.kind == DLOCK_QUORUM;
    int places = quorum ? o->quorum_len : lock->names_len;
    dlock_status sum = DLOCK_NOT_OWNER; /* a failure counts most, then a lock taken away */
    for (int i = 0; i < places; i++) {
        dlock_status status =
            quorum ? force_on(lock, o->quorum[i], 0) : force_on(lock, o->redis, i);
        bool failed = sum != DLOCK_OK && sum != DLOCK_NOT_OWNER;
        if (!failed && status != DLOCK_NOT_OWNER)
            sum = status;
    }
    return sum;
}
