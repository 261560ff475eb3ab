/* A lease for one acquisition (dlock_wait.lease_ms): what each kind must do, by one table. */
#include <pthread.h>
#include <signal.h>

#include "lock/core/attempt.h"
#include "tests/lock/pending/candidates.h"
#include "tests/lock/pending/pending.h"

/* The lock's lease, another one, and what a test tells them apart by. */
enum { LEASE_MS = 20000, OTHER_MS = 80000, BETWEEN_MS = 50000 };

static const struct {
    const char *name;
    dlock_options options;
} kinds[] = {
    {"string", {.kind = DLOCK_STRING}},
    {"hash", {.kind = DLOCK_HASH}},
    {"fair", {.kind = DLOCK_FAIR}},
    {"quorum", {.kind = DLOCK_QUORUM}},
    {"read", {.kind = DLOCK_READ}},
    {"write", {.kind = DLOCK_WRITE}},
    {"semaphore", {.kind = DLOCK_SEMAPHORE, .permits = 1}},
};
#define KINDS (COUNT(kinds))

/* With the time that it needs on a crowded machine. */
static dlock_client *new_client(rig *r, int64_t claim_ms)
{
    return rig_client(&(dlock_client_options){.redis = r->redis,
                                              .quorum = &r->redis,
                                              .quorum_len = 1,
                                              .io_ms = fx_patient_ms(1000),
                                              .claim_ms = claim_ms});
}

/* Of kind `k`, on a name of its own. */
static dlock_lock *lock_of(dlock_client *client, size_t k, int64_t lease_ms)
{
    char name[32];
    dlock_options options = kinds[k].options;
    options.lease_ms = lease_ms;
    snprintf(name, sizeof(name), "lease:%s", kinds[k].name);
    return rig_lock(client, name, options);
}

static long long ttl_ms(rig *r, const dlock_lock *lock)
{
    return rig_ask(r, "PTTL %s", dlock_lock_name(lock, 0));
}

static dlock_hold *acquire(dlock_lock *lock, dlock_wait wait)
{
    dlock_hold *hold = NULL;
    assert_int_equal(dlock_acquire(lock, &wait, &hold), DLOCK_OK);
    return hold;
}

/* Of a grant that was handed over, both follow with its first renewal. */
static void await_other_lease(rig *r, const dlock_hold *hold, const dlock_lock *lock)
{
    dlock_time until = dlock_in_ms(fx_patient_ms(PATIENCE_MS));
    while ((dlock_validity_ms(hold) <= BETWEEN_MS || ttl_ms(r, lock) <= BETWEEN_MS) &&
           !dlock_passed(until))
        dlock_sleep(dlock_in_ms(2));
    assert_in_range(dlock_validity_ms(hold), BETWEEN_MS, OTHER_MS);
    assert_in_range(ttl_ms(r, lock), BETWEEN_MS, OTHER_MS);
}

static void is_that_of_one_acquisition(void **state)
{
    static const int64_t bad[] = {-1, 9, INT64_C(31536000001)};
    rig *r = *state;
    dlock_client *client = new_client(r, 0);
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = lock_of(client, k, LEASE_MS);
        dlock_hold *hold = NULL;
        for (size_t i = 0; i < COUNT(bad); i++)
            assert_int_equal(dlock_acquire(lock, &(dlock_wait){.lease_ms = bad[i]}, &hold),
                             DLOCK_INVALID);
        hold = acquire(lock, (dlock_wait){.lease_ms = OTHER_MS});
        await_other_lease(r, hold, lock);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        hold = acquire(lock, (dlock_wait){0});
        bool again = kinds[k].options.kind != DLOCK_SEMAPHORE; /* re-entered */
        if (again)
            assert_ptr_equal(acquire(lock, (dlock_wait){.lease_ms = OTHER_MS}), hold);
        assert_in_range(dlock_validity_ms(hold), 1, LEASE_MS);
        assert_in_range(ttl_ms(r, lock), 1, LEASE_MS);
        for (int levels = again ? 2 : 1; levels > 0; levels--)
            assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_client_free(client);
}

/* With the lock's own period of renewal it would be lost. */
static void is_renewed_by_itself(void **state)
{
    rig *r = *state;
    dlock_client *client = new_client(r, 0);
    for (size_t k = 0; k < KINDS; k++) {
        const int lease_ms = fx_lease_ms(900);
        dlock_lock *lock = lock_of(client, k, OTHER_MS);
        dlock_stats stats = {0};
        dlock_hold *hold = acquire(lock, (dlock_wait){.lease_ms = lease_ms});
        while (stats.renewals < 2) {
            assert_true(dlock_held(hold));
            assert_in_range(dlock_validity_ms(hold), 0, lease_ms);
            dlock_sleep(dlock_in_ms(5));
            dlock_lock_stats(lock, &stats);
        }
        assert_in_range(ttl_ms(r, lock), 1, lease_ms);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_client_free(client);
}

/* The releaser's script knows nothing of it. */
static void follows_a_hand_off(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_kind of = kinds[k].options.kind;
        if (of == DLOCK_QUORUM || of == DLOCK_READ) /* not pending; does not wait */
            continue;
        dlock_lock *lock = lock_of(r->client, k, LEASE_MS);
        dlock_hold *hold = acquire(lock, (dlock_wait){0});
        dlock_wait wait = {.wait_ms = DLOCK_FOREVER, .lease_ms = OTHER_MS};
        dlock_pending *p = pd_start_as(lock, wait);
        pd_assert_undecided(p);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        hold = pd_get(p);
        await_other_lease(r, hold, lock);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

/* The renewal that takes such a grant up shortens it. */
static void ends_a_longer_claim_window(void **state)
{
    rig *r = *state;
    dlock_client *client = new_client(r, OTHER_MS);
    dlock_lock *lock = lock_of(client, 2, OTHER_MS);
    answer a = {.granted = true, .window_ms = OTHER_MS, .without = dlock_now()};
    waiter w = {.lease_ms = LEASE_MS, .given = a};
    assert_true(dlock_attempt_given(lock, &w, &a));
    assert_int_equal(a.window_ms, LEASE_MS);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

/* ---- in a cohort ----------------------------------------------------------------------------- */

typedef struct visitor {
    dlock_lock *lock;
    dlock_wait wait;
    dlock_hold *hold;
    pthread_t thread;
} visitor;

static void *visit(void *arg)
{
    visitor *v = arg;
    return dlock_acquire(v->lock, &v->wait, &v->hold) == DLOCK_OK ? v : NULL;
}

static void start_visit(visitor *v, dlock_lock *lock, int64_t lease_ms)
{
    v->lock = lock;
    v->wait = (dlock_wait){.wait_ms = DLOCK_FOREVER, .lease_ms = lease_ms, .context = (uintptr_t)v};
    assert_int_equal(pthread_create(&v->thread, NULL, visit, v), 0);
}

static dlock_hold *end_visit(visitor *v)
{
    void *came;
    pthread_join(v->thread, &came);
    assert_non_null(came);
    return v->hold;
}

static int in_line; /* how many should be */

static bool has_a_line(void *arg)
{
    dlock_lock *lock = arg;
    int n = 0;
    pthread_mutex_lock(&lock->cohort.lock);
    for (const waiter *w = lock->cohort.line.first; w; w = w->next)
        n++;
    pthread_mutex_unlock(&lock->cohort.lock);
    return n == in_line;
}

static void is_the_same_all_along_a_cohort(void **state)
{
    rig *r = *state;
    dlock_client *client = new_client(r, 0);
    dlock_lock *lock = rig_lock(
        client, "cohort",
        (dlock_options){
            .kind = DLOCK_FAIR, .lease_ms = LEASE_MS, .cohort_max = 8, .cohort_ms = OTHER_MS});
    dlock_stats stats;
    visitor same = {0}, another = {0};
    dlock_hold *hold = acquire(lock, (dlock_wait){0});
    start_visit(&same, lock, LEASE_MS);
    in_line = 1;
    assert_true(fx_wait_until(has_a_line, lock, PATIENCE_MS));
    start_visit(&another, lock, OTHER_MS);
    in_line = 2;
    assert_true(fx_wait_until(has_a_line, lock, PATIENCE_MS));
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_int_equal(dlock_release(end_visit(&same)), DLOCK_OK);
    hold = end_visit(&another);
    await_other_lease(r, hold, lock);
    dlock_lock_stats(lock, &stats);
    assert_int_equal(stats.passed_on, 1);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

/* ---- everything else ------------------------------------------------------------------------- */

static void goes_for_a_campaign(void **state)
{
    rig *r = *state;
    dlock_election *e =
        candidate_as(r->client, "led", &(dlock_election_options){.lease_ms = LEASE_MS});
    assert_int_equal(dlock_election_start(e, &(dlock_wait){.lease_ms = 9}), DLOCK_INVALID);
    assert_int_equal(dlock_election_campaign(e, &(dlock_wait){.lease_ms = OTHER_MS}), DLOCK_OK);
    assert_in_range(rig_ask(r, "PTTL %s", "led"), BETWEEN_MS, OTHER_MS);
    dlock_election_free(e);
}

static bool has_reported(void *count)
{
    return atomic_load((atomic_int *)count) > 0;
}

/* With the lock's lease it would go on for more than a minute. */
static void bounds_a_release_in_the_background(void **state)
{
    (void)state;
    rig_reports seen = {0};
    fx_redis *server = fx_redis_start_single(NULL);
    dlock_redis *redis = rig_redis(fx_redis_url(server));
    dlock_client *client = rig_client(&(dlock_client_options){
        .redis = redis, .io_ms = 200, .report = rig_note, .report_arg = &seen});
    dlock_lock *lock = rig_lock(client, "open", (dlock_options){.lease_ms = OTHER_MS});
    dlock_hold *hold =
        acquire(lock, (dlock_wait){.wait_ms = PATIENCE_MS, .lease_ms = fx_lease_ms(300)});
    fx_redis_signal(server, SIGSTOP);
    (void)!dlock_release(hold);
    bool ended = fx_wait_until(has_reported, &seen.count[DLOCK_REPORT_RELEASE], PATIENCE_MS);
    fx_redis_signal(server, SIGCONT);
    assert_true(ended);
    assert_non_null(strstr(seen.text, "given up"));
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
    fx_redis_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_that_of_one_acquisition),
        cmocka_unit_test(is_renewed_by_itself),
        cmocka_unit_test(follows_a_hand_off),
        cmocka_unit_test(ends_a_longer_claim_window),
        cmocka_unit_test(is_the_same_all_along_a_cohort),
        cmocka_unit_test(goes_for_a_campaign),
        cmocka_unit_test(bounds_a_release_in_the_background),
    };
    return cmocka_run_group_tests_name("lease", tests, rig_setup, rig_teardown);
}
