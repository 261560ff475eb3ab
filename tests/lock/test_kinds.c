/* What every kind of lock must do, on a real Redis: one table of kinds, the same tests for each. */
#include "tests/lock/rig.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kinds under test; QUORUM has three servers. */
static const struct {
    const char *name;
    dlock_options options;
} kinds[] = {
    {"string", {.kind = DLOCK_STRING}},
    {"hash", {.kind = DLOCK_HASH}},
    {"hash, polling", {.kind = DLOCK_HASH, .poll_ms = 20}},
    {"fair", {.kind = DLOCK_FAIR}},
    {"fair, cohort", {.kind = DLOCK_FAIR, .cohort_max = 8}},
    {"quorum", {.kind = DLOCK_QUORUM}},
    {"write", {.kind = DLOCK_WRITE}},
    {"write, cohort", {.kind = DLOCK_WRITE, .cohort_max = 8}},
    {"write, polling", {.kind = DLOCK_WRITE, .poll_ms = 20}},
    {"read", {.kind = DLOCK_READ}},
    {"semaphore", {.kind = DLOCK_SEMAPHORE, .permits = 1}},
};
#define KINDS (COUNT(kinds))

static fx_redis *quorum_servers[3];
static dlock_redis *quorum[3];
static rig main_rig;

static int setup(void **state)
{
    rig *r = &main_rig;
    r->server = fx_redis_start(NULL);
    r->redis = rig_redis(fx_redis_url(r->server));
    for (int i = 0; i < 3; i++) {
        quorum_servers[i] = fx_redis_start_single(NULL);
        quorum[i] = rig_redis(fx_redis_url(quorum_servers[i]));
    }
    r->client =
        rig_client(&(dlock_client_options){.redis = r->redis, .quorum = quorum, .quorum_len = 3});
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    dlock_client_free(main_rig.client);
    dlock_redis_close(main_rig.redis);
    for (int i = 0; i < 3; i++) {
        dlock_redis_close(quorum[i]);
        fx_redis_stop(quorum_servers[i]);
    }
    fx_redis_stop(main_rig.server);
    return 0;
}

static dlock_client *another_client(void)
{
    return rig_client(
        &(dlock_client_options){.redis = main_rig.redis, .quorum = quorum, .quorum_len = 3});
}

/* A lock of kind `k` with the lease and renewal of `o`, on a name of its own. */
static dlock_lock *lock_of(dlock_client *client, size_t k, const char *test, dlock_options o)
{
    char name[64];
    snprintf(name, sizeof(name), "%s:%zu", test, k);
    o.kind = kinds[k].options.kind;
    o.poll_ms = kinds[k].options.poll_ms;
    o.cohort_max = kinds[k].options.cohort_max;
    o.permits = kinds[k].options.permits;
    return rig_lock(client, name, o);
}

/* Readers hold together; permits are not re-entered. */
static bool excludes(size_t k)
{
    return kinds[k].options.kind != DLOCK_READ;
}

static bool reenters(size_t k)
{
    return kinds[k].options.kind != DLOCK_SEMAPHORE;
}

static bool issues_fences(size_t k)
{
    return kinds[k].options.kind != DLOCK_QUORUM && kinds[k].options.kind != DLOCK_READ;
}

static void excludes_others(void **state)
{
    rig *r = *state;
    dlock_client *other = another_client();
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *a = lock_of(r->client, k, "excludes", (dlock_options){0});
        dlock_lock *b = lock_of(other, k, "excludes", (dlock_options){0});
        dlock_hold *hold, *second;
        assert_int_equal(dlock_acquire(a, NULL, &hold), DLOCK_OK);
        assert_true(dlock_held(hold));
        assert_true(dlock_validity_ms(hold) > 9000 && dlock_validity_ms(hold) < 10000);
        if (excludes(k)) {
            assert_int_equal(dlock_acquire(b, NULL, &second), DLOCK_BUSY);
            assert_int_equal(dlock_acquire(b, &(dlock_wait){.wait_ms = 30}, &second), DLOCK_BUSY);
        }
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        assert_int_equal(dlock_acquire(b, NULL, &second), DLOCK_OK);
        assert_int_equal(dlock_release(second), DLOCK_OK);
        dlock_lock_free(a);
        dlock_lock_free(b);
    }
    dlock_client_free(other);
}

static void reenters_and_releases_in_any_order(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        if (!reenters(k))
            continue;
        dlock_lock *a = lock_of(r->client, k, "reenter-a", (dlock_options){0});
        dlock_lock *b = lock_of(r->client, k, "reenter-b", (dlock_options){0});
        dlock_hold *h1, *h2, *h3, *stranger;
        assert_int_equal(dlock_acquire(a, NULL, &h1), DLOCK_OK);
        assert_int_equal(dlock_acquire(b, NULL, &h2), DLOCK_OK);
        assert_int_equal(dlock_acquire(a, NULL, &h3), DLOCK_OK);
        assert_ptr_equal(h1, h3);
        if (excludes(k))
            assert_int_equal(dlock_acquire(a, &(dlock_wait){.context = 7}, &stranger), DLOCK_BUSY);
        assert_int_equal(dlock_release(h1), DLOCK_OK);
        assert_true(dlock_held(h3));
        assert_int_equal(dlock_release(h2), DLOCK_OK);
        assert_int_equal(dlock_release(h3), DLOCK_OK);
        assert_int_equal(dlock_acquire(a, &(dlock_wait){.context = 7}, &stranger), DLOCK_OK);
        assert_int_equal(dlock_release(stranger), DLOCK_OK);
        dlock_lock_free(a);
        dlock_lock_free(b);
    }
}

static void fences_rise(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        uint64_t last = 0;
        dlock_lock *lock = lock_of(r->client, k, "fences", (dlock_options){0});
        for (int i = 0; i < 50; i++) {
            dlock_hold *hold;
            assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
            if (issues_fences(k))
                assert_true(dlock_fence(hold) > last);
            else
                assert_int_equal(dlock_fence(hold), 0);
            last = dlock_fence(hold);
            assert_int_equal(dlock_release(hold), DLOCK_OK);
        }
        dlock_lock_free(lock);
    }
}

/* All kinds at once, for longer than a lease. */
static void renewal_keeps_it(void **state)
{
    rig *r = *state;
    enum { LEASE_MS = 2000 };
    dlock_lock *locks[KINDS];
    dlock_hold *holds[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        locks[k] =
            lock_of(r->client, k, "renewed", (dlock_options){.lease_ms = LEASE_MS, .renew_ms = 50});
        assert_int_equal(dlock_acquire(locks[k], NULL, &holds[k]), DLOCK_OK);
    }
    dlock_time end = dlock_in_ms(LEASE_MS + LEASE_MS / 4);
    while (!dlock_passed(end)) {
        for (size_t k = 0; k < KINDS; k++)
            assert_true(dlock_held(holds[k]));
        fx_let_pass(10);
    }
    for (size_t k = 0; k < KINDS; k++) {
        assert_int_equal(dlock_release(holds[k]), DLOCK_OK);
        dlock_lock_free(locks[k]);
    }
}

static atomic_int losses;

static void count_loss(void *arg, dlock_hold *hold)
{
    (void)arg;
    losses += !dlock_held(hold);
}

static void loss_is_loud(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        losses = 0;
        dlock_lock *lock =
            lock_of(r->client, k, "lost",
                    (dlock_options){
                        .lease_ms = fx_lease_ms(300), .renew_ms = DLOCK_NEVER, .lost = count_loss});
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        struct pollfd p = {.fd = dlock_lost_fd(hold), .events = POLLIN};
        assert_int_equal(poll(&p, 1, fx_patient_ms(5000)), 1);
        assert_int_equal(losses, 1);
        assert_false(dlock_held(hold));
        assert_int_equal(dlock_validity_ms(hold), 0);
        assert_int_equal(dlock_release(hold), DLOCK_EXPIRED);
        dlock_lock_free(lock);
    }
}

static void expired_hold_is_not_reentered(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock =
            lock_of(r->client, k, "expired",
                    (dlock_options){.lease_ms = fx_lease_ms(100), .renew_ms = DLOCK_NEVER});
        dlock_hold *old, *new;
        assert_int_equal(dlock_acquire(lock, NULL, &old), DLOCK_OK);
        struct pollfd p = {.fd = dlock_lost_fd(old), .events = POLLIN};
        assert_int_equal(poll(&p, 1, fx_patient_ms(5000)), 1);
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = fx_patient_ms(2000)}, &new),
                         DLOCK_OK);
        assert_ptr_not_equal(old, new);
        dlock_release(new);
        assert_int_not_equal(dlock_release(old), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

static void max_hold_ends_it(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock =
            lock_of(r->client, k, "capped",
                    (dlock_options){.lease_ms = 5000, .renew_ms = 50, .max_hold_ms = 200});
        dlock_hold *hold;
        dlock_time start = dlock_now();
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        struct pollfd p = {.fd = dlock_lost_fd(hold), .events = POLLIN};
        assert_int_equal(poll(&p, 1, 4000), 1);
        assert_true(dlock_now().us - start.us >= 200000);
        assert_int_equal(dlock_release(hold), DLOCK_EXPIRED);
        dlock_lock_free(lock);
    }
}

/* Threads of two clients count with a lock and without atomics. */
typedef struct counting {
    dlock_lock *lock;
    long *counter;
    int rounds;
} counting;

static void *count_up(void *arg)
{
    counting *c = arg;
    for (int i = 0; i < c->rounds; i++) {
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(c->lock, &(dlock_wait){.wait_ms = 60000}, &hold), DLOCK_OK);
        long seen = *(volatile long *)c->counter;
        if (i % 4 == 0)
            sched_yield();
        *(volatile long *)c->counter = seen + 1;
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    return NULL;
}

static void no_update_is_lost(void **state)
{
    rig *r = *state;
    enum { THREADS = 8 };
    dlock_client *other = another_client();
    for (size_t k = 0; k < KINDS; k++) {
        if (!excludes(k))
            continue;
        long counter = 0;
        pthread_t threads[THREADS];
        counting work[2] = {{lock_of(r->client, k, "count", (dlock_options){0}), &counter, 25},
                            {lock_of(other, k, "count", (dlock_options){0}), &counter, 25}};
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, count_up, &work[i % 2]);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(counter, THREADS * 25);
        dlock_lock_free(work[0].lock);
        dlock_lock_free(work[1].lock);
    }
    dlock_client_free(other);
}

typedef struct cancelling {
    dlock_lock *lock;
    dlock_cancel *cancel;
    dlock_status status;
} cancelling;

static void *wait_for_ever(void *arg)
{
    cancelling *c = arg;
    dlock_hold *hold;
    c->status =
        dlock_acquire(c->lock, &(dlock_wait){.wait_ms = DLOCK_FOREVER, .cancel = c->cancel}, &hold);
    return NULL;
}

static void a_wait_can_be_cancelled(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        if (!excludes(k))
            continue;
        dlock_lock *lock = lock_of(r->client, k, "cancel", (dlock_options){0});
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        cancelling c = {lock, dlock_cancel_new(), DLOCK_OK};
        pthread_t thread;
        pthread_create(&thread, NULL, wait_for_ever, &c);
        dlock_stats stats;
        do
            dlock_client_stats(r->client, &stats);
        while (stats.waiting_now == 0);
        dlock_cancel_now(c.cancel);
        pthread_join(thread, NULL);
        assert_int_equal(c.status, DLOCK_CANCELLED);
        dlock_cancel_free(c.cancel);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

static void a_forked_child_holds_nothing(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = lock_of(r->client, k, "fork", (dlock_options){0});
        dlock_hold *hold, *again;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        pid_t child = fork();
        if (child == 0)
            _exit(dlock_held(hold) || dlock_fence(hold) ||
                  dlock_acquire(lock, NULL, &again) != DLOCK_FORKED ||
                  dlock_release(hold) != DLOCK_FORKED);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_true(dlock_held(hold));
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(excludes_others),
        cmocka_unit_test(reenters_and_releases_in_any_order),
        cmocka_unit_test(fences_rise),
        cmocka_unit_test(renewal_keeps_it),
        cmocka_unit_test(loss_is_loud),
        cmocka_unit_test(expired_hold_is_not_reentered),
        cmocka_unit_test(max_hold_ends_it),
        cmocka_unit_test(no_update_is_lost),
        cmocka_unit_test(a_wait_can_be_cancelled),
        cmocka_unit_test(a_forked_child_holds_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
