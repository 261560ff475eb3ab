/*
 * test_bench.c - scripts/bench: what it makes of samples, and that a short run of it goes through
 * from servers to bench.json and leaves nothing behind. No figure of that run decides anything.
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

static int teardown(void **state)
{
    (void)state;
    fx_dir_remove(home);
    return 0;
}

static void samples_become_medians_ranges_and_ratios(void **state)
{
    (void)state;
    need_tools();
    assert_int_equal(fx_shell("tests/scripts/bench_figures.sh", NULL, 60000), 0);
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

static void a_short_run_goes_through(void **state)
{
    (void)state;
    need_tools();
    setenv("BENCH", "quick", 1);
    setenv("BENCH_CASES", "disk", 1);
    fx_process *bench = fx_spawn((const char *const[]){"scripts/bench", NULL}, true);
    int code = fx_process_wait(bench, SCRIPT_MS);
    if ((code != 0 && code != BELOW_A_BAR) ||
        !strstr(fx_process_stdout(bench), "| ratio | measured | bar |"))
        fail_msg("%d: %s%s", code, fx_process_stdout(bench), fx_process_stderr(bench));
    fx_process_free(bench);
    assert_true_of_result(".schema == 1 and .quick and .machine.cpus >= 1");
    assert_true_of_result("[.rows[].strategy] | sort == [\"combined\", \"combined\", \"none\"]");
    assert_true_of_result(
        "[.rows[] | .throughput_rps > 0 and .p50_ms > 0 and .p99_ms >= .p50_ms and"
        " .cpu_us.service > 0 and .redis_round_trips_per_order > 0 and"
        " .offered_rps == null] | all");
    assert_true_of_result("[.rows[] | .durability] | sort == [\"disk\", \"disk\", \"memory\"]");
    assert_int_equal(fx_shell("test -s $1/build/bench/bench.html", home, 5000), 0);
    assert_true(fx_wait_until(nothing_is_left, NULL, SCRIPT_MS));
}

/* scripts/bench --readme writes between them. */
static void readme_has_a_place_for_the_tables(void **state)
{
    (void)state;
    assert_int_equal(fx_shell("[ \"$(grep -nE '^<!-- (end of )?bench -->$' README.md |"
                              "  cut -d: -f2 | tr '\\n' ' ')\" ="
                              "  '<!-- bench --> <!-- end of bench --> ' ]",
                              NULL, 5000),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_become_medians_ranges_and_ratios),
        cmocka_unit_test(a_short_run_goes_through),
        cmocka_unit_test(readme_has_a_place_for_the_tables),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
