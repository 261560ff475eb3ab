/*
 * proxy.c - takes connections in, gives each a link, and obeys the orders that concern all of
 * them; rules.c has the others.
 */
#include "tests/tools/faultproxy/proxy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tests/tools/faultproxy/link.h"

typedef enum fp_mode {
    SERVING,
    SILENT, /* accepts and never answers */
    DOWN    /* resets whoever connects */
} fp_mode;

/* A line to be obeyed later. */
struct postponed {
    loop_timer timer;
    fp_proxy *proxy;
    struct postponed *next;
    char line[];
};

struct fp_proxy {
    loop_watch listener;
    fp_loop *loop;
    link_world world;
    net_address upstream;
    fp_mode mode;
    struct postponed *postponed;
};

static void listener_ready(loop_watch *watch, uint32_t events)
{
    fp_proxy *proxy = (struct fp_proxy *)watch;
    (void)events;
    for (int fd; (fd = net_accept(watch->fd)) >= 0;) {
        link_new(&proxy->world, fd, proxy->mode != SERVING);
        if (proxy->mode == DOWN)
            link_reset(proxy->world.links);
    }
}

static int dial(void *arg)
{
    return net_dial(arg);
}

fp_proxy *proxy_new(fp_loop *loop, int listen_fd, const net_address *upstream, uint64_t seed)
{
    fp_proxy *proxy = calloc(1, sizeof(*proxy));
    if (!proxy)
        return NULL;
    proxy->loop = loop;
    proxy->upstream = *upstream;
    proxy->world.loop = loop;
    proxy->world.scripts = scripts_new();
    proxy->world.rules = rules_new(seed, proxy->world.scripts);
    proxy->world.dial = dial;
    proxy->world.dial_arg = &proxy->upstream;
    proxy->listener = (loop_watch){.fd = listen_fd, .ready = listener_ready};
    loop_set_events(loop, &proxy->listener, EPOLLIN);
    return proxy;
}

static void for_all_links(fp_proxy *proxy, void (*act)(fp_link *link))
{
    for (fp_link *link = proxy->world.links, *next; link; link = next) {
        next = link_next(link);
        act(link);
    }
}

static void forget_postponed(fp_proxy *proxy)
{
    while (proxy->postponed) {
        struct postponed *first = proxy->postponed;
        proxy->postponed = first->next;
        loop_set_timer(proxy->loop, &first->timer, -1);
        free(first);
    }
}

void proxy_free(fp_proxy *proxy)
{
    if (!proxy)
        return;
    forget_postponed(proxy);
    for_all_links(proxy, link_reset);
    loop_set_events(proxy->loop, &proxy->listener, 0);
    close(proxy->listener.fd);
    rules_free(proxy->world.rules);
    scripts_free(proxy->world.scripts);
    free(proxy);
}

/* ---- the language ---------------------------------------------------------------------------- */

static bool is(const char *line, const char *word)
{
    return strcmp(line, word) == 0;
}

static void obey_postponed(loop_timer *timer)
{
    struct postponed *due = (struct postponed *)timer;
    struct postponed **at = &due->proxy->postponed;
    while (*at != due)
        at = &(*at)->next;
    *at = due->next;
    char answer[256];
    if (!proxy_obey(due->proxy, due->line, answer, sizeof(answer)))
        fprintf(stderr, "faultproxy: %s\n", answer);
    free(due);
}

/* "after 500ms LINE" */
static bool postpone(fp_proxy *proxy, const char *line)
{
    int64_t delay_us = rules_duration_us(line, &line);
    if (delay_us < 0 || !*line)
        return false;
    struct postponed *postponed = calloc(1, sizeof(*postponed) + strlen(line) + 1);
    if (!postponed)
        abort();
    memcpy(postponed->line, line, strlen(line));
    postponed->proxy = proxy;
    postponed->timer.fire = obey_postponed;
    postponed->next = proxy->postponed;
    proxy->postponed = postponed;
    loop_set_timer(proxy->loop, &postponed->timer, loop_now_us() + delay_us);
    return true;
}

static void heal(fp_proxy *proxy)
{
    proxy->mode = SERVING;
    rules_clear(proxy->world.rules);
    for_all_links(proxy, link_heal);
}

static void tell_stats(const fp_proxy *proxy, char *answer, size_t answer_len)
{
    const link_stats *stats = &proxy->world.stats;
    snprintf(answer, answer_len,
             "connections=%" PRIu64 " requests=%" PRIu64 " replies=%" PRIu64 " pushes=%" PRIu64
             " delayed=%" PRIu64 " dropped=%" PRIu64 " resets=%" PRIu64 " truncated=%" PRIu64
             " stalled=%" PRIu64 " late=%" PRIu64,
             stats->connections, stats->requests, stats->replies, stats->pushes, stats->delayed,
             stats->dropped, stats->resets, stats->truncated, stats->stalled, stats->late);
}

bool proxy_obey(fp_proxy *proxy, const char *line, char *answer, size_t answer_len)
{
    line += strspn(line, " ");
    snprintf(answer, answer_len, "ok");
    if (!*line || *line == '#')
        return true;
    if (is(line, "heal")) {
        heal(proxy);
    } else if (is(line, "blackhole")) {
        proxy->mode = SILENT;
        for_all_links(proxy, link_stall);
    } else if (is(line, "halfopen")) {
        for_all_links(proxy, link_stall);
    } else if (is(line, "down")) {
        proxy->mode = DOWN;
        for_all_links(proxy, link_reset);
    } else if (is(line, "reset")) {
        for_all_links(proxy, link_reset);
    } else if (is(line, "stats")) {
        tell_stats(proxy, answer, answer_len);
    } else if (strncmp(line, "after ", 6) == 0 && postpone(proxy, line + 6)) {
        return true;
    } else {
        char err[192];
        bool ok = rules_add(proxy->world.rules, line, err, sizeof(err));
        if (!ok)
            snprintf(answer, answer_len, "error: %s", err);
        return ok;
    }
    return true;
}
