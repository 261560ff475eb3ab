/* Threads and pending acquisitions of two clients fight over one lock, and some give up. */
#include <pthread.h>
#include <sched.h>

#include "tests/lock/pending/pending.h"

enum { THREADS = 3, PENDING = 24, GRANTS = 1500 };

typedef struct fight {
    dlock_lock *locks[2];
    atomic_int inside, granted, both;
    dlock_time until;
} fight;

/* Nobody else is inside as long as this hold is held. */
static void stay(fight *f, dlock_hold *hold)
{
    if (atomic_fetch_add(&f->inside, 1) != 0 && dlock_held(hold))
        atomic_fetch_add(&f->both, 1);
    atomic_fetch_add(&f->granted, 1);
    sched_yield();
    atomic_fetch_sub(&f->inside, 1);
}

static bool goes_on(fight *f)
{
    return atomic_load(&f->granted) < GRANTS && !dlock_passed(f->until);
}

static void *fight_blocking(void *arg)
{
    fight *f = arg;
    for (unsigned i = 0; goes_on(f); i++) {
        dlock_hold *hold;
        dlock_wait wait = {.wait_ms = i % 5 == 0 ? 2 : 5000};
        if (dlock_acquire(f->locks[i % 2], &wait, &hold) != DLOCK_OK)
            continue;
        stay(f, hold);
        (void)!dlock_release(hold);
    }
    return NULL;
}

/* One of those that are pending; its turn was `i`. */
static dlock_pending *start(fight *f, unsigned i)
{
    return pd_start(f->locks[i % 2], i % 5 == 0 ? 2 : 5000);
}

static void settle(fight *f, dlock_pending *p)
{
    dlock_hold *hold;
    if (pd_finish(p, &hold) != DLOCK_OK)
        return;
    stay(f, hold);
    (void)!pd_release(hold);
}

/* Where one that waits longest is cancelled in between, too. */
static void fight_pending(fight *f)
{
    dlock_pending *p[PENDING];
    unsigned turn = 0;
    for (int i = 0; i < PENDING; i++)
        p[i] = start(f, turn++);
    while (goes_on(f)) {
        struct pollfd fds[PENDING];
        for (int i = 0; i < PENDING; i++)
            fds[i] = (struct pollfd){.fd = dlock_pending_fd(p[i]), .events = POLLIN};
        poll(fds, PENDING, 50);
        for (int i = 0; i < PENDING; i++) {
            if (!fds[i].revents)
                continue;
            settle(f, p[i]);
            p[i] = start(f, turn++);
            if (turn % 7 == 0)
                dlock_pending_cancel(p[turn % PENDING]);
        }
    }
    for (int i = 0; i < PENDING; i++) /* or one would wait for what another has got */
        dlock_pending_cancel(p[i]);
    for (int i = 0; i < PENDING; i++)
        settle(f, p[i]);
}

static void only_one_is_inside(void **state)
{
    static const dlock_kind kinds[] = {DLOCK_HASH, DLOCK_FAIR, DLOCK_WRITE, DLOCK_SEMAPHORE};
    rig *r = *state;
    dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
    for (int k = 0; k < 4; k++) {
        dlock_options o = {.kind = kinds[k], .permits = kinds[k] == DLOCK_SEMAPHORE ? 1 : 0};
        char name[32];
        snprintf(name, sizeof(name), "fight:%d", k);
        fight f = {.locks = {rig_lock(r->client, name, o), rig_lock(other, name, o)},
                   .until = dlock_in_ms(60000)};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, fight_blocking, &f);
        fight_pending(&f);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_true(atomic_load(&f.granted) >= GRANTS);
        assert_int_equal(atomic_load(&f.both), 0);
        dlock_hold *last = pd_get(pd_start(f.locks[0], PATIENCE_MS)); /* nothing is left behind */
        assert_int_equal(pd_release(last), DLOCK_OK);
        dlock_lock_free(f.locks[0]);
        dlock_lock_free(f.locks[1]);
    }
    dlock_client_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_one_is_inside)};
    return cmocka_run_group_tests_name("pending_mixed", tests, rig_setup, rig_teardown);
}
