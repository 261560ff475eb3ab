/*
 * Kind HASH: the layout (hash owner -> count) and the wake-up (a broadcast on a channel) of
 * Redisson's RLock. A Java RLock and this one exclude and wake each other. As in Redisson, a
 * message lets one waiter of each process ask.
 *
 * The broadcast is a hint that can be missed. So one waiter of each process asks after every new
 * subscription, at the end of the holder's lease, and every re-check (core/watch.c).
 *
 * In a cluster Redisson publishes only to the channel's slot (SPUBLISH), which is the lock's. So we
 * listen to both kinds of channel, on the server of that slot. When the slot moves, the server ends
 * the subscription, and the next connection goes to its new server.
 *
 * Source: Redisson's RedissonLock (tryLockInnerAsync, unlockInnerAsync, LockPubSub).
 */
#include <stdio.h>

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

static int owner_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    dlock_identity_add_keys(&lock->ids[0], 4, args);
    dlock_args_text(args, who->token);
    dlock_args_int(args, who->lease_ms);
    return 4;
}

static int release_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    dlock_args_text(args, dlock_lock_name(lock, 0));
    dlock_args_text(args, lock->ids[0].keys[KEY_CHANNEL]);
    dlock_args_text(args, who->token);
    return 2;
}

static void channel(const dlock_lock *lock, char *ret, size_t ret_len)
{
    snprintf(ret, ret_len, "%s", lock->ids[0].keys[KEY_CHANNEL]);
}

static void heard(dlock_lock *lock, const char *message)
{
    (void)message;
    dlock_wait_set_wake_one(&lock->wait_set);
}

const kind dlock_kind_hash = {
    .family = FAMILY_HASH,
    .acquire = {&acquire, owner_args},
    .release = {&release, release_args},
    .leave = {&release, release_args},
    .renew = {&renew, owner_args},
    .channel = channel,
    .heard = heard,
};
