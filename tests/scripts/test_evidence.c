/*
 * test_evidence.c - scripts/evidence: refuses what it does not know, does nothing without Go, and
 * writes its tables where the page has room for them; and the page is whole.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/fixture.h"

enum { SCRIPT_MS = 20000 };

static char home[256]; /* a tree with nothing but the script and its page */

static int setup(void **state)
{
    (void)state;
    fx_dir_make(home, sizeof(home));
    setenv("FLASHSALE_BUILD", "build", 1);
    return fx_shell("mkdir -p $1/scripts $1/tests/chaos $1/build/evidence $1/bin;"
                    "cp scripts/evidence scripts/usage.sh $1/scripts;"
                    "for it in bash dirname sed; do ln -s $(command -v $it) $1/bin; done",
                    home, SCRIPT_MS);
}

static int teardown(void **state)
{
    (void)state;
    fx_dir_remove(home);
    return 0;
}

/* Beginnings of scripts: what a command's exit code is. */
#define CODE "code() { \"$@\" >/dev/null 2>&1 && echo 0 || echo $?; };"

static void it_explains_itself_and_takes_no_other_words(void **state)
{
    (void)state;
    assert_int_equal(
        fx_shell(CODE "$1/scripts/evidence --help | grep -q EVIDENCE=full;"
                      "for bad in 'more' '--write now' '--plan'; do"
                      "  [ $(code $1/scripts/evidence $bad) = 64 ]; done;"
                      "export EVIDENCE=most; [ $(code $1/scripts/evidence) = 64 ];"
                      "export EVIDENCE=full ONLY=cells; [ $(code $1/scripts/evidence) = 64 ]",
                 home, SCRIPT_MS),
        0);
}

static void without_go_it_leaves_what_is_there(void **state)
{
    (void)state;
    assert_int_equal(fx_shell(CODE "unset ONLY EVIDENCE; touch $1/build/evidence/kept;"
                                   "[ $(PATH=$1/bin code $1/scripts/evidence) = 69 ];"
                                   "PATH=$1/bin $1/scripts/evidence 2>&1 | grep -q 'no go here';"
                                   "[ -e $1/build/evidence/kept ]",
                              home, SCRIPT_MS),
                     0);
}

/* Of a few cells, the matrix's table stays that of an earlier whole one. */
static void tables_go_between_their_marks(void **state)
{
    (void)state;
    if (fx_shell("command -v jq >/dev/null", NULL, SCRIPT_MS) != 0)
        fx_skip("jq is not here");
    assert_int_equal(
        fx_shell(
            "cd $1;"
            "for it in agreement matrix; do"
            "  printf '%s\\n' \"before $it\" \"<!-- $it -->\" \"old $it\" \"<!-- end of $it -->\"; "
            "done"
            "  >tests/chaos/EVIDENCE.md;"
            "echo '| new |' >build/evidence/agreement.md; echo '| whole |' "
            ">build/evidence/matrix.md;"
            "echo '{}' >build/evidence/verdicts.json;"
            "about() { echo "
            "\"{\\\"parts\\\":[{\\\"commit\\\":\\\"c0ffee\\\",\\\"cells\\\":\\\"$1\\\"}]}\""
            "  >build/evidence/about.json; };"
            "counts() { for it; do grep -c \"$it\" tests/chaos/EVIDENCE.md || :; done | tr '\\n' ' "
            "'; };"
            "about 'a few'; scripts/evidence --write || exit 1;"
            "[ \"$(counts c0ffee '| new |' 'old agreement' 'old matrix' before)\" = '1 1 0 1 2 ' ]"
            "  || exit 1;"
            "about all; scripts/evidence --write && scripts/evidence --write || exit 1;"
            "[ \"$(counts c0ffee '| new |' '| whole |' 'old' '<!--')\" = '1 1 1 0 4 ' ]",
            home, SCRIPT_MS),
        0);
}

/* Each mark has its end, and each table as many columns in every line. */
static void the_page_is_whole(void **state)
{
    (void)state;
    assert_int_equal(
        fx_shell("awk '/^<!-- end of / { if ($4 != open) exit bad = 1; open = \"\"; ends++; next }"
                 "     /^<!-- / { if (open) exit bad = 1; open = $2 }"
                 "     /^\\|/ { n = gsub(/\\|/, \"\"); if (in_table && n != columns) exit bad = 1;"
                 "             columns = n; in_table = 1; next }"
                 "     { in_table = 0 }"
                 "     END { exit bad || open != \"\" || ends != 2 }' tests/chaos/EVIDENCE.md",
                 NULL, SCRIPT_MS),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_explains_itself_and_takes_no_other_words),
        cmocka_unit_test(without_go_it_leaves_what_is_there),
        cmocka_unit_test(tables_go_between_their_marks),
        cmocka_unit_test(the_page_is_whole),
    };
    return cmocka_run_group_tests_name("evidence", tests, setup, teardown);
}
