/* test_registry.c - the strategies: all are there, and each says what it has to say. */
#include "tests/support/fixture.h"

#include <string.h>

#include "server/strategies/registry.h"

static void strategies_are_all_there_and_complete(void **state)
{
    (void)state;
    static const char *const names[] = {
        "none",    "setnx", "watchdog", "getset",   "reentrant", "nested",  "pubsub",
        "redlock", "fair",  "fenced",   "combined", "atomic",    "batched", "sharded",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(strategy_list()[i]->name, names[i]); /* in the documents' order */
    for (const fs_strategy *const *s = strategy_list(); *s != NULL; s++) {
        assert_ptr_equal(strategy_find((*s)->name), *s);
        assert_true(strlen((*s)->summary) > 10 && strlen((*s)->source) > 2);
        assert_true(strlen((*s)->weakness) > 10);
        assert_true(strlen(strategy_explanation(*s)) > 100);
        assert_non_null((*s)->buy);
        assert_int_equal((*s)->open != NULL, (*s)->close != NULL);
        assert_int_equal((*s)->locked, (*s)->lease_ms > 0);
        assert_non_null(strstr(strategy_names(), (*s)->name));
    }
    assert_null(strategy_find("hope"));
    assert_string_equal(strategy_standard()->name, "combined");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strategies_are_all_there_and_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
