/* Names, several names at once, strangers, introspection, order checker, ends of threads. */
#include "tests/lock/rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

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
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char err[256] = "";
        dlock_lock *lock;
        assert_int_equal(
            dlock_lock_new(r->client, cases[i].name, &cases[i].options, &lock, err, sizeof(err)),
            DLOCK_INVALID);
        assert_non_null(strstr(err, cases[i].why));
    }
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

typedef struct reports {
    atomic_int count[4];
    char text[512];
} reports;

static void note(void *arg, dlock_report what, const char *text)
{
    reports *all = arg;
    snprintf(all->text, sizeof(all->text), "%s", text);
    atomic_fetch_add(&all->count[what], 1);
}

static void opposite_orders_are_reported(void **state)
{
    rig *r = *state;
    reports seen = {0};
    dlock_client *client = rig_client(&(dlock_client_options){
        .redis = r->redis, .check_order = true, .report = note, .report_arg = &seen});
    dlock_lock *a = rig_lock(client, "order-a", (dlock_options){0});
    dlock_lock *b = rig_lock(client, "order-b", (dlock_options){0});
    dlock_lock *c = rig_lock(client, "order-c", (dlock_options){0});
    dlock_lock *const walks[][2] = {{a, b}, {a, b}, {b, c}, {c, a}, {c, a}};
    for (int i = 0; i < 5; i++) {
        dlock_hold *first, *second;
        assert_int_equal(seen.count[DLOCK_REPORT_ORDER], i == 4);
        assert_int_equal(dlock_acquire(walks[i][0], NULL, &first), DLOCK_OK);
        assert_int_equal(dlock_acquire(walks[i][1], NULL, &second), DLOCK_OK);
        dlock_release(second);
        dlock_release(first);
    }
    assert_int_equal(seen.count[DLOCK_REPORT_ORDER], 1); /* once a pair */
    dlock_hold *of_thread, *of_context;
    assert_int_equal(dlock_acquire(b, NULL, &of_thread), DLOCK_OK);
    for (uint64_t context = 1; context <= 64; context++) { /* one has the thread's number */
        assert_int_equal(dlock_acquire(a, &(dlock_wait){.context = context}, &of_context),
                         DLOCK_OK);
        dlock_release(of_context);
    }
    dlock_release(of_thread);
    assert_int_equal(seen.count[DLOCK_REPORT_ORDER], 1); /* nobody holds both */
    assert_non_null(strstr(seen.text, "order-a"));
    assert_non_null(strstr(seen.text, "order-c"));
    dlock_lock_free(a);
    dlock_lock_free(b);
    dlock_lock_free(c);
    dlock_client_free(client);
}

static void *hold_and_end(void *lock)
{
    dlock_hold *hold;
    return (void *)(intptr_t)dlock_acquire(lock, NULL, &hold);
}

static void a_thread_that_ends_holding_is_reported(void **state)
{
    rig *r = *state;
    reports seen = {0};
    pthread_t thread;
    void *status;
    dlock_client *client =
        rig_client(&(dlock_client_options){.redis = r->redis, .report = note, .report_arg = &seen});
    dlock_lock *lock = rig_lock(client, "orphan", (dlock_options){.lease_ms = 200, .renew_ms = 20});
    dlock_hold *hold;
    pthread_create(&thread, NULL, hold_and_end, lock);
    pthread_join(thread, &status);
    assert_null(status);
    assert_int_equal(seen.count[DLOCK_REPORT_ORPHANED], 1);
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 5000}, &hold), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_client_free(client); /* frees what the ended thread left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused_by_name),
        cmocka_unit_test(the_same_lock_again_is_the_same),
        cmocka_unit_test(several_names_are_all_or_nothing),
        cmocka_unit_test(a_key_of_another_type_is_a_strangers),
        cmocka_unit_test(tells_who_holds_it),
        cmocka_unit_test(force_raises_the_fence),
        cmocka_unit_test(force_takes_every_name),
        cmocka_unit_test(opposite_orders_are_reported),
        cmocka_unit_test(a_thread_that_ends_holding_is_reported),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
