/* fixture_server.c - real flashsale instances, on ports that they choose and print. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fixture.h"

enum { START_MS = 60000, STOP_MS = 60000, ARGS_MAX = 64 };

struct fx_server {
    fx_process *process;
    int port;
    char url[64];
};

static fx_process *launch(const char *redis_url, const char *const *extra)
{
    char program[512];
    const char *other = getenv("FLASHSALE_PROGRAM");
    fx_build_path("flashsale", program, sizeof(program));
    const char *argv[ARGS_MAX] = {other && other[0] != '\0' ? other : program,
                                  "--listen",
                                  "127.0.0.1:0",
                                  "--threads", /* an instance starts and ends three times faster */
                                  "64",
                                  "--redis",
                                  redis_url,
                                  NULL};
    size_t n = 7;
    for (size_t i = 0; extra && extra[i]; i++) {
        assert_true(n + 1 < ARGS_MAX);
        argv[n++] = extra[i];
    }
    return fx_spawn(argv, true);
}

fx_server *fx_server_start(const char *redis_url, const char *const *extra_args)
{
    char line[256] = "", host[16];
    fx_server *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    s->process = launch(redis_url, extra_args);
    if (!fx_process_first_line(s->process, line, sizeof(line), START_MS) ||
        sscanf(line, "flashsale listening on %15[0-9.]:%d", host, &s->port) != 2)
        fail_msg("flashsale did not start (exit code %d): %s\n%s", fx_process_wait(s->process, 0),
                 line, fx_process_stderr(s->process));
    snprintf(s->url, sizeof(s->url), "http://%s:%d",
             strcmp(host, "0.0.0.0") == 0 ? "127.0.0.1" : host, s->port);
    return s;
}

int fx_server_stop(fx_server *s)
{
    fx_process_signal(s->process, SIGTERM);
    int code = fx_process_wait(s->process, STOP_MS);
    fx_server_kill(s);
    return code < 0 ? 128 + SIGKILL : code;
}

void fx_server_kill(fx_server *s)
{
    if (s == NULL)
        return;
    fx_process_free(s->process);
    free(s);
}

void fx_server_signal(fx_server *s, int signo)
{
    fx_process_signal(s->process, signo);
}

int fx_server_port(const fx_server *s)
{
    return s->port;
}

const char *fx_server_url(const fx_server *s)
{
    return s->url;
}

fx_process *fx_server_process(fx_server *s)
{
    return s->process;
}
