/* test_manual.c - the manual pages and the completion tell what the programs and the library have.
 * The steps are shell, in manual_check.sh, because their subject is: texts, man, bash. */
#include "tests/support/fixture.h"

#include <stdio.h>

#define CANNOT_CHECK 77

static void step(void **state)
{
    char command[128], output[8192];
    const char *name = *state;
    snprintf(command, sizeof(command), "bash tests/scripts/manual_check.sh %s 2>&1", name);
    int code = fx_shell_output(command, output, sizeof(output));
    if (code == CANNOT_CHECK)
        fx_skip("%s", output);
    if (code != 0)
        fail_msg("%s: exit %d\n%s", name, code, output);
}

/* The pages of this build. */
static int make_pages(void **state)
{
    (void)state;
    char output[8192];
    int code = fx_shell_output("build=${FLASHSALE_BUILD:-build}; san=${build#build};"
                               "make -s man SAN=\"${san#/}\" 2>&1",
                               output, sizeof(output));
    if (code != 0)
        print_error("make man: exit %d\n%s\n", code, output);
    return code;
}

#define STEP(word)                                                                                 \
    {                                                                                              \
        .name = #word, .test_func = step, .initial_state = (void *)(uintptr_t) #word               \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP(options), STEP(codes),      STEP(functions),
        STEP(clean),   STEP(completion), STEP(interactive),
    };
    return cmocka_run_group_tests_name("manual", tests, make_pages, NULL);
}
