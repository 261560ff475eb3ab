/* Acquisitions and releases without a thread: what each kind must do, by one table. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lock/pending/pending.h"

static const struct {
    const char *name;
    dlock_options options;
} kinds[] = {
    {"string", {.kind = DLOCK_STRING}},
    {"hash", {.kind = DLOCK_HASH}},
    {"hash, polling", {.kind = DLOCK_HASH, .poll_ms = 20}},
    {"fair", {.kind = DLOCK_FAIR}},
    {"fair, polling", {.kind = DLOCK_FAIR, .poll_ms = 20}},
    {"write", {.kind = DLOCK_WRITE}},
    {"write, polling", {.kind = DLOCK_WRITE, .poll_ms = 20}},
    {"semaphore", {.kind = DLOCK_SEMAPHORE, .permits = 1}},
};
#define KINDS (COUNT(kinds))

static const char *name_of(size_t k, const char *test)
{
    static char name[64];
    snprintf(name, sizeof(name), "%s:%zu", test, k);
    return name;
}

/* A lock of kind `k` with the other options of `o`, on a name of its own. */
static dlock_lock *lock_of(dlock_client *client, size_t k, const char *test, dlock_options o)
{
    o.kind = kinds[k].options.kind;
    o.poll_ms = kinds[k].options.poll_ms;
    o.permits = kinds[k].options.permits;
    return rig_lock(client, name_of(k, test), o);
}

static bool queues(size_t k)
{
    return kinds[k].options.kind >= DLOCK_FAIR;
}

static uint64_t waiting_now(dlock_client *client)
{
    dlock_stats stats;
    dlock_client_stats(client, &stats);
    return stats.waiting_now;
}

static void grants_what_is_free(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = lock_of(r->client, k, "free", (dlock_options){0});
        uint64_t fence = 0;
        for (int64_t wait_ms = -1; wait_ms < 2; wait_ms++) {
            dlock_hold *hold = pd_get(pd_start(lock, wait_ms));
            assert_true(dlock_validity_ms(hold) > 8000);
            assert_true(dlock_fence(hold) > fence);
            fence = dlock_fence(hold);
            assert_int_equal(pd_release(hold), DLOCK_OK);
        }
        assert_int_equal(waiting_now(r->client), 0);
        dlock_lock_free(lock);
    }
}

static void waits_and_is_granted(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
        dlock_lock *a = lock_of(r->client, k, "granted", (dlock_options){0});
        dlock_lock *b = lock_of(other, k, "granted", (dlock_options){0});
        dlock_hold *hold = pd_get(pd_start(a, 0));
        dlock_pending *one = pd_start(b, DLOCK_FOREVER), *two = pd_start(b, DLOCK_FOREVER);
        pd_assert_undecided(one);
        pd_assert_undecided(two);
        assert_int_equal(waiting_now(other), 2);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        hold = pd_get(one);
        pd_assert_undecided(two);
        assert_int_equal(pd_release(hold), DLOCK_OK);
        assert_int_equal(pd_release(pd_get(two)), DLOCK_OK);
        assert_int_equal(waiting_now(other), 0);
        dlock_lock_free(a);
        dlock_lock_free(b);
        dlock_client_free(other);
    }
}

static void one_try_or_a_time_limit(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = lock_of(r->client, k, "limit", (dlock_options){0});
        dlock_hold *hold = pd_get(pd_start(lock, 0));
        dlock_time begun = dlock_now();
        assert_int_equal(pd_finish(pd_start(lock, 0), NULL), DLOCK_BUSY);
        assert_int_equal(pd_finish(pd_start(lock, 50), NULL), DLOCK_BUSY);
        assert_true(dlock_now().us - begun.us >= 50000);
        if (queues(k))
            pd_await_queue(r, name_of(k, "limit"), 0);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        assert_int_equal(pd_release(pd_get(pd_start(lock, 0))), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

static void ends_when_cancelled(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = lock_of(r->client, k, "cancel", (dlock_options){0});
        dlock_cancel *cancel = dlock_cancel_new();
        dlock_hold *hold = pd_get(pd_start(lock, 0));
        dlock_pending *one = pd_start(lock, DLOCK_FOREVER);
        dlock_pending *two =
            pd_start_as(lock, (dlock_wait){.wait_ms = DLOCK_FOREVER, .cancel = cancel});
        dlock_pending *three = pd_start(lock, DLOCK_FOREVER);
        pd_assert_undecided(one);
        dlock_pending_cancel(one);
        assert_int_equal(pd_finish(one, NULL), DLOCK_CANCELLED);
        pd_assert_undecided(two);
        dlock_cancel_now(cancel);
        assert_int_equal(pd_finish(two, NULL), DLOCK_CANCELLED);
        pd_assert_undecided(three);
        if (queues(k))
            pd_await_queue(r, name_of(k, "cancel"), 1);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        assert_int_equal(pd_release(pd_get(three)), DLOCK_OK);
        dlock_lock_free(lock);
        dlock_cancel_free(cancel);
    }
}

static void cancelled_when_decided_changes_nothing(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        dlock_lock *lock = lock_of(r->client, k, "late cancel", (dlock_options){0});
        dlock_pending *p = pd_start(lock, 0), *going;
        assert_true(pd_readable(p, PATIENCE_MS));
        dlock_pending_cancel(p);
        dlock_hold *hold = pd_get(p);
        assert_int_equal(dlock_release_start(hold, &going), DLOCK_OK);
        dlock_pending_cancel(going);
        assert_true(pd_readable(going, PATIENCE_MS));
        assert_int_equal(dlock_release_finish(going), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

static void reenters_by_context_only(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        if (kinds[k].options.kind == DLOCK_SEMAPHORE)
            continue;
        dlock_lock *lock = lock_of(r->client, k, "context", (dlock_options){0});
        dlock_hold *hold = pd_get(pd_start_as(lock, (dlock_wait){.context = 7})), *again;
        dlock_pending *p = pd_start_as(lock, (dlock_wait){.context = 7});
        assert_true(pd_readable(p, 0));
        assert_int_equal(dlock_acquire_finish(p, &again), DLOCK_OK);
        assert_ptr_equal(again, hold);
        assert_int_equal(pd_finish(pd_start(lock, 0), NULL), DLOCK_BUSY);
        assert_int_equal(pd_finish(pd_start_as(lock, (dlock_wait){.context = 8}), NULL),
                         DLOCK_BUSY);
        assert_int_equal(pd_release(again), DLOCK_OK);
        assert_true(dlock_held(hold));
        assert_int_equal(pd_release(hold), DLOCK_OK);

        hold = pd_get(pd_start(lock, 0)); /* no thread's: none gets it again, nor this one */
        assert_int_equal(dlock_acquire(lock, NULL, &again), DLOCK_BUSY);
        assert_int_equal(pd_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

/* Decided, and finished much later than its lease. */
static void is_renewed_from_its_decision(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        const int lease_ms = fx_lease_ms(300);
        dlock_options o = {.lease_ms = lease_ms};
        dlock_lock *lock = lock_of(r->client, k, "renewed", o);
        dlock_hold *first = pd_get(pd_start(lock, 0));
        dlock_pending *p = pd_start(lock, DLOCK_FOREVER);
        pd_assert_undecided(p);
        assert_int_equal(dlock_release(first), DLOCK_OK);
        assert_true(pd_readable(p, PATIENCE_MS));
        dlock_sleep(dlock_in_ms(2 * lease_ms + 100));
        dlock_hold *hold = pd_get(p);
        assert_int_equal(pd_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

static void note_loss(void *arg, dlock_hold *hold)
{
    (void)hold;
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void tells_of_a_loss(void **state)
{
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        atomic_int lost = 0;
        dlock_options o = {.lease_ms = fx_lease_ms(300), .lost = note_loss, .lost_arg = &lost};
        dlock_lock *lock = lock_of(r->client, k, "lost", o);
        dlock_hold *hold = pd_get(pd_start(lock, 0));
        struct pollfd fd = {.fd = dlock_lost_fd(hold), .events = POLLIN};
        rig_ask(r, "DEL %s", name_of(k, "lost"));
        assert_int_equal(poll(&fd, 1, fx_patient_ms(PATIENCE_MS)), 1);
        assert_int_equal(atomic_load(&lost), 1);
        assert_false(dlock_held(hold));
        assert_int_equal(pd_release(hold), DLOCK_NOT_OWNER);
        dlock_lock_free(lock);
    }
}

/* One after the other, whether with a thread or without, and of which client. */
typedef struct turn {
    dlock_lock *lock;
    atomic_int *served;
    int got;
} turn;

static void *take_turn(void *arg)
{
    turn *t = arg;
    dlock_hold *hold;
    if (dlock_acquire(t->lock, &(dlock_wait){.wait_ms = PATIENCE_MS}, &hold) != DLOCK_OK)
        return NULL;
    t->got = atomic_fetch_add(t->served, 1) + 1;
    (void)!dlock_release(hold);
    return NULL;
}

static void first_come_first_served(void **state)
{
    enum { EACH = 4 };
    rig *r = *state;
    for (size_t k = 0; k < KINDS; k++) {
        if (!queues(k) || kinds[k].options.poll_ms > 0)
            continue;
        dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
        dlock_lock *a = lock_of(r->client, k, "order", (dlock_options){0});
        dlock_lock *b = lock_of(other, k, "order", (dlock_options){0});
        dlock_hold *hold = pd_get(pd_start(a, 0));
        dlock_pending *p[2 * EACH];
        pthread_t threads[EACH];
        atomic_int served = 0;
        turn turns[EACH];
        for (int i = 0; i < EACH; i++) {
            p[2 * i] = pd_start(a, DLOCK_FOREVER);
            pd_await_queue(r, name_of(k, "order"), 3 * i + 1);
            turns[i] = (turn){.lock = b, .served = &served};
            pthread_create(&threads[i], NULL, take_turn, &turns[i]);
            pd_await_queue(r, name_of(k, "order"), 3 * i + 2);
            p[2 * i + 1] = pd_start(b, DLOCK_FOREVER);
            pd_await_queue(r, name_of(k, "order"), 3 * i + 3);
        }
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        for (int i = 0; i < EACH; i++) {
            hold = pd_get(p[2 * i]);
            assert_int_equal(atomic_fetch_add(&served, 1), 3 * i);
            assert_int_equal(pd_release(hold), DLOCK_OK);
            hold = pd_get(p[2 * i + 1]);
            assert_int_equal(atomic_fetch_add(&served, 1), 3 * i + 2);
            assert_int_equal(pd_release(hold), DLOCK_OK);
        }
        for (int i = 0; i < EACH; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(turns[i].got, 3 * i + 2);
        }
        dlock_lock_free(a);
        dlock_lock_free(b);
        dlock_client_free(other);
    }
}

static void a_child_gets_nothing(void **state)
{
    rig *r = *state;
    dlock_lock *lock = lock_of(r->client, 3, "fork", (dlock_options){0});
    dlock_hold *hold = pd_get(pd_start(lock, 0)), *got;
    dlock_pending *p = pd_start(lock, DLOCK_FOREVER), *more;
    pd_assert_undecided(p);
    pid_t child = fork();
    if (child == 0) {
        dlock_pending_cancel(p);
        bool well = dlock_acquire_start(lock, NULL, &more) == DLOCK_FORKED &&
                    dlock_acquire_finish(p, &got) == DLOCK_FORKED &&
                    dlock_release_start(hold, &more) == DLOCK_FORKED &&
                    dlock_release_finish(p) == DLOCK_FORKED && dlock_pending_fd(p) == -1;
        _exit(well ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    pd_assert_undecided(p);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_int_equal(pd_release(pd_get(p)), DLOCK_OK);
    dlock_lock_free(lock);
}

static void refuses_what_it_can_not_do(void **state)
{
    rig *r = *state;
    dlock_pending *p = NULL;
    dlock_lock *replicated = rig_lock(r->client, "replicated", (dlock_options){.wait_replicas = 1});
    assert_int_equal(dlock_acquire_start(replicated, NULL, &p), DLOCK_INVALID);
    dlock_lock_free(replicated);

    dlock_client *voting =
        rig_client(&(dlock_client_options){.quorum = &r->redis, .quorum_len = 1});
    dlock_lock *voted = rig_lock(voting, "voted", (dlock_options){.kind = DLOCK_QUORUM});
    dlock_hold *hold;
    assert_int_equal(dlock_acquire_start(voted, NULL, &p), DLOCK_INVALID);
    assert_int_equal(dlock_acquire(voted, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_release_start(hold, &p), DLOCK_INVALID);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(voted);
    dlock_client_free(voting);

    dlock_lock *lock = rig_lock(r->client, "refuses", (dlock_options){0});
    assert_int_equal(dlock_acquire_start(lock, &(dlock_wait){.wait_ms = -2}, &p), DLOCK_INVALID);
    assert_int_equal(dlock_acquire_start(lock, &(dlock_wait){.permits = 1}, &p), DLOCK_INVALID);
    assert_null(p);
    p = pd_start(lock, 0);
    assert_int_equal(dlock_release_finish(p), DLOCK_INVALID);
    assert_int_equal(pd_release(pd_get(p)), DLOCK_OK);
    dlock_lock_free(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_what_is_free),
        cmocka_unit_test(waits_and_is_granted),
        cmocka_unit_test(one_try_or_a_time_limit),
        cmocka_unit_test(ends_when_cancelled),
        cmocka_unit_test(cancelled_when_decided_changes_nothing),
        cmocka_unit_test(reenters_by_context_only),
        cmocka_unit_test(is_renewed_from_its_decision),
        cmocka_unit_test(tells_of_a_loss),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(a_child_gets_nothing),
        cmocka_unit_test(refuses_what_it_can_not_do),
    };
    return cmocka_run_group_tests_name("pending", tests, rig_setup, rig_teardown);
}
