/*
 * Programs that were compiled with the last release go on working: `make abi`'s comparison, with
 * this library and with some whose interface was changed on purpose. These show that it can fail,
 * and that it lets the interface grow as dlock.h promises.
 */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <stdlib.h>

enum { CANNOT_CHECK = 77, LIMIT_MS = 300000 };

static char said[65536];

/* The exit code; what was printed is in `said`. */
static int run(const char *const *argv)
{
    fx_process *p = fx_spawn(argv, true);
    int code = fx_process_wait(p, LIMIT_MS);
    snprintf(said, sizeof(said), "%s%s", fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
    return code;
}

static int compare(const char *library, const char *headers)
{
    const char *const argv[] = {"tests/lock/abi/compare", library, headers, NULL};
    int code = run(argv);
    if (code == CANNOT_CHECK)
        fx_skip("%s", said);
    return code;
}

/* Compares a library with a planted change. */
static int compare_planted(const char *change)
{
    char dir[256], library[512], headers[512];
    if (system("command -v abidiff >/dev/null") != 0)
        fx_skip("there is no abidiff; scripts/deps abi installs it");
    fx_dir_make(dir, sizeof(dir));
    const char *const argv[] = {"tests/lock/abi/plant", change, dir, NULL};
    if (run(argv) != 0)
        fail_msg("%s", said);
    snprintf(library, sizeof(library), "%s/libdlock.so", dir);
    snprintf(headers, sizeof(headers), "%s/lock", dir);
    int code = compare(library, headers);
    fx_dir_remove(dir);
    return code;
}

static void expect_said(const char *const *words)
{
    for (; *words; words++)
        if (!strstr(said, *words))
            fail_msg("\"%s\" is not in: %s", *words, said);
}

static void this_library_is_compatible(void **state)
{
    (void)state;
    char library[512];
    const char *build = getenv("FLASHSALE_BUILD");
    snprintf(library, sizeof(library), "%s/libdlock.so", build ? build : "build");
    int code = compare(library, "lock");
    if (code != 0)
        fail_msg("exit %d. Is it meant, and nothing released yet? make abi RENEW=1\n%s", code,
                 said);
}

static void a_type_that_changed_is_told(void **state)
{
    (void)state;
    static const char *const words[] = {
        "'struct dlock_options' changed", /* a member in the middle */
        "'struct dlock_wait' changed",    /* more than what was taken of the room */
        "'enum dlock_status' changed",    /* a value in the middle */
        "dlock_client_id",                /* an argument more */
        NULL,
    };
    assert_int_equal(compare_planted("broken"), 1);
    expect_said(words);
}

/* abidiff itself finds nothing of this incompatible, and knows no macros. */
static void what_is_not_in_the_room_is_told(void **state)
{
    (void)state;
    static const char *const words[] = {
        "'struct dlock_wait' changed",           /* less than what was taken of the room */
        "'struct dlock_client_options' changed", /* a member in padding, beside one in the room */
        "'struct dlock_redis_options' changed",  /* a member's type, beside one in the room */
        "gone: DLOCK_FOREVER (-1)",
        NULL,
    };
    assert_int_equal(compare_planted("misplaced"), 1);
    expect_said(words);
}

static void a_function_that_has_gone_is_told(void **state)
{
    (void)state;
    static const char *const words[] = {"1 Removed function:", "dlock_client_redis", NULL};
    assert_int_equal(compare_planted("shrunk"), 1);
    expect_said(words);
}

static void what_may_come_is_accepted(void **state)
{
    (void)state;
    int code = compare_planted("grown");
    if (code != 0)
        fail_msg("exit %d: %s", code, said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_library_is_compatible),
        cmocka_unit_test(a_type_that_changed_is_told),
        cmocka_unit_test(what_is_not_in_the_room_is_told),
        cmocka_unit_test(a_function_that_has_gone_is_told),
        cmocka_unit_test(what_may_come_is_accepted),
    };
    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
