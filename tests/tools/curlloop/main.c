/*
 * curlloop - the least that a libcurl client costs: connections that buy as fast as they are
 * answered, in one thread with a multi handle and epoll. Of an answer it looks at the status alone.
 * It is what the load generator is measured against; see ./compare.
 *
 *     curlloop URL USERS REQUESTS
 *
 * Prints the processor time of a request, user and system, from the first buy to the last answer:
 *
 *     {"us_per_request":18.30,"requests":20000,"sold":20000}
 *
 * Connections are opened before. Exit code: 0 when every request was answered.
 */
#include <curl/curl.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define EVENTS_MAX 256

typedef struct client {
    CURL *easy;
    char key[64];
    struct curl_slist header;
} client;

static const char *base;
static CURLM *multi;
static int epoll_fd, run_number;
static long timeout_ms = -1; /* of libcurl's timer */
static long in_flight, issued, answered, sold;

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *known)
{
    struct epoll_event event = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                                          (what & CURL_POLL_OUT ? EPOLLOUT : 0u),
                                .data.fd = fd};
    int change = known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    (void)easy;
    (void)user;
    epoll_ctl(epoll_fd, what == CURL_POLL_REMOVE ? EPOLL_CTL_DEL : change, fd, &event);
    curl_multi_assign(multi, fd, &epoll_fd);
    return 0;
}

static int on_timer(CURLM *unused, long ms, void *user)
{
    (void)unused;
    (void)user;
    timeout_ms = ms;
    return 0;
}

static size_t drop(char *data, size_t size, size_t count, void *user)
{
    (void)data;
    (void)user;
    return size * count;
}

static void perform(client *c, const char *path)
{
    char url[256];
    snprintf(url, sizeof(url), "%s%s", base, path);
    curl_easy_setopt(c->easy, CURLOPT_URL, url);
    curl_multi_add_handle(multi, c->easy);
    in_flight++;
}

static void buy(client *c)
{
    char path[64];
    snprintf(path, sizeof(path), "/buy?item=P0001&user=u%ld", issued);
    snprintf(c->key, sizeof(c->key), "Idempotency-Key: loop%d-%ld", run_number, issued++);
    perform(c, path);
}

static void on_end(CURL *easy, long requests)
{
    long status = 0;
    client *c = NULL;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&c);
    curl_multi_remove_handle(multi, easy);
    in_flight--;
    answered += requests > 0 && status > 0;
    sold += status == 201;
    if (issued < requests)
        buy(c);
}

/* Performs all that was added; each that ends buys while requests are left. */
static void run(long requests)
{
    struct epoll_event events[EVENTS_MAX];
    CURLMsg *message;
    int running, left;
    while (in_flight > 0) {
        int count = epoll_wait(epoll_fd, events, EVENTS_MAX, (int)timeout_ms);
        bool is_due = count == 0 || timeout_ms == 0;
        for (int i = 0; i < count; i++) {
            int in = events[i].events & ~EPOLLOUT ? CURL_CSELECT_IN : 0;
            int out = events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0;
            curl_multi_socket_action(multi, events[i].data.fd, in | out, &running);
        }
        if (is_due) {
            timeout_ms = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        while ((message = curl_multi_info_read(multi, &left)))
            on_end(message->easy_handle, requests);
    }
}

static double cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    long users = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    long requests = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
    client *clients = users > 0 && requests >= users ? calloc((size_t)users, sizeof(client)) : NULL;
    if (!clients)
        return 64;
    base = argv[1];
    run_number = (int)getpid();
    multi = curl_multi_init();
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, users);
    for (client *c = clients; c < clients + users; c++) {
        c->easy = curl_easy_init();
        curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
        curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, drop);
        curl_easy_setopt(c->easy, CURLOPT_PRIVATE, c);
        perform(c, "/livez");
    }
    run(0);
    double before = cpu_us();
    for (client *c = clients; c < clients + users; c++) {
        c->header.data = c->key;
        curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, "");
        curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, &c->header);
        buy(c);
    }
    run(requests);
    printf("{\"us_per_request\":%.2f,\"requests\":%ld,\"sold\":%ld}\n",
           (cpu_us() - before) / (double)requests, answered, sold);
    return answered == requests ? 0 : 1;
}
