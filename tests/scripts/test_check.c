/*
 * test_check.c - scripts/check: which tests a changed file asks for.
 *
 * The script is copied into a repository of its own, where `make test` only says what it was told
 * to run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fixture.h"

static char tree[256];

static bool has_git(void)
{
    return fx_shell("command -v git >/dev/null", NULL, 5000) == 0;
}

static void need_git(void)
{
    if (!has_git())
        fx_skip("no git here");
}

/* One commit, which origin/main stands at. */
static int setup(void **state)
{
    (void)state;
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1); /* no user's settings */
    fx_dir_make(tree, sizeof(tree));
    if (!has_git())
        return 0;
    return fx_shell("cd \"$1\" && mkdir -p scripts &&"
                    "cp \"$OLDPWD/scripts/check\" \"$OLDPWD/scripts/usage.sh\" scripts &&"
                    "printf 'test:\\n\\t@echo run: $(ONLY)\\n' >Makefile &&"
                    "git init -q . && git add . &&"
                    "git -c user.name=t -c user.email=t@example.org commit -qm first &&"
                    "git update-ref refs/remotes/origin/main HEAD",
                    tree, 20000);
}

/* What the script says of a tree with this one file more. */
static void check(const char *changed, char *said, size_t len)
{
    char script[512];
    snprintf(script, sizeof(script),
             "cd %s && git clean -fdq && mkdir -p \"$(dirname %s)\" && touch %s && scripts/check",
             tree, changed, changed);
    fx_process *p = fx_spawn((const char *const[]){"sh", "-c", script, NULL}, true);
    int code = fx_process_wait(p, 20000);
    if (code != 0)
        fail_msg("%s: exit code %d, %s", changed, code, fx_process_stderr(p));
    snprintf(said, len, "%s", fx_process_stdout(p));
    fx_process_free(p);
}

static void a_file_asks_for_the_tests_of_what_it_touches(void **state)
{
    (void)state;
    need_git();
    static const struct {
        const char *changed, *says;
    } cases[] = {
        {"lock/core/release.c", "run: docker/ e2e/ lock/ planted/ server/ tools/\n"},
        {"lock/cmd/status.c", "run: lock/\n"},
        {"server/api/query.c", "run: browser/ docker/ e2e/ planted/ scripts/ server/\n"},
        {"loadtest/stats/tally.c", "run: e2e/test_sale loadtest/ scripts/ server/test_documents\n"},
        {"docker/haproxy.cfg", "run: docker/\n"},
        {"scripts/demo", "run: scripts/\n"},
        {"tests/server/test_query.c", "run: server/test_query\n"},
        {"tests/lock/rig.h", "run: lock/\n"},
        {"tests/model/sale.pml", "run: model/\n"},
        {"tests/support/http.c", "run:\n"}, /* no words: all of them */
        {"tests/run", "run:\n"},
        {"CONTRIBUTING.md", "run: e2e/test_add_strategy\n"},
        {"server/SECURITY.md", "run: server/test_documents\n"},
        {"lock/README.md", "check: no test depends on them\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char said[1024];
        check(cases[i].changed, said, sizeof(said));
        if (strstr(said, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].changed, said);
    }
}

static void a_tree_without_a_change_asks_for_none(void **state)
{
    (void)state;
    need_git();
    char said[1024];
    check("/dev/null", said, sizeof(said));
    assert_non_null(strstr(said, "nothing has changed"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_asks_for_the_tests_of_what_it_touches),
        cmocka_unit_test(a_tree_without_a_change_asks_for_none),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
