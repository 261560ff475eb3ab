/*
 * Kind STRING: SET NAME token NX PX lease, compare and delete. The layout that redis-py, redsync,
 * node-redlock and others share. Several names at once make the multi-lock. Waiters poll.
 *
 * Source: the pattern in the documentation of Redis's SET command; the scripts add the fence, and
 * idempotence by the token.
 */
#include "core/lock.h"
#include "kinds/fence.lua.h"
#include "kinds/one_server.h"
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

static void add_names(dlock_args *args, const dlock_lock *lock)
{
    for (int i = 0; i < lock->names_len; i++)
        dlock_args_text(args, lock->names[i]);
}

static void add_names_and_fences(dlock_args *args, const dlock_lock *lock)
{
    add_names(args, lock);
    for (int i = 0; i < lock->names_len; i++)
        dlock_args_text(args, lock->fences[i]);
}

static dlock_status string_try(dlock_lock *lock, const char *token, entry_mode entry, answer *ret)
{
    (void)entry; /* nothing queues */
    dlock_args args;
    dlock_args_init(&args);
    add_names_and_fences(&args, lock);
    dlock_args_text(&args, token);
    dlock_args_int(&args, lock->options.lease_ms);
    dlock_args_int(&args, lock->names_len);
    return dlock_one_server_acquire(lock, &acquire, 2 * lock->names_len, &args, ret);
}

static dlock_status string_release(dlock_lock *lock, const char *token)
{
    dlock_args args;
    dlock_args_init(&args);
    add_names(&args, lock);
    dlock_args_text(&args, token);
    return dlock_one_server_release(lock, &release, lock->names_len, &args);
}

static int string_renew_args(dlock_lock *lock, const char *token, dlock_args *args)
{
    add_names_and_fences(args, lock);
    dlock_args_text(args, token);
    dlock_args_int(args, lock->options.lease_ms);
    dlock_args_int(args, lock->names_len);
    return 2 * lock->names_len;
}

const kind dlock_kind_string = {
    .try = string_try,
    .release = string_release,
    .leave = string_release,
    .renew_script = &renew,
    .renew_args = string_renew_args,
};
