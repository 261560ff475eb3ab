/*
 * test_evidence.c - scripts/evidence: refuses what it does not know, does nothing without Go, keeps
 * the old archive until a new one is whole, makes one that notices a changed file, misses no group
 * of histories, and writes its tables where the pages have room for them; and the pages are whole.
 */
#include <stdlib.h>

#include "tests/support/fixture.h"

enum { SCRIPT_MS = 60000 };

static char home[256]; /* a tree with nothing but the script and its pages */

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

/* Beginnings of scripts: what a command's exit code is. */
#define CODE "code() { \"$@\" >/dev/null 2>&1 && echo 0 || echo $?; };"

static void it_explains_itself_and_takes_no_other_words(void **state)
{
    (void)state;
    assert_int_equal(
        fx_shell(CODE
                 "$1/scripts/evidence --help | grep -q EVIDENCE=full;"
                 "for bad in 'more' '--write now' '--plan'; do"
                 "  [ $(code $1/scripts/evidence $bad) = 64 ]; done;"
                 "export EVIDENCE=most; [ $(code $1/scripts/evidence) = 64 ];"
                 "export EVIDENCE=full ONLY=cells; [ $(code $1/scripts/evidence) = 64 ] || exit;"
                 "export ONLY=none;"
                 "for bad in 0 -1 x 1x 1.5 99999999999; do"
                 "  [ $(export LIMIT=$bad; code $1/scripts/evidence) = 64 ] || exit;"
                 "  [ $(export SEED=$bad; code $1/scripts/evidence) = 64 ] || exit; done;"
                 "for it in 0 1 2 64 69 130; do"
                 "  $1/scripts/evidence --help | sed -n '/^Exit/,$p' | grep -qw $it || exit; done",
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

/*
 * A tree with histories of an earlier time, with programs and a Go that do nothing, and with a
 * judge that finds what $JUDGE_ENDS says.
 */
#define STAND_INS                                                                                  \
    "cd $1; mkdir -p fake tests/porcupine build/tests build/histories/matrix/cells"                \
    "  build/histories/locks/planted/x build/histories/defects/planted/x;"                         \
    "cp \"$(command -v env)\" build/flashsale;"                                                    \
    "cp build/flashsale build/tests/verify; cp build/flashsale build/tests/histcheck;"             \
    "cd build/histories; for it in matrix locks defects; do echo '{}' >$it.json; done;"            \
    "echo '{}' | tee matrix/matrix.json matrix/matrix.md >matrix/cells/a.1.json;"                  \
    "echo asked >matrix/cells/a.1.buys; echo asked >locks/1.hist;"                                 \
    "echo asked >locks/planted/x/1.hist; echo asked >defects/planted/x/a.1.buys;"                  \
    "echo cc >../compiler; cd $1;"                                                                 \
    "printf '%s\\n' '#!/bin/sh' 'exit $JUDGE_ENDS' >fake/judge;"                                   \
    "printf '%s\\n' '#!/bin/sh' '[ $1 = build ] || exit 0'"                                        \
    "  'while [ $1 != -o ]; do shift; done; cp $JUDGE $2'"                                         \
    "  >fake/go;"                                                                                  \
    "chmod +x fake/*; export PATH=$1/fake:$PATH ONLY=none JUDGE_ENDS=0 REDIS_SERVER=true "         \
    "JUDGE=$1/fake/judge;"                                                                         \
    "unset EVIDENCE SEED LIMIT;"

/* A judge that finds all right, and writes what it is asked for. */
#define JUDGE_WRITES                                                                               \
    "printf '%s\\n' '#!/bin/sh' 'while [ $# -gt 1 ]; do case $1 in --json) echo \"{}\" >$2 ;;'"    \
    "  '--markdown | --details) echo \"| $1 |\" >$2 ;; esac; shift; done' >fake/judge;"

static void skip_without(const char *program)
{
    if (fx_shell("command -v $1 >/dev/null", program, SCRIPT_MS) != 0)
        fx_skip("a program is not here");
}

static void a_failure_leaves_the_old_archive(void **state)
{
    (void)state;
    skip_without("jq");
    assert_int_equal(
        fx_shell(CODE STAND_INS
                 "rm -rf build/evidence; mkdir build/evidence; touch build/evidence/kept;"
                 "kept() { [ \"$(ls -d build/evidence*) $(ls build/evidence)\" ="
                 "  'build/evidence kept' ]; };"
                 "[ $(export JUDGE_ENDS=2; code scripts/evidence) = 2 ] && kept || exit;"
                 "mv build/tests/histcheck build/away;"
                 "[ $(code scripts/evidence) = 69 ] && kept || exit; mv build/away "
                 "build/tests/histcheck;"
                 "mv build/histories/locks.json build/away;"
                 "[ $(code scripts/evidence) = 69 ] && kept || exit; mv build/away "
                 "build/histories/locks.json;"
                 "printf '#!/bin/sh\\nexit 1\\n' >fake/go;"
                 "[ $(code scripts/evidence) = 2 ] && kept",
                 home, SCRIPT_MS),
        0);
}

static void an_archive_notices_other_files(void **state)
{
    (void)state;
    skip_without("jq");
    assert_int_equal(
        fx_shell(CODE STAND_INS JUDGE_WRITES
                 "[ $(code scripts/evidence) = 0 ] && [ ! -e build/evidence/kept ] || exit;"
                 "again() { code build/evidence/rejudge; };"
                 "cd build/evidence/histories; a=cells/a.1; judge() { (cd $1; again); };"
                 "[ $(judge $1) = 0 ] || exit;"
                 "mv locks/1.hist.gz x; [ $(judge $1) = 1 ] || exit; mv x locks/1.hist.gz;"
                 "mv $a.json x; [ $(judge $1) = 1 ] || exit; mv x $a.json;"
                 "cp locks/1.hist.gz locks/1.hist; [ $(judge $1) = 1 ] || exit; rm locks/1.hist;"
                 "echo more >>$a.buys.gz; [ $(judge $1) = 1 ]",
                 home, SCRIPT_MS),
        0);
}

/* Tables of other numbers, with sums that fit, and sha256sum's words in another language. */
static void rejudge_compares_tables_in_any_language(void **state)
{
    (void)state;
    skip_without("jq");
    assert_int_equal(
        fx_shell(CODE STAND_INS JUDGE_WRITES
                 "[ $(code scripts/evidence) = 0 ] || exit; cd build/evidence;"
                 "export SUMS=$(command -v sha256sum);"
                 "printf '%s\\n' '#!/bin/sh' '[ \"$LC_ALL\" = C ] && exec $SUMS \"$@\"'"
                 "  '$SUMS \"$@\" | sed \"s/: OK$/: Bon/\"' >../../fake/sha256sum;"
                 "chmod +x ../../fake/sha256sum;"
                 "[ $(LC_ALL=fr_FR.UTF-8 code ./rejudge) = 0 ] || exit; rm ../../fake/sha256sum;"
                 "for it in agreement.md details.md; do"
                 "  cp $it ../kept; echo more >>$it; cp SHA256SUMS ../sums;"
                 "  sed -i \"s|^.* ./$it$|$($SUMS ./$it)|\" SHA256SUMS;"
                 "  [ $(code ./rejudge) = 1 ] && ./rejudge 2>&1 | grep -q \"cmp.* $it\\|$it\" &&"
                 "  ! ./rejudge 2>&1 | grep -q 'not the files' || exit;"
                 "  mv ../kept $it; mv ../sums SHA256SUMS; done;"
                 "[ $(code ./rejudge) = 0 ]",
                 home, SCRIPT_MS),
        0);
}

static void rejudge_explains_itself_and_takes_no_other_words(void **state)
{
    (void)state;
    skip_without("jq");
    assert_int_equal(
        fx_shell(CODE STAND_INS JUDGE_WRITES
                 "[ $(code scripts/evidence) = 0 ] || exit; cd build/evidence;"
                 "./rejudge --help | grep -q 'judges the histories again' || exit;"
                 "! ./rejudge --help | grep -q LC_ALL || exit;"
                 "for bad in more --compare '--compare x' '--json' '--json x y' '--help x'; do"
                 "  [ $(code ./rejudge $bad) = 64 ] || exit; done;"
                 "[ $(code ./rejudge --json $1/new.json) = 0 ] && [ -s $1/new.json ]",
                 home, SCRIPT_MS),
        0);
}

/* Without a group, all of it would agree: something is wrong, and it says which group. */
static void every_group_has_histories(void **state)
{
    (void)state;
    skip_without("jq");
    assert_int_equal(
        fx_shell(CODE STAND_INS JUDGE_WRITES
                 "rm -rf build/evidence; mkdir build/evidence; touch build/evidence/kept;"
                 "without() { mv build/histories/$1 build/away;"
                 "  scripts/evidence >/dev/null 2>build/said; [ $? = 2 ] || exit 1;"
                 "  grep -qF \"$2\" build/said && [ -e build/evidence/kept ] || exit 1;"
                 "  mv build/away build/histories/$1; };"
                 "set +e;"
                 "without matrix/cells/a.1.json 'cells of the matrix';"
                 "without locks/1.hist 'campaigns of locks';"
                 "without locks/planted/x/1.hist 'planted defects, lock';"
                 "without defects/planted/x/a.1.buys 'planted defects, sale';"
                 "without locks 'no histories'; without matrix/matrix.md 'no tables';"
                 "without matrix/cells/a.1.buys 'not complete';"
                 "printf '#!/bin/sh\\nexit 1\\n' >fake/gzip; chmod +x fake/gzip;"
                 "[ $(code scripts/evidence) = 2 ] && [ -e build/evidence/kept ] || exit 1;"
                 "scripts/evidence 2>&1 | grep -q 'a command failed' || exit 1; rm fake/gzip;"
                 "[ $(code scripts/evidence) = 0 ]",
                 home, SCRIPT_MS),
        0);
}

/* FX_CASE is of the tests: one of its cases is not all campaigns. */
static void it_runs_all_campaigns(void **state)
{
    (void)state;
    skip_without("jq");
    assert_int_equal(
        fx_shell(
            CODE STAND_INS JUDGE_WRITES
            "mkdir -p build/tests/lock;"
            "printf '%s\\n' '#!/bin/sh' 'echo \"${FX_CASE-all}\" >>$CASES'"
            "  'mkdir -p $FX_HISTORIES/a $FX_HISTORIES/planted/x'"
            "  'echo asked | tee $FX_HISTORIES/a/1.hist >$FX_HISTORIES/planted/x/1.hist'"
            "  >build/tests/lock/test_faults; chmod +x build/tests/lock/test_faults;"
            "cp build/tests/lock/test_faults build/tests/lock/test_planted;"
            "[ $(export CASES=$1/cases FX_CASE=delays ONLY=locks; code scripts/evidence) = 0 ] ||"
            "  exit; [ \"$(cat cases | tr '\\n' ' ')\" = 'all all ' ]",
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
            "cd $1/tests/chaos;"
            "place() {"
            "  printf '%s\\n' \"before $1\" \"<!-- $1 -->\" \"old $1\" \"<!-- end of $1 -->\"; };"
            "place agreement >EVIDENCE.md; { place details; place matrix; } >MATRIX.md; cd $1;"
            "echo '| new |' >build/evidence/agreement.md; echo '| each |' "
            ">build/evidence/details.md; echo '| whole |' >build/evidence/matrix.md;"
            "echo '{}' >build/evidence/verdicts.json;"
            "sums() { (cd build/evidence; find . -type f ! -name SHA256SUMS | xargs sha256sum "
            ">SHA256SUMS); };"
            "about() { echo "
            "\"{\\\"parts\\\":[{\\\"commit\\\":\\\"c0ffee\\\",\\\"cells\\\":\\\"$1\\\"}$2]}\""
            "  >build/evidence/about.json; sums; };"
            "counts() { page=tests/chaos/$1; shift;"
            "  for it; do grep -c \"$it\" $page || :; done | tr '\\n' ' '; };"
            "about 'a few'; scripts/evidence --write || exit 1;"
            "[ \"$(counts EVIDENCE.md c0ffee '| new |' old before '<!--')\" = '1 1 0 1 2 ' ] || "
            "exit 1;"
            "[ \"$(counts MATRIX.md c0ffee '| each |' 'old details' 'old matrix' before)\" ="
            "  '1 1 0 1 2 ' ] || exit 1;"
            "about all; scripts/evidence --write && scripts/evidence --write || exit 1;"
            "[ \"$(counts EVIDENCE.md c0ffee '| new |' old before '<!--')\" = '1 1 0 1 2 ' ] || "
            "exit 1;"
            "[ \"$(counts MATRIX.md c0ffee '| each |' '| whole |' old '<!--')\" = '1 1 1 0 4 ' ] "
            "|| "
            "exit 1; ! grep -q changes tests/chaos/EVIDENCE.md || exit 1;"
            "about all ',{\"changed\":true}'; scripts/evidence --write || exit 1;"
            "[ \"$(counts EVIDENCE.md 'c0ffee with changes,')\" = '1 ' ] || exit 1;"
            "cp tests/chaos/EVIDENCE.md kept; echo '| other |' >build/evidence/agreement.md;"
            "scripts/evidence --write 2>said && exit 1; [ $? = 2 ] || exit 1;"
            "grep -q SHA256SUMS said && cmp kept tests/chaos/EVIDENCE.md || exit 1;"
            "rm build/evidence/SHA256SUMS; scripts/evidence --write && exit 1; sums",
            home, SCRIPT_MS),
        0);
}

/* Each mark has its end, and each table as many columns in every line. */
static void the_pages_are_whole(void **state)
{
    (void)state;
    assert_int_equal(
        fx_shell("whole() { awk -v marks=$2 '"
                 "     /^<!-- end of / { if ($4 != open) exit bad = 1; open = \"\"; ends++; next }"
                 "     /^<!-- / { if (open) exit bad = 1; open = $2 }"
                 "     /^\\|/ { n = gsub(/\\|/, \"\"); if (in_table && n != columns) exit bad = 1;"
                 "             columns = n; in_table = 1; next }"
                 "     { in_table = 0 }"
                 "     END { exit bad || open != \"\" || ends != marks }' tests/chaos/$1; };"
                 "whole EVIDENCE.md 1 && whole MATRIX.md 2",
                 NULL, SCRIPT_MS),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_explains_itself_and_takes_no_other_words),
        cmocka_unit_test(without_go_it_leaves_what_is_there),
        cmocka_unit_test(a_failure_leaves_the_old_archive),
        cmocka_unit_test(an_archive_notices_other_files),
        cmocka_unit_test(rejudge_compares_tables_in_any_language),
        cmocka_unit_test(rejudge_explains_itself_and_takes_no_other_words),
        cmocka_unit_test(every_group_has_histories),
        cmocka_unit_test(it_runs_all_campaigns),
        cmocka_unit_test(tables_go_between_their_marks),
        cmocka_unit_test(the_pages_are_whole),
    };
    return cmocka_run_group_tests_name("evidence", tests, setup, NULL);
}
