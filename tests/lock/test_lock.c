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

#define YEAR_MS INT64_C(31536000000)
#define MOST    INT64_C(1000000000) /* permits */

static dlock_client *client_of_a_quorum(dlock_redis *redis)
{
    return rig_client(&(dlock_client_options){.redis = redis, .quorum = &redis, .quorum_len = 1});
}

/* The first and the last that is good, and what is next to them. */
static const struct {
    dlock_options options;
    bool good;
} limits[] = {
    {{.lease_ms = -1}, false},
    {{.lease_ms = 9}, false},
    {{.lease_ms = 10}, true},
    {{.lease_ms = YEAR_MS}, true},
    {{.lease_ms = YEAR_MS + 1}, false},
    {{.lease_ms = 10, .renew_ms = 1}, true},
    {{.lease_ms = 10, .renew_ms = 9}, true},
    {{.lease_ms = 10, .renew_ms = 10}, false},
    {{.renew_ms = DLOCK_NEVER}, true},
    {{.renew_ms = DLOCK_NEVER - 1}, false},
    {{.max_hold_ms = -1}, false},
    {{.max_hold_ms = 1}, true},
    {{.max_hold_ms = YEAR_MS}, true},
    {{.max_hold_ms = YEAR_MS + 1}, false},
    {{.poll_ms = -1}, false},
    {{.poll_ms = 1}, true},
    {{.poll_ms = YEAR_MS}, true},
    {{.poll_ms = YEAR_MS + 1}, false},
    {{.cohort_max = -1}, false},
    {{.cohort_max = 1}, true},
    {{.cohort_max = 1, .cohort_ms = -1}, false},
    {{.cohort_max = 1, .cohort_ms = 1}, true},
    {{.cohort_max = 1, .cohort_ms = YEAR_MS}, true},
    {{.cohort_max = 1, .cohort_ms = YEAR_MS + 1}, false},
    {{.wait_replicas = -1}, false},
    {{.wait_replicas = 1}, true},
    {{.permits = -1}, false},
    {{.permits = 1}, false},
    {{.kind = (dlock_kind)(DLOCK_STRING - 1)}, false},
    {{.kind = (dlock_kind)(DLOCK_SEMAPHORE + 1), .permits = 1}, false},
    {{.kind = DLOCK_QUORUM}, true},
    {{.kind = DLOCK_QUORUM, .wait_replicas = 1}, false},
    {{.kind = DLOCK_READ}, true},
    {{.kind = DLOCK_READ, .cohort_max = 1}, false},
    {{.kind = DLOCK_WRITE, .cohort_max = 1}, true},
    {{.kind = DLOCK_SEMAPHORE}, false},
    {{.kind = DLOCK_SEMAPHORE, .permits = -1}, false},
    {{.kind = DLOCK_SEMAPHORE, .permits = 1}, true},
    {{.kind = DLOCK_SEMAPHORE, .permits = MOST}, true},
    {{.kind = DLOCK_SEMAPHORE, .permits = MOST + 1}, false},
    {{.kind = DLOCK_SEMAPHORE, .permits = 1, .cohort_max = 1}, false},
};

static void options_have_limits(void **state)
{
    rig *r = *state;
    dlock_client *client = client_of_a_quorum(r->redis);
    for (size_t i = 0; i < COUNT(limits); i++) {
        char err[256] = "";
        dlock_lock *lock = NULL;
        dlock_status status =
            dlock_lock_new(client, "limits", &limits[i].options, &lock, err, sizeof(err));
        if (status != (limits[i].good ? DLOCK_OK : DLOCK_INVALID))
            fail_msg("case %zu: %s", i, err);
        dlock_lock_free(lock);
    }
    dlock_client_free(client);
}

static void names_have_limits(void **state)
{
    rig *r = *state;
    enum { NAMES_MAX = 64, NAME_LEN = 448 };
    static char all[NAMES_MAX + 1][8];
    const char *names[NAMES_MAX + 1];
    const char *long_name[1];
    char err[256], name[NAME_LEN + 2];
    for (int i = 0; i <= NAMES_MAX; i++) {
        snprintf(all[i], sizeof(all[i]), "{n}%d", i);
        names[i] = all[i];
    }
    const struct {
        int len;
        dlock_kind kind;
        bool good;
    } cases[] = {{0, DLOCK_STRING, false}, {1, DLOCK_STRING, true},
                 {2, DLOCK_STRING, true},  {NAMES_MAX, DLOCK_STRING, true},
                 {1, DLOCK_HASH, true},    {NAMES_MAX + 1, DLOCK_STRING, false},
                 {2, DLOCK_HASH, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        dlock_lock *lock = NULL;
        dlock_status status =
            dlock_multi_new(r->client, names, cases[i].len, &(dlock_options){.kind = cases[i].kind},
                            &lock, err, sizeof(err));
        if (status != (cases[i].good ? DLOCK_OK : DLOCK_INVALID))
            fail_msg("%d names: %s", cases[i].len, err);
        dlock_lock_free(lock);
    }
    for (int len = NAME_LEN; len <= NAME_LEN + 1; len++) {
        dlock_lock *lock = NULL;
        memset(name, 'n', (size_t)len);
        name[len] = '\0';
        long_name[0] = name;
        assert_int_equal(dlock_multi_new(r->client, long_name, 1, NULL, &lock, err, sizeof(err)),
                         len == NAME_LEN ? DLOCK_OK : DLOCK_INVALID);
        dlock_lock_free(lock);
    }
}

static void a_clients_options_have_limits(void **state)
{
    rig *r = *state;
    enum { SERVERS_MAX = 16, RECHECK_MAX = 1000 };
    dlock_redis *servers[SERVERS_MAX + 1], *gap[] = {r->redis, r->redis, NULL};
    for (int i = 0; i <= SERVERS_MAX; i++)
        servers[i] = r->redis;
    const struct {
        dlock_client_options options;
        bool good;
    } cases[] = {
        {{.redis = NULL}, false},
        {{.redis = r->redis, .quorum_len = -1}, false},
        {{.redis = r->redis, .quorum_len = 1}, false},
        {{.redis = r->redis, .quorum = servers}, true},
        {{.quorum = servers, .quorum_len = 1}, true},
        {{.quorum = servers, .quorum_len = SERVERS_MAX}, true},
        {{.quorum = servers, .quorum_len = SERVERS_MAX + 1}, false},
        {{.quorum = gap, .quorum_len = 2}, true},
        {{.quorum = gap, .quorum_len = 3}, false},
        {{.quorum = gap + 2, .quorum_len = 1}, false},
        {{.redis = r->redis, .io_ms = -1}, false},
        {{.redis = r->redis, .io_ms = 1}, true},
        {{.redis = r->redis, .io_ms = YEAR_MS}, true},
        {{.redis = r->redis, .io_ms = YEAR_MS + 1}, false},
        {{.redis = r->redis, .claim_ms = -1}, false},
        {{.redis = r->redis, .claim_ms = 1}, true},
        {{.redis = r->redis, .claim_ms = YEAR_MS}, true},
        {{.redis = r->redis, .claim_ms = YEAR_MS + 1}, false},
        {{.redis = r->redis, .recheck_ms = -1}, false},
        {{.redis = r->redis, .recheck_ms = 1}, true},
        {{.redis = r->redis, .recheck_ms = RECHECK_MAX}, true},
        {{.redis = r->redis, .recheck_ms = RECHECK_MAX + 1}, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[256] = "";
        dlock_client *client = NULL;
        dlock_status status = dlock_client_new(&cases[i].options, &client, err, sizeof(err));
        if (status != (cases[i].good ? DLOCK_OK : DLOCK_INVALID))
            fail_msg("case %zu: %s", i, err);
        if (client)
            dlock_client_free(client);
    }
}

static void a_wait_has_limits(void **state)
{
    rig *r = *state;
    static const struct {
        dlock_wait wait;
        bool good, of_seats;
    } cases[] = {
        {{.wait_ms = DLOCK_FOREVER}, true, true},
        {{.wait_ms = DLOCK_FOREVER - 1}, false, false},
        {{.permits = -1}, false, false},
        {{.permits = 1}, false, true},
        {{.permits = MOST}, false, true},
        {{.permits = MOST + 1}, false, false},
        {{.lease_ms = -1}, false, false},
        {{.lease_ms = 9}, false, false},
        {{.lease_ms = 10}, true, true},
        {{.lease_ms = YEAR_MS}, true, true},
        {{.lease_ms = YEAR_MS + 1}, false, false},
    };
    dlock_lock *locks[] = {
        rig_lock(r->client, "waits", (dlock_options){0}),
        rig_lock(r->client, "seats", (dlock_options){.kind = DLOCK_SEMAPHORE, .permits = 2})};
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (int seats = 0; seats < 2; seats++) {
            dlock_hold *hold = NULL;
            bool good = seats ? cases[i].of_seats : cases[i].good;
            dlock_status status = dlock_acquire(locks[seats], &cases[i].wait, &hold);
            if ((status != DLOCK_INVALID) != good)
                fail_msg("case %zu, %d: %s", i, seats, dlock_status_text(status));
            if (status == DLOCK_OK)
                (void)dlock_release(hold);
        }
    }
    for (int seats = 0; seats < 2; seats++)
        dlock_lock_free(locks[seats]);
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
        cmocka_unit_test(options_have_limits),
        cmocka_unit_test(names_have_limits),
        cmocka_unit_test(a_clients_options_have_limits),
        cmocka_unit_test(a_wait_has_limits),
        cmocka_unit_test(the_longest_times_hold),
        cmocka_unit_test(the_same_lock_again_is_the_same),
        cmocka_unit_test(several_names_are_all_or_nothing),
        cmocka_unit_test(a_key_of_another_type_is_a_strangers),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
