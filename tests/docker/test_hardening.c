/*
 * test_hardening.c - what an attacker who found a bug would meet: the binaries are compiled to make
 * it hard. Read with readelf from the programs of this build.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/fixture.h"

static const char *const programs[] = {"flashsale", "loadtest", "dlock", "flashsale-orders"};

/* flashsale-orders is built where a database's library is. */
static size_t programs_built(void)
{
    char path[512];
    size_t all = COUNT(programs);
    return all - (access(fx_build_path(programs[all - 1], path, sizeof(path)), X_OK) != 0);
}

static bool has(const char *program, const char *readelf_option, const char *pattern)
{
    char path[512], command[1024];
    fx_build_path(program, path, sizeof(path));
    snprintf(command, sizeof(command), "readelf -W %s %s | grep -qE '%s'", readelf_option, path,
             pattern);
    return fx_shell(command, NULL, 20000) == 0;
}

static const struct {
    const char *what, *option, *pattern;
} marks[] = {
    {"position independent (PIE)", "-h", "Type: +DYN"},
    {"relocations read-only (RELRO)", "-l", "GNU_RELRO"},
    {"bound at start, so that RELRO is full", "-d", "BIND_NOW|FLAGS.* NOW"},
    {"no executable stack", "-l", "GNU_STACK.* RW "},
    {"stack protector", "--dyn-syms", "__stack_chk_fail"},
    {"checked libc calls (FORTIFY)", "--dyn-syms", "__[a-z]+_chk"},
};

static void every_program_is_hardened(void **state)
{
    (void)state;
    if (getenv("FLASHSALE_BUILD") && strcmp(getenv("FLASHSALE_BUILD"), "build") != 0)
        fx_skip("only release builds are hardened, not %s", getenv("FLASHSALE_BUILD"));
    for (size_t p = 0; p < programs_built(); p++)
        for (size_t m = 0; m < COUNT(marks); m++)
            if (!has(programs[p], marks[m].option, marks[m].pattern))
                fail_msg("%s: not %s", programs[p], marks[m].what);
}

/* No writable and executable segment, no library path of the machine it was built on. */
static void nothing_softens_them(void **state)
{
    (void)state;
    for (size_t p = 0; p < programs_built(); p++) {
        assert_false(has(programs[p], "-l", "LOAD.* RWE "));
        assert_false(has(programs[p], "-d", "RPATH|RUNPATH"));
    }
}

static void the_library_shows_its_own_names_only(void **state)
{
    (void)state;
    char path[512], command[1024];
    fx_build_path("libdlock.so", path, sizeof(path));
    snprintf(command, sizeof(command),
             "readelf -W --dyn-syms %s | awk '$7 != \"UND\" && $5 == \"GLOBAL\" && "
             "$8 !~ /^dlock_/ { print; bad = 1 } END { exit bad }' >&2",
             path);
    assert_int_equal(fx_shell(command, NULL, 20000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_program_is_hardened),
        cmocka_unit_test(nothing_softens_them),
        cmocka_unit_test(the_library_shows_its_own_names_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
