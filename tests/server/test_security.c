/* test_security.c - server/SECURITY.md names tests that exist. */
#include "tests/support/fixture.h"

static void every_test_that_security_md_names_exists(void **state)
{
    (void)state;
    assert_int_equal(fx_shell("names=$(awk -F'|' '/^.* API/ { print $4 }' server/SECURITY.md |"
                              "  grep -o '[a-z_0-9]*');"
                              "[ $(echo \"$names\" | wc -l) -ge 25 ] || exit 1;"
                              "for name in $names; do"
                              "  grep -rqE \"cmocka_unit_test[a-z_]*\\($name[,)]\" tests || {"
                              "    echo \"there is no test $name\" >&2; exit 1; };"
                              "done",
                              NULL, 20000),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_test_that_security_md_names_exists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
