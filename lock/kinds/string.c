/*
 * Kind STRING: SET NAME token NX PX lease, compare and delete. The layout that redis-py, redsync,
 * node-redlock and others share. Several names at once make the multi-lock. Waiters poll.
 *
 * Source: the pattern in the documentation of Redis's SET command; the scripts add the fence, and
 * idempotence by the token.
 */
#include "core/lock.h"
#include "kinds/fence.lua.h"
#include "kinds/owner.lua.h"
#include "kinds/string_acquire.lua.h"
#include "kinds/string_release.lua.h"
#include "kinds/string_renew.lua.h"

static dlock_script acquire =
    DLOCK_SCRIPT("string_acquire", "#!lua\n" OWNER_LUA FENCE_LUA STRING_ACQUIRE_LUA);
static dlock_script release =
    DLOCK_SCRIPT("string_release", "#!lua flags=allow-oom\n" OWNER_LUA STRING_RELEASE_LUA);
static dlock_script renew =
    DLOCK_SCRIPT("string_renew", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA STRING_RENEW_LUA);

/* One of each name. */
static void add_keys(dlock_args *args, const dlock_lock *lock, lock_key key)
{
    for (int i = 0; i < lock->ids_len; i++)
        dlock_args_text(args, lock->ids[i].keys[key]);
}

static int acquire_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    add_keys(args, lock, KEY_NAME);
    add_keys(args, lock, KEY_FENCE);
    add_keys(args, lock, KEY_QUEUE);
    add_keys(args, lock, KEY_BEATS);
    dlock_args_text(args, who->token);
    dlock_args_int(args, who->lease_ms);
    dlock_args_int(args, lock->ids_len);
    return 4 * lock->ids_len;
}

static int renew_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    add_keys(args, lock, KEY_NAME);
    add_keys(args, lock, KEY_FENCE);
    dlock_args_text(args, who->token);
    dlock_args_int(args, who->lease_ms);
    dlock_args_int(args, lock->ids_len);
    return 2 * lock->ids_len;
}

static int release_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    add_keys(args, lock, KEY_NAME);
    dlock_args_text(args, who->token);
    return lock->ids_len;
}

const kind dlock_kind_string = {
    .acquire = {&acquire, acquire_args},
    .release = {&release, release_args},
    .leave = {&release, release_args},
    .renew = {&renew, renew_args},
};
