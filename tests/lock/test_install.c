/* `make install` and what can be built on it. The steps are shell, in install_check.sh, because
 * their subject is: compilers, pkg-config, files. Here each becomes a test of its own. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define CANNOT_CHECK 77

static char dir[256];
static fx_redis *server; /* for the step that runs a program */

/* Runs one step. Returns its exit status, with what it printed in `output`. */
static int run_step(const char *step, char *output, size_t output_len)
{
    char command[512];
    snprintf(command, sizeof(command), "sh tests/lock/install_check.sh %s %s 2>&1", step, dir);
    return fx_shell_output(command, output, output_len);
}

static void step(void **state)
{
    char output[8192];
    const char *name = *state;
    int code = run_step(name, output, sizeof(output));
    if (code == CANNOT_CHECK) {
        print_message("%s: what it needs is not here\n", name);
        skip();
    }
    if (code != 0)
        fail_msg("%s: exit %d\n%s", name, code, output);
}

static int install(void **state)
{
    (void)state;
    char output[8192];
    fx_dir_make(dir, sizeof(dir));
    server = fx_redis_start(NULL);
    setenv("REDIS_URL", fx_redis_url(server), 1);
    int code = run_step("install", output, sizeof(output));
    if (code != 0)
        print_error("make install: exit %d\n%s\n", code, output);
    return code;
}

#define STEP(word)                                                                                 \
    {                                                                                              \
        .name = #word, .test_func = step, .initial_state = (void *)(uintptr_t) #word               \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP(layout),    STEP(programs), STEP(uninstall), STEP(lock),  STEP(symbols),
        STEP(prefix),    STEP(shared),   STEP(static),    STEP(epoll), STEP(libuv),
        STEP(lifecycle), STEP(headers),  STEP(copied),    STEP(raii),
    };
    return cmocka_run_group_tests_name("install", tests, install, NULL);
}
