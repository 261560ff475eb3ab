/* Making locks: names and options, the same one again, several names at once; strangers' keys. */
#include "tests/lock/rig.h"

static void bad_options_are_refused_by_name(void **state)
{
    rig *r = *state;
    static const struct {
        const char *name;
        dlock_options options;
        const char *why;
    } cases[] = {
        {"", {0}, "name"},
        {"a}b", {0}, "braces"},
        {"{}a", {0}, "braces"},
        {"a", {.lease_ms = 5}, "lease_ms"},
        {"a", {.lease_ms = 100, .renew_ms = 100}, "renew_ms"},
        {"a", {.kind = (dlock_kind)9}, "kind"},
        {"a", {.kind = DLOCK_QUORUM}, "quorum"},
        {"a", {.cohort_max = -1}, "negative"},
        {"a", {.lease_ms = INT64_MAX}, "a year"},
        {"a", {.max_hold_ms = INT64_MAX}, "a year"},
        {"a", {.poll_ms = INT64_MAX}, "a year"},
        {"a", {.cohort_ms = INT64_MAX}, "a year"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[256] = "";
        dlock_lock *lock;
        assert_int_equal(
            dlock_lock_new(r->client, cases[i].name, &cases[i].options, &lock, err, sizeof(err)),
            DLOCK_INVALID);
        assert_non_null(strstr(err, cases[i].why));
    }
}

/* A year, and no end to the wait: no sum of them overflows. */
static void the_longest_times_hold(void **state)
{
    rig *r = *state;
    static const int64_t year_ms = 31536000000;
    char err[256] = "";
    dlock_client *client;
    dlock_client_options bad[] = {{.redis = r->redis, .io_ms = INT64_MAX},
                                  {.redis = r->redis, .claim_ms = INT64_MAX},
                                  {.redis = r->redis, .recheck_ms = INT64_MAX}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(dlock_client_new(&bad[i], &client, err, sizeof(err)), DLOCK_INVALID);
        assert_non_null(strstr(err, "at most"));
    }
    client = rig_client(
        &(dlock_client_options){.redis = r->redis, .io_ms = year_ms, .claim_ms = year_ms});
    static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    for (int k = 0; k < 3; k++) {
        dlock_options longest = {kinds[k], .lease_ms = year_ms, .max_hold_ms = year_ms};
        dlock_lock *lock = rig_lock(client, "long", longest);
        dlock_hold *hold, *next;
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = INT64_MAX}, &hold), DLOCK_OK);
        assert_true(dlock_held(hold));
        assert_true(dlock_validity_ms(hold) > year_ms / 2);
        assert_true(fx_redis_number(r->server, "PTTL dlock:{long}:fence") > year_ms);
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 50, .context = 2}, &next),
                         DLOCK_BUSY);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_client_free(client);
}

static void the_same_lock_again_is_the_same(void **state)
{
    rig *r = *state;
    dlock_options fair = {.kind = DLOCK_FAIR}, cohort = {.kind = DLOCK_FAIR, .cohort_max = 8};
    dlock_lock *first = rig_lock(r->client, "same", fair);
    dlock_lock *again = rig_lock(r->client, "same", fair);
    dlock_lock *other = rig_lock(r->client, "same", cohort);
    dlock_hold *hold;
    assert_ptr_equal(first, again); /* so that their waiters wake each other */
    assert_ptr_not_equal(first, other);
    dlock_lock_free(first);
    assert_int_equal(dlock_acquire(again, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(again);
    dlock_lock_free(other);
}

static void several_names_are_all_or_nothing(void **state)
{
    rig *r = *state;
    static const char *const names[] = {"{m}a", "{m}b", "{m}c"};
    char err[256];
    dlock_lock *all, *one = rig_lock(r->client, "{m}b", (dlock_options){0});
    dlock_hold *hold, *single;
    assert_int_equal(dlock_multi_new(r->client, names, 3, NULL, &all, err, sizeof(err)), DLOCK_OK);
    assert_int_equal(dlock_acquire(one, NULL, &single), DLOCK_OK);
    uint64_t before = dlock_fence(single);
    assert_int_equal(dlock_acquire(all, NULL, &hold), DLOCK_BUSY);
    assert_int_equal(rig_ask(r, "EXISTS %s", "{m}a"), 0);
    assert_int_equal(dlock_release(single), DLOCK_OK);
    assert_int_equal(dlock_acquire(all, NULL, &hold), DLOCK_OK);
    assert_true(dlock_fence(hold) > before);
    assert_int_equal(dlock_acquire(one, &(dlock_wait){.context = 3}, &single), DLOCK_BUSY);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_int_equal(rig_ask(r, "EXISTS %s", "{m}c"), 0);
    dlock_lock_free(all);
    dlock_lock_free(one);
}

static void a_key_of_another_type_is_a_strangers(void **state)
{
    rig *r = *state;
    static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    rig_ask(r, "LPUSH %s x", "strange");
    for (int k = 0; k < 3; k++) {
        dlock_lock *lock = rig_lock(r->client, "strange", (dlock_options){.kind = kinds[k]});
        dlock_hold *hold;
        dlock_info info;
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 20}, &hold), DLOCK_BUSY);
        assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
        assert_true(info.held);
        assert_string_equal(info.owner, "");
        dlock_lock_free(lock);
    }
    assert_int_equal(rig_ask(r, "LLEN %s", "strange"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused_by_name),
        cmocka_unit_test(the_longest_times_hold),
        cmocka_unit_test(the_same_lock_again_is_the_same),
        cmocka_unit_test(several_names_are_all_or_nothing),
        cmocka_unit_test(a_key_of_another_type_is_a_strangers),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
