/*
 * control.c - reads orders line by line, from a file at the start and from the control
 * socket's clients.
 */
#include "tests/tools/faultproxy/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct fp_control {
    loop_watch listener;
    fp_loop *loop;
    fp_proxy *proxy; /* (borrowed) */
    struct talk *talks;
};

/* One connection to the control socket. */
struct talk {
    loop_watch watch;
    fp_control *control;
    struct talk *next;
    char line[512];
    size_t len;
};

static void talk_end(struct talk *talk)
{
    fp_control *control = talk->control;
    struct talk **at = &control->talks;
    while (*at != talk)
        at = &(*at)->next;
    *at = talk->next;
    loop_set_events(control->loop, &talk->watch, 0);
    close(talk->watch.fd);
    loop_later(control->loop, free, talk);
}

static bool talk_obey(struct talk *talk, const char *line)
{
    char answer[512];
    proxy_obey(talk->control->proxy, line, answer, sizeof(answer) - 1);
    size_t len = strlen(answer);
    answer[len++] = '\n';
    return write(talk->watch.fd, answer, len) == (ssize_t)len;
}

static void talk_ready(loop_watch *watch, uint32_t events)
{
    struct talk *talk = (struct talk *)watch;
    (void)events;
    ssize_t got = read(watch->fd, talk->line + talk->len, sizeof(talk->line) - talk->len);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool ok = got > 0;
    talk->len += ok ? (size_t)got : 0;
    for (char *end; ok && (end = memchr(talk->line, '\n', talk->len));) {
        *end = '\0';
        ok = talk_obey(talk, talk->line);
        size_t used = (size_t)(end + 1 - talk->line);
        memmove(talk->line, talk->line + used, talk->len - used);
        talk->len -= used;
    }
    if (!ok || talk->len == sizeof(talk->line))
        talk_end(talk);
}

static void listener_ready(loop_watch *watch, uint32_t events)
{
    fp_control *control = (struct fp_control *)watch;
    (void)events;
    for (int fd; (fd = net_accept(watch->fd)) >= 0;) {
        struct talk *talk = calloc(1, sizeof(*talk));
        if (!talk)
            abort();
        talk->watch = (loop_watch){.fd = fd, .ready = talk_ready};
        talk->control = control;
        talk->next = control->talks;
        control->talks = talk;
        loop_set_events(control->loop, &talk->watch, EPOLLIN);
    }
}

fp_control *control_new(fp_loop *loop, fp_proxy *proxy, int listen_fd)
{
    fp_control *control = calloc(1, sizeof(*control));
    if (!control)
        return NULL;
    control->loop = loop;
    control->proxy = proxy;
    control->listener = (loop_watch){.fd = listen_fd, .ready = listener_ready};
    loop_set_events(loop, &control->listener, EPOLLIN);
    return control;
}

void control_free(fp_control *control)
{
    if (!control)
        return;
    while (control->talks)
        talk_end(control->talks);
    loop_set_events(control->loop, &control->listener, 0);
    close(control->listener.fd);
    free(control);
}

bool control_run_script(fp_proxy *proxy, const char *path, char *err, size_t err_len)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(err, err_len, "%s: %s", path, strerror(errno));
        return false;
    }
    char line[512], answer[256];
    bool ok = true;
    for (int number = 1; ok && fgets(line, sizeof(line), file); number++) {
        line[strcspn(line, "\n")] = '\0';
        ok = proxy_obey(proxy, line, answer, sizeof(answer));
        if (!ok)
            snprintf(err, err_len, "%s:%d: %s", path, number, answer);
    }
    fclose(file);
    return ok;
}
