/*
 * waiter_service.h - a service in a thread of the test, which keeps its clients waiting and counts
 * what they ask.
 */
#ifndef TESTS_LOADTEST_RUN_WAITER_SERVICE_H
#define TESTS_LOADTEST_RUN_WAITER_SERVICE_H

#include "tests/support/fixture.h"
#include "tests/support/raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOON_MS = 20000 };

/* Answers one connection, one request after the other: a greeting at once, the rest when it may. */
typedef struct waiter_service {
    int listening;
    char url[64];
    pthread_t thread;
    atomic_bool may_answer, ended;
    atomic_int asked;
} waiter_service;

static inline bool may_go_on(void *arg)
{
    waiter_service *service = arg;
    return atomic_load(&service->may_answer) || atomic_load(&service->ended);
}

static inline void answer(waiter_service *service, int fd, const char *request)
{
    static const char stock[] =
        "{\"item\":\"P0001\",\"sale\":\"s1\",\"strategy\":\"fair\",\"initial\":"
        "10,\"remaining\":7,\"orders\":3,\"units\":3,\"oversold\":0,"
        "\"lost_updates\":0}";
    char reply[512];
    if (strstr(request, "/livez") == NULL) {
        atomic_fetch_add(&service->asked, 1);
        fx_wait_until(may_go_on, service, SOON_MS);
    }
    int len = snprintf(reply, sizeof(reply),
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                       "%zu\r\n\r\n%s",
                       sizeof(stock) - 1, stock);
    fx_raw_send(fd, reply, (size_t)len);
}

static inline void *serve(void *arg)
{
    waiter_service *service = arg;
    while (!atomic_load(&service->ended)) {
        char request[4096];
        size_t length = 0;
        ssize_t n;
        int fd = accept4(service->listening, NULL, NULL, SOCK_CLOEXEC);
        while (fd >= 0 && (n = recv(fd, request + length, sizeof(request) - 1 - length, 0)) > 0) {
            length += (size_t)n;
            request[length] = '\0';
            if (strstr(request, "\r\n\r\n") == NULL)
                continue;
            answer(service, fd, request);
            length = 0;
        }
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

static inline void service_start(waiter_service *service)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    *service = (waiter_service){.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(service->listening, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(service->listening, 16), 0);
    assert_int_equal(getsockname(service->listening, (struct sockaddr *)&at, &len), 0);
    snprintf(service->url, sizeof(service->url), "http://127.0.0.1:%d", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&service->thread, NULL, serve, service), 0);
}

static inline void service_stop(waiter_service *service)
{
    atomic_store(&service->ended, true);
    shutdown(service->listening, SHUT_RDWR);
    pthread_join(service->thread, NULL);
    close(service->listening);
}

static inline bool was_asked(void *arg)
{
    waiter_service *service = arg;
    return atomic_load(&service->asked) > 0;
}

#endif
