/*
 * Kind FAIR: a first-in-first-out queue in Redis with direct hand-off.
 *
 * The race that a lock with a queue must win: the holder releases between a waiter's failed try and
 * its sleep, or the message that should wake the waiter is lost. The obvious solutions (publish and
 * hope, wake everybody, let each waiter poll the head of the queue) lose wake-ups, stampede or
 * wait. The protocol here:
 *
 *   1. A try takes the lock if it is free and nobody queues. Otherwise, in the same script, the
 *      token goes to the end of the queue. It is never queued twice, in whatever order a waiter's
 *      requests and its process's heartbeats arrive.
 *   2. Release gives the lock to the first in the queue in the same script: from that instant the
 *      lock's value is the waiter's token, for the releaser's claim window. Only this state
 *      counts.
 *   3. Release also publishes the token on the channel of the waiter's process, whose subscriber
 *      (core/subscriber.h) wakes the waiter. A channel keeps no messages, so each subscription is
 *      followed by a heartbeat.
 *   4. The wake-up brings the fence and the window, so the waiter holds the lock at once. The
 *      waiter computes how long the grant surely lasts from the last moment at which it was known
 *      to be without the lock: the grant is younger than that, and lasts one window. The fence
 *      shows that a wake-up is late and its grant has lapsed: it is not above the last one issued
 *      when the waiter was without. Both are computed when the wake-up is read, because later news
 *      says nothing about this grant. The renewal that takes the grant up is written before the
 *      caller is told: the lease begins. The caller does not wait for its answer.
 *   5. Each process that waits sends a heartbeat every re-check. The same script finds a grant to
 *      one of its waiters whose message was lost, puts back missing entries, and hands on a free
 *      lock. So every loss heals within one re-check.
 *   6. A grant that is not taken up ends with the claim window. Its process then counts as dead,
 *      and all its entries are passed over: this costs one window, not one per thread. If the
 *      process is alive, its next heartbeat queues its waiters again, at the end.
 */
#include "core/client.h"
#include "core/waiting.h"
#include "kinds/fair.lua.h"
#include "kinds/fair_acquire.lua.h"
#include "kinds/fair_beat.lua.h"
#include "kinds/fair_decline.lua.h"
#include "kinds/fair_leave.lua.h"
#include "kinds/fair_release.lua.h"
#include "kinds/fair_renew.lua.h"
#include "kinds/fence.lua.h"
#include "kinds/owner.lua.h"
#include "kinds/queue.h"
#include "kinds/queue.lua.h"

#include <inttypes.h>
#include <stdio.h>

static dlock_script acquire =
    DLOCK_SCRIPT("fair_acquire", "#!lua\n" OWNER_LUA FENCE_LUA QUEUE_LUA FAIR_LUA FAIR_ACQUIRE_LUA);
static dlock_script beat = DLOCK_SCRIPT(
    "fair_beat", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA QUEUE_LUA FAIR_LUA FAIR_BEAT_LUA);
static dlock_script leave = DLOCK_SCRIPT(
    "fair_leave", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA QUEUE_LUA FAIR_LUA FAIR_LEAVE_LUA);
static dlock_script decline =
    DLOCK_SCRIPT("fair_decline",
                 "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA QUEUE_LUA FAIR_LUA FAIR_DECLINE_LUA);
static dlock_script release =
    DLOCK_SCRIPT("fair_release",
                 "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA QUEUE_LUA FAIR_LUA FAIR_RELEASE_LUA);
static dlock_script renew =
    DLOCK_SCRIPT("fair_renew", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA FAIR_RENEW_LUA);

enum { FAIR_KEYS = 5 };

static int acquire_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    dlock_identity_add_keys(&lock->ids[0], FAIR_KEYS, args);
    dlock_args_text(args, who->token);
    dlock_args_int(args, who->lease_ms);
    dlock_args_int(args, dlock_lock_claim_ms(lock));
    dlock_args_int(args, who->entry);
    return FAIR_KEYS;
}

/* For whoever goes: a holder, a waiter, or one whose grant came too late. For a heartbeat: the
 * process; the tokens of its sleeping waiters follow. */
static int go_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    dlock_identity_add_keys(&lock->ids[0], FAIR_KEYS, args);
    dlock_args_text(args, who->token);
    dlock_args_int(args, dlock_lock_claim_ms(lock));
    return FAIR_KEYS;
}

static int renew_args(const dlock_lock *lock, const asker *who, dlock_args *args)
{
    dlock_identity_add_keys(&lock->ids[0], FAIR_KEYS - 1, args);
    dlock_args_text(args, who->token);
    dlock_args_int(args, who->lease_ms);
    return FAIR_KEYS - 1;
}

/* Step 5. The lock may have been granted to one of our waiters. */
static int64_t read_beat(dlock_lock *lock, dlock_time asked, const redisReply *reply)
{
    wait_set *set = &lock->wait_set;
    bool fits = reply->type == REDIS_REPLY_ARRAY && reply->elements == 4 &&
                reply->element[0]->type == REDIS_REPLY_STRING;
    if (!dlock_redis_check(lock->client->options.redis, beat.name, reply, fits))
        return dlock_queue_next_beat(lock, -1);
    const char *has = reply->element[0]->str;
    dlock_wait_set_without(set, has, asked, (uint64_t)reply->element[1]->integer);
    dlock_wait_set_wake(set, has, NULL);
    int64_t left_ms = reply->element[2]->integer, next_ms = dlock_queue_next_beat(lock, left_ms);
    if (reply->element[3]->integer != 1)
        return next_ms;
    return dlock_lock_foreign_step(&set->pace, left_ms, next_ms); /* it hands nothing on */
}

static const kind_call decline_call = {&decline, go_args};

/* Step 4: "token fence window-ms". */
static void take_message(dlock_lock *lock, const char *message)
{
    char token[TOKEN_LEN];
    answer a = {.granted = true, .asked = dlock_now()};
    int parts = sscanf(message, "%159s %" SCNu64 " %" SCNd64, token, &a.fence, &a.window_ms);
    if (parts >= 1 && !dlock_wait_set_wake_shared(lock, token, parts == 3 ? &a : NULL))
        dlock_queue_decline(lock, &decline_call, token);
}

const kind dlock_kind_fair = {
    .queues = true,
    .acquire = {&acquire, acquire_args},
    .release = {&release, go_args},
    .leave = {&leave, go_args},
    .renew = {&renew, renew_args},
    .channel = dlock_queue_channel,
    .heard = take_message,
    .beat = {&beat, go_args},
    .beaten = read_beat,
};
