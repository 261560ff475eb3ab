/*
 * test_model.c - a variant for each way in which the model can end ends that way; and the program
 * that says so notices when one does not, when one proves nothing, and when there is nothing to
 * run. `make model` runs every variant.
 */
#include "tests/support/fixture.h"

#include <stdlib.h>

static char work_dir[72];

enum { ALL_MS = 400000, ONE_MS = 120000 };

static void need_spin(void)
{
    if (system("command -v spin >/dev/null") != 0)
        fx_skip("there is no spin; scripts/deps model installs it");
}

/* The exit code of DIR/tests/model/run with these words; what it printed in `said`. */
static int run_all(const char *dir, const char *const *words, int deadline_ms, char *said,
                   size_t len)
{
    char program[160], work[160];
    snprintf(program, sizeof(program), "%s/tests/model/run", dir);
    snprintf(work, sizeof(work), "MODEL_DIR=%s/work", work_dir);
    const char *argv[16] = {"env", work, program};
    for (size_t i = 0; words[i]; i++)
        argv[3 + i] = words[i];
    fx_process *p = fx_spawn(argv, true);
    int code = fx_process_wait(p, deadline_ms);
    snprintf(said, len, "%s%s", fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
    return code;
}

static int run(const char *dir, const char *word, int deadline_ms, char *said, size_t len)
{
    return run_all(dir, (const char *const[]){word, NULL}, deadline_ms, said, len);
}

static int setup(void **state)
{
    fx_dir_make(work_dir, sizeof(work_dir));
    *state = work_dir;
    return 0;
}

static int teardown(void **state)
{
    fx_dir_remove(*state);
    return 0;
}

static void each_end_is_found(void **state)
{
    (void)state;
    need_spin();
    char said[16384];
    static const char *const words[] = {
        "expiry",           "delete-without-token", "no-fence",         "late-no-not-after",
        "failover-no-wait", "quorum-no-not-after",  "quorum-heals-not", NULL};
    int code = run_all(".", words, ALL_MS, said, sizeof(said));
    if (code != 0)
        fail_msg("exit code %d: %s", code, said);
    static const char *const seen[] = {"held",        "deadlock",   "two_holders",  "oversold",
                                       "lost_update", "acked_lost", "refused_sold", "blocked"};
    for (size_t i = 0; i < COUNT(seen); i++)
        if (!strstr(said, seen[i]))
            fail_msg("no variant ends as %s: %s", seen[i], said);
}

/* On copies in which the model is another one. */
static void a_difference_is_noticed(void **state)
{
    (void)state;
    need_spin();
    static const struct {
        const char *what, *edit, *word, *says;
    } cases[] = {
        {"a guard that checks nothing", "s/^#define both .*/#define both true/",
         "last-issued-and-owner", "held          oversold "},
        {"a guard that refuses everybody", "s/^#define both .*/#define both false/",
         "last-issued-and-owner", "held          held          no "},
        {"a fence that is checked", "s/^#define not_below .*/#define not_below both/",
         "highest-written", "oversold      held "},
        {"a quorum of one", "s/^#define majority(m) .*/#define majority(m) ((m) > 0)/",
         "quorum-heals-not", "held          two_holders "},
        {"a healing renewal that is never in time",
         "s/^#define in_time(ticks) .*/#define in_time(ticks) false/", "quorum-no-not-after",
         "blocked       held "},
        {"no model at all", "s/^init {/init {{/", "no-fence", "oversold      no verdict "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char dir[72], script[512], said[16384];
        fx_dir_make(dir, sizeof(dir));
        snprintf(script, sizeof(script),
                 "mkdir \"$1/tests\" \"$1/scripts\" && cp -a tests/model \"$1/tests\" && "
                 "cp scripts/usage.sh \"$1/scripts\" && "
                 "sed -i '%s' \"$1/tests/model/\"*.pml",
                 cases[i].edit);
        assert_int_equal(fx_shell(script, dir, ONE_MS), 0);
        int code = run(dir, cases[i].word, ONE_MS, said, sizeof(said));
        if (code != 1 || !strstr(said, cases[i].says))
            fail_msg("%s: exit code %d, %s", cases[i].what, code, said);
        fx_dir_remove(dir);
    }
}

static void a_variant_that_is_not_there_is_refused(void **state)
{
    (void)state;
    char said[16384];
    assert_int_equal(run(".", "no-such-variant", ONE_MS, said, sizeof(said)), 64);
    assert_non_null(strstr(said, "no-such-variant"));
}

/* The textbook's rule for fences, and the schedule that breaks it. */
static void the_steps_are_told(void **state)
{
    need_spin();
    const char *script =
        "MODEL_DIR=\"$1/work\" tests/model/run --steps highest-written >\"$1/steps\" && "
        "[ \"$(grep -c 'reads 1$' \"$1/steps\")\" = 2 ] && "
        "[ \"$(grep -c \"write leaves 0$\" \"$1/steps\")\" = 2 ] && "
        "grep -q '^the lease ends$' \"$1/steps\"";
    assert_int_equal(fx_shell(script, *state, ONE_MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_is_found),
        cmocka_unit_test(a_difference_is_noticed),
        cmocka_unit_test(a_variant_that_is_not_there_is_refused),
        cmocka_unit_test(the_steps_are_told),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
