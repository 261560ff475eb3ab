/*
 * Kind HASH: Redisson's RLock, in layout (hash owner -> count) and in its wake-up, a broadcast on
 * a channel. A Java RLock and this one exclude and wake each other. As there, a message lets one
 * waiter of each process ask.
 *
 * The broadcast is a hint that can be missed. So: subscribe, then ask again, then sleep no longer
 * than the lease's rest or the re-check; and ask again after every new subscription.
 *
 * In a cluster Redisson publishes to the channel's slot only (SPUBLISH), which is the lock's; so
 * both kinds of channel are listened to there, on the server of that slot. When the slot moves, the
 * server ends the subscription, and the next connection leads to where it is then.
 *
 * Source: Redisson's RedissonLock (tryLockInnerAsync, unlockInnerAsync, LockPubSub).
 */
#include <stdio.h>
#include <string.h>

#include "core/client.h"
#include "core/waiting.h"
#include "kinds/fence.lua.h"
#include "kinds/hash_acquire.lua.h"
#include "kinds/hash_release.lua.h"
#include "kinds/hash_renew.lua.h"

static dlock_script acquire = DLOCK_SCRIPT("hash_acquire", "#!lua\n" FENCE_LUA HASH_ACQUIRE_LUA);
static dlock_script release =
    DLOCK_SCRIPT("hash_release", "#!lua flags=allow-oom\n" HASH_RELEASE_LUA);
static dlock_script renew =
    DLOCK_SCRIPT("hash_renew", "#!lua flags=allow-oom\n" FENCE_LUA HASH_RENEW_LUA);

static int owner_args(const dlock_lock *lock, const char *token, entry_mode entry, dlock_args *args)
{
    (void)entry; /* nothing queues */
    dlock_lock_add_keys(lock, 0, 2, args);
    dlock_args_text(args, token);
    dlock_args_int(args, lock->options.lease_ms);
    return 2;
}

static int release_args(const dlock_lock *lock, const char *token, entry_mode entry,
                        dlock_args *args)
{
    (void)entry;
    dlock_args_text(args, lock->names[0]);
    dlock_args_text(args, lock->channel);
    dlock_args_text(args, token);
    return 2;
}

static bool subscribe(dlock_lock *lock, const char *how)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, how);
    dlock_args_text(&args, lock->channel);
    dlock_time deadline = dlock_in_ms(lock->client->options.io_ms);
    bool done = dlock_redis_call(lock->wait_set.conn, &args, deadline, NULL) == DLOCK_REDIS_OK;
    dlock_args_free(&args);
    return done;
}

/* Whoever may not subscribe to the slot's channel hears of releases by this library still. */
static bool subscribe_and_ask(dlock_lock *lock)
{
    wait_set *set = &lock->wait_set;
    bool subscribed = subscribe(lock, "SUBSCRIBE");
    if (subscribed && dlock_redis_is_cluster(lock->client->options.redis))
        subscribed = subscribe(lock, "SSUBSCRIBE") || !dlock_redis_broken(set->conn);
    set->subscribed = subscribed;
    if (subscribed)
        dlock_wait_set_wake_one(set);
    return subscribed;
}

static bool ends_subscription(const redisReply *message)
{
    return message->type == REDIS_REPLY_ARRAY && message->elements > 0 &&
           message->element[0]->type == REDIS_REPLY_STRING &&
           strcmp(message->element[0]->str, "sunsubscribe") == 0;
}

/* False: there is nothing more to read from this connection. */
static bool read_message(wait_set *set, dlock_time until)
{
    redisReply *message;
    if (dlock_redis_read(set->conn, until, &message) != DLOCK_REDIS_OK) {
        if (message)
            freeReplyObject(message);
        return false;
    }
    bool over = ends_subscription(message);
    freeReplyObject(message);
    if (over) {
        dlock_redis_hang_up(set->conn);
        set->conn = NULL;
    }
    return !over;
}

/* Any message on the connection, whatever it says, is a reason to ask again; many of them, which
 * came while nobody waited, are one reason. */
static bool hash_listen(dlock_lock *lock, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    bool heard = false;
    if (!set->subscribed)
        return subscribe_and_ask(lock);
    while (set->conn && dlock_redis_wait(set->conn, heard ? dlock_now() : until) &&
           read_message(set, until))
        heard = true;
    if (heard || !set->conn)
        dlock_wait_set_wake_one(set);
    bool works = !set->conn || !dlock_redis_broken(set->conn);
    set->listened = set->listened || works;
    return works;
}

static void channel(const dlock_lock *lock, char *ret, size_t ret_len)
{
    snprintf(ret, ret_len, "%s", lock->channel);
}

static void heard(dlock_lock *lock, const char *message)
{
    (void)message;
    dlock_wait_set_wake_one(&lock->wait_set);
}

const kind dlock_kind_hash = {
    .acquire = {&acquire, owner_args},
    .release = {&release, release_args},
    .leave = {&release, release_args},
    .renew = {&renew, owner_args},
    .listen = hash_listen,
    .channel = channel,
    .heard = heard,
};
