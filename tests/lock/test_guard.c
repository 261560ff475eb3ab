/* The guarded script call: runs for the owner with the last fence, and for nobody else. */
#include "tests/lock/rig.h"

#include <stdlib.h>

static const char *const sell_body = "local left = tonumber(redis.call('GET', KEYS[1]))\n"
                                     "if left < tonumber(ARGV[1]) then return 'sold out' end\n"
                                     "redis.call('DECRBY', KEYS[1], ARGV[1])\n"
                                     "return {KEYS[1], ARGV[2], #KEYS, #ARGV}\n";

static const struct {
    const char *name;
    dlock_options options;
} kinds[] = {
    {"{g}string", {.kind = DLOCK_STRING}},
    {"{g}hash", {.kind = DLOCK_HASH}},
    {"{g}fair", {.kind = DLOCK_FAIR}},
    {"{g}write", {.kind = DLOCK_WRITE}},
};
#define KINDS              (COUNT(kinds))
#define KINDS_WITH_SECTION 3 /* the first ones */

static dlock_status sell(dlock_hold *hold, dlock_guard *guard, bool release, redisReply **reply)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "{g}stock");
    dlock_args_int(&args, 1);
    dlock_args_text(&args, "two\r\nlines");
    dlock_status status =
        dlock_guard_call(hold, guard, 1, &args, release, dlock_in_ms(2000), reply);
    dlock_args_free(&args);
    return status;
}

/* A section of its own; the body tells the fence that it saw. */
static dlock_status sell_in_section(dlock_lock *lock, dlock_guard *guard, uint64_t *fence,
                                    redisReply **reply)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "{g}stock");
    dlock_status status =
        dlock_guard_section(lock, guard, 1, &args, 0, dlock_in_ms(2000), fence, reply);
    dlock_args_free(&args);
    return status;
}

static void body_sees_its_own_words(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
        dlock_hold *hold;
        redisReply *reply;
        rig_ask(r, "SET %s 1", "{g}stock");
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(sell(hold, guard, false, &reply), DLOCK_OK);
        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        assert_string_equal(reply->element[0]->str, "{g}stock");
        assert_string_equal(reply->element[1]->str, "two\r\nlines");
        assert_int_equal(reply->element[2]->integer, 1);
        assert_int_equal(reply->element[3]->integer, 2);
        freeReplyObject(reply);
        assert_int_equal(sell(hold, guard, false, &reply), DLOCK_OK);
        assert_string_equal(reply->str, "sold out");
        freeReplyObject(reply);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_guard_free(guard);
}

/* A body may return nothing; its caller still gets a reply to look at. */
static void no_value_is_a_reply_too(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("nothing", "return nil");
    dlock_lock *lock = rig_lock(r->client, "{g}nil", (dlock_options){0});
    dlock_hold *hold;
    redisReply *reply = NULL;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(sell(hold, guard, false, &reply), DLOCK_OK);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_NIL);
    freeReplyObject(reply);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_guard_free(guard);
}

static void release_comes_with_it(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
        dlock_hold *hold;
        rig_ask(r, "SET %s 5", "{g}stock");
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(sell(hold, guard, true, NULL), DLOCK_OK);
        assert_int_equal(rig_ask(r, "EXISTS %s", kinds[k].name), 0);
        assert_false(dlock_held(hold));
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        assert_int_equal(rig_ask(r, "GET %s", "{g}stock"), 1); /* one digit: 4 */
        dlock_lock_free(lock);
    }
    dlock_guard_free(guard);
}

static const char *const section_body = "redis.call('DECR', KEYS[1]) return {fence, #KEYS, #ARGV}";

static void a_section_of_its_own_needs_a_free_lock(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("section", section_body);
    for (size_t k = 0; k < KINDS_WITH_SECTION; k++) {
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
        dlock_hold *hold;
        redisReply *reply;
        uint64_t before, fence = 0;
        rig_ask(r, "SET %s 5", "{g}stock");
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        before = dlock_fence(hold);
        assert_int_equal(sell_in_section(lock, guard, &fence, &reply), DLOCK_BUSY);
        assert_null(reply);
        assert_int_equal(dlock_release(hold), DLOCK_OK);

        assert_int_equal(sell_in_section(lock, guard, &fence, &reply), DLOCK_OK);
        assert_true(fence > before);
        assert_int_equal(strtoull(reply->element[0]->str, NULL, 10), fence);
        assert_int_equal(reply->element[1]->integer, 1);
        assert_int_equal(reply->element[2]->integer, 0);
        freeReplyObject(reply);
        assert_int_equal(rig_ask(r, "EXISTS %s", kinds[k].name), 0);
        assert_int_equal(rig_ask(r, "GET %s", "{g}stock"), 1); /* one digit: 4 */

        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_true(dlock_fence(hold) > fence);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_guard_free(guard);
}

/* A waiter in the queue comes first, and also a grant that nobody has taken up yet. */
static void a_section_of_its_own_does_not_jump_the_queue(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("section", section_body);
    dlock_lock *lock = rig_lock(r->client, "{g}fair", (dlock_options){.kind = DLOCK_FAIR});
    rig_ask(r, "RPUSH dlock:{g}:queue:{g}fair %s", "other/1:2");
    assert_int_equal(sell_in_section(lock, guard, NULL, NULL), DLOCK_BUSY);
    rig_ask(r, "DEL %s", "dlock:{g}:queue:{g}fair");
    rig_ask(r, "HSET dlock:{g}:beats:{g}fair ! %s", "other/1:2");
    assert_int_equal(sell_in_section(lock, guard, NULL, NULL), DLOCK_BUSY);
    rig_ask(r, "DEL %s", "dlock:{g}:beats:{g}fair");
    rig_ask(r, "SET %s 5", "{g}stock");
    assert_int_equal(sell_in_section(lock, guard, NULL, NULL), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_guard_free(guard);
}

/* A holder whose lease has ended is stale once somebody has run a section of its own. */
static void a_section_of_its_own_makes_the_holder_before_stale(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("section", section_body);
    dlock_lock *lock = rig_lock(r->client, "{g}late", (dlock_options){.kind = DLOCK_FAIR});
    dlock_hold *hold;
    rig_ask(r, "SET %s 5", "{g}stock");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    redisReply *token = fx_redis_reply(r->server, "GET %s", "{g}late");
    rig_ask(r, "DEL %s", "{g}late");
    assert_int_equal(sell_in_section(lock, guard, NULL, NULL), DLOCK_OK);
    rig_ask(r, "SET {g}late %s", token->str);
    freeReplyObject(token);
    assert_int_equal(sell(hold, guard, false, NULL), DLOCK_STALE);
    rig_ask(r, "DEL %s", "{g}late");
    dlock_release(hold);
    dlock_lock_free(lock);
    dlock_guard_free(guard);
}

static void what_has_no_fence_has_no_section(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("section", "return redis.error_reply('ERR planted')");
    redisReply *reply;
    dlock_lock *lock = rig_lock(r->client, "{g}error", (dlock_options){.kind = DLOCK_FAIR});
    assert_int_equal(sell_in_section(lock, guard, NULL, &reply), DLOCK_FAILED);
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    dlock_args none;
    dlock_args_init(&none);
    assert_int_equal(dlock_guard_section(lock, guard, 1, &none, 0, dlock_in_ms(2000), NULL, NULL),
                     DLOCK_INVALID);
    dlock_lock_free(lock);
    dlock_guard_free(guard);
}

/* A user without the right to publish frees the lock all the same; nobody else is to wait. */
static void releasing_needs_no_right_to_publish(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
    dlock_options options = {.kind = DLOCK_HASH};
    dlock_lock *lock = rig_lock(r->client, "{g}mute", options);
    dlock_lock *same = rig_lock(other, "{g}mute", options);
    dlock_hold *hold, *next;
    rig_ask(r, "SET %s 5", "{g}stock");
    rig_ask(r, "ACL SETUSER %s resetchannels", "default");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(sell(hold, guard, true, NULL), DLOCK_OK);
    assert_false(dlock_held(hold));
    assert_int_equal(dlock_acquire(same, NULL, &next), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_true(dlock_held(next));
    assert_int_equal(dlock_release(next), DLOCK_OK);
    rig_ask(r, "ACL SETUSER %s allchannels", "default");
    dlock_lock_free(lock);
    dlock_lock_free(same);
    dlock_client_free(other);
    dlock_guard_free(guard);
}

/* The body has run, but nobody knows whether the lock is free: the hold is lost, and says so. */
static void a_release_that_fails_on_its_way_loses_the_hold(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    dlock_lock *lock = rig_lock(r->client, "{g}broken", (dlock_options){.kind = DLOCK_FAIR});
    dlock_hold *hold;
    redisReply *reply = NULL;
    rig_ask(r, "SET %s 5", "{g}stock");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    rig_ask(r, "ACL SETUSER %s -del", "default");
    assert_int_equal(sell(hold, guard, true, &reply), DLOCK_OK);
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    freeReplyObject(reply);
    assert_false(dlock_held(hold));
    assert_int_equal(dlock_release(hold), DLOCK_UNKNOWN);
    assert_int_equal(rig_ask(r, "GET %s", "{g}stock"), 1); /* one character: 4 are left */
    rig_ask(r, "ACL SETUSER %s +del", "default");
    rig_ask(r, "DEL %s", "{g}broken");
    dlock_lock_free(lock);
    dlock_guard_free(guard);
}

/* Once a guarded call has released the lock, the next of the cohort may go, the same thread too. */
static void the_cohort_goes_on_after_a_guarded_release(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    dlock_lock *lock =
        rig_lock(r->client, "{g}again", (dlock_options){.kind = DLOCK_FAIR, .cohort_max = 8});
    dlock_hold *hold, *again;
    rig_ask(r, "SET %s 5", "{g}stock");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(sell(hold, guard, true, NULL), DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 5000}, &again), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_true(dlock_held(again));
    assert_int_equal(dlock_release(again), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_guard_free(guard);
}

/* A reads, A's lease ends, B reads, A writes, B writes: with one unit, one sale. */
static void stale_holder_is_refused(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
    for (size_t k = 0; k < KINDS; k++) {
        dlock_options brief = kinds[k].options;
        brief.lease_ms = fx_lease_ms(100);
        brief.renew_ms = DLOCK_NEVER;
        dlock_lock *a = rig_lock(r->client, kinds[k].name, brief);
        dlock_lock *b = rig_lock(other, kinds[k].name, kinds[k].options);
        dlock_hold *first, *second;
        redisReply *reply;
        rig_ask(r, "SET %s 1", "{g}stock");
        assert_int_equal(dlock_acquire(a, NULL, &first), DLOCK_OK);
        assert_int_equal(dlock_acquire(b, &(dlock_wait){.wait_ms = fx_patient_ms(5000)}, &second),
                         DLOCK_OK);
        assert_true(dlock_fence(second) > dlock_fence(first));
        assert_int_equal(sell(first, guard, true, &reply), DLOCK_STALE);
        assert_null(reply);
        assert_int_equal(sell(second, guard, true, &reply), DLOCK_OK);
        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        freeReplyObject(reply);
        assert_int_not_equal(dlock_release(first), DLOCK_OK);
        assert_int_equal(dlock_release(second), DLOCK_OK);
        dlock_lock_free(a);
        dlock_lock_free(b);
    }
    dlock_client_free(other);
    dlock_guard_free(guard);
}

static void a_later_fence_refuses_the_owner(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    for (size_t k = 0; k < KINDS; k++) {
        char fence[64];
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
        dlock_hold *hold;
        rig_ask(r, "SET %s 1", "{g}stock");
        snprintf(fence, sizeof(fence), "dlock:{g}:fence:%s", kinds[k].name);
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        rig_ask(r, "APPEND %s 1", fence); /* to another token */
        assert_int_equal(sell(hold, guard, false, NULL), DLOCK_STALE);
        assert_false(dlock_held(hold));
        assert_int_equal(dlock_release(hold), DLOCK_NOT_OWNER);
        assert_int_equal(rig_ask(r, "EXISTS %s", kinds[k].name), 0); /* nobody waits for its end */
        dlock_lock_free(lock);
    }
    dlock_guard_free(guard);
}

/* The last of several steps: run whoever has the lock by then, who keeps it. */
static void a_finish_runs_in_any_case(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("finish", "return redis.call('INCR', KEYS[1])");
    for (size_t k = 0; k < KINDS; k++) {
        for (int lost = 0; lost < 2; lost++) {
            dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
            dlock_hold *hold;
            redisReply *reply;
            dlock_args args;
            dlock_args_init(&args);
            dlock_args_text(&args, "{g}done");
            rig_ask(r, "SET %s 0", "{g}done");
            assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
            if (lost)
                rig_ask(r, "SET %s stranger", kinds[k].name);
            assert_int_equal(dlock_guard_finish(hold, guard, 1, &args, dlock_in_ms(2000), &reply),
                             DLOCK_OK);
            assert_int_equal(reply->integer, 1);
            assert_false(dlock_held(hold));
            assert_int_equal(fx_redis_number(r->server, "EXISTS %s", kinds[k].name), lost);
            assert_int_equal(dlock_release(hold), lost ? DLOCK_NOT_OWNER : DLOCK_OK);
            rig_ask(r, "DEL %s", kinds[k].name);
            freeReplyObject(reply);
            dlock_args_free(&args);
            dlock_lock_free(lock);
        }
    }
    dlock_guard_free(guard);
}

static void an_error_in_the_body_keeps_the_lock(void **state)
{
    rig *r = *state;
    dlock_guard *raises = dlock_guard_new("raises", "error('no')");
    dlock_guard *returns = dlock_guard_new("returns", "return redis.error_reply('ERR no')");
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
        dlock_hold *hold;
        redisReply *reply;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(sell(hold, raises, true, &reply), DLOCK_FAILED);
        freeReplyObject(reply);
        assert_int_equal(sell(hold, returns, true, &reply), DLOCK_FAILED);
        freeReplyObject(reply);
        assert_true(dlock_held(hold));
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_guard_free(raises);
    dlock_guard_free(returns);
}

/* A call that releases is refused, and does nothing, while an inner use of the hold is open; so is
 * what no guarded call can be. */
static void what_can_not_be_guarded_is_refused(void **state)
{
    rig *r = *state;
    static const char *const names[] = {"{g}one", "{g}two"};
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    dlock_args args;
    char err[256];
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
        dlock_hold *hold, *inner;
        rig_ask(r, "SET %s 5", "{g}stock");
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_acquire(lock, NULL, &inner), DLOCK_OK);
        assert_int_equal(sell(inner, guard, true, NULL), DLOCK_INVALID);
        assert_true(dlock_held(hold));
        assert_int_equal(rig_ask(r, "EXISTS %s", kinds[k].name), 1);
        assert_int_equal(fx_redis_number(r->server, "GET {g}stock"), 5);
        assert_int_equal(sell(inner, guard, false, NULL), DLOCK_OK);
        assert_int_equal(dlock_release(inner), DLOCK_OK);
        assert_int_equal(sell(hold, guard, true, NULL), DLOCK_OK);
        assert_int_equal(fx_redis_number(r->server, "GET {g}stock"), 3);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_lock *two;
    dlock_hold *hold;
    assert_int_equal(dlock_multi_new(r->client, names, 2, NULL, &two, err, sizeof(err)), DLOCK_OK);
    assert_int_equal(dlock_acquire(two, NULL, &hold), DLOCK_OK);
    assert_int_equal(sell(hold, guard, false, NULL), DLOCK_INVALID);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(two);

    dlock_lock *lock = rig_lock(r->client, "{g}string", (dlock_options){0});
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    dlock_args_init(&args);
    dlock_args_text(&args, "{g}stock");
    dlock_time soon = dlock_in_ms(5000);
    assert_int_equal(dlock_guard_call(hold, guard, -1, &args, false, soon, NULL), DLOCK_INVALID);
    assert_int_equal(dlock_guard_call(hold, guard, 2, &args, false, soon, NULL), DLOCK_INVALID);
    assert_int_equal(dlock_guard_call_wait(hold, guard, 1, &args, false, -1, soon, NULL),
                     DLOCK_INVALID);
    assert_int_equal(fx_redis_number(r->server, "GET {g}stock"), 3);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_args_free(&args);
    dlock_lock_free(lock);
    dlock_guard_free(guard);
}

typedef struct life {
    rig *r;
    const char *counter;
} life;

static bool lives_long(void *arg)
{
    const life *l = arg;
    return fx_redis_number(l->r->server, "PTTL %s", l->counter) > 86400000;
}

/* A hold that is renewed for longer than a counter lives unrenewed: its writes must still pass. */
static void a_renewed_holds_counter_is_kept(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    for (size_t k = 0; k < KINDS; k++) {
        char counter[64];
        dlock_options renewed = kinds[k].options;
        renewed.lease_ms = 5000;
        renewed.renew_ms = 50;
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, renewed);
        dlock_hold *hold;
        rig_ask(r, "SET %s 5", "{g}stock");
        snprintf(counter, sizeof(counter), "dlock:{g}:fence:%s", kinds[k].name);
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        rig_ask(r, "PEXPIRE %s 3000", counter);
        assert_true(fx_wait_until(lives_long, &(life){r, counter}, 10000));
        assert_int_equal(sell(hold, guard, false, NULL), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_guard_free(guard);
}

/* Acquire and release: two questions; or one, and the guarded write that releases. */
static void costs_two_round_trips(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", sell_body);
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
        for (int with_guard = 0; with_guard < 2; with_guard++) {
            long long calls = 0;
            for (int round = 0; round < 2; round++) { /* the first one teaches the hashes */
                dlock_hold *hold;
                rig_ask(r, "SET %s 5", "{g}stock");
                rig_ask(r, "CONFIG RESETSTAT%s", "");
                assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
                if (with_guard)
                    assert_int_equal(sell(hold, guard, true, NULL), DLOCK_OK);
                assert_int_equal(dlock_release(hold), DLOCK_OK);
                redisReply *info = fx_redis_reply(r->server, "INFO commandstats");
                const char *found = strstr(info->str, "cmdstat_evalsha:calls=");
                calls = found ? strtoll(strchr(found, '=') + 1, NULL, 10) : 0;
                assert_true(round == 0 || !strstr(info->str, "cmdstat_eval:"));
                freeReplyObject(info);
            }
            assert_int_equal(calls, 2);
        }
        dlock_lock_free(lock);
    }
    dlock_guard_free(guard);
}

/* More than Lua's unpack() can take at once. */
static void many_words_reach_the_body(void **state)
{
    enum { MANY = 10000 };
    rig *r = *state;
    static const char count[] = "return {#KEYS, #ARGV, KEYS[#KEYS], ARGV[#ARGV]}";
    dlock_guard *guard = dlock_guard_new("count", count);
    dlock_args args;
    dlock_args_init(&args);
    for (int i = 0; i < MANY; i++)
        dlock_args_text(&args, "{g}key");
    for (int i = 0; i < MANY; i++)
        dlock_args_int(&args, i);
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = rig_lock(r->client, kinds[k].name, kinds[k].options);
        dlock_hold *hold;
        redisReply *reply;
        dlock_time deadline = dlock_in_ms(10000);
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_guard_call(hold, guard, MANY, &args, true, deadline, &reply),
                         DLOCK_OK);
        assert_int_equal(reply->element[0]->integer, MANY);
        assert_int_equal(reply->element[1]->integer, MANY);
        assert_string_equal(reply->element[3]->str, "9999");
        freeReplyObject(reply);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        if (k < KINDS_WITH_SECTION) {
            assert_int_equal(
                dlock_guard_section(lock, guard, MANY, &args, 0, deadline, NULL, &reply), DLOCK_OK);
            assert_int_equal(reply->element[0]->integer, MANY);
            freeReplyObject(reply);
        }
        dlock_lock_free(lock);
    }
    dlock_args_free(&args);
    dlock_guard_free(guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_sees_its_own_words),
        cmocka_unit_test(no_value_is_a_reply_too),
        cmocka_unit_test(release_comes_with_it),
        cmocka_unit_test(a_section_of_its_own_needs_a_free_lock),
        cmocka_unit_test(a_section_of_its_own_does_not_jump_the_queue),
        cmocka_unit_test(a_section_of_its_own_makes_the_holder_before_stale),
        cmocka_unit_test(what_has_no_fence_has_no_section),
        cmocka_unit_test(releasing_needs_no_right_to_publish),
        cmocka_unit_test(a_release_that_fails_on_its_way_loses_the_hold),
        cmocka_unit_test(the_cohort_goes_on_after_a_guarded_release),
        cmocka_unit_test(stale_holder_is_refused),
        cmocka_unit_test(a_later_fence_refuses_the_owner),
        cmocka_unit_test(a_finish_runs_in_any_case),
        cmocka_unit_test(an_error_in_the_body_keeps_the_lock),
        cmocka_unit_test(what_can_not_be_guarded_is_refused),
        cmocka_unit_test(a_renewed_holds_counter_is_kept),
        cmocka_unit_test(many_words_reach_the_body),
        cmocka_unit_test(costs_two_round_trips),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
