/*
 * Kind FAIR: a first-in-first-out queue in Redis with direct hand-off.
 *
 * The race that a lock with a queue must win: the holder goes away between a waiter's failed try
 * and its sleep, or the message that should wake it is lost. The obvious ways (publish and hope,
 * wake everybody, let each waiter poll the head of the queue) lose wake-ups, stampede or wait.
 * The protocol here:
 *
 *   1. A try takes the lock if it is free and nobody queues. Otherwise, in the same script, the
 *      token goes to the end of the queue. Nothing queues it twice, in whatever order a waiter's
 *      questions and its process's signs of life arrive.
 *   2. Release gives the lock to the first in the queue in the same script: the lock's value is the
 *      waiter's token from that instant on, for the claim window of the one who releases. That is
 *      the state that counts.
 *   3. It also pushes the token onto the wake-up list of the waiter's process, where one thread
 *      blocks (BLPOP) for all waiters of the process. A list keeps the token until it is fetched.
 *      Waiters without a thread (pending/) are told on a channel of the same name: their token says
 *      so, by an "a" before its number. A channel keeps nothing, so that after each subscription
 *      comes a sign of life.
 *   4. The wake-up brings the fence and the window, so the waiter holds the lock at once. How long
 *      it is sure to, follows from when the waiter was last known to be without it: the grant is
 *      younger, and lasts that window. A late wake-up of a grant that has lapsed is told by its
 *      fence: not above the last one issued when the waiter was without. Both are settled when the
 *      wake-up is read, since what is learned later says nothing about this grant. The first
 *      renewal takes the grant up: the lease begins. A short hold needs none.
 *   5. Each process that waits gives a sign of life every re-check and, in the same script, sees
 *      whether one of its waiters was granted the lock without hearing of it, puts back entries
 *      that are missing, and hands a free lock on. So every loss heals within one re-check.
 *   6. A grant not taken up ends with the claim window. Its process is then taken for dead and all
 *      its entries are passed over: one window, not one a thread. If it was alive after all, its
 *      next sign of life queues its waiters again, at the end.
 */
#include "core/client.h"
#include "core/status.h"
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

#include <inttypes.h>
#include <stdio.h>

static dlock_script acquire =
    DLOCK_SCRIPT("fair_acquire", "#!lua\n" OWNER_LUA FENCE_LUA FAIR_LUA FAIR_ACQUIRE_LUA);
static dlock_script beat =
    DLOCK_SCRIPT("fair_beat", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA FAIR_LUA FAIR_BEAT_LUA);
static dlock_script leave = DLOCK_SCRIPT(
    "fair_leave", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA FAIR_LUA FAIR_LEAVE_LUA);
static dlock_script decline = DLOCK_SCRIPT(
    "fair_decline", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA FAIR_LUA FAIR_DECLINE_LUA);
static dlock_script release = DLOCK_SCRIPT(
    "fair_release", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA FAIR_LUA FAIR_RELEASE_LUA);
static dlock_script renew = DLOCK_SCRIPT(
    "fair_renew", "#!lua flags=allow-oom\n" OWNER_LUA FENCE_LUA FAIR_LUA FAIR_RENEW_LUA);

enum { FAIR_KEYS = 5 };

static int acquire_args(const dlock_lock *lock, const char *token, entry_mode entry,
                        dlock_args *args)
{
    dlock_lock_add_keys(lock, 0, FAIR_KEYS, args);
    dlock_args_text(args, token);
    dlock_args_int(args, lock->options.lease_ms);
    dlock_args_int(args, lock->claim_ms);
    dlock_args_int(args, entry);
    return FAIR_KEYS;
}

/* Of whoever goes: a holder, a waiter, or one whose grant came too late. */
static int go_args(const dlock_lock *lock, const char *token, entry_mode entry, dlock_args *args)
{
    (void)entry;
    dlock_lock_add_keys(lock, 0, FAIR_KEYS, args);
    dlock_args_text(args, token);
    dlock_args_int(args, lock->claim_ms);
    return FAIR_KEYS;
}

static int renew_args(const dlock_lock *lock, const char *token, entry_mode entry, dlock_args *args)
{
    (void)entry;
    dlock_lock_add_keys(lock, 0, FAIR_KEYS - 1, args);
    dlock_args_text(args, token);
    dlock_args_int(args, lock->options.lease_ms);
    return FAIR_KEYS - 1;
}

/* Step 5: of this process, whose sleeping waiters are to follow. */
static int beat_args(const dlock_lock *lock, const char *process, entry_mode entry,
                     dlock_args *args)
{
    return go_args(lock, process, entry, args);
}

/* The next one is due a re-check later, or as soon as the lease of the one who has the lock may
 * have ended. */
static int64_t read_beat(dlock_lock *lock, dlock_time asked, const redisReply *reply)
{
    int64_t recheck_ms = lock->client->options.recheck_ms;
    wait_set *set = &lock->wait_set;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
        reply->element[0]->type != REDIS_REPLY_STRING)
        return recheck_ms;
    const char *has = reply->element[0]->str;
    int64_t left_ms = reply->element[2]->integer;
    dlock_wait_set_without(set, has, asked, (uint64_t)reply->element[1]->integer);
    dlock_wait_set_wake(set, has, NULL);
    return left_ms >= 0 && left_ms < recheck_ms ? left_ms + 1 : recheck_ms;
}

/* For the threads of this process. Returns when the next one is due. */
static dlock_time give_sign_of_life(dlock_lock *lock)
{
    int64_t next_ms = lock->client->options.recheck_ms;
    wait_set *set = &lock->wait_set;
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    int keys = beat_args(lock, lock->client->id, ENTRY_NONE, &args);
    pthread_mutex_lock(&set->lock);
    for (const waiter *w = set->waiters.first; w; w = w->next)
        if (w->asleep && !w->woken && !w->on_wake) /* one who asks sees to its entry itself */
            dlock_args_text(&args, w->token);
    pthread_mutex_unlock(&set->lock);
    dlock_time asked = dlock_now();
    dlock_status status =
        dlock_script_call(lock->client, lock->client->options.redis, &beat, keys, &args, 0, &reply);
    dlock_args_free(&args);
    if (status == DLOCK_OK) {
        next_ms = read_beat(lock, asked, reply);
        freeReplyObject(reply);
    }
    return dlock_in_ms(next_ms);
}

/* A wake-up for somebody who does not wait any more, put back by a sign of life that crossed its
 * leaving: the grant goes on at once, unless it was taken up after all. */
static void decline_grant(dlock_lock *lock, const char *token)
{
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    int keys = go_args(lock, token, ENTRY_NONE, &args);
    if (dlock_script_call(lock->client, lock->client->options.redis, &decline, keys, &args, 0,
                          &reply) == DLOCK_OK)
        freeReplyObject(reply);
    dlock_args_free(&args);
}

/* "token fence clock-us waiters window-ms". An older version's script does not tell the window:
 * then the waiter has to ask. */
static void take_message(dlock_lock *lock, const char *message)
{
    char token[TOKEN_LEN];
    answer a = {.granted = true, .asked = dlock_now()};
    int parts =
        sscanf(message, "%159s %" SCNu64 " %*s %*s %" SCNd64, token, &a.fence, &a.window_ms);
    if (parts >= 2 && !dlock_wait_set_wake_shared(lock, token, parts == 3 ? &a : NULL))
        decline_grant(lock, token);
}

/* And the channel of those without a thread. */
static void wake_list(const dlock_lock *lock, char *ret, size_t ret_len)
{
    snprintf(ret, ret_len, "%s%s", lock->wake, lock->client->id);
}

/* Step 3. A blocking command's reply may come late by the time of the way: `grace`. */
static bool wait_for_token(dlock_lock *lock, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    redisReply *reply = NULL;
    char key[CHANNEL_LEN], seconds[24];
    int left = dlock_left_ms(until);
    left = left > 0 ? left : 1; /* 0 would be for ever */
    wake_list(lock, key, sizeof(key));
    snprintf(seconds, sizeof(seconds), "%d.%03d", left / 1000, left % 1000);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "BLPOP");
    dlock_args_text(&args, key);
    dlock_args_text(&args, seconds);
    dlock_time grace = dlock_in_ms(left + lock->client->options.io_ms);
    dlock_redis_outcome outcome = dlock_redis_call(set->conn, &args, grace, &reply);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 &&
        reply->element[1]->type == REDIS_REPLY_STRING)
        take_message(lock, reply->element[1]->str);
    if (reply)
        freeReplyObject(reply);
    set->listened = set->listened || outcome == DLOCK_REDIS_OK;
    return outcome == DLOCK_REDIS_OK;
}

static bool fair_listen(dlock_lock *lock, dlock_time until)
{
    wait_set *set = &lock->wait_set;
    if (dlock_passed(set->beat_at)) {
        set->beat_at = give_sign_of_life(lock);
        return true;
    }
    return wait_for_token(lock, dlock_sooner(until, set->beat_at));
}

const kind dlock_kind_fair = {
    .queues = true,
    .acquire = {&acquire, acquire_args},
    .release = {&release, go_args},
    .leave = {&leave, go_args},
    .renew = {&renew, renew_args},
    .listen = fair_listen,
    .channel = wake_list,
    .heard = take_message,
    .beat = {&beat, beat_args},
    .beaten = read_beat,
};
