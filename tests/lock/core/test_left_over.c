/*
 * What stays in the process after locks, holds and clients are gone: no memory, no descriptor, no
 * thread. Each way to an end is gone many times, since malloc() keeps a little of what is freed.
 */
#include "tests/lock/rig.h"

enum { SOON_MS = 20000, WARM_UPS = 10, TIMES = 150, SPARE_BYTES = 16 * 1024 };

static const struct {
    const char *name;
    dlock_options options;
} kinds[] = {
    {"{m}string", {.kind = DLOCK_STRING}}, {"{m}hash", {.kind = DLOCK_HASH}},
    {"{m}fair", {.kind = DLOCK_FAIR}},     {"{m}cohort", {.kind = DLOCK_FAIR, .cohort_max = 4}},
    {"{m}write", {.kind = DLOCK_WRITE}},
};
#define KINDS (COUNT(kinds))

/* A client's subscriber has its connection, one, while and shortly after somebody waits. */
static void assert_descriptors(int before)
{
    assert_in_range(fx_descriptors_open(), before - 1, before + 1);
}

static void leaves_nothing(rig *r, const char *what, void (*go)(rig *r, size_t kind))
{
    for (size_t k = 0; k < KINDS; k++) {
        size_t before = 0;
        int descriptors = 0;
        for (int i = 0; i < WARM_UPS + TIMES; i++) {
            if (i == WARM_UPS) {
                before = fx_bytes_allocated();
                descriptors = fx_descriptors_open();
            }
            go(r, k);
        }
        if (fx_bytes_allocated() > before + SPARE_BYTES)
            fail_msg("%s, %s: %zu bytes more", what, kinds[k].name, fx_bytes_allocated() - before);
        assert_descriptors(descriptors);
    }
}

static dlock_lock *lock_of(rig *r, size_t kind)
{
    return rig_lock(r->client, kinds[kind].name, kinds[kind].options);
}

/* ---- the ways -------------------------------------------------------------------------------- */

static void take_and_release(rig *r, size_t kind)
{
    dlock_lock *lock = lock_of(r, kind), *again = lock_of(r, kind);
    dlock_hold *hold, *inner;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_acquire(again, NULL, &inner), DLOCK_OK);
    assert_true(dlock_lost_fd(hold) >= 0);
    assert_int_equal(dlock_release(inner), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_lock_free(again);
}

static void find_it_taken(rig *r, size_t kind)
{
    dlock_lock *lock = lock_of(r, kind);
    dlock_hold *hold, *none;
    dlock_info info;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    dlock_wait wait = {.context = 2, .wait_ms = kind % 2 ? 1 : 0};
    assert_int_equal(dlock_acquire(lock, &wait, &none), DLOCK_BUSY);
    assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

static void lose_it(rig *r, size_t kind)
{
    dlock_lock *lock = lock_of(r, kind);
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_true(dlock_lost_fd(hold) >= 0);
    assert_int_equal(dlock_force_release(lock), DLOCK_OK);
    assert_int_not_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

static void guard_it(rig *r, size_t kind)
{
    dlock_lock *lock = lock_of(r, kind);
    dlock_guard *guard = dlock_guard_new("left", "return {1, 'two', {3}}");
    dlock_hold *hold;
    dlock_args none;
    redisReply *reply;
    dlock_args_init(&none);
    for (int release = 0; release < 2; release++) {
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(
            dlock_guard_call(hold, guard, 0, &none, release, dlock_in_ms(SOON_MS), &reply),
            DLOCK_OK);
        freeReplyObject(reply);
        assert_int_equal(dlock_guard_call(hold, guard, 0, &none, false, dlock_in_ms(SOON_MS), NULL),
                         release ? DLOCK_STALE : DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    dlock_args_free(&none);
    dlock_guard_free(guard);
    dlock_lock_free(lock);
}

/* A writer that reads on beside another reader, and permits beside a waiter for too many. */
static void share_it(rig *r, size_t kind)
{
    (void)kind;
    dlock_lock *write = rig_lock(r->client, "{m}sides", (dlock_options){.kind = DLOCK_WRITE});
    dlock_lock *read = rig_lock(r->client, "{m}sides", (dlock_options){.kind = DLOCK_READ});
    dlock_lock *some =
        rig_lock(r->client, "{m}some", (dlock_options){.kind = DLOCK_SEMAPHORE, .permits = 3});
    dlock_hold *writer, *reader, *other, *two, *none;
    dlock_wait beside = {.context = 2}, take = {.context = 2, .permits = 2};
    assert_int_equal(dlock_acquire(write, NULL, &writer), DLOCK_OK);
    assert_int_equal(dlock_acquire(read, &beside, &none), DLOCK_BUSY);
    assert_int_equal(dlock_downgrade(writer, read, &reader), DLOCK_OK);
    assert_int_equal(dlock_acquire(read, &beside, &other), DLOCK_OK);
    assert_int_equal(dlock_acquire(some, &take, &two), DLOCK_OK);
    assert_int_equal(dlock_acquire(some, &take, &none), DLOCK_BUSY);
    assert_int_equal(dlock_semaphore_set(some, 3), DLOCK_OK);
    assert_int_equal(dlock_release(two), DLOCK_OK);
    assert_int_equal(dlock_release(other), DLOCK_OK);
    assert_int_equal(dlock_release(reader), DLOCK_OK);
    dlock_lock_free(some);
    dlock_lock_free(read);
    dlock_lock_free(write);
}

static void be_refused(rig *r, size_t kind)
{
    char err[256];
    dlock_lock *lock;
    dlock_options options = kinds[kind].options;
    options.lease_ms = 1;
    assert_int_equal(dlock_lock_new(r->client, "{m}bad", &options, &lock, err, sizeof(err)),
                     DLOCK_INVALID);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void locks_and_holds_leave_nothing(void **state)
{
    leaves_nothing(*state, "taken and released", take_and_release);
    leaves_nothing(*state, "found taken", find_it_taken);
    leaves_nothing(*state, "lost", lose_it);
    leaves_nothing(*state, "guarded", guard_it);
    leaves_nothing(*state, "refused", be_refused);
    leaves_nothing(*state, "shared", share_it);
}

static bool are_as_many(void *threads)
{
    return fx_threads_alive() == *(int *)threads;
}

/* With a hold that was never released, a wait without success, and one's own thread's end. */
static void clients_leave_nothing(void **state)
{
    rig *r = *state;
    enum { CLIENTS = 20 };
    size_t before = 0;
    int descriptors = 0, threads = 0;
    for (int i = 0; i < 5 + CLIENTS; i++) {
        if (i == 5) {
            before = fx_bytes_allocated();
            descriptors = fx_descriptors_open();
            threads = fx_threads_alive();
        }
        dlock_redis *redis = rig_redis(fx_redis_url(r->server));
        dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
        for (size_t k = 0; k < KINDS; k++) {
            dlock_lock *lock = rig_lock(client, kinds[k].name, kinds[k].options);
            dlock_hold *hold, *none;
            assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
            assert_true(dlock_lost_fd(hold) >= 0);
            dlock_wait wait = {.context = 2, .wait_ms = 5};
            assert_int_equal(dlock_acquire(lock, &wait, &none), DLOCK_BUSY);
            if (k % 2)
                assert_int_equal(dlock_release(hold), DLOCK_OK);
            dlock_lock_free(lock);
        }
        dlock_client_free(client);
        dlock_redis_close(redis);
        fx_redis_do(r->server, "FLUSHALL");
    }
    assert_descriptors(descriptors);
    assert_true(fx_wait_until(are_as_many, &threads, SOON_MS));
    if (fx_bytes_allocated() > before + 2 * SPARE_BYTES)
        fail_msg("%zu bytes more", fx_bytes_allocated() - before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_and_holds_leave_nothing),
        cmocka_unit_test(clients_leave_nothing),
    };
    return cmocka_run_group_tests_name("left_over", tests, rig_setup, rig_teardown);
}
