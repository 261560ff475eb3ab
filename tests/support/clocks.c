/* clocks.c - the file that a test and the preloaded clocks share. */
#include "tests/support/clocks.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/fixture.h"
#include "tests/tools/shims/clock.h"

static char dir[256];
static shim_clocks *clocks;

static const char *redis_program(void)
{
    const char *program = getenv("REDIS_SERVER");
    program = program && *program ? program : "redis-server";
    const char *slash = strrchr(program, '/');
    return slash ? slash + 1 : program;
}

void fx_clocks_give(const char *program)
{
    char path[PATH_MAX], shim[512];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/clock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, sizeof(*clocks)), 0);
    clocks = mmap(NULL, sizeof(*clocks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    assert_true(clocks != MAP_FAILED);
    setenv(SHIM_CLOCK_FILE, path, 1);
    setenv(SHIM_CLOCK_PROGRAM, program ? program : redis_program(), 1);
    assert_non_null(realpath(fx_build_path("tests/shims/clock.so", shim, sizeof(shim)), path));
    setenv("LD_PRELOAD", path, 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0); /* or it wants to be first itself */
}

void fx_clocks_set(int which, int64_t ahead_s)
{
    for (int i = 0; i < SHIM_CLOCKS; i++) {
        if (which >= 0 && which != i)
            continue;
        atomic_store(&clocks->of[i].told, 0);
        atomic_store(&clocks->of[i].ahead_s, ahead_s);
    }
}

bool fx_clocks_told(int which)
{
    return atomic_load(&clocks->of[which].told) > 0;
}

void fx_clocks_end(void)
{
    unsetenv("LD_PRELOAD");
    if (dir[0] != '\0')
        fx_dir_remove(dir);
    dir[0] = '\0';
}
