/*
 * test_servers.c - scripts/servers: it makes its table of what the containers leave, and passes
 * when all of them passed.
 *
 * The script is copied into a repository of its own. The container engine is a stand-in, which
 * leaves what the test has told it to; `make servers` runs the real one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fixture.h"

enum { LIMIT_MS = 60000 };

#define TEST_LOG                                                                                   \
    "ok      lock/test_a   3 cases\n"                                                              \
    "    skipped: one: there is no spin\n"                                                         \
    "ok      lock/test_b   3 cases\n"                                                              \
    "    skipped: two: there is no spin\n"                                                         \
    "    skipped: three: no TLS: not here\n"                                                       \
    "    skipped: four: no TLS: not here\n"                                                        \
    "8 passed, 0 failed, 4 skipped\n"

static char tree[256];

static bool has_git(void)
{
    return fx_shell("command -v git >/dev/null", NULL, 5000) == 0;
}

/* What the engine leaves in /results is in left/. */
static int setup(void **state)
{
    (void)state;
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1); /* no user's settings */
    fx_dir_make(tree, sizeof(tree));
    if (!has_git())
        return 0;
    return fx_shell("cd \"$1\" && mkdir -p scripts bin left &&"
                    "cp \"$OLDPWD/scripts/servers\" scripts &&"
                    "cp \"$OLDPWD/scripts/bare.sh\" \"$OLDPWD/scripts/usage.sh\" scripts &&"
                    "cat >bin/docker <<'END'\n"
                    "#!/bin/sh\n"
                    "[ \"$1\" = run ] || exit 0\n"
                    "for word; do case $word in *:/results) to=${word%:/results} ;; esac; done\n"
                    "echo \"$*\" >>words\n"
                    "cp left/* \"$to\"\n"
                    "END\n"
                    "chmod +x bin/docker && git init -q . && git add . &&"
                    "git -c user.name=t -c user.email=t@example.org commit -qm first &&"
                    "echo 'Redis 8.0.2' >left/version",
                    tree, LIMIT_MS);
}

static int teardown(void **state)
{
    (void)state;
    fx_dir_remove(tree);
    return 0;
}

/* A file that the container leaves. */
static void leave(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/left/%s", tree, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void leave_all(const char *test_code, const char *matrix_code)
{
    leave("prepare.code", "0\n");
    leave("test.code", test_code);
    leave("test.log", TEST_LOG);
    leave("test.seconds", "61\n");
    leave("matrix.code", matrix_code);
    leave("matrix.log", "NOT AS EXPECTED: fair under kill: BROKEN\n");
    leave("matrix.seconds", "125\n");
    leave("cells", "expected\tfair under load: \nexpected\tfair under kill: \n"
                   "skipped\tnone under kill: it has no lock\ninconclusive\tfair under oom: why\n");
}

/* Runs the script with these words; what it says. */
static fx_process *servers(const char *words, int code)
{
    char script[512];
    if (!has_git())
        fx_skip("no git here");
    snprintf(script, sizeof(script), "cd %s && PATH=$PWD/bin:$PATH && scripts/servers %s 2>&1",
             tree, words);
    fx_process *p = fx_spawn((const char *const[]){"sh", "-c", script, NULL}, true);
    int ended = fx_process_wait(p, LIMIT_MS);
    if (ended != code)
        fail_msg("servers %s: ended with %d, not %d: %s", words, ended, code, fx_process_stdout(p));
    return p;
}

static void expect(fx_process *p, const char *part)
{
    if (!strstr(fx_process_stdout(p), part))
        fail_msg("not there: %s\n%s", part, fx_process_stdout(p));
}

static void its_table_says_what_was_left(void **state)
{
    (void)state;
    leave_all("0\n", "0\n");
    fx_process *p = servers("redis-8.0 -- --network=host", 0);
    expect(p, "| Redis 8.0.2 | 8 | 0 | 4 | 61 | 2 | 0 | 1 | 1 | 125 |\n");
    expect(p, "- 2: there is no spin (lock/test_a one, lock/test_b two)\n");
    expect(p, "- 2: no TLS: not here (lock/test_b three, four)\n");
    expect(p, "- 1: it has no lock (none under kill)\n");
    fx_process_free(p);
    assert_int_equal(fx_shell("cd \"$1\" && grep -q -- '--network=host debian:13-slim' words &&"
                              "grep -q '| 8 | 0 | 4 |' build/servers/table.md",
                              tree, LIMIT_MS),
                     0);
}

static void all_are_run_unless_some_are_named(void **state)
{
    (void)state;
    leave_all("0\n", "0\n");
    fx_process_free(servers("", 0));
    assert_int_equal(fx_shell("cd \"$1\" && [ \"$(grep -o 'debian:[^ ]*' words | xargs)\" ="
                              " 'debian:12-slim debian:13-slim debian:13-slim' ]",
                              tree, LIMIT_MS),
                     0);
}

static void what_failed_or_is_missing_fails(void **state)
{
    (void)state;
    fx_process *p = servers("valkey-8.1", 1); /* the container has left nothing */
    expect(p, "| - | - | - | - | - | - | - | - | - |\n");
    expect(p, "==== valkey-8.1 FAILED");
    fx_process_free(p);
    leave_all("1\n", "0\n");
    fx_process_free(servers("redis-8.0", 1));
    leave_all("0\n", "1\n");
    p = servers("redis-8.0", 1);
    expect(p, "\nNOT AS EXPECTED: fair under kill: BROKEN\n");
    fx_process_free(p);
}

static void words_that_it_does_not_know_are_refused(void **state)
{
    (void)state;
    fx_process_free(servers("redis-6.0", 64));
    fx_process_free(servers("--hlep", 64));
    fx_process *p = servers("--help", 0);
    expect(p, "valkey-8.1");
    fx_process_free(p);
    assert_int_equal(fx_shell("[ ! -e \"$1/words\" ]", tree, LIMIT_MS), 0); /* nothing was run */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(its_table_says_what_was_left),
        CASE(all_are_run_unless_some_are_named),
        CASE(what_failed_or_is_missing_fails),
        CASE(words_that_it_does_not_know_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
