/*
 * viewers - browsers that look at a live page: each has a stream of documents, or with --poll asks
 * for one at its interval, over a new connection every time. See tests/tools/README.md.
 *
 * One thread and epoll, so that it takes little of the processors that it shares with what it
 * looks at. Viewers come evenly over the interval. A poll that is not answered when the next is due
 * has failed, and so has a stream that ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EXIT_USAGE  64
#define VIEWERS_MAX 10000
#define PORTS_MAX   16
#define ANSWER_MAX  65536

typedef struct viewer {
    int fd; /* -1: between two looks */
    int64_t next_us;
    size_t received;
    bool good; /* it is answered as it should be */
} viewer;

typedef struct totals {
    int64_t documents, failed, bytes;
} totals;

static struct options {
    int viewers, interval_ms, seconds, ports_len, ports[PORTS_MAX];
    bool poll;
    const char *item;
} options = {.viewers = 200, .interval_ms = 500, .seconds = 10, .item = "P0001"};

static volatile sig_atomic_t stopped;
static int epoll_fd;
static char request[1024];
static totals sum;

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- one look -------------------------------------------------------------------------------- */

static void end_look(viewer *v, bool good)
{
    if (v->fd < 0)
        return;
    close(v->fd);
    v->fd = -1;
    sum.failed += !good;
}

/* The request goes out with the connection's first packet that the server can read: there is
 * nothing to wait for on loopback. */
static void begin_look(viewer *v, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = v};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    end_look(v, false);
    v->received = 0;
    v->good = false;
    v->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (v->fd < 0 || connect(v->fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
        send(v->fd, request, strlen(request), MSG_NOSIGNAL) < 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, v->fd, &event) != 0) {
        sum.failed += v->fd < 0;
        end_look(v, false);
    }
}

/* Every document ends with its line, and in a stream with an empty one. */
static void count_documents(const char *bytes, size_t len)
{
    const char *end = bytes + len;
    sum.bytes += (int64_t)len;
    for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), "]}\n", 3)); at++)
        sum.documents++;
}

/* The server ends a connection behind its answer, but not a stream. */
static void read_answer(viewer *v)
{
    static char answer[ANSWER_MAX];
    ssize_t len;
    while (v->fd >= 0 && (len = recv(v->fd, answer, sizeof(answer), MSG_DONTWAIT)) != 0) {
        if (len < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (len < 0) {
            end_look(v, false);
            return;
        }
        if (v->received == 0)
            v->good = strncmp(answer, "HTTP/1.1 200 ", 13) == 0;
        v->received += (size_t)len;
        count_documents(answer, (size_t)len);
    }
    end_look(v, v->good && options.poll);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Viewers who are due; the ms until the next one. */
static int look_around(viewer *all)
{
    int64_t now = now_us(), next = now + 1000000;
    for (int i = 0; i < options.viewers; i++) {
        if (all[i].next_us <= now && (options.poll || all[i].fd < 0)) {
            begin_look(&all[i], options.ports[i % options.ports_len]);
            all[i].next_us += (int64_t)options.interval_ms * 1000;
        }
        if (all[i].next_us > now && all[i].next_us < next)
            next = all[i].next_us;
    }
    return next > now ? (int)((next - now + 999) / 1000) : 0;
}

static void look_on(viewer *all)
{
    struct epoll_event events[64];
    int64_t start = now_us(), end = start + (int64_t)options.seconds * 1000000;
    for (int i = 0; i < options.viewers; i++) {
        all[i].fd = -1;
        all[i].next_us = start + (int64_t)options.interval_ms * 1000 * i / options.viewers;
    }
    while (!stopped && now_us() < end) {
        int count = epoll_wait(epoll_fd, events, 64, look_around(all));
        for (int i = 0; i < count; i++)
            read_answer(events[i].data.ptr);
    }
}

static void report(int64_t took_us)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    double cpu_us = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
                    (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
    double each = sum.documents > 0 ? (double)sum.documents : 1;
    printf("{\"viewers\":%d,\"seconds\":%.3f,\"documents\":%lld,\"failed\":%lld,"
           "\"bytes_each\":%.0f,\"cpu_us_each\":%.1f}\n",
           options.viewers, (double)took_us / 1e6, (long long)sum.documents, (long long)sum.failed,
           (double)sum.bytes / each, cpu_us / each);
}

/* ---- options --------------------------------------------------------------------------------- */

static int usage(void)
{
    fputs("usage: viewers [--viewers 200] [--interval-ms 500] [--seconds 10]\n"
          "               [--item P0001] [--poll] PORT...\n",
          stderr);
    return EXIT_USAGE;
}

static bool read_number(const char *text, int most, int *ret)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value < 1 || value > most)
        return false;
    *ret = (int)value;
    return true;
}

static bool read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"viewers", required_argument, NULL, 'v'}, {"interval-ms", required_argument, NULL, 'i'},
        {"seconds", required_argument, NULL, 's'}, {"item", required_argument, NULL, 'I'},
        {"poll", no_argument, NULL, 'p'},          {0}};
    bool good = true;
    for (int c; good && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'I')
            options.item = optarg;
        else if (c == 'p')
            options.poll = true;
        else
            good = c == 'v'   ? read_number(optarg, VIEWERS_MAX, &options.viewers)
                   : c == 'i' ? read_number(optarg, 1000000, &options.interval_ms)
                   : c == 's' ? read_number(optarg, 1000000, &options.seconds)
                              : false;
    }
    while (good && optind < argc && options.ports_len < PORTS_MAX)
        good = read_number(argv[optind++], 65535, &options.ports[options.ports_len++]);
    return good && options.ports_len > 0;
}

static void stop(int signo)
{
    (void)signo;
    stopped = 1;
}

int main(int argc, char **argv)
{
    if (!read_options(argc, argv))
        return usage();
    viewer *all = calloc((size_t)options.viewers, sizeof(*all));
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!all || epoll_fd < 0) {
        perror("viewers");
        return 1;
    }
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    snprintf(request, sizeof(request),
             "GET /dashboard?item=%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: %s\r\n\r\n",
             options.item, options.poll ? "application/json" : "text/event-stream");
    int64_t start = now_us();
    look_on(all);
    report(now_us() - start);
    free(all);
    return sum.failed > 0 || sum.documents == 0 ? 1 : 0;
}
