/*
 * test_includes.c - scripts/includes must name every include that goes the wrong way, and every
 * circle: what finds nothing in a broken tree proves nothing about ours.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/fixture.h"

static char tree[256];

static int setup(void **state)
{
    (void)state;
    fx_dir_make(tree, sizeof(tree));
    return 0;
}

/* Makes the tree anew by a shell script whose $1 is the tree, and checks it. Both streams are kept
 * in `said`. */
static int check(const char *lay, char *said, size_t len)
{
    assert_int_equal(fx_shell("rm -rf \"$1\" && mkdir \"$1\"", tree, 5000), 0);
    assert_int_equal(fx_shell(lay, tree, 20000), 0);
    fx_process *p = fx_spawn((const char *const[]){"scripts/includes", tree, NULL}, true);
    int code = fx_process_wait(p, 20000);
    snprintf(said, len, "%s%s", fx_process_stdout(p), fx_process_stderr(p));
    fx_process_free(p);
    return code;
}

#define COPY  "cp -r lock server loadtest \"$1\" && cd \"$1\" && "
#define SMALL "cd \"$1\" && mkdir -p lock server/api server/base loadtest && "

static void a_tree_in_order_passes(void **state)
{
    (void)state;
    char said[8192];
    int code = check(SMALL "echo '#include \"server/base/log.h\"' >server/api/buy.c &&"
                           "echo '#include <stdio.h>' >server/base/log.h &&"
                           "echo '#include \"server/base/log.h\"' >server/base/log.c",
                     said, sizeof(said));
    if (code != 0 || said[0] != '\0')
        fail_msg("exit code %d: %s", code, said);
}

static void an_include_in_the_wrong_direction_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *plant, *says;
    } cases[] = {
        {COPY "echo '#include \"server/api/auth.h\"' >>server/base/text.c",
         "server/base/text must not include server/api/auth"},
        {COPY "echo '#include \"server/base/text.h\"' >>lock/core/lock.c",
         "lock/core/lock must not include server/base/text"},
        {COPY "mkdir server/new && echo '#include \"server/base/text.h\"' >server/new/one.c",
         "server/new/one must not include server/base/text"}, /* is not in the table */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        static char said[65536];
        assert_int_equal(check(cases[i].plant, said, sizeof(said)), 1);
        if (strstr(said, cases[i].says) == NULL)
            fail_msg("expected \"%s\" in: %s", cases[i].says, said);
    }
}

static void a_circle_is_named(void **state)
{
    (void)state;
    char said[8192];
    int code = check(SMALL "echo '#include \"server/base/b.h\"' >server/base/a.h &&"
                           "echo '#include \"server/base/c.h\"' >server/base/b.c &&"
                           "echo '#include \"server/base/a.h\"' >server/base/c.h",
                     said, sizeof(said));
    assert_int_equal(code, 1);
    assert_non_null(strstr(said, "in a circle"));
    assert_non_null(strstr(said, "server/base/a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_in_order_passes),
        cmocka_unit_test(an_include_in_the_wrong_direction_is_named),
        cmocka_unit_test(a_circle_is_named),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
