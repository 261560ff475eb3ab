/* What dlock.h promises of its growth. */
#include "tests/lock/rig.h"

#define ROOM(s) (int)(sizeof((s).reserved) / sizeof((s).reserved[0]))

/* A later header's option, that this library does not know: with every word of the room. */
static void an_option_that_is_not_known_is_refused(void **state)
{
    rig *r = *state;
    char err[256] = "";
    dlock_lock *lock;
    dlock_options options = {0};
    for (int i = 0; i < ROOM(options); i++) {
        options = (dlock_options){0};
        options.reserved[i] = (uint64_t)1 << (i * 9 % 64);
        assert_int_equal(dlock_lock_new(r->client, "room", &options, &lock, err, sizeof(err)),
                         DLOCK_INVALID);
        assert_non_null(strstr(err, "dlock_options: `reserved` must be zero"));
    }
    dlock_client *client;
    dlock_client_options with = {0};
    for (int i = 0; i < ROOM(with); i++) {
        with = (dlock_client_options){.redis = r->redis};
        with.reserved[i] = (uint64_t)1 << 63;
        assert_int_equal(dlock_client_new(&with, &client, err, sizeof(err)), DLOCK_INVALID);
        assert_non_null(strstr(err, "dlock_client_options: `reserved` must be zero"));
    }
    dlock_redis *redis;
    dlock_redis_options at = {0};
    for (int i = 0; i < ROOM(at); i++) {
        at = (dlock_redis_options){.url = fx_redis_url(r->server)};
        at.reserved[i] = 1;
        assert_int_equal(dlock_redis_open(&at, &redis, err, sizeof(err)), -1);
        assert_non_null(strstr(err, "dlock_redis_options: `reserved` must be zero"));
    }
}

/* The wait has no sentence. Nor does it count as a failed acquisition: nothing was tried. */
static void a_wait_that_is_not_known_is_refused(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "room", (dlock_options){0});
    dlock_hold *hold, *again;
    dlock_wait wait = {0};
    for (int i = 0; i < ROOM(wait); i++) {
        wait = (dlock_wait){0};
        wait.reserved[i] = 1;
        assert_int_equal(dlock_acquire(lock, &wait, &hold), DLOCK_INVALID);
    }
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, &wait, &again), DLOCK_INVALID); /* nor is it a re-entry */
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

static void what_the_library_fills_is_zero_there(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "filled", (dlock_options){0});
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    dlock_info info;
    dlock_stats stats;
    memset(&info, 0xff, sizeof(info));
    memset(&stats, 0xff, sizeof(stats));
    assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
    dlock_client_stats(r->client, &stats);
    assert_true(info.held && stats.acquired > 0 && stats.wait_us.count > 0);
    for (int i = 0; i < ROOM(info); i++)
        assert_int_equal(info.reserved[i], 0);
    for (int i = 0; i < ROOM(stats); i++)
        assert_int_equal(stats.reserved[i], 0);
    for (int i = 0; i < ROOM(stats.wait_us); i++)
        assert_int_equal(stats.wait_us.reserved[i] | stats.hold_us.reserved[i], 0);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_that_is_not_known_is_refused),
        cmocka_unit_test(a_wait_that_is_not_known_is_refused),
        cmocka_unit_test(what_the_library_fills_is_zero_there),
    };
    return cmocka_run_group_tests_name("interface", tests, rig_setup, rig_teardown);
}
