/*
 * Acquire and release scripts on the client's server, and what their replies mean.
 *
 * An acquire carries the moment, by Redis's clock, after which nobody waits for its reply
 * (core/server_clock.h). What that clock says is learned from each reply.
 */
#include "kinds/one_server.h"

#include "core/client.h"
#include "core/grant.h"
#include "core/status.h"

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

/* Of the server that the lock is on now; where none is known, no matter of which. */
static server_clock *clock_of(dlock_lock *lock)
{
    dlock_client *client = lock->client;
    int server = dlock_redis_server_of(client->options.redis, lock->names[0]);
    return &client->clocks[server < 0 ? 0 : server];
}

/* The moment by Redis's clock after which nobody here waits for the answer. 0: its clock is not
 * known yet. */
static int64_t not_after(const dlock_client *client, const server_clock *clock, dlock_time asked)
{
    dlock_time moment = {asked.us + client->options.io_ms * 1000};
    return dlock_server_clock_at(clock, moment);
}

static dlock_status read_answer(const dlock_lock *lock, server_clock *clock,
                                const redisReply *reply, answer *ret)
{
    if (all_integers(reply, 4) && reply->element[0]->integer == 1) {
        ret->granted = ret->claimed = true;
        ret->fence = (uint64_t)reply->element[1]->integer;
        dlock_server_clock_learn(clock, reply->element[2]->integer, ret->asked);
        bool over =
            dlock_now().us - ret->asked.us >= dlock_grant_validity_us(lock->options.lease_ms);
        return over ? DLOCK_UNKNOWN : DLOCK_OK; /* over before we heard of it */
    }
    if (all_integers(reply, 2) && reply->element[0]->integer == 0) {
        ret->retry_ms = reply->element[1]->integer;
        ret->fence = all_integers(reply, 3) ? (uint64_t)reply->element[2]->integer : 0;
        return DLOCK_OK;
    }
    if (all_integers(reply, 2) && reply->element[0]->integer == 2) {
        dlock_server_clock_learn(clock, reply->element[1]->integer, ret->asked);
        return DLOCK_UNAVAILABLE;
    }
    return DLOCK_FAILED;
}

/* One that comes too late although it is answered in time shows that Redis's clock was set, or is
 * another server's: the second try knows it. */
dlock_status dlock_one_server_acquire(dlock_lock *lock, dlock_script *script, int keys,
                                      dlock_args *args, answer *ret)
{
    dlock_status status;
    dlock_client *client = lock->client;
    const dlock_args plain = *args;
    for (int tries = 0; tries < 2; tries++) {
        redisReply *reply = NULL;
        server_clock *clock = clock_of(lock);
        *ret = (answer){.asked = dlock_now(), .retry_ms = -1};
        args->len = plain.len;
        args->count = plain.count;
        dlock_args_int(args, not_after(client, clock, ret->asked));
        status = dlock_script_call(client, client->options.redis, script, keys, args,
                                   lock->options.wait_replicas, &reply);
        if (status != DLOCK_OK)
            break;
        status = reply ? read_answer(lock, clock, reply, ret) : DLOCK_FAILED;
        if (reply)
            freeReplyObject(reply);
        if (status != DLOCK_UNAVAILABLE)
            break;
    }
    dlock_args_free(args);
    return status;
}

dlock_status dlock_one_server_release(dlock_lock *lock, dlock_script *script, int keys,
                                      dlock_args *args)
{
    redisReply *reply = NULL;
    dlock_client *client = lock->client;
    dlock_status status =
        dlock_script_call(client, client->options.redis, script, keys, args, 0, &reply);
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
