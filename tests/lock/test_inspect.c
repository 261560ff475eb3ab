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

static void force_raises_the_fence(void **state)
{
    rig *r = *state;
    static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    dlock_guard *guard = dlock_guard_new("any", "return 1");
    for (int k = 0; k < 3; k++) {
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
        cmocka_unit_test(force_raises_the_fence),
        cmocka_unit_test(force_takes_every_name),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
