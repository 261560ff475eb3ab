/* Threads that wait for a lock, hold it until they are told to go, and are all in one's sight. */
#ifndef TESTS_LOCK_GUESTS_H
#define TESTS_LOCK_GUESTS_H

#include "tests/lock/rig.h"

#include <pthread.h>

#define GUEST_SOON_MS fx_patient_ms(10000)

typedef struct guest {
    dlock_lock *lock;
    dlock_wait wait; /* its wait_ms and what else it asks for */
    dlock_status status;
    uint64_t fence;
    atomic_bool in, go;
    pthread_t thread;
} guest;

static inline void *guest_visit(void *arg)
{
    guest *g = arg;
    dlock_hold *hold;
    g->status = dlock_acquire(g->lock, &g->wait, &hold);
    if (g->status != DLOCK_OK)
        return NULL;
    g->fence = dlock_fence(hold);
    atomic_store(&g->in, true);
    while (!atomic_load(&g->go))
        fx_let_pass(1);
    g->status = dlock_release(hold);
    return NULL;
}

static inline void guest_come(guest *g, dlock_lock *lock)
{
    g->lock = lock;
    if (g->wait.wait_ms == 0)
        g->wait.wait_ms = GUEST_SOON_MS;
    pthread_create(&g->thread, NULL, guest_visit, g);
}

static inline void guest_until_in(guest *g)
{
    dlock_time give_up = dlock_in_ms(GUEST_SOON_MS);
    while (!atomic_load(&g->in) && !dlock_passed(give_up))
        fx_let_pass(1);
    assert_true(atomic_load(&g->in));
}

/* Its end, after it was in or not; the status of its release, or of its wait. */
static inline dlock_status guest_leave(guest *g)
{
    atomic_store(&g->go, true);
    pthread_join(g->thread, NULL);
    return g->status;
}

/* Comes, and stands in the queue as number n. */
static inline void guest_queue(guest *g, dlock_lock *lock, rig *r, const char *queue, long long n)
{
    dlock_time give_up = dlock_in_ms(GUEST_SOON_MS);
    guest_come(g, lock);
    while (rig_ask(r, "LLEN %s", queue) < n && !dlock_passed(give_up))
        fx_let_pass(1);
    assert_int_equal(rig_ask(r, "LLEN %s", queue), n);
}

#endif
