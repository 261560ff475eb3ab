/* How long a grant is ours by our own clock, also in the moment between the end of its lease and
 * the watchdog's hearing of that. */
#include "lock/core/grant.h"
#include "tests/lock/rig.h"

enum { LONG_MS = 60000 };

static grant confirmed(int64_t ago_ms, int64_t lease_ms, dlock_time ends)
{
    grant g = {.ends = ends};
    atomic_init(&g.state, GRANT_HELD);
    dlock_grant_begin(&g, (dlock_time){dlock_now().us - ago_ms * 1000}, lease_ms);
    return g;
}

static void a_lease_counts_from_the_question_less_what_clocks_may_drift(void **state)
{
    (void)state;
    const dlock_time never = {INT64_MAX};
    grant g = confirmed(0, LONG_MS, never);
    assert_true(dlock_grant_alive(&g));
    assert_in_range(dlock_grant_left_ms(&g), 1, LONG_MS - LONG_MS / 100 - 2);
    g = confirmed(LONG_MS / 2, LONG_MS, never);
    assert_true(dlock_grant_alive(&g));
    assert_in_range(dlock_grant_left_ms(&g), 1, LONG_MS / 2 - LONG_MS / 100 - 2);
    int64_t asked_us = dlock_now().us;
    assert_true(dlock_grant_confirm(&g, (dlock_time){asked_us}, LONG_MS));
    assert_int_equal(atomic_load(&g.valid_until_us), asked_us + (LONG_MS * 99 / 100 - 2) * 1000);
}

static void what_has_lapsed_has_nothing_left(void **state)
{
    (void)state;
    const dlock_time never = {INT64_MAX};
    static const int64_t ago_ms[] = {LONG_MS - LONG_MS / 100 - 2, LONG_MS, 2 * LONG_MS};
    for (size_t i = 0; i < COUNT(ago_ms); i++) {
        grant g = confirmed(ago_ms[i], LONG_MS, never);
        assert_false(dlock_grant_alive(&g));
        assert_int_equal(dlock_grant_left_ms(&g), 0);
        assert_false(dlock_grant_confirm(&g, dlock_now(), LONG_MS)); /* what is over stays over */
        assert_false(dlock_grant_alive(&g));
    }
}

static void max_hold_ends_it_before_its_lease(void **state)
{
    (void)state;
    grant g = confirmed(0, LONG_MS, dlock_in_ms(LONG_MS / 2));
    assert_true(dlock_grant_alive(&g));
    assert_in_range(dlock_grant_left_ms(&g), 1, LONG_MS / 2);
    g = confirmed(0, LONG_MS, dlock_now());
    assert_false(dlock_grant_alive(&g));
    assert_int_equal(dlock_grant_left_ms(&g), 0);
}

static void what_was_lost_or_given_back_is_not_ours_whatever_its_lease(void **state)
{
    (void)state;
    for (int s = GRANT_EXPIRED; s <= GRANT_RELEASED; s++) {
        grant g = confirmed(0, LONG_MS, (dlock_time){INT64_MAX});
        atomic_store(&g.state, s);
        assert_false(dlock_grant_alive(&g));
        assert_int_equal(dlock_grant_left_ms(&g), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_counts_from_the_question_less_what_clocks_may_drift),
        cmocka_unit_test(what_has_lapsed_has_nothing_left),
        cmocka_unit_test(max_hold_ends_it_before_its_lease),
        cmocka_unit_test(what_was_lost_or_given_back_is_not_ours_whatever_its_lease),
    };
    return cmocka_run_group_tests_name("grant", tests, NULL, NULL);
}
