/* test_order.c - the identifiers that an order is made of. */
#include "tests/support/fixture.h"

#include <string.h>

#include "server/store/order.h"

static void identifiers_are_1_to_64_safe_characters(void **state)
{
    (void)state;
    char long_one[IDENT_MAX + 2];
    memset(long_one, 'a', sizeof(long_one));
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {"P0001", true}, {"a-b_c", true},     {"", false},    {"a b", false},
        {"a{b}", false}, {"\xc3\xa4", false}, {"a\n", false}, {"#", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(ident_ok(cases[i].text, strlen(cases[i].text)), cases[i].good);
    assert_true(ident_ok(long_one, IDENT_MAX));
    assert_false(ident_ok(long_one, IDENT_MAX + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers_are_1_to_64_safe_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
