/* test_framing.c - what is wrong with a request's framing is refused, byte by byte. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/site.h"

static fx_site *site;

static int setup(void **state)
{
    (void)state;
    site = fx_site_start(NULL, (const char *const[]){"--strategy", "atomic", NULL});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_site_stop(site);
    return 0;
}

static int dial(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)fx_server_port(site->server[0])),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {.tv_sec = 15};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    return fd;
}

/* Everything up to the end of the connection, or until it falls silent. */
static void read_all(int fd, char *reply, size_t len)
{
    size_t got = 0;
    ssize_t n;
    while (got < len - 1 && (n = recv(fd, reply + got, len - 1 - got, 0)) > 0)
        got += (size_t)n;
    reply[got] = '\0';
}

static int status_of(const char *sent, char *reply, size_t len)
{
    int fd = dial();
    assert_int_equal(send(fd, sent, strlen(sent), MSG_NOSIGNAL), (ssize_t)strlen(sent));
    read_all(fd, reply, len);
    close(fd);
    return strncmp(reply, "HTTP/1.1 ", 9) == 0 ? (int)strtol(reply + 9, NULL, 10) : 0;
}

#define BUY "POST /buy?item=P0001&user=u1 HTTP/1.1\r\n"

static void bad_framing_is_refused_and_the_connection_ends(void **state)
{
    (void)state;
    static const struct {
        const char *what, *sent;
    } cases[] = {
        {"no Host", BUY "Content-Length: 0\r\n\r\n"},
        {"two Hosts", BUY "Host: a\r\nHost: b\r\n\r\n"},
        {"two lengths", BUY "Host: a\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello"},
        {"equal lengths", BUY "Host: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"},
        {"length and chunks",
         BUY "Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {"length in words", BUY "Host: a\r\nContent-Length: five\r\n\r\nhello"},
        {"a negative length", BUY "Host: a\r\nContent-Length: -5\r\n\r\nhello"},
        {"a length with a tail", BUY "Host: a\r\nContent-Length: 5x\r\n\r\nhello"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char reply[4096];
        int status = status_of(cases[i].sent, reply, sizeof(reply));
        if (status < 400 || status > 499)
            fail_msg("%s: %d %s", cases[i].what, status, reply);
    }
    assert_int_equal(fx_site_stock(site, "orders"), 0);
}

static void a_body_is_bounded(void **state)
{
    (void)state;
    char sent[8192], reply[4096];
    int len = snprintf(sent, sizeof(sent),
                       "POST /sales HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    memset(sent + len, ' ', 5000);
    sent[len + 5000] = '\0';
    assert_int_equal(status_of(sent, reply, sizeof(reply)), 413);
    assert_non_null(strstr(reply, "body_too_long"));
}

static void too_many_headers_are_refused(void **state)
{
    (void)state;
    char sent[8192], reply[4096];
    int len = snprintf(sent, sizeof(sent), BUY "Host: a\r\n");
    for (int i = 0; i < 70; i++)
        len += snprintf(sent + len, sizeof(sent) - (size_t)len, "X-%d: 1\r\n", i);
    snprintf(sent + len, sizeof(sent) - (size_t)len, "\r\n");
    int status = status_of(sent, reply, sizeof(reply));
    assert_in_range(status, 400, 499);
    assert_int_equal(fx_site_stock(site, "orders"), 0);
}

/* One byte every 200 ms would take a quarter of an hour. */
static void a_slow_body_is_cut_off(void **state)
{
    (void)state;
    char reply[4096];
    const char *head = "POST /sales HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n";
    int fd = dial();
    assert_int_equal(send(fd, head, strlen(head), MSG_NOSIGNAL), (ssize_t)strlen(head));
    int sent = 0;
    for (; sent < 100 && recv(fd, reply, 1, MSG_PEEK | MSG_DONTWAIT) < 0; sent++) {
        if (send(fd, " ", 1, MSG_NOSIGNAL) < 0)
            break;
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    assert_in_range(sent, 1, 60);
    read_all(fd, reply, sizeof(reply));
    assert_non_null(strstr(reply, "body_too_slow"));
    close(fd);
}

static void requests_can_follow_one_another(void **state)
{
    (void)state;
    char reply[8192];
    const char *both = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
                       "HEAD /livez HTTP/1.1\r\nHost: a\r\n\r\n"
                       "POST /buy?item=P0001&user=u1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                       "\r\nabc"
                       "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    int fd = dial();
    assert_int_equal(send(fd, both, strlen(both), MSG_NOSIGNAL), (ssize_t)strlen(both));
    read_all(fd, reply, sizeof(reply));
    close(fd);
    int answers = 0, bodies = 0;
    for (const char *at = reply; (at = strstr(at, "HTTP/1.1 20")) != NULL; at++)
        answers++;
    for (const char *at = reply; (at = strstr(at, "alive\n")) != NULL; at++)
        bodies++;
    assert_int_equal(answers, 4);
    assert_int_equal(bodies, 2); /* HEAD has none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_framing_is_refused_and_the_connection_ends),
        cmocka_unit_test(a_body_is_bounded),
        cmocka_unit_test(too_many_headers_are_refused),
        cmocka_unit_test(a_slow_body_is_cut_off),
        cmocka_unit_test(requests_can_follow_one_another),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
