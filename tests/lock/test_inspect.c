/* Who holds a lock, and taking it away. */
#include "tests/lock/rig.h"

#include <unistd.h>

static void tells_who_holds_it(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "seen", (dlock_options){.kind = DLOCK_FAIR});
    dlock_hold *hold;
    dlock_info info;
    assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
    assert_false(info.held);
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
    assert_true(info.held);
    assert_string_equal(info.owner, dlock_owner(hold));
    assert_int_equal(info.pid, getpid());
    assert_int_equal(info.fence, dlock_fence(hold));
    assert_true(info.ttl_ms > 9000 && info.ttl_ms <= 10000);
    assert_int_equal(info.waiters, 0);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

/* A share of Redis's own making, whose lease ends after so long. */
static void add_share(rig *r, const char *token, long long lease_ms)
{
    fx_redis_number(r->server, "EVAL %s 1 shared %s %lld",
                    "local t = redis.call('TIME') return redis.call('ZADD', KEYS[1], "
                    "t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[2], ARGV[1])",
                    token, lease_ms);
}

static const char id[] = "host-1/77/0123456789abcdef0123456789abcdef";

static void tells_of_all_who_share(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "shared", (dlock_options){.kind = DLOCK_FAIR});
    dlock_holder holders[4];
    dlock_info info;
    char tokens[3][160];
    int len = -1;
    assert_int_equal(dlock_holders(lock, holders, 4, &len), DLOCK_OK);
    assert_int_equal(len, 0);
    snprintf(tokens[0], sizeof(tokens[0]), "%s:1*3", id);
    snprintf(tokens[1], sizeof(tokens[1]), "%s:a17", id);
    rig_ask(r, "SET dlock:{shared}:permits %s", "5");
    add_share(r, tokens[0], 900000);
    add_share(r, tokens[1], 800000);
    add_share(r, "stranger", 1000000);
    add_share(r, "lapsed", -1);
    assert_int_equal(dlock_holders(lock, holders, 4, &len), DLOCK_OK);
    assert_int_equal(len, 3);
    assert_string_equal(holders[0].owner, tokens[1]);
    assert_int_equal(holders[0].permits, 1);
    assert_in_range(holders[0].ttl_ms, 700000, 800000);
    assert_string_equal(holders[1].owner, tokens[0]);
    assert_string_equal(holders[1].host, "host-1");
    assert_int_equal(holders[1].pid, 77);
    assert_int_equal(holders[1].permits, 3);
    assert_string_equal(holders[2].owner, "stranger");
    assert_int_equal(holders[2].pid, 0);
    assert_int_equal(dlock_holders(lock, holders, 1, &len), DLOCK_OK);
    assert_int_equal(len, 3);
    assert_int_equal(dlock_holders(lock, NULL, 0, &len), DLOCK_OK);
    assert_int_equal(dlock_holders(lock, NULL, 1, &len), DLOCK_INVALID);
    assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
    assert_true(info.held);
    assert_string_equal(info.owner, tokens[1]);
    assert_int_equal(info.pid, 77);
    assert_int_equal(info.since_us, 0);
    assert_int_equal(info.holders, 3);
    assert_int_equal(info.permits, 5);
    assert_int_equal(info.taken, 5);
    rig_ask(r, "DEL shared %s", "dlock:{shared}:permits");
    snprintf(tokens[2], sizeof(tokens[2]), "%s:4*w", id);
    rig_ask(r, "SET dlock:{shared}:fence %s", "1000 p -");
    add_share(r, tokens[2], 900000);
    assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
    assert_int_equal(info.since_us, 1000);
    assert_int_equal(info.permits, -1);
    assert_int_equal(info.taken, 0);
    assert_int_equal(dlock_holders(lock, holders, 4, &len), DLOCK_OK);
    assert_int_equal(holders[0].permits, 0);
    rig_ask(r, "DEL %s", "shared");
    dlock_lock_free(lock);
}

/* The label of a client is part of its tokens, and is neither host nor another library's. */
static void tells_the_label_of_its_client(void **state)
{
    static const char *const labels[][2] = {
        {NULL, ""},
        {"", ""},
        {"job-1.a_B", "job-1.a_B@"},
        {"a b/c:d@e*w\n\xc3\xa9", "a_b_c_d_e_w___@"},
        {"123456789 123456789 1234|and no more", "123456789_123456789_1234@"},
    };
    rig *r = *state;
    dlock_info plain;
    dlock_lock *lock = rig_lock(r->client, "labelled", (dlock_options){.kind = DLOCK_FAIR});
    for (size_t i = 0; i < COUNT(labels); i++) {
        dlock_hold *hold, *mine;
        dlock_info info;
        dlock_wait wait = {.wait_ms = DLOCK_FOREVER};
        dlock_pending *p;
        dlock_client *client =
            rig_client(&(dlock_client_options){.redis = r->redis, .label = labels[i][0]});
        dlock_lock *theirs = rig_lock(client, "labelled", (dlock_options){.kind = DLOCK_FAIR});
        size_t len = strlen(labels[i][1]);
        assert_int_equal(strncmp(dlock_client_id(client), labels[i][1], len), 0);
        assert_null(strchr(dlock_client_id(client) + len, '@'));

        assert_int_equal(dlock_acquire(lock, NULL, &mine), DLOCK_OK);
        assert_int_equal(dlock_inspect(lock, &plain), DLOCK_OK);
        assert_int_equal(dlock_acquire_start(theirs, &wait, &p), DLOCK_OK);
        assert_int_equal(dlock_acquire_finish(p, &hold), DLOCK_PENDING);
        assert_int_equal(dlock_release(mine), DLOCK_OK);
        dlock_status status;
        while ((status = dlock_acquire_finish(p, &hold)) == DLOCK_PENDING)
            dlock_sleep(dlock_in_ms(1));
        assert_int_equal(status, DLOCK_OK);
        assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
        assert_string_equal(info.owner, dlock_owner(hold));
        assert_string_equal(info.host, plain.host);
        assert_int_equal(info.pid, getpid());
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(theirs);
        dlock_client_free(client);
    }
    dlock_lock_free(lock);
}

/* More than a script could return as values of their own. */
static void tells_of_very_many(void **state)
{
    rig *r = *state;
    enum { MANY = 9000 };
    static dlock_holder holders[MANY];
    dlock_lock *lock = rig_lock(r->client, "shared", (dlock_options){.kind = DLOCK_FAIR});
    int len;
    fx_redis_number(r->server, "EVAL %s 1 shared %d",
                    "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], 1e15 + i, i) end "
                    "redis.call('PEXPIRE', KEYS[1], 600000) return 1",
                    MANY);
    assert_int_equal(dlock_holders(lock, holders, MANY, &len), DLOCK_OK);
    assert_int_equal(len, MANY);
    assert_string_equal(holders[0].owner, "1");
    assert_string_equal(holders[MANY - 1].owner, "9000");
    rig_ask(r, "DEL %s", "shared");
    dlock_lock_free(lock);
}

static void force_raises_the_fence(void **state)
{
    rig *r = *state;
    static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR, DLOCK_WRITE};
    dlock_guard *guard = dlock_guard_new("any", "return 1");
    for (int k = 0; k < 4; k++) {
        dlock_lock *lock = rig_lock(r->client, "forced", (dlock_options){.kind = kinds[k]});
        dlock_hold *hold, *next;
        dlock_args none;
        dlock_args_init(&none);
        assert_int_equal(dlock_force_release(lock), DLOCK_NOT_OWNER);
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_force_release(lock), DLOCK_OK);
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.context = 5}, &next), DLOCK_OK);
        assert_int_equal(dlock_guard_call(hold, guard, 0, &none, false, dlock_in_ms(1000), NULL),
                         DLOCK_STALE);
        assert_int_equal(dlock_release(hold), DLOCK_NOT_OWNER);
        assert_int_equal(dlock_release(next), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_guard_free(guard);
}

static void force_takes_every_name(void **state)
{
    rig *r = *state;
    const char *names[] = {"{m}a", "{m}b"};
    char err[128];
    dlock_lock *lock;
    dlock_hold *hold;
    assert_int_equal(dlock_multi_new(r->client, names, 2, NULL, &lock, err, sizeof(err)), DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(rig_ask(r, "EXISTS {m}a %s", "{m}b"), 2);
    assert_int_equal(dlock_force_release(lock), DLOCK_OK);
    assert_int_equal(rig_ask(r, "EXISTS {m}a %s", "{m}b"), 0);
    assert_int_not_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_who_holds_it),
        cmocka_unit_test(tells_of_all_who_share),
        cmocka_unit_test(tells_the_label_of_its_client),
        cmocka_unit_test(tells_of_very_many),
        cmocka_unit_test(force_raises_the_fence),
        cmocka_unit_test(force_takes_every_name),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
