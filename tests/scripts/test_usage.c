/*
 * test_usage.c - every script answers --help with what it is for, and refuses a word that it does
 * not know before it starts anything. The scripts are found by their mode: a new one is a case.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/fixture.h"

enum { SCRIPTS_MAX = 64, MOMENT_MS = 20000 };

static char tmp[256];

/* Descendants whose parents have ended become this program's children. */
static int setup(void **state)
{
    (void)state;
    fx_dir_make(tmp, sizeof(tmp));
    setenv("TMPDIR", tmp, 1);
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Runs it with one word. Nothing that it started may be there afterwards. */
static fx_process *run(const char *script, const char *word, int code)
{
    fx_process *p = fx_spawn((const char *const[]){script, word, NULL}, true);
    int ended = fx_process_wait(p, MOMENT_MS);
    if (ended != code)
        fail_msg("%s %s: exit code %d, not %d (-1: it went on): %s%s", script, word, ended, code,
                 fx_process_stdout(p), fx_process_stderr(p));
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        fail_msg("%s %s has left a process behind", script, word);
    if (fx_entries(tmp) != 0)
        fail_msg("%s %s has left something in its directory", script, word);
    return p;
}

static void check(const char *script)
{
    const char *name = strrchr(script, '/') + 1;
    fx_process *p = run(script, "--help", 0);
    const char *help = fx_process_stdout(p);
    if (!strstr(help, name) || !strchr(help, '\n') || fx_process_stderr(p)[0] != '\0')
        fail_msg("%s --help does not say what it is for: %s%s", script, help, fx_process_stderr(p));
    fx_process_free(p);

    p = run(script, "--no-such-word", 64);
    const char *refusal = fx_process_stderr(p);
    const char *end = strchr(refusal, '\n');
    if (!strstr(refusal, "--no-such-word") || !end || end[1] != '\0' ||
        fx_process_stdout(p)[0] != '\0')
        fail_msg("%s --no-such-word: not one line about it: %s%s", script, fx_process_stdout(p),
                 refusal);
    fx_process_free(p);
}

static void every_script_explains_itself_and_refuses_what_it_does_not_know(void **state)
{
    (void)state;
    int found = 0;
    DIR *dir = opendir("scripts");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat is;
        char path[300];
        snprintf(path, sizeof(path), "scripts/%s", entry->d_name);
        if (stat(path, &is) != 0 || !S_ISREG(is.st_mode) || !(is.st_mode & S_IXUSR))
            continue;
        check(path);
        found++;
    }
    closedir(dir);
    assert_true(found >= 15);
}

static void so_do_those_of_the_tests(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "tests/run",       "tests/started",  "tests/planted/rare",
        "tests/model/run", "tests/fuzz/run", "tests/chaos/failovers/failovers",
    };
    for (size_t i = 0; i < COUNT(scripts); i++)
        check(scripts[i]);
}

/* A seed that is none would be the matrix's to refuse, after minutes of planted defects; and a
 * setting that means nothing must not measure something else, or nothing, and call it a success. */
static void a_setting_that_means_nothing_is_refused_before_anything_starts(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "SEED=one scripts/chaos",
        "SEED=-1 scripts/chaos",
        "SEED=1e3 scripts/chaos",
        "SEED='1 2' scripts/chaos",
        "SEED=12345678901234567890 scripts/chaos",
        "CHAOS=little scripts/chaos",
        "ROWS=atomic,none-such scripts/chaos",
        "SEED=one scripts/mutate",
        "N=0 scripts/mutate",
        "N=-1 scripts/mutate",
        "JOBS=many scripts/mutate",
        "AREA=lok scripts/mutate",
        "AT=lock/none_such.c scripts/mutate",
        "AT=README.md scripts/mutate",
        "BENCH=fast scripts/bench --plan",
        "PEERS=yes scripts/bench --plan",
        "INSTRUCTIONS_KINDS='livez none-such' scripts/instructions",
        "INSTRUCTIONS_REQUESTS=0 scripts/instructions",
        "tests/run lock/test_queue none-such",
        "tests/run lock/test_queue --help-me",
        "scripts/includes none-such",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char script[256];
        snprintf(script, sizeof(script),
                 "unset SEED CHAOS ROWS N AREA AT JOBS ONLY BENCH PEERS; %s >$1/said 2>&1",
                 wrong[i]);
        int code = fx_shell(script, tmp, MOMENT_MS);
        if (code != 64)
            fail_msg("%s: exit code %d", wrong[i], code);
    }
    assert_int_equal(fx_shell("rm $1/said", tmp, MOMENT_MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_script_explains_itself_and_refuses_what_it_does_not_know),
        cmocka_unit_test(so_do_those_of_the_tests),
        cmocka_unit_test(a_setting_that_means_nothing_is_refused_before_anything_starts),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
