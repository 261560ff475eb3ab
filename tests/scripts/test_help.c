/* test_help.c - `make help` and the pages name the same targets, and each of them exists. */
#include "tests/support/fixture.h"

/* Every phony target but the inner ones has its line, and every line has a target. */
static void help_lists_every_target(void **state)
{
    (void)state;
    assert_int_equal(fx_shell("inner=' test-programs tested lint-only FORCE ';"
                              "listed=\" $(make -s help | awk '{ print $2 }' | tr '\\n' ' ')\";"
                              "phony=$(sed -n 's/^\\.PHONY://p' Makefile);"
                              "for t in $phony; do case $inner$listed in *\" $t \"*) ;;"
                              "  *) echo \"make help does not list $t\" >&2; exit 1;; esac; done;"
                              "for t in $listed; do case \" $(echo $phony) \" in *\" $t \"*) ;;"
                              "  *) echo \"there is no target $t\" >&2; exit 1;; esac; done;"
                              "[ $(echo $listed | wc -w) -gt 10 ]",
                              NULL, 20000),
                     0);
}

/* `make X` at the start of a line of code, or between backticks. */
static void pages_name_targets_that_exist(void **state)
{
    (void)state;
    assert_int_equal(fx_shell("listed=\" $(make -s help | awk '{ print $2 }' | tr '\\n' ' ')\";"
                              "named=$(cat ./*.md */*.md | grep -oE '(^    |`)make [a-z-]+' |"
                              "  sed 's/.*make //' | sort -u);"
                              "[ $(echo $named | wc -w) -gt 5 ] || exit 1;"
                              "for t in $named; do case $listed in *\" $t \"*) ;;"
                              "  *) echo \"a page names make $t\" >&2; exit 1;; esac; done",
                              NULL, 20000),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_lists_every_target),
        cmocka_unit_test(pages_name_targets_that_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
