/* test_registry.c - the strategies: each says what it has to say, and claims what goes together. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/strategies/registry.h"

static void each_is_complete(void **state)
{
    (void)state;
    for (const fs_strategy *const *s = strategy_list(); *s != NULL; s++) {
        assert_ptr_equal(strategy_find((*s)->name), *s);
        assert_true(strlen((*s)->summary) > 10 && strlen((*s)->source) > 2);
        assert_true(strlen((*s)->weakness) > 10);
        assert_true(strlen(strategy_explanation(*s)) > 100);
        assert_non_null((*s)->buy);
        assert_int_equal((*s)->open != NULL, (*s)->close != NULL);
        assert_non_null(strstr(strategy_names(), (*s)->name));
    }
    assert_null(strategy_find("hope"));
    assert_string_equal(strategy_standard()->name, "combined");
}

static void what_it_claims_goes_together(void **state)
{
    (void)state;
    for (const fs_strategy *const *s = strategy_list(); *s != NULL; s++) {
        if ((*s)->locked != ((*s)->lease_ms > 0) || ((*s)->renews && !(*s)->locked))
            fail_msg("%s: who has a lock has a lease, and nobody else", (*s)->name);
        if (((*s)->sharded && !(*s)->guarded) || ((*s)->guarded && !(*s)->replayable))
            fail_msg("%s: sharded is guarded, and guarded is replayable", (*s)->name);
    }
}

/* In this order, and those without a place behind the others; see README.md of its folder. */
static void who_has_a_place_is_documented(void **state)
{
    (void)state;
    char grep[128];
    int last = 0;
    for (const fs_strategy *const *s = strategy_list(); *s != NULL && (*s)->place > 0; s++) {
        if ((*s)->place <= last)
            fail_msg("%s has the place %d of another one: give it the next", (*s)->name, last);
        last = (*s)->place;
        snprintf(grep, sizeof(grep), "grep -q '^| .*`%s`.*|$' server/strategies/README.md",
                 (*s)->name);
        if (fx_shell(grep, NULL, 20000) != 0)
            fail_msg("%s has a place in lists: add it to the table of server/strategies/README.md",
                     (*s)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_complete),
        cmocka_unit_test(what_it_claims_goes_together),
        cmocka_unit_test(who_has_a_place_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
