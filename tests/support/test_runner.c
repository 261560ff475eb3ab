/*
 * test_runner.c - tests/run must turn red whenever a test did.
 *
 * The runner is copied into a tree of its own, with one "program" that prints what a cmocka
 * program would print in the case at hand.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/fixture.h"

/* Lays the tree, with the program's body; NULL: the program is not built. */
static void lay_tree(char *dir, size_t len, const char *body)
{
    char path[512];
    fx_dir_make(dir, len);
    assert_int_equal(
        fx_shell("mkdir -p $1/tests/x $1/build/tests/x $1/scripts; cp tests/run $1/tests;"
                 "cp scripts/usage.sh $1/scripts;"
                 ">$1/tests/x/test_y.c",
                 dir, 10000),
        0);
    if (body == NULL)
        return;
    snprintf(path, sizeof(path), "%s/build/tests/x/test_y", dir);
    FILE *program = fopen(path, "w");
    assert_non_null(program);
    fprintf(program, "#!/bin/sh\n%s\n", body);
    fclose(program);
    assert_int_equal(chmod(path, 0755), 0);
}

static const char *last_line(const char *text)
{
    const char *line = text;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
        if (at[1] != '\0')
            line = at + 1;
    return line;
}

#define RUN  "echo '[ RUN      ] a';"
#define PASS RUN "echo '[       OK ] a';"
#define FAIL RUN "echo expected 1 got 2; echo '[  FAILED  ] a' >&2;"
#define SKIP RUN "echo no engine here; echo '[  SKIPPED ] a';"

static const struct {
    const char *name, *body, *sum, *says;
    int code;
} cases[] = {
    {"all pass", PASS PASS, "2 passed, 0 failed, 0 skipped\n", "ok ", 0},
    {"one fails", PASS FAIL "exit 1", "1 passed, 1 failed, 0 skipped\n", "expected 1 got 2", 1},
    {"fails but exits 0", FAIL, "0 passed, 1 failed, 0 skipped\n", "FAILED", 1},
    {"skips", PASS SKIP, "1 passed, 0 failed, 1 skipped\n", "skipped: a: no engine here", 0},
    {"runs nothing", "", "0 passed, 1 failed, 0 skipped\n", "ran no case", 1},
    {"crashes in a case", PASS RUN "kill -9 $$", "1 passed, 1 failed, 0 skipped\n", "FAILED", 1},
    {"crashes at the end", PASS "exit 3", "1 passed, 1 failed, 0 skipped\n", "exit code 3", 1},
    {"a server's sanitizer report", PASS "echo race >${TSAN_OPTIONS#log_path=}.1",
     "1 passed, 1 failed, 0 skipped\n", "race", 1},
    {"does not end", PASS "exec sleep 60", "1 passed, 1 failed, 0 skipped\n", "stopped after ", 1},
    {"is not built", NULL, "0 passed, 1 failed, 0 skipped\n", "is not built", 1},
};

static void every_way_to_fail_is_red(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char dir[256], command[512];
        lay_tree(dir, sizeof(dir), cases[i].body);
        snprintf(command, sizeof(command),
                 "unset FLASHSALE_BUILD; TEST_DEADLINE_S=1 exec %s/tests/run", dir);
        fx_process *p = fx_spawn((const char *const[]){"sh", "-c", command, NULL}, true);
        int code = fx_process_wait(p, 60000);
        const char *out = fx_process_stdout(p);
        if (code != cases[i].code || strcmp(last_line(out), cases[i].sum) != 0 ||
            strstr(out, cases[i].says) == NULL)
            fail_msg("%s: exit code %d, output:\n%s", cases[i].name, code, out);
        fx_process_free(p);
        fx_dir_remove(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_fail_is_red),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
