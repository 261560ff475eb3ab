/* The lock order checker: locks taken in opposite orders are reported, once. */
#include "tests/lock/rig.h"

static void opposite_orders_are_reported(void **state)
{
    rig *r = *state;
    rig_reports seen = {0};
    dlock_client *client = rig_client(&(dlock_client_options){
        .redis = r->redis, .check_order = true, .report = rig_note, .report_arg = &seen});
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opposite_orders_are_reported),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
