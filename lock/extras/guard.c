/*
 * Guarded scripts: the caller's write and the check that the lock still is ours are one script, so
 * nothing can come between them.
 *
 * Why owner AND fence. "Refuse a fence lower than the highest written" lets this pass: A reads, A's
 * lease ends, B reads, A writes, B writes; two units of one are sold. Here A's write is refused,
 * because B's grant has issued a later fence and put its own token in the lock. The owner check
 * alone would do while Redis keeps its data; the fence also holds when the lock was lost and taken
 * again by the same hold's retry.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/client.h"
#include "core/cohort.h"
#include "core/retried_release.h"
#include "core/status.h"
#include "extras/guard.lua.h"
#include "kinds/fair.lua.h"
#include "kinds/fence.lua.h"
#include "kinds/owner.lua.h"
#include "redis/call.h"

enum { GUARD_KEYS = 5 };

struct dlock_guard {
    char *name, *text;
    dlock_script script;
};

dlock_guard *dlock_guard_new(const char *name, const char *body)
{
    dlock_guard *guard = calloc(1, sizeof(*guard));
    if (!guard)
        return NULL;
    guard->name = strdup(name);
    if (!guard->name || asprintf(&guard->text, "%s%s%s", "#!lua\nlocal function body(KEYS, ARGV)\n",
                                 body, "\nend\n" OWNER_LUA FENCE_LUA FAIR_LUA GUARD_LUA) < 0) {
        free(guard->name);
        free(guard);
        return NULL;
    }
    guard->script = (dlock_script)DLOCK_SCRIPT(guard->name, guard->text);
    return guard;
}

void dlock_guard_free(dlock_guard *guard)
{
    if (!guard)
        return;
    free(guard->name);
    free(guard->text);
    free(guard);
}

/* Where the caller's keys end: they go behind our keys, the rest behind our arguments. Words are
 * kept in wire form, so the border is found by stepping over the lengths. */
static size_t end_of_keys(const dlock_args *args, int keys)
{
    size_t at = 0;
    for (int i = 0; i < keys; i++) {
        char *line_end;
        size_t len = strtoul(args->buf + at + 1, &line_end, 10);
        at = (size_t)(line_end - args->buf) + 2 + len + 2;
    }
    return at;
}

static void compose(const dlock_hold *hold, int keys, const dlock_args *args, bool release,
                    dlock_args *all)
{
    const dlock_lock *lock = hold->lock;
    char fence[24];
    const char *letter = lock->options.kind == DLOCK_HASH   ? "h"
                         : lock->options.kind == DLOCK_FAIR ? "f"
                                                            : "s";
    size_t border = end_of_keys(args, keys);
    snprintf(fence, sizeof(fence), "%" PRIu64, hold->grant->fence);
    dlock_args_init(all);
    dlock_lock_add_keys(lock, 0, GUARD_KEYS - 1, all);
    dlock_args_text(all, *letter == 'h' ? lock->channel : lock->wake);
    dlock_args_wire(all, args->buf, border, keys);
    dlock_args_text(all, hold->grant->token);
    dlock_args_text(all, fence);
    dlock_args_int(all, lock->claim_ms);
    dlock_args_text(all, letter);
    dlock_args_int(all, release);
    dlock_args_wire(all, args->buf + border, args->len - border, args->count - keys);
    all->failed = all->failed || args->failed;
}

/* The lock may be free, now or later: the grant is lost, and what is left of it in Redis is taken
 * back, which also keeps a late script from running. */
static void lose(dlock_hold *hold)
{
    if (dlock_cohort_end(hold->grant, GRANT_UNSURE))
        dlock_retried_releases_add(hold->lock, hold->grant->token);
}

static void conclude(dlock_hold *hold, long long said, bool release)
{
    dlock_client *client = hold->lock->client;
    if (said == 0) {
        dlock_client_count(client, &client->stats.stale, 1);
        dlock_cohort_end(hold->grant, GRANT_TAKEN);
        return;
    }
    dlock_client_count(client, &client->stats.guarded, 1);
    if (said == 2)
        lose(hold);
    else if (release)
        dlock_cohort_end(hold->grant, GRANT_RELEASED);
}

/* {0}, {1, reply}, {2, reply} */
static bool is_wrapped(const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->elements >= 1 &&
           reply->element[0]->type == REDIS_REPLY_INTEGER;
}

typedef struct guard_call {
    dlock_hold *hold;
    bool release;
} guard_call;

/* The hold is what the script has made it, whether replicas are waited for or not. */
static void has_run(void *arg, const redisReply *reply)
{
    const guard_call *call = arg;
    if (is_wrapped(reply))
        conclude(call->hold, reply->element[0]->integer, call->release);
}

/* The body's reply is taken out of its wrapping. `enough`: the replicas have what it wrote. */
static dlock_status unwrap(redisReply *reply, bool enough, redisReply **ret)
{
    dlock_status status = DLOCK_FAILED;
    if (is_wrapped(reply)) {
        bool stale = reply->element[0]->integer == 0;
        status = stale ? DLOCK_STALE : enough ? DLOCK_OK : DLOCK_UNKNOWN;
        if (!stale && reply->elements == 2 && ret) {
            *ret = reply->element[1];
            reply->elements = 1; /* what is left is freed */
        }
    }
    freeReplyObject(reply);
    return status;
}

/* The call was not answered, or with an error. */
static void fail(dlock_hold *hold, dlock_redis_outcome outcome, bool release)
{
    if (outcome == DLOCK_REDIS_UNKNOWN) {
        /* The script may have run, or be on its way. Whoever had the grant next, under the same
         * token and fence, would meet it: so nobody of this process does. */
        atomic_store(&hold->grant->doubtful, true);
        if (release)
            lose(hold);
    }
    atomic_store(&hold->grant->releasing, false);
}

dlock_status dlock_guard_call_wait(dlock_hold *hold, dlock_guard *guard, int keys,
                                   const dlock_args *args, bool release, int replicas,
                                   dlock_time deadline, redisReply **ret)
{
    dlock_lock *lock = hold->lock;
    redisReply *reply = NULL;
    if (ret)
        *ret = NULL;
    if (dlock_client_forked(lock->client))
        return DLOCK_FORKED;
    if (lock->options.kind == DLOCK_QUORUM || lock->names_len > 1 || keys < 0 ||
        keys > args->count || (release && hold->count > 1) || replicas < 0)
        return DLOCK_INVALID;
    dlock_args all;
    guard_call call = {hold, release};
    compose(hold, keys, args, release, &all);
    atomic_store(&hold->grant->releasing, release); /* from here on it may be somebody else's */
    dlock_redis_outcome outcome =
        dlock_redis_eval_told(lock->client->options.redis, &guard->script, GUARD_KEYS + keys, &all,
                              replicas, deadline, has_run, &call, &reply);
    dlock_args_free(&all);
    bool ran = outcome == DLOCK_REDIS_OK || (outcome == DLOCK_REDIS_UNKNOWN && reply);
    if (ran)
        return unwrap(reply, outcome == DLOCK_REDIS_OK, ret);
    fail(hold, outcome, release);
    if (ret)
        *ret = reply; /* the error, for its text */
    else if (reply)
        freeReplyObject(reply);
    return dlock_status_of(outcome);
}

dlock_status dlock_guard_call(dlock_hold *hold, dlock_guard *guard, int keys,
                              const dlock_args *args, bool release, dlock_time deadline,
                              redisReply **ret)
{
    return dlock_guard_call_wait(hold, guard, keys, args, release, 0, deadline, ret);
}
