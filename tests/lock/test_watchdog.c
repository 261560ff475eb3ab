/* The watchdog when Redis is slow or silent: who is told what, and when. */
#include "tests/lock/rig.h"

#include <poll.h>
#include <signal.h>

static dlock_hold *take(dlock_lock *lock)
{
    dlock_hold *hold = NULL;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    return hold;
}

static bool lost_within(dlock_hold *hold, int ms)
{
    struct pollfd p = {.fd = dlock_lost_fd(hold), .events = POLLIN};
    return poll(&p, 1, ms) == 1;
}

static uint64_t renewals(rig *r)
{
    dlock_stats stats;
    dlock_client_stats(r->client, &stats);
    return stats.renewals;
}

/* The first renewal of a kind asks for its script's hash. When that came into a pipeline behind
 * other renewals, their replies slipped by one. Runs first: the hash is asked for once a process.
 * The stop makes three renewals due at once. */
static void replies_reach_the_right_lock(void **state)
{
    rig *r = *state;
    dlock_options early = {.lease_ms = 5000, .renew_ms = 50};
    dlock_options later = {.lease_ms = 5000, .renew_ms = 150};
    dlock_lock *first = rig_lock(r->client, "first", early);
    dlock_lock *kept = rig_lock(r->client, "kept", later);
    dlock_lock *gone = rig_lock(r->client, "gone", later);
    later.kind = DLOCK_HASH;
    dlock_lock *other = rig_lock(r->client, "other", later);
    dlock_hold *h0 = take(first);
    dlock_time give_up = dlock_in_ms(5000);
    while (renewals(r) == 0 && !dlock_passed(give_up))
        poll(NULL, 0, 5);
    dlock_hold *h1 = take(kept), *h2 = take(gone), *h3 = take(other);
    assert_int_equal(rig_ask(r, "DEL %s", "gone"), 1);
    fx_redis_signal(r->server, SIGSTOP);
    poll(NULL, 0, 250);
    fx_redis_signal(r->server, SIGCONT);
    assert_true(lost_within(h2, 2000));
    assert_true(dlock_held(h1));
    assert_false(lost_within(h3, 200));
    assert_int_equal(dlock_release(h0), DLOCK_OK);
    assert_int_equal(dlock_release(h1), DLOCK_OK);
    assert_int_equal(dlock_release(h2), DLOCK_NOT_OWNER);
    assert_int_equal(dlock_release(h3), DLOCK_OK);
    dlock_lock_free(first);
    dlock_lock_free(kept);
    dlock_lock_free(gone);
    dlock_lock_free(other);
}

/* The question that Redis does not answer must not outlast the lease it was to renew. */
static void a_loss_is_told_on_time_though_redis_is_silent(void **state)
{
    rig *r = *state;
    dlock_lock *lock =
        rig_lock(r->client, "silent", (dlock_options){.lease_ms = 400, .renew_ms = 100});
    dlock_hold *hold = take(lock);
    fx_redis_signal(r->server, SIGSTOP);
    bool told = lost_within(hold, 700);
    fx_redis_signal(r->server, SIGCONT);
    assert_true(told);
    assert_int_not_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

/* Redis counts the whole lease, we some 1 % less. A renewal that is confirmed in between comes too
 * late: somebody may have been told already that the hold is over. */
static void what_is_over_stays_over(void **state)
{
    rig *r = *state;
    dlock_lock *lock =
        rig_lock(r->client, "over", (dlock_options){.lease_ms = 3000, .renew_ms = 2900});
    dlock_hold *hold = take(lock);
    while (dlock_validity_ms(hold) > 80)
        poll(NULL, 0, 1);
    fx_redis_signal(r->server, SIGSTOP);
    while (dlock_held(hold))
        poll(NULL, 0, 1);
    fx_redis_signal(r->server, SIGCONT);
    bool told = lost_within(hold, 2000);
    assert_true(told);
    assert_false(dlock_held(hold));
    assert_int_not_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

/* The cap ends the grant in Redis too, not only in the holder's eyes. */
static void max_hold_frees_the_lock(void **state)
{
    rig *r = *state;
    dlock_options capped = {.lease_ms = 8000, .renew_ms = 50, .max_hold_ms = 200};
    dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    for (size_t i = 0; i < 3; i++) {
        capped.kind = kinds[i];
        dlock_lock *lock = rig_lock(r->client, "capped", capped);
        dlock_hold *hold = take(lock), *next = NULL;
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 3000, .context = 2}, &next),
                         DLOCK_OK);
        assert_false(dlock_held(hold));
        assert_int_equal(dlock_release(next), DLOCK_OK);
        assert_int_not_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_reach_the_right_lock),
        cmocka_unit_test(a_loss_is_told_on_time_though_redis_is_silent),
        cmocka_unit_test(what_is_over_stays_over),
        cmocka_unit_test(max_hold_frees_the_lock),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
