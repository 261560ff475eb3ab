/* The guarded script call under locks that several hold: for a writer, and for nobody else. */
#include "tests/lock/rig.h"

static void add_stock(dlock_args *args)
{
    dlock_args_init(args);
    dlock_args_text(args, "{g}stock");
}

static dlock_status sell(dlock_hold *hold, dlock_guard *guard, bool release, redisReply **reply)
{
    dlock_args args;
    add_stock(&args);
    dlock_status status =
        dlock_guard_call(hold, guard, 1, &args, release, dlock_in_ms(2000), reply);
    dlock_args_free(&args);
    return status;
}

static dlock_status sell_in_section(dlock_lock *lock, dlock_guard *guard)
{
    dlock_args args;
    add_stock(&args);
    dlock_status status =
        dlock_guard_section(lock, guard, 1, &args, 0, dlock_in_ms(2000), NULL, NULL);
    dlock_args_free(&args);
    return status;
}

/* The readers come in when a writer's lease ends. It is stale then, and so is what it sends with
 * the release, and they are left alone. */
static void a_stale_writer_is_refused_beside_readers(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", "return redis.call('DECR', KEYS[1])");
    dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
    dlock_options brief = {
        .kind = DLOCK_WRITE, .lease_ms = fx_lease_ms(200), .renew_ms = DLOCK_NEVER};
    dlock_lock *write = rig_lock(r->client, "{g}write", brief);
    dlock_lock *read = rig_lock(other, "{g}write", (dlock_options){.kind = DLOCK_READ});
    dlock_hold *writer, *readers[2];
    rig_ask(r, "SET %s 5", "{g}stock");
    assert_int_equal(dlock_acquire(write, NULL, &writer), DLOCK_OK);
    for (uint64_t i = 0; i < 2; i++)
        assert_int_equal(
            dlock_acquire(read, &(dlock_wait){.wait_ms = fx_patient_ms(5000), .context = i + 1},
                          &readers[i]),
            DLOCK_OK);
    assert_int_equal(dlock_fence(readers[0]), dlock_fence(writer));
    assert_int_equal(sell(writer, guard, true, NULL), DLOCK_STALE);
    assert_int_equal(fx_redis_number(r->server, "GET {g}stock"), 5);
    assert_int_equal(rig_ask(r, "ZCARD %s", "{g}write"), 2);
    assert_int_not_equal(dlock_release(writer), DLOCK_OK);
    assert_int_equal(dlock_release(readers[0]), DLOCK_OK);
    assert_int_equal(dlock_release(readers[1]), DLOCK_OK);
    dlock_lock_free(write);
    dlock_lock_free(read);
    dlock_client_free(other);
    dlock_guard_free(guard);
}

static void a_guarded_release_lets_readers_in(void **state)
{
    rig *r = *state;
    dlock_guard *guard = dlock_guard_new("sell", "return redis.call('DECR', KEYS[1])");
    dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
    dlock_lock *write = rig_lock(r->client, "{g}write", (dlock_options){.kind = DLOCK_WRITE});
    dlock_lock *read = rig_lock(other, "{g}write", (dlock_options){.kind = DLOCK_READ});
    dlock_hold *writer, *reader;
    rig_ask(r, "SET %s 5", "{g}stock");
    assert_int_equal(dlock_acquire(write, NULL, &writer), DLOCK_OK);
    assert_int_equal(dlock_acquire(read, NULL, &reader), DLOCK_BUSY);
    assert_int_equal(sell(writer, guard, true, NULL), DLOCK_OK);
    assert_int_equal(dlock_acquire(read, NULL, &reader), DLOCK_OK);
    assert_int_equal(dlock_release(writer), DLOCK_OK);
    assert_true(dlock_held(reader));
    assert_int_equal(dlock_release(reader), DLOCK_OK);
    dlock_lock_free(write);
    dlock_lock_free(read);
    dlock_client_free(other);
    dlock_guard_free(guard);
}

/* Readers and holders of permits have no guard, and shared names no section. */
static void what_is_shared_is_refused(void **state)
{
    rig *r = *state;
    static const dlock_options shared[] = {
        {.kind = DLOCK_READ}, {.kind = DLOCK_SEMAPHORE, .permits = 2}, {.kind = DLOCK_WRITE}};
    dlock_guard *guard = dlock_guard_new("sell", "return redis.call('DECR', KEYS[1])");
    rig_ask(r, "SET %s 5", "{g}stock");
    for (size_t k = 0; k < 3; k++) {
        dlock_lock *lock = rig_lock(r->client, "{g}shared", shared[k]);
        dlock_hold *hold;
        assert_int_equal(sell_in_section(lock, guard), DLOCK_INVALID);
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        if (shared[k].kind != DLOCK_WRITE) {
            dlock_args none;
            dlock_args_init(&none);
            assert_int_equal(sell(hold, guard, false, NULL), DLOCK_INVALID);
            assert_int_equal(sell(hold, guard, true, NULL), DLOCK_INVALID);
            assert_int_equal(dlock_guard_finish(hold, guard, 0, &none, dlock_in_ms(2000), NULL),
                             DLOCK_INVALID);
        }
        assert_true(dlock_held(hold));
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    assert_int_equal(fx_redis_number(r->server, "GET {g}stock"), 5);
    dlock_guard_free(guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stale_writer_is_refused_beside_readers),
        cmocka_unit_test(a_guarded_release_lets_readers_in),
        cmocka_unit_test(what_is_shared_is_refused),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
