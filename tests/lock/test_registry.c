/* Who holds what: the ends of threads. Re-entry is tested for each kind in test_kinds.c. */
#include "tests/lock/rig.h"

#include <pthread.h>

static void *hold_and_end(void *lock)
{
    dlock_hold *hold;
    return (void *)(intptr_t)dlock_acquire(lock, NULL, &hold);
}

static void a_thread_that_ends_holding_is_reported(void **state)
{
    rig *r = *state;
    rig_reports seen = {0};
    pthread_t thread;
    void *status;
    dlock_client *client = rig_client(
        &(dlock_client_options){.redis = r->redis, .report = rig_note, .report_arg = &seen});
    dlock_lock *lock =
        rig_lock(client, "orphan", (dlock_options){.lease_ms = fx_lease_ms(200), .renew_ms = 20});
    dlock_hold *hold;
    pthread_create(&thread, NULL, hold_and_end, lock);
    pthread_join(thread, &status);
    assert_null(status);
    assert_int_equal(seen.count[DLOCK_REPORT_ORPHANED], 1);
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = fx_patient_ms(5000)}, &hold),
                     DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_client_free(client); /* frees what the ended thread left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_ends_holding_is_reported),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
