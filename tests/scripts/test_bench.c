/*
 * test_bench.c - scripts/bench: what it makes of samples, that a short run of it goes through from
 * servers to bench.json and leaves nothing behind, and what it writes into the documents. No figure
 * of that run decides anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

enum {
    SCRIPT_MS = 300000, /* of a busy machine */
    BELOW_A_BAR = 2,    /* the exit code that no test decides on */
};

static char home[256]; /* holds build/ and tmp/, the script's own */

static void need_tools(void)
{
    if (fx_shell("for tool in jq wrk curl; do command -v $tool; done >/dev/null", NULL, 5000) != 0)
        fx_skip("jq, wrk or curl is not here");
}

static int setup(void **state)
{
    (void)state;
    char built[512], path[300], ports[64];
    fx_dir_make(home, sizeof(home));
    setenv("BUILT", fx_build_path("", built, sizeof(built)), 1);
    snprintf(path, sizeof(path), "%s/build", home);
    setenv("FLASHSALE_BUILD", path, 1);
    snprintf(path, sizeof(path), "%s/tmp", home);
    setenv("TMPDIR", path, 1);
    snprintf(ports, sizeof(ports), "%d %d %d", fx_free_port(), fx_free_port(), fx_free_port());
    setenv("FLASHSALE_PORTS", ports, 1);
    return fx_shell("mkdir $1/build $1/tmp;"
                    "ln -s $(realpath $BUILT/flashsale $BUILT/loadtest $BUILT/dlock) $1/build",
                    home, 5000);
}

static void samples_become_medians_ranges_and_ratios(void **state)
{
    (void)state;
    need_tools();
    assert_int_equal(fx_shell("tests/scripts/bench_figures.sh", NULL, SCRIPT_MS), 0);
}

static void assert_true_of_result(const char *condition)
{
    char script[600];
    snprintf(script, sizeof(script),
             "jq -e '%s' $1/build/bench/bench.json >/dev/null || {"
             "  cat $1/build/bench/bench.json >&2; exit 1; }",
             condition);
    if (fx_shell(script, home, 10000) != 0)
        fail_msg("not so: %s", condition);
}

/* Who was told to end may still be at it. */
static bool nothing_is_left(void *arg)
{
    (void)arg;
    return fx_shell("test -z \"$(ls -A $TMPDIR)\" &&"
                    "! printf %s \"$TMPDIR\" | grep -qsF -f - /proc/[0-9]*/cmdline",
                    NULL, 5000) == 0;
}

/* One round is planned. There is time for more, and only `combined` is part of a ratio. */
static void a_short_run_goes_through(void **state)
{
    (void)state;
    need_tools();
    setenv("BENCH", "quick", 1);
    setenv("BENCH_CASES", "disk", 1);
    setenv("BENCH_MINUTES", "0.2", 1);
    fx_process *bench = fx_spawn((const char *const[]){"scripts/bench", NULL}, true);
    int code = fx_process_wait(bench, SCRIPT_MS);
    const char *said = fx_process_stdout(bench);
    if ((code != 0 && code != BELOW_A_BAR) ||
        !strstr(said, "| ratio | measured (95 % interval) | bar |") ||
        !strstr(said, "round 2: disk") || !strstr(said, "\nRatios: "))
        fail_msg("%d: %s%s", code, said, fx_process_stderr(bench));
    fx_process_free(bench);
    assert_true_of_result(".schema == 1 and .quick and .machine.cpus >= 1");
    assert_true_of_result("[.rows[].strategy] | sort == [\"combined\", \"combined\", \"none\"]");
    assert_true_of_result(
        "[.rows[] | .throughput_rps > 0 and .p50_ms > 0 and .p99_ms >= .p50_ms and"
        " .cpu_us.service > 0 and .redis_round_trips_per_order > 0 and"
        " .offered_rps == null] | all");
    assert_true_of_result("[.rows[] | .durability] | sort == [\"disk\", \"disk\", \"memory\"]");
    assert_true_of_result("[.rows[] | if .strategy == \"none\" then .runs == 1 else .runs >= 2 end]"
                          " | all");
    assert_true_of_result(".ratios | length == 1 and .[0].rounds >= 2");
    assert_true_of_result(code == BELOW_A_BAR ? ".ratios[0].state == \"missed\""
                                              : ".ratios[0].state != \"missed\"");
    assert_int_equal(fx_shell("test -s $1/build/bench/bench.html", home, 5000), 0);
    assert_true(fx_wait_until(nothing_is_left, NULL, SCRIPT_MS));
}

/* ---- the documents --------------------------------------------------------------------------- */

#define PAGES "README.md server/BENCHMARKS.md"

static void make_copy(void)
{
    assert_int_equal(fx_shell("mkdir -p $1/tree/server $1/build/bench && cp -r scripts $1/tree &&"
                              "for page in " PAGES "; do cp $page $1/tree/$page; done &&"
                              "tests/scripts/bench_figures.sh summary >$1/build/bench/bench.json",
                              home, 60000),
                     0);
}

static int write_documents(void)
{
    return fx_shell("cd $1/tree && scripts/bench --write", home, 60000);
}

static void the_documents_have_places_for_all_parts(void **state)
{
    (void)state;
    assert_int_equal(
        fx_shell("[ \"$(grep -hE '^<!-- (end of )?bench.*-->$' " PAGES " | tr '\\n' ' ')\" ="
                 "  \"$(for part in summary source strategies ratios costs one-item plan; do"
                 "       printf '<!-- bench %s --> <!-- end of bench --> ' $part; done)\" ]",
                 NULL, 5000),
        0);
}

/* The rest of a page stays as it is, and what is written twice stands there once. */
static void the_parts_are_written_between_their_marks(void **state)
{
    (void)state;
    need_tools();
    unsetenv("BENCH_CASES");
    make_copy();
    for (int times = 0; times < 2; times++) {
        assert_int_equal(write_documents(), 0);
        assert_int_equal(
            fx_shell("rest() { sed '/^<!-- bench /,/^<!-- end of bench -->$/d' \"$@\"; };"
                     "cd $1/tree && for page in " PAGES "; do"
                     "  [ \"$(rest $page)\" = \"$(rest $OLDPWD/$page)\" ] || exit 1; done;"
                     "[ $(cat " PAGES " | grep -c '2026-11-22: commit abc, 1, Redis 7') = 2 ] &&"
                     "grep -q '^| `combined` | 2,000 | 2 | 6 | 10 |' README.md &&"
                     "page=server/BENCHMARKS.md && grep -q '^| `combined` | 100 | 2,000 ' $page &&"
                     "grep -q '^| throughput, 100 users: combined / none | 4.14 ' $page &&"
                     "grep -q '^| `combined` | 1 | 10 | 20 |' $page &&"
                     "grep -q '/ livez | 0.5 inconclusive | 0.55 |$' $page &&"
                     "grep -q '^| `combined` | 2,000 | 10 | 100,000 |' $page &&"
                     "[ $(grep -c '50,000 orders/s a server' $page) = 1 ]",
                     home, 10000),
            0);
    }
}

static void a_part_of_a_run_is_not_written(void **state)
{
    (void)state;
    need_tools();
    static const char *const wrong[] = {".quick = true", ".environment.cases = [\"users\"]"};
    make_copy();
    for (size_t i = 0; i < COUNT(wrong); i++) {
        setenv("WRONG", wrong[i], 1);
        assert_int_equal(
            fx_shell("cd $1/build/bench && tests=$OLDPWD/tests/scripts/bench_figures.sh;"
                     "(cd $OLDPWD && $tests summary) | jq \"$WRONG\" >bench.json",
                     home, 60000),
            0);
        assert_int_equal(write_documents(), 1);
    }
    assert_int_equal(
        fx_shell("for page in " PAGES "; do cmp $page $1/tree/$page || exit 1; done", home, 5000),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_become_medians_ranges_and_ratios),
        cmocka_unit_test(a_short_run_goes_through),
        cmocka_unit_test(the_documents_have_places_for_all_parts),
        cmocka_unit_test(the_parts_are_written_between_their_marks),
        cmocka_unit_test(a_part_of_a_run_is_not_written),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
