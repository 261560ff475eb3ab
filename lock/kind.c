/* Replies of the acquire and release scripts. */
#include "kind.h"

#include <string.h>

/* A reply of another shape means that something between us and Redis is not what it seems. */
static bool all_integers(const redisReply *reply, size_t n)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (reply->element[i]->type != REDIS_REPLY_INTEGER)
            return false;
    return true;
}

/* After a grant, waits for the replicas that the lock's options ask for, on the same connection. */
static dlock_status ask_for_grant(dlock_lock *lock, dlock_script *script, int keys,
                                  const dlock_args *args, redisReply **ret)
{
    dlock_client *client = lock->client;
    if (lock->options.wait_replicas == 0)
        return ask(client, client->options.redis, script, keys, args, ret);
    dlock_time deadline = dlock_in_ms(client->options.io_ms);
    dlock_redis_outcome outcome = dlock_redis_eval_wait(client->options.redis, script, keys, args,
                                                        lock->options.wait_replicas, deadline, ret);
    if (outcome != DLOCK_REDIS_OK && *ret) {
        freeReplyObject(*ret);
        *ret = NULL;
    }
    return status_of(outcome);
}

dlock_status kind_try(dlock_lock *lock, dlock_script *script, int keys, dlock_args *args,
                      answer *ret)
{
    redisReply *reply = NULL;
    *ret = (answer){.asked = dlock_now(), .retry_ms = -1};
    dlock_status status = ask_for_grant(lock, script, keys, args, &reply);
    dlock_args_free(args);
    if (status != DLOCK_OK)
        return status;
    if (!reply)
        return DLOCK_FAILED;
    if (all_integers(reply, 4) && reply->element[0]->integer == 1) {
        ret->granted = ret->claimed = true;
        ret->fence = (uint64_t)reply->element[1]->integer;
        ret->redis_us = reply->element[2]->integer;
        ret->others = reply->element[3]->integer;
        if (dlock_now().us - ret->asked.us >= validity_us(lock->options.lease_ms))
            status = DLOCK_UNKNOWN; /* over before we heard of it */
    } else if (reply && all_integers(reply, 2) && reply->element[0]->integer == 0) {
        ret->retry_ms = reply->element[1]->integer;
        ret->fence = all_integers(reply, 3) ? (uint64_t)reply->element[2]->integer : 0;
    } else {
        status = DLOCK_FAILED;
    }
    freeReplyObject(reply);
    return status;
}

dlock_status kind_release(dlock_lock *lock, dlock_script *script, int keys, dlock_args *args)
{
    redisReply *reply = NULL;
    dlock_client *client = lock->client;
    dlock_status status = ask(client, client->options.redis, script, keys, args, &reply);
    dlock_args_free(args);
    if (status != DLOCK_OK)
        return status;
    if (reply->type != REDIS_REPLY_INTEGER)
        status = DLOCK_FAILED;
    else if (reply->integer != 1)
        status = reply->integer == 0 ? DLOCK_EXPIRED : DLOCK_NOT_OWNER;
    freeReplyObject(reply);
    return status;
}
