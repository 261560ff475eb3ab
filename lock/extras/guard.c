/*
 * Guarded scripts: one script checks that the lock is still ours and does the caller's write, so
 * nothing can come between them. A writer's hold has a script of its own, because its lock is a
 * sorted set. Readers and holders of permits can not be guarded: the last fence issued is not
 * theirs.
 *
 * Why owner AND fence. "Refuse a fence lower than the highest written" lets this pass: A reads, A's
 * lease ends, B reads, A writes, B writes; so the same unit is sold twice. Here A's write is
 * refused, because B's grant has issued a later fence and put its own token in the lock. The owner
 * check is enough while Redis keeps its data. The fence also helps if the lock was lost, and a
 * retry of the same hold took it again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/client.h"
#include "core/cohort.h"
#include "core/retried_release.h"
#include "extras/guard.lua.h"
#include "extras/guard_write.lua.h"
#include "extras/section.lua.h"
#include "extras/tail.lua.h"
#include "kinds/fair.lua.h"
#include "kinds/fence.lua.h"
#include "kinds/owner.lua.h"
#include "kinds/queue.lua.h"
#include "redis/call.h"
#include "shares/shares.lua.h"

enum { GUARD_KEYS = 5, SECTION_KEYS = 4 };

/* What becomes of the lock behind the body; guard.lua knows the numbers. FINISH runs the body in
 * any case, the others only for the owner. */
typedef enum guard_end { KEEP, RELEASE, FINISH } guard_end;

struct dlock_guard {
    char *name, *text, *write_text, *section_text;
    dlock_script script, write, section;
};

/* shares.lua takes a key behind its five for the number of permits. */
#define FIVE_KEYS "local KEYS, body_keys = {unpack(KEYS, 1, 5)}, tail(KEYS, 6)\n"

static char *enclose(const char *body, const char *frame)
{
    char *text;
    bool whole =
        asprintf(&text, "#!lua\nlocal function body(KEYS, ARGV, fence)\n%s\nend\n" TAIL_LUA "%s",
                 body, frame) >= 0;
    return whole ? text : NULL;
}

dlock_guard *dlock_guard_new(const char *name, const char *body)
{
    dlock_guard *guard = calloc(1, sizeof(*guard));
    if (!guard)
        return NULL;
    guard->name = strdup(name);
    guard->text = enclose(body, OWNER_LUA FENCE_LUA QUEUE_LUA FAIR_LUA GUARD_LUA);
    guard->write_text = enclose(body, FIVE_KEYS FENCE_LUA QUEUE_LUA SHARES_LUA GUARD_WRITE_LUA);
    guard->section_text = enclose(body, FENCE_LUA SECTION_LUA);
    if (!guard->name || !guard->text || !guard->write_text || !guard->section_text) {
        dlock_guard_free(guard);
        return NULL;
    }
    guard->script = (dlock_script)DLOCK_SCRIPT(guard->name, guard->text);
    guard->write = (dlock_script)DLOCK_SCRIPT(guard->name, guard->write_text);
    guard->section = (dlock_script)DLOCK_SCRIPT(guard->name, guard->section_text);
    return guard;
}

void dlock_guard_free(dlock_guard *guard)
{
    if (!guard)
        return;
    free(guard->name);
    free(guard->text);
    free(guard->write_text);
    free(guard->section_text);
    free(guard);
}

static bool can_guard(const dlock_lock *lock, int keys, const dlock_args *args, int replicas)
{
    return lock->options.kind != DLOCK_QUORUM && lock->options.kind != DLOCK_READ &&
           lock->options.kind != DLOCK_SEMAPHORE && lock->ids_len == 1 && keys >= 0 &&
           keys <= args->count && replicas >= 0;
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

static void compose(const dlock_hold *hold, int keys, const dlock_args *args, guard_end end,
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
    dlock_identity_add_keys(&lock->ids[0], GUARD_KEYS - 1, all);
    dlock_args_text(all,
                    *letter == 'h' ? lock->ids[0].keys[KEY_CHANNEL] : lock->ids[0].keys[KEY_WAKE]);
    dlock_args_wire(all, args->buf, border, keys);
    dlock_args_text(all, hold->grant->token);
    dlock_args_text(all, fence);
    dlock_args_int(all, dlock_lock_claim_ms(lock));
    dlock_args_text(all, letter);
    dlock_args_int(all, end);
    dlock_args_wire(all, args->buf + border, args->len - border, args->count - keys);
    all->failed = all->failed || args->failed;
}

/* The lock may be free, now or later: the grant is lost, and what is left of it in Redis is taken
 * back, which also keeps a late script from running. */
static void lose(dlock_hold *hold)
{
    if (dlock_cohort_end(hold->grant, GRANT_UNSURE))
        dlock_retried_releases_add(hold->lock, hold->grant->token, hold->grant->lease_ms);
}

static void conclude(dlock_hold *hold, long long said, bool release)
{
    if (said == 0 || said == 3) {
        dlock_lock_count(hold->lock, stale, 1);
        dlock_cohort_end(hold->grant, GRANT_TAKEN);
        return;
    }
    dlock_lock_count(hold->lock, guarded, 1);
    if (said == 2)
        lose(hold);
    else if (release)
        dlock_cohort_end(hold->grant, GRANT_RELEASED);
}

/* {0}, {1, reply}, {2, reply}, {3, reply} */
static bool is_wrapped(const redisReply *reply)
{
    return reply && reply->type == REDIS_REPLY_ARRAY && reply->elements >= 1 &&
           reply->element[0]->type == REDIS_REPLY_INTEGER;
}

/* Whether the script has run, and this is its answer. An answer of another form is freed, and
 * counts as unknown. */
static bool has_answer(dlock_redis *redis, const dlock_script *script, dlock_redis_outcome *outcome,
                       redisReply **reply)
{
    if (*outcome != DLOCK_REDIS_OK && !(*outcome == DLOCK_REDIS_UNKNOWN && *reply))
        return false;
    if (dlock_redis_check(redis, script->name, *reply, is_wrapped(*reply)))
        return true;
    freeReplyObject(*reply);
    *reply = NULL;
    *outcome = DLOCK_REDIS_UNKNOWN;
    return false;
}

typedef struct guard_call {
    dlock_hold *hold;
    bool release;
} guard_call;

/* The hold is what the script has made it, with or without a wait for replicas. */
static void has_run(void *arg, const redisReply *reply)
{
    const guard_call *call = arg;
    if (is_wrapped(reply))
        conclude(call->hold, reply->element[0]->integer, call->release);
}

/* The body's reply is taken out of its wrapping. `enough`: the replicas have what it wrote. */
static dlock_status unwrap(redisReply *reply, bool enough, redisReply **ret)
{
    bool stale = reply->element[0]->integer == 0;
    if (!stale && reply->elements >= 2 && ret) {
        *ret = reply->element[1];
        reply->element[1] = NULL; /* what is left is freed */
    }
    freeReplyObject(reply);
    return stale ? DLOCK_STALE : enough ? DLOCK_OK : DLOCK_UNKNOWN;
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

static dlock_status call_guard(dlock_hold *hold, dlock_guard *guard, int keys,
                               const dlock_args *args, guard_end end, int replicas,
                               dlock_time deadline, redisReply **ret)
{
    dlock_lock *lock = hold->lock;
    bool release = end != KEEP;
    redisReply *reply = NULL;
    if (ret)
        *ret = NULL;
    if (dlock_client_forked(lock->client))
        return DLOCK_FORKED;
    if (!can_guard(lock, keys, args, replicas) || (release && hold->count > 1))
        return DLOCK_INVALID;
    dlock_args all;
    guard_call call = {hold, release};
    dlock_script *script = lock->options.kind == DLOCK_WRITE ? &guard->write : &guard->script;
    compose(hold, keys, args, end, &all);
    atomic_store(&hold->grant->releasing, release); /* from here on it may be somebody else's */
    dlock_redis_outcome outcome =
        dlock_redis_eval_notify(lock->client->options.redis, script, GUARD_KEYS + keys, &all,
                                replicas, deadline, has_run, &call, &reply);
    dlock_args_free(&all);
    if (has_answer(lock->client->options.redis, script, &outcome, &reply))
        return unwrap(reply, outcome == DLOCK_REDIS_OK, ret);
    fail(hold, outcome, release);
    if (ret)
        *ret = reply; /* the error, for its text */
    else if (reply)
        freeReplyObject(reply);
    return dlock_status_of(outcome);
}

dlock_status dlock_guard_call_wait(dlock_hold *hold, dlock_guard *guard, int keys,
                                   const dlock_args *args, bool release, int replicas,
                                   dlock_time deadline, redisReply **ret)
{
    return call_guard(hold, guard, keys, args, release ? RELEASE : KEEP, replicas, deadline, ret);
}

dlock_status dlock_guard_call(dlock_hold *hold, dlock_guard *guard, int keys,
                              const dlock_args *args, bool release, dlock_time deadline,
                              redisReply **ret)
{
    return dlock_guard_call_wait(hold, guard, keys, args, release, 0, deadline, ret);
}

dlock_status dlock_guard_finish(dlock_hold *hold, dlock_guard *guard, int keys,
                                const dlock_args *args, dlock_time deadline, redisReply **ret)
{
    return call_guard(hold, guard, keys, args, FINISH, 0, deadline, ret);
}

/* ---- a section of its own -------------------------------------------------------------------- */

static void compose_section(const dlock_lock *lock, int keys, const dlock_args *args,
                            dlock_args *all)
{
    size_t border = end_of_keys(args, keys);
    dlock_args_init(all);
    dlock_identity_add_keys(&lock->ids[0], SECTION_KEYS, all);
    dlock_args_wire(all, args->buf, border, keys);
    dlock_args_int(all, lock->options.lease_ms);
    dlock_args_wire(all, args->buf + border, args->len - border, args->count - keys);
    all->failed = all->failed || args->failed;
}

static void count_section(dlock_lock *lock, dlock_time asked)
{
    dlock_lock_count(lock, acquired, 1);
    dlock_lock_count(lock, guarded, 1);
    dlock_lock_count(lock, released, 1);
    dlock_lock_time(lock, wait_us, dlock_now());
    dlock_lock_time(lock, hold_us, asked);
}

/* 0: the section was not run. */
static uint64_t read_fence(const redisReply *reply)
{
    bool told =
        is_wrapped(reply) && reply->elements == 3 && reply->element[2]->type == REDIS_REPLY_STRING;
    return told ? strtoull(reply->element[2]->str, NULL, 10) : 0;
}

dlock_status dlock_guard_section(dlock_lock *lock, dlock_guard *guard, int keys,
                                 const dlock_args *args, int replicas, dlock_time deadline,
                                 uint64_t *fence, redisReply **ret)
{
    dlock_client *client = lock->client;
    redisReply *reply = NULL, *said = NULL;
    if (ret)
        *ret = NULL;
    if (dlock_client_forked(client))
        return DLOCK_FORKED;
    if (!can_guard(lock, keys, args, replicas) || lock->options.kind == DLOCK_WRITE)
        return DLOCK_INVALID;
    dlock_args all;
    dlock_time asked = dlock_now();
    compose_section(lock, keys, args, &all);
    dlock_redis_outcome outcome =
        dlock_redis_eval_wait(client->options.redis, &guard->section, SECTION_KEYS + keys, &all,
                              replicas, deadline, &reply);
    dlock_args_free(&all);
    bool ran = has_answer(client->options.redis, &guard->section, &outcome, &reply);
    dlock_status status = dlock_status_of(outcome);
    if (ran && fence)
        *fence = read_fence(reply);
    if (ran)
        status = unwrap(reply, outcome == DLOCK_REDIS_OK, &said);
    else
        said = reply; /* the error, for its text */
    if (said && ran)
        count_section(lock, asked);
    if (ret)
        *ret = said;
    else if (said)
        freeReplyObject(said);
    return status == DLOCK_STALE ? DLOCK_BUSY : status;
}
