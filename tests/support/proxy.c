/* proxy.c - starts build/tests/faultproxy, and talks to its control socket. */
#include "tests/support/proxy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/fixture.h"

#define READY_MS 10000

struct fx_proxy {
    fx_process *process;
    int control_fd;
    char dir[72], url[256], answer[512];
};

static void talk_to(fx_proxy *proxy, const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
    proxy->control_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(proxy->control_fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
        fail_msg("%s: %s", path, strerror(errno));
}

fx_proxy *fx_proxy_start(const char *upstream_url)
{
    fx_proxy *proxy = calloc(1, sizeof(*proxy));
    if (!proxy)
        fail_msg("out of memory");
    char program[256], listen[96], control[96], line[320];
    fx_dir_make(proxy->dir, sizeof(proxy->dir));
    snprintf(control, sizeof(control), "unix:%s/control.sock", proxy->dir);
    snprintf(listen, sizeof(listen), "unix:%s/proxy.sock", proxy->dir);
    bool tcp = strncmp(upstream_url, "unix:", 5) != 0;
    const char *argv[] = {fx_build_path("tests/faultproxy", program, sizeof(program)),
                          "--listen",
                          tcp ? "127.0.0.1:0" : listen,
                          "--upstream",
                          upstream_url,
                          "--control",
                          control,
                          NULL};
    proxy->process = fx_spawn(argv, true);
    if (!fx_process_first_line(proxy->process, line, sizeof(line), READY_MS) ||
        sscanf(line, "faultproxy listening on %255s", proxy->url) != 1)
        fail_msg("faultproxy did not start: %s", fx_process_stderr(proxy->process));
    talk_to(proxy, control + strlen("unix:"));
    return proxy;
}

void fx_proxy_stop(fx_proxy *proxy)
{
    if (!proxy)
        return;
    close(proxy->control_fd);
    fx_process_free(proxy->process);
    fx_dir_remove(proxy->dir);
    free(proxy);
}

const char *fx_proxy_url(const fx_proxy *proxy)
{
    return proxy->url;
}

pid_t fx_proxy_pid(const fx_proxy *proxy)
{
    return fx_process_pid(proxy->process);
}

static void read_answer(fx_proxy *proxy)
{
    size_t len = 0;
    do {
        ssize_t got = read(proxy->control_fd, proxy->answer + len, sizeof(proxy->answer) - len);
        if (got <= 0)
            fail_msg("the fault proxy is gone: %s", fx_process_stderr(proxy->process));
        len += (size_t)got;
    } while (proxy->answer[len - 1] != '\n' && len < sizeof(proxy->answer));
    proxy->answer[len - 1] = '\0';
}

const char *fx_proxy_say(fx_proxy *proxy, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    size_t len = (size_t)vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    line[len++] = '\n';
    if (write(proxy->control_fd, line, len) != (ssize_t)len)
        fail_msg("the fault proxy is gone: %s", fx_process_stderr(proxy->process));
    read_answer(proxy);
    if (strncmp(proxy->answer, "error:", 6) == 0)
        fail_msg("%s", proxy->answer);
    return proxy->answer;
}

int64_t fx_proxy_count(fx_proxy *proxy, const char *counter)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "%s=", counter);
    const char *found = strstr(fx_proxy_say(proxy, "stats"), wanted);
    if (!found)
        fail_msg("the fault proxy does not count '%s'", counter);
    return strtoll(found + strlen(wanted), NULL, 10);
}
