/* fail_point.c - the files by which an instance is stopped at a named point, and let go on. */
#include "tests/support/sale/fail_point.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH_LEN 512

fx_server *fx_point_server(const char *redis_url, const char *dir, const char *const *extra_args)
{
    char program[PATH_LEN];
    fx_build_path("failpoints/flashsale", program, sizeof(program));
    setenv("FLASHSALE_PROGRAM", program, 0);
    setenv("FLASHSALE_FAIL_DIR", dir, 1);
    fx_server *server = fx_server_start(redis_url, extra_args);
    unsetenv("FLASHSALE_FAIL_DIR");
    return server;
}

static const char *path_of(const char *dir, const char *point, const char *suffix, char *buf)
{
    snprintf(buf, PATH_LEN, "%s/%s%s", dir, point, suffix);
    return buf;
}

static void put_file(const char *dir, const char *point, const char *suffix)
{
    char path[PATH_LEN];
    close(open(path_of(dir, point, suffix, path), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

void fx_point_forget(const char *dir, const char *point)
{
    static const char *const suffixes[] = {"", ".reached", ".go"};
    char path[PATH_LEN];
    for (int i = 0; i < 3; i++)
        unlink(path_of(dir, point, suffixes[i], path));
}

void fx_point_arm(const char *dir, const char *point)
{
    fx_point_forget(dir, point);
    put_file(dir, point, "");
}

static bool is_there(void *path)
{
    return access(path, F_OK) == 0;
}

bool fx_point_reached(const char *dir, const char *point, int deadline_ms)
{
    char path[PATH_LEN];
    path_of(dir, point, ".reached", path);
    return fx_wait_until(is_there, path, deadline_ms);
}

void fx_point_go_on(const char *dir, const char *point)
{
    put_file(dir, point, ".go");
}
