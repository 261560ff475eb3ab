/*
 * test_proxy_viewers.c - streams of GET /dashboard through the real haproxy: they live, they have
 * places of their own, and buyers have theirs, whoever looks on. Only counts decide; how long buys
 * take is printed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/docker/front.h"
#include "tests/support/raw.h"

enum { WAIT_MS = 60000, BUYS = 200 };

/* ---- viewers --------------------------------------------------------------------------------- */

typedef struct viewer {
    int fd;
    int events;
    bool ended;
    char head[13]; /* "HTTP/1.1 200" */
    size_t have;   /* bytes of it */
    char last;     /* byte of what came */
} viewer;

static const char watch[] = "GET /dashboard?item=P0001 HTTP/1.1\r\nHost: localhost\r\n"
                            "Accept: text/event-stream\r\n\r\n";

static void open_viewer(viewer *v, int port, const char *from)
{
    *v = (viewer){.fd = fx_raw_connect(port, from)};
    assert_true(v->fd >= 0);
    assert_true(fx_raw_send(v->fd, watch, strlen(watch)));
}

/* An event ends with an empty line. */
static void take(viewer *v, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (v->have < sizeof(v->head) - 1)
            v->head[v->have++] = bytes[i];
        v->events += bytes[i] == '\n' && v->last == '\n';
        v->last = bytes[i];
    }
}

/* Takes what is there. */
static void look(viewer *v)
{
    char bytes[16384];
    ssize_t got = 1;
    while (!v->ended && (got = recv(v->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        take(v, bytes, (size_t)got);
    v->ended = v->ended || got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

typedef struct audience {
    viewer *all;
    int count;
    int least; /* events that each must receive */
    atomic_bool over;
} audience;

static int count_told(const audience *a, const char *status)
{
    int count = 0;
    for (int i = 0; i < a->count; i++)
        count += strcmp(a->all[i].head, status) == 0;
    return count;
}

static int count_living(const audience *a)
{
    int count = 0;
    for (int i = 0; i < a->count; i++)
        count += !a->all[i].ended && a->all[i].events >= a->least;
    return count;
}

static void look_all(audience *a)
{
    for (int i = 0; i < a->count; i++)
        look(&a->all[i]);
}

static bool have_all_seen(void *arg)
{
    audience *a = arg;
    look_all(a);
    return count_living(a) == a->count;
}

static bool are_all_answered(void *arg)
{
    audience *a = arg;
    look_all(a);
    for (int i = 0; i < a->count; i++)
        if (a->all[i].have < sizeof(a->all[i].head) - 1 && !a->all[i].ended)
            return false;
    return true;
}

static void *look_on(void *arg)
{
    audience *a = arg;
    while (!atomic_load(&a->over)) {
        look_all(a);
        fx_let_pass(20);
    }
    return NULL;
}

static bool have_all_gone(void *unused)
{
    (void)unused;
    return fx_front_metric("haproxy_backend_current_sessions{proxy=\"viewers\"}") == 0;
}

static void send_home(audience *a)
{
    for (int i = 0; i < a->count; i++)
        close(a->all[i].fd);
    free(a->all);
    assert_true(fx_wait_until(have_all_gone, NULL, WAIT_MS)); /* and their places are free */
}

static audience invite(int count, int addresses, const char *network)
{
    audience a = {.all = calloc((size_t)count, sizeof(viewer)), .count = count};
    assert_non_null(a.all);
    for (int i = 0; i < count; i++) {
        char from[32];
        snprintf(from, sizeof(from), "%s.%d", network, 1 + i % addresses);
        open_viewer(&a.all[i], fx_front_port, from);
    }
    return a;
}

/* ---- a buyer --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1000 + (double)t.tv_nsec / 1000000;
}

/* Each buy on a connection of its own, and each must be sold. */
static void buy_often(const char *what, const char *from)
{
    double took[BUYS];
    for (int i = 0; i < BUYS; i++) {
        static int buyer;
        char request[160], reply[4096];
        snprintf(request, sizeof(request),
                 "POST /buy?item=P0001&user=v%d HTTP/1.1\r\nHost: localhost\r\n"
                 "Content-Length: 0\r\nConnection: close\r\n\r\n",
                 buyer++);
        double before = now_ms();
        fx_front_send(from, request, reply, sizeof(reply));
        took[i] = now_ms() - before;
        if (strncmp(reply, "HTTP/1.1 201", 12) != 0)
            fail_msg("%s, buy %d: %s", what, i, reply);
    }
    qsort(took, BUYS, sizeof(took[0]), compare);
    print_message("%s: p50 %.1f ms, p99 %.1f ms\n", what, took[BUYS / 2], took[BUYS * 99 / 100]);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void a_stream_goes_on(void **state)
{
    (void)state;
    fx_front_need();
    audience a = invite(1, 1, "127.0.8");
    a.least = 5;
    if (!fx_wait_until(have_all_seen, &a, WAIT_MS) || a.all[0].ended)
        fail_msg("%s: %d events", a.all[0].head, a.all[0].events);
    send_home(&a);
}

static void many_viewers_leave_room_for_a_buyer_at_their_address(void **state)
{
    (void)state;
    fx_front_need();
    audience a = invite(200, 1, "127.0.8");
    a.least = 2;
    if (!fx_wait_until(have_all_seen, &a, WAIT_MS))
        fail_msg("%d streams of %d live", count_living(&a), a.count);
    buy_often("beside 200 viewers at the same address", "127.0.8.1");
    for (int i = 0; i < a.count; i++)
        a.all[i].events = 0;
    if (!fx_wait_until(have_all_seen, &a, WAIT_MS))
        fail_msg("%d streams of %d live on", count_living(&a), a.count);
    send_home(&a);
}

/* One viewer more, when all places are taken, is refused at once and waits in no queue. (Of many
 * who come at the same moment the proxy's threads may take some for the same place: those wait 10
 * ms.) */
static void nobody_waits_for_a_place(void)
{
    static const char denied[] = "haproxy_frontend_requests_denied_total{proxy=\"public\"}";
    static const char queued[] = "haproxy_backend_max_queue{proxy=\"viewers\"}";
    double before = fx_front_metric(denied), longest = fx_front_metric(queued);
    audience one = invite(1, 1, "127.0.11");
    assert_true(fx_wait_until(are_all_answered, &one, WAIT_MS));
    assert_int_equal(count_told(&one, "HTTP/1.1 503"), 1);
    assert_true(fx_front_metric(denied) == before + 1);
    assert_true(fx_front_metric(queued) == longest);
    close(one.all[0].fd);
    free(one.all);
}

/* More than there are places for. */
static void hostile_viewers_do_not_keep_buyers_away(void **state)
{
    (void)state;
    fx_front_need();
    enum { HOSTILE = 1200, PLACES = 750 };
    pthread_t looking;
    buy_often("calm", "127.0.9.1");
    audience a = invite(HOSTILE, 12, "127.0.10");
    assert_true(fx_wait_until(are_all_answered, &a, WAIT_MS));
    assert_int_equal(count_told(&a, "HTTP/1.1 200"), PLACES);
    assert_int_equal(count_told(&a, "HTTP/1.1 503"), HOSTILE - PLACES);
    assert_int_equal(pthread_create(&looking, NULL, look_on, &a), 0);
    buy_often("beside 1,200 hostile streams", "127.0.9.1");
    nobody_waits_for_a_place();
    atomic_store(&a.over, true);
    pthread_join(looking, NULL);
    send_home(&a);
}

/* What is longer than the proxy's buffers keeps a place while it is not read, but no buyer's and no
 * page's. */
static void unread_pages_keep_nobody_away(void **state)
{
    (void)state;
    fx_front_need();
    enum { UNREAD = 1500 };
    static const char request[] = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static int fd[UNREAD];
    for (int i = 0; i < UNREAD; i++) {
        char from[32];
        snprintf(from, sizeof(from), "127.0.11.%d", 1 + i % 12);
        fd[i] = fx_raw_connect_small(fx_front_port, from);
        assert_true(fd[i] >= 0);
        assert_true(fx_raw_send(fd[i], request, strlen(request)));
    }
    buy_often("beside 1,500 unread pages", "127.0.9.1");
    for (int i = 0; i < 5; i++) {
        fx_reply reply;
        assert_int_equal(fx_front_ask("GET", "/?item=P0001", NULL, &reply), 200);
        fx_reply_free(&reply);
    }
    for (int i = 0; i < UNREAD; i++)
        close(fd[i]);
}

static int count_kept(const int *fd, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        char answer[2048] = "";
        bool here = recv(fd[i], answer, sizeof(answer) - 1, MSG_PEEK | MSG_DONTWAIT) > 0;
        kept += here && strcasestr(answer, "connection: close") == NULL;
    }
    return kept;
}

typedef struct holders {
    const int *fd;
    int count;
} holders;

static bool are_all_told(void *arg)
{
    const holders *h = arg;
    for (int i = 0; i < h->count; i++) {
        char byte;
        if (recv(h->fd[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
            return false;
    }
    return true;
}

/* With a request now and then they could keep all connections for good. */
static void few_addresses_keep_no_connections_when_they_are_scarce(void **state)
{
    (void)state;
    fx_front_need();
    enum { HELD = 2700, KEPT_MOST = 2400 };
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
    static int fd[HELD];
    for (int i = 0; i < HELD; i++) {
        char from[32];
        snprintf(from, sizeof(from), "127.0.14.%d", 1 + i % 10);
        fd[i] = fx_raw_connect(fx_front_port, from);
        assert_true(fd[i] >= 0);
    }
    for (int i = 0; i < HELD; i++)
        assert_true(fx_raw_send(fd[i], request, strlen(request)));
    assert_true(fx_wait_until(are_all_told, &(holders){fd, HELD}, WAIT_MS));
    assert_in_range(count_kept(fd, HELD), 1, KEPT_MOST + 10);
    buy_often("beside 2,700 connections", "127.0.9.1");
    for (int i = 0; i < HELD; i++)
        close(fd[i]);
}

/* ---- limits for one address ------------------------------------------------------------------ */

static bool is_open(void *port)
{
    int fd = fx_raw_connect(*(int *)port, "127.0.12.9");
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A proxy with such a limit, at *port. */
static fx_process *start_strict(const char *variable, const char *value, int *port)
{
    *port = fx_free_port();
    fx_front_set("FLASHSALE_FRONT", *port);
    setenv(variable, value, 1);
    fx_process *strict = fx_front_another();
    unsetenv(variable);
    assert_true(fx_wait_until(is_open, port, WAIT_MS));
    return strict;
}

static int ask(int port, const char *method, const char *path, fx_reply *reply)
{
    char url[128];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", port, path);
    return fx_http(method, url, NULL, NULL, 15000, reply);
}

static void one_address_has_not_all_the_streams(void **state)
{
    (void)state;
    fx_front_need();
    int port;
    fx_process *strict = start_strict("FLASHSALE_ADDRESS_STREAMS", "5", &port);
    viewer v[5], other;
    audience a = {.all = v, .count = 5, .least = 1};
    for (int i = 0; i < 5; i++)
        open_viewer(&v[i], port, NULL);
    assert_true(fx_wait_until(have_all_seen, &a, WAIT_MS));

    fx_reply reply;
    ask(port, "GET", "/dashboard?item=P0001", &reply);
    fx_assert_problem("a stream too many", &reply, 429, "rate_limited");
    fx_reply_free(&reply);
    open_viewer(&other, port, "127.0.12.1");
    assert_true(
        fx_wait_until(have_all_seen, &(audience){.all = &other, .count = 1, .least = 1}, WAIT_MS));
    close(other.fd);
    for (int i = 0; i < 5; i++)
        close(v[i].fd);
    fx_process_free(strict);
}

/* How many of 40 are refused for their number. */
static int use_up(int port, const char *path)
{
    int refused = 0;
    for (int i = 0; i < 40; i++) {
        fx_reply reply;
        if (ask(port, "GET", path, &reply) == 429) {
            fx_assert_problem(path, &reply, 429, "rate_limited");
            refused++;
        }
        fx_reply_free(&reply);
    }
    return refused;
}

static void looking_and_asking_cost_no_buy(void **state)
{
    (void)state;
    fx_front_need();
    static const char *const paths[] = {"/", "/page/page.js", "/dashboard?item=P0001",
                                        "/stock?item=P0001", "/orders/none?item=P0001"};
    setenv("FLASHSALE_ADDRESS_REQUESTS", "20", 1);
    for (size_t i = 0; i < COUNT(paths); i++) {
        int port;
        fx_reply reply;
        fx_process *strict = start_strict("FLASHSALE_ADDRESS_VIEWS", "20", &port);
        assert_in_range(use_up(port, paths[i]), 1, 20);
        if (ask(port, "POST", "/buy?item=P0001&user=u", &reply) != 201)
            fail_msg("after %s: %d %s", paths[i], reply.status, reply.body);
        fx_reply_free(&reply);
        assert_in_range(use_up(port, "/buy"), 1, 21); /* which has a limit too */
        fx_process_free(strict);
    }
    setenv("FLASHSALE_ADDRESS_REQUESTS", "1000000", 1);
}

/* ---- connections to the instances ------------------------------------------------------------ */

static double connections_made(void)
{
    return fx_front_metric("haproxy_backend_connection_attempts_total{proxy=\"instances\"}");
}

/* Also those that come on one connection, and behind a dashboard. */
static void each_buy_has_a_connection_of_its_own(void **state)
{
    (void)state;
    fx_front_need();
    static const char requests[] =
        "GET /dashboard?item=P0001 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        "POST /buy?item=P0001&user=k1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
        "POST /buy?item=P0001&user=k2 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
        "POST /buy?item=P0001&user=k3 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n";
    char reply[32768];
    int sold = 0;
    double before = connections_made();
    fx_front_send(NULL, requests, reply, sizeof(reply));
    for (const char *at = reply; (at = strstr(at, "HTTP/1.1 201")) != NULL; at++)
        sold++;
    assert_int_equal(sold, 3);
    assert_int_equal((int)(connections_made() - before), 3);
    assert_int_equal(
        (int)fx_front_metric("haproxy_backend_connection_reuses_total{proxy=\"instances\"}"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_goes_on),
        cmocka_unit_test(many_viewers_leave_room_for_a_buyer_at_their_address),
        cmocka_unit_test(hostile_viewers_do_not_keep_buyers_away),
        cmocka_unit_test(unread_pages_keep_nobody_away),
        cmocka_unit_test(few_addresses_keep_no_connections_when_they_are_scarce),
        cmocka_unit_test(each_buy_has_a_connection_of_its_own),
        cmocka_unit_test(one_address_has_not_all_the_streams),
        cmocka_unit_test(looking_and_asking_cost_no_buy),
    };
    return cmocka_run_group_tests(tests, fx_front_start, fx_front_stop);
}
