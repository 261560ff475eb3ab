/*
 * test_deps.c - scripts/deps on a machine where every question about what is installed fails, and
 * is answered with an error: none of that is shown. It says what it installs, and nothing before.
 * The programs that it asks are stand-ins, first in the PATH; nothing is installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fixture.h"

static char dir[256];

static int setup(void **state)
{
    (void)state;
    char path[4096];
    fx_dir_make(dir, sizeof(dir));
    assert_int_equal(
        fx_shell("cd \"$1\";"
                 "for it in cc gcc pkg-config dpkg; do"
                 "  printf '#!/bin/sh\\necho \"%s: error: no $*\" >&2\\nexit 1\\n' $it >$it; done;"
                 "printf '#!/bin/sh\\necho \"$*\" >>%s\\n' \"$1/asked\" >apt-get;"
                 "printf '#!/bin/sh\\n[ \"$1\" != -n ] || shift\\nexec \"$@\"\\n' >sudo;"
                 "chmod +x *",
                 dir, 10000),
        0);
    snprintf(path, sizeof(path), "%s:%s", dir, getenv("PATH"));
    setenv("PATH", path, 1);
    return setenv("CC", "cc", 1);
}

static void no_error_is_shown_before_it_installs(void **state)
{
    (void)state;
    static const char says[] = "Installing Debian packages: ",
                      ends[] = "scripts/deps: still missing after the installation: ";
    fx_process *deps = fx_spawn((const char *const[]){"scripts/deps", "build", "deb", NULL}, true);
    assert_int_equal(fx_process_wait(deps, 60000), 1); /* nothing has come of it */
    const char *out = fx_process_stdout(deps), *err = fx_process_stderr(deps);
    if (strncmp(out, says, strlen(says)) != 0 || !strstr(out, "libhiredis-dev") ||
        !strstr(out, "build-essential"))
        fail_msg("it does not say first what it installs: %s", out);
    if (strncmp(err, ends, strlen(ends)) != 0 || strchr(err, '\n') != err + strlen(err) - 1)
        fail_msg("other errors than that it is still missing: %s", err);
    fx_process_free(deps);
    assert_int_equal(fx_shell("[ \"$(head -n 1 \"$1/asked\")\" = update ] &&"
                              "grep -q '^install .*libhiredis-dev' \"$1/asked\"",
                              dir, 10000),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_error_is_shown_before_it_installs),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
