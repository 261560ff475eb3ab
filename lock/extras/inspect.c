/* Shows who holds a lock of any kind, and takes it away. It looks at the first server of a QUORUM
 * lock and at the first name of a multi-lock; it takes both away everywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ask.h"
#include "core/client.h"
#include "core/lock.h"
#include "extras/force.lua.h"
#include "extras/inspect.lua.h"
#include "kinds/fair.lua.h"
#include "kinds/fence.lua.h"
#include "kinds/queue.lua.h"

static dlock_script look = DLOCK_SCRIPT("inspect", "#!lua flags=no-writes\n" INSPECT_LUA);
static dlock_script force =
    DLOCK_SCRIPT("force", "#!lua flags=allow-oom\n" FENCE_LUA QUEUE_LUA FAIR_LUA FORCE_LUA);

/* "<host>/<pid>/<32 hex digits>:<number>", perhaps with "<label>@" before it, a letter before the
 * number, and "*w" or "*K" behind it; or somebody else's token. */
static void read_owner(const char *owner, char host[64], int64_t *pid)
{
    char who[96], random[33], number[2];
    long process;
    if (sscanf(owner, "%95[^/]/%ld/%32[0-9a-f]:%1[0-9a-z]", who, &process, random, number) != 4)
        return;
    const char *at = strchr(who, '@');
    snprintf(host, 64, "%.63s", at ? at + 1 : who);
    *pid = process;
}

static dlock_redis *server_of(const dlock_lock *lock)
{
    const dlock_client_options *o = &lock->client->options;
    return lock->ids[0].everywhere ? o->quorum[0] : o->redis;
}

/* A reply of another shape is not our script's. */
static bool is_told(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 6)
        return false;
    const redisReply *told = reply->element[5];
    bool good = reply->element[0]->type == REDIS_REPLY_STRING && told->type == REDIS_REPLY_ARRAY &&
                told->elements % 3 == 0;
    for (size_t i = 0; good && i < told->elements; i += 3)
        good = told->element[i]->type == REDIS_REPLY_STRING;
    return good;
}

/* Asks about up to `max` holders: told[] has 3 elements for each. With DLOCK_OK the caller frees
 * *reply. */
static dlock_status ask(dlock_lock *lock, int max, redisReply **reply, redisReply ***told,
                        int *told_len)
{
    if (dlock_client_forked(lock->client))
        return DLOCK_FORKED;
    dlock_args args = {0};
    dlock_identity_add_keys(&lock->ids[0], 3, &args);
    dlock_args_text(&args, lock->ids[0].keys[KEY_PERMITS]);
    dlock_args_int(&args, max);
    dlock_status status =
        dlock_ask_script(lock->client, server_of(lock), &look, 4, &args, 0, reply);
    if (status != DLOCK_OK)
        return status;
    if (!dlock_redis_check(server_of(lock), look.name, *reply, is_told(*reply))) {
        freeReplyObject(*reply);
        return DLOCK_FAILED;
    }
    *told = (*reply)->element[5]->element;
    *told_len = (int)((*reply)->element[5]->elements / 3);
    return DLOCK_OK;
}

static dlock_holder read_holder(redisReply **told)
{
    dlock_holder holder = {.ttl_ms = told[1]->integer, .permits = told[2]->integer};
    snprintf(holder.owner, sizeof(holder.owner), "%s", told[0]->str);
    read_owner(holder.owner, holder.host, &holder.pid);
    return holder;
}

dlock_status dlock_inspect(dlock_lock *lock, dlock_info *ret)
{
    redisReply *reply, **told;
    int told_len;
    dlock_status status = ask(lock, 1, &reply, &told, &told_len);
    if (status != DLOCK_OK)
        return status;
    redisReply **of = reply->element;
    *ret = (dlock_info){.ttl_ms = -2,
                        .held = told_len > 0,
                        .fence = strtoull(of[0]->str, NULL, 10),
                        .waiters = of[1]->integer,
                        .permits = of[2]->integer,
                        .taken = of[3]->integer,
                        .holders = of[4]->integer};
    if (ret->held) {
        dlock_holder first = read_holder(told);
        memcpy(ret->owner, first.owner, sizeof(ret->owner));
        memcpy(ret->host, first.host, sizeof(ret->host));
        ret->pid = first.pid;
        ret->ttl_ms = first.ttl_ms;
        bool alone = first.pid && first.permits == 0; /* the last fence issued is its */
        ret->since_us = alone ? (int64_t)ret->fence : 0;
    }
    freeReplyObject(reply);
    return DLOCK_OK;
}

dlock_status dlock_holders(dlock_lock *lock, dlock_holder *ret, int max, int *ret_len)
{
    redisReply *reply, **told;
    int told_len;
    if (max < 0 || (max > 0 && !ret))
        return DLOCK_INVALID;
    dlock_status status = ask(lock, max, &reply, &told, &told_len);
    if (status != DLOCK_OK)
        return status;
    for (int i = 0; i < told_len; i++)
        ret[i] = read_holder(told + 3 * (ptrdiff_t)i);
    *ret_len = (int)reply->element[4]->integer;
    freeReplyObject(reply);
    return DLOCK_OK;
}

static dlock_status force_on(dlock_lock *lock, dlock_redis *redis, int name)
{
    redisReply *reply = NULL;
    dlock_args args = {0};
    dlock_identity_add_keys(&lock->ids[name], 6, &args);
    dlock_args_int(&args, dlock_lock_claim_ms(lock));
    dlock_args_int(&args, lock->options.kind == DLOCK_FAIR);
    dlock_status status = dlock_ask_script(lock->client, redis, &force, 6, &args, 0, &reply);
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
    bool quorum = lock->ids[0].everywhere;
    int places = quorum ? o->quorum_len : lock->ids_len;
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
