/*
 * Kinds READ, WRITE and SEMAPHORE: a name with several holders, each of which has a lease of its
 * own, and one first-in-first-out queue.
 *
 * The races are the one that fair.c describes, and one more: two holders may enter where there is
 * room for one, or a writer beside a reader. So one sorted set has all holders and how much they
 * take, and every script decides by its members alone:
 *
 *   1. A member is a holder's token, its score the end of the lease. How much it takes is part of
 *      the token: "*w" everything, "*K" K permits, otherwise one. Every script first removes
 *      shares that are over by Redis's clock. A share is renewed only if it is there and not over.
 *   2. A try takes a share if it fits and nobody queues. Otherwise, in the same script, the token
 *      goes to the end of the queue. A writer fits if nobody holds the lock. Others fit if no
 *      writer holds it, and as many permits are left as they want.
 *   3. Whatever makes room (a release, a leaving waiter, a lapse, more permits) hands on in the
 *      same script: from the head of the queue to each waiter that fits, up to the first that does
 *      not. So the readers between two writers enter together, and a waiting writer stops those
 *      behind it. A waiter that wants many permits is not overtaken by those that want few. A
 *      crowd enters bit by bit: each waiter that takes up a share hands on to one more.
 *   4. A waiter that was handed a share holds it from that instant on, for the claim window. A
 *      mark says that it has not taken it up. Its token is published on the channel of its
 *      process. The woken waiter asks again, finds its token among the holders, and takes the
 *      share up: the lease begins, the fence is issued, the mark is removed.
 *   5. Each process that waits sends a heartbeat every re-check. The reply names its sleepers that
 *      hold a share and whose wake-up was lost. Missing entries are put back.
 *   6. A share that is not taken up ends with the claim window. Its process then counts as dead,
 *      and all its entries are passed over. If the process is alive, its next heartbeat queues its
 *      waiters again, at the end. An entry of a process without a recent heartbeat stops nobody.
 */
#include "shares/shares.h"

#include "core/client.h"
#include "core/waiting.h"
#include "kinds/fence.lua.h"
#include "kinds/queue.lua.h"
#include "shares/shares.lua.h"
#include "shares/shares_acquire.lua.h"
#include "shares/shares_beat.lua.h"
#include "shares/shares_decline.lua.h"
#include "shares/shares_leave.lua.h"
#include "shares/shares_release.lua.h"
#include "shares/shares_renew.lua.h"

#define GOING "#!lua flags=allow-oom\n" FENCE_LUA QUEUE_LUA SHARES_LUA

dlock_script dlock_shares_acquire =
    DLOCK_SCRIPT("shares_acquire", "#!lua\n" FENCE_LUA QUEUE_LUA SHARES_LUA SHARES_ACQUIRE_LUA);
dlock_script dlock_shares_release = DLOCK_SCRIPT("shares_release", GOING SHARES_RELEASE_LUA);
dlock_script dlock_shares_leave =
    DLOCK_SCRIPT("shares_leave", GOING SHARES_LEAVE_LUA SHARES_RELEASE_LUA);
dlock_script dlock_shares_renew = DLOCK_SCRIPT("shares_renew", GOING SHARES_RENEW_LUA);
dlock_script dlock_shares_beat = DLOCK_SCRIPT("shares_beat", GOING SHARES_BEAT_LUA);
static dlock_script decline = DLOCK_SCRIPT("shares_decline", GOING SHARES_DECLINE_LUA);

enum { RW_KEYS = 5 };

int dlock_shares_keys(const dlock_lock *lock, dlock_args *args)
{
    dlock_identity_add_keys(&lock->ids[0], RW_KEYS, args);
    if (lock->options.kind != DLOCK_SEMAPHORE)
        return RW_KEYS;
    dlock_args_text(args, lock->ids[0].keys[KEY_PERMITS]);
    return RW_KEYS + 1;
}

int dlock_shares_acquire_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    int keys = dlock_shares_keys(lock, args);
    dlock_args_text(args, who->token);
    dlock_args_int(args, who->lease_ms);
    dlock_args_int(args, dlock_lock_claim_ms(lock));
    dlock_args_int(args, who->entry);
    dlock_args_int(args, lock->options.permits);
    return keys;
}

/* Of whoever goes: a holder, a waiter, or one who was handed a share too late. Of a heartbeat:
 * the process, whose sleeping waiters are to follow. */
int dlock_shares_go_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    int keys = dlock_shares_keys(lock, args);
    dlock_args_text(args, who->token);
    dlock_args_int(args, dlock_lock_claim_ms(lock));
    return keys;
}

int dlock_shares_renew_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    int keys = dlock_shares_keys(lock, args);
    dlock_args_text(args, who->token);
    dlock_args_int(args, who->lease_ms);
    return keys;
}

/* Step 5. */
int64_t dlock_shares_beaten(dlock_lock *lock, dlock_time asked, const redisReply *reply)
{
    (void)asked;
    bool fits = reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
                reply->element[0]->type == REDIS_REPLY_INTEGER;
    if (!dlock_redis_check(lock->client->options.redis, dlock_shares_beat.name, reply, fits))
        return dlock_queue_next_beat(lock, -1);
    for (size_t i = 1; i < reply->elements; i++)
        if (reply->element[i]->type == REDIS_REPLY_STRING)
            dlock_wait_set_wake(&lock->wait_set, reply->element[i]->str, NULL);
    return dlock_queue_next_beat(lock, reply->element[0]->integer);
}

/* Step 4. */
void dlock_shares_heard(dlock_lock *lock, const char *token)
{
    static const kind_call decline_call = {&decline, dlock_shares_go_args};
    if (!dlock_wait_set_wake_shared(lock, token, NULL))
        dlock_queue_decline(lock, &decline_call, token);
}
