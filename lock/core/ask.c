/*
 * Acquire and release scripts on the client's server, and what their replies mean.
 *
 * An acquire carries the moment, by Redis's clock, after which nobody waits for its reply
 * (client.h). Each reply tells what that clock says.
 *
 * An acquire replies {1, fence, clock us, waiters}; {0, ms left}, and behind that perhaps the last
 * fence issued; or {2, clock us} when it came too late. A release replies 1: released, 0: free
 * already, -1: somebody else's.
 */
#include "core/ask.h"

#include "core/client.h"
#include "core/grant.h"

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

/* The clock of the lock's current server; if that is not known, any. */
static server_clock *clock_of(const dlock_lock *lock)
{
    dlock_client *client = lock->client;
    int server = dlock_redis_server_of(client->options.redis, dlock_lock_name(lock, 0));
    return &client->clocks[server < 0 ? 0 : server];
}

dlock_status dlock_ask_script(const dlock_client *client, dlock_redis *redis, dlock_script *script,
                              int keys, dlock_args *args, int replicas, redisReply **ret)
{
    dlock_time deadline = dlock_in_ms(client->options.io_ms);
    dlock_status status =
        dlock_status_of(dlock_redis_eval_wait(redis, script, keys, args, replicas, deadline, ret));
    dlock_args_free(args);
    if (status != DLOCK_OK) {
        freeReplyObject(*ret);
        *ret = NULL;
    }
    return status;
}

/* ---- acquiring ------------------------------------------------------------------------------- */

void dlock_ask_add_limit(const dlock_lock *lock, dlock_time asked, dlock_args *args)
{
    dlock_time moment = {asked.us + lock->client->options.io_ms * 1000};
    dlock_args_int(args, dlock_server_clock_at(clock_of(lock), moment)); /* 0: it is not known */
}

int dlock_ask_acquire_args(const dlock_lock *lock, const asker *who, dlock_time asked,
                           dlock_args *args)
{
    int keys = lock->kind->acquire.args(lock, who, args);
    dlock_ask_add_limit(lock, asked, args);
    return keys;
}

dlock_status dlock_ask_read_acquired(const dlock_lock *lock, int64_t lease_ms, dlock_time asked,
                                     const redisReply *reply, answer *ret)
{
    server_clock *clock = clock_of(lock);
    *ret = (answer){.asked = asked, .retry_ms = -1};
    if (reply && all_integers(reply, 4) && reply->element[0]->integer == 1) {
        ret->granted = ret->claimed = true;
        ret->fence = (uint64_t)reply->element[1]->integer;
        dlock_server_clock_learn(clock, reply->element[2]->integer, asked);
        bool over = dlock_now().us - asked.us >= dlock_grant_validity_us(lease_ms);
        return over ? DLOCK_UNKNOWN : DLOCK_OK; /* over before we heard of it */
    }
    if (reply && all_integers(reply, 2) && reply->element[0]->integer == 0) {
        ret->retry_ms = reply->element[1]->integer;
        ret->fence = all_integers(reply, 3) ? (uint64_t)reply->element[2]->integer : 0;
        ret->foreign = all_integers(reply, 4) && reply->element[3]->integer == 1;
        return DLOCK_OK;
    }
    if (reply && all_integers(reply, 2) && reply->element[0]->integer == 2) {
        dlock_server_clock_learn(clock, reply->element[1]->integer, asked);
        return DLOCK_UNAVAILABLE;
    }
    return DLOCK_FAILED;
}

/* An acquire that Redis refuses as late, but answers in time, shows that Redis's clock was set, or
 * is another server's. The second try knows that clock. */
dlock_status dlock_ask_acquire(dlock_lock *lock, const asker *who, answer *ret)
{
    dlock_status status = DLOCK_UNAVAILABLE;
    const dlock_client *client = lock->client;
    if (lock->kind->everywhere)
        return lock->kind->everywhere->acquire(lock, who, ret);
    for (int tries = 0; tries < 2 && status == DLOCK_UNAVAILABLE; tries++) {
        redisReply *reply = NULL;
        dlock_time asked = dlock_now();
        dlock_args args = {0};
        int keys = dlock_ask_acquire_args(lock, who, asked, &args);
        *ret = (answer){.asked = asked, .retry_ms = -1};
        status = dlock_ask_script(client, client->options.redis, lock->kind->acquire.script, keys,
                                  &args, lock->options.wait_replicas, &reply);
        if (status != DLOCK_OK)
            break;
        status = dlock_ask_read_acquired(lock, who->lease_ms, asked, reply, ret);
        if (!dlock_redis_check(client->options.redis, lock->kind->acquire.script->name, reply,
                               status != DLOCK_FAILED))
            status = DLOCK_FAILED;
        freeReplyObject(reply);
    }
    return status;
}

/* ---- releasing ------------------------------------------------------------------------------- */

dlock_status dlock_ask_read_released(const redisReply *reply)
{
    if (!reply || reply->type != REDIS_REPLY_INTEGER)
        return DLOCK_FAILED;
    return reply->integer == 1 ? DLOCK_OK : reply->integer == 0 ? DLOCK_EXPIRED : DLOCK_NOT_OWNER;
}

static dlock_status give_back(dlock_lock *lock, const kind_call *how, const char *token)
{
    redisReply *reply = NULL;
    const dlock_client *client = lock->client;
    dlock_args args = {0};
    int keys = how->args(lock, &(asker){.token = token}, &args);
    dlock_status status =
        dlock_ask_script(client, client->options.redis, how->script, keys, &args, 0, &reply);
    if (status != DLOCK_OK)
        return status;
    status = dlock_ask_read_released(reply);
    if (!dlock_redis_check(client->options.redis, how->script->name, reply, status != DLOCK_FAILED))
        status = DLOCK_FAILED;
    freeReplyObject(reply);
    return status;
}

dlock_status dlock_ask_release(dlock_lock *lock, const char *token)
{
    if (lock->kind->everywhere)
        return lock->kind->everywhere->release(lock, token);
    return give_back(lock, &lock->kind->release, token);
}

dlock_status dlock_ask_leave(dlock_lock *lock, const char *token)
{
    if (lock->kind->everywhere)
        return lock->kind->everywhere->leave(lock, token);
    return give_back(lock, &lock->kind->leave, token);
}
