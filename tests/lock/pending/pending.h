/* What the tests of pending calls share: starting, waiting for a decision, finishing. */
#ifndef TESTS_LOCK_PENDING_PENDING_H
#define TESTS_LOCK_PENDING_PENDING_H

#include <poll.h>

#include "tests/lock/rig.h"

#define PATIENCE_MS 10000

static inline dlock_pending *pd_start_as(dlock_lock *lock, dlock_wait wait)
{
    dlock_pending *p = NULL;
    assert_int_equal(dlock_acquire_start(lock, &wait, &p), DLOCK_OK);
    return p;
}

static inline dlock_pending *pd_start(dlock_lock *lock, int64_t wait_ms)
{
    return pd_start_as(lock, (dlock_wait){.wait_ms = wait_ms});
}

/* Whether its descriptor is readable within that time. */
static inline bool pd_readable(const dlock_pending *p, int ms)
{
    struct pollfd fd = {.fd = dlock_pending_fd(p), .events = POLLIN};
    return poll(&fd, 1, fx_patient_ms(ms)) == 1;
}

/* Waits for the decision. */
static inline dlock_status pd_finish(dlock_pending *p, dlock_hold **ret)
{
    dlock_hold *hold = NULL;
    assert_true(pd_readable(p, PATIENCE_MS));
    dlock_status status = dlock_acquire_finish(p, ret ? ret : &hold);
    assert_int_not_equal(status, DLOCK_PENDING);
    return status;
}

static inline dlock_hold *pd_get(dlock_pending *p)
{
    dlock_hold *hold = NULL;
    assert_int_equal(pd_finish(p, &hold), DLOCK_OK);
    assert_true(dlock_held(hold));
    return hold;
}

/* Undecided for good: not just for want of time to be decided. */
static inline void pd_assert_undecided(dlock_pending *p)
{
    dlock_hold *hold = NULL;
    assert_false(pd_readable(p, 30));
    assert_int_equal(dlock_acquire_finish(p, &hold), DLOCK_PENDING);
    assert_null(hold);
}

static inline dlock_status pd_release(dlock_hold *hold)
{
    dlock_pending *p = NULL;
    assert_int_equal(dlock_release_start(hold, &p), DLOCK_OK);
    assert_true(pd_readable(p, PATIENCE_MS));
    dlock_status status = dlock_release_finish(p);
    assert_int_not_equal(status, DLOCK_PENDING);
    return status;
}

/* Waits until the lock's queue in Redis has so many entries. */
static inline void pd_await_queue(rig *r, const char *name, long long entries)
{
    dlock_time until = dlock_in_ms(fx_patient_ms(PATIENCE_MS));
    char key[128];
    snprintf(key, sizeof(key), "dlock:{%s}:queue", name);
    while (rig_ask(r, "LLEN %s", key) != entries && !dlock_passed(until))
        dlock_sleep(dlock_in_ms(2));
    assert_int_equal(rig_ask(r, "LLEN %s", key), entries);
}

#endif
