/* Kind SEMAPHORE: permits, in the protocol of shares.c. A key of its own has their number. The
 * first acquire sets it, and dlock_semaphore_set() changes it. */
#include "core/ask.h"
#include "core/client.h"
#include "kinds/fence.lua.h"
#include "kinds/queue.lua.h"
#include "shares/semaphore_set.lua.h"
#include "shares/shares.h"
#include "shares/shares.lua.h"

const kind dlock_kind_semaphore = {.family = FAMILY_SEMAPHORE, DLOCK_SHARES_KIND, .permits = true};

static dlock_script set =
    DLOCK_SCRIPT("semaphore_set", "#!lua\n" FENCE_LUA QUEUE_LUA SHARES_LUA SEMAPHORE_SET_LUA);

dlock_status dlock_semaphore_set(dlock_lock *lock, int64_t permits)
{
    const dlock_client *client = lock->client;
    redisReply *reply = NULL;
    if (dlock_client_forked(client))
        return DLOCK_FORKED;
    if (!lock->kind->permits || permits < 0 || permits > PERMITS_MAX)
        return DLOCK_INVALID;
    dlock_args args = {0};
    int keys = dlock_shares_keys(lock, &args);
    dlock_args_int(&args, permits);
    dlock_args_int(&args, lock->options.lease_ms);
    dlock_args_int(&args, dlock_lock_claim_ms(lock));
    dlock_status status = dlock_ask_script(client, client->options.redis, &set, keys, &args,
                                           lock->options.wait_replicas, &reply);
    freeReplyObject(reply);
    return status;
}
