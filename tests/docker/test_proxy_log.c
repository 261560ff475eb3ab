/*
 * test_proxy_log.c - what the proxy leaves behind: a line for each refusal, none for an ordinary
 * answer, and numbers for Prometheus at a port that is not the public's.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <regex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/docker/front.h"
#include "tests/support/raw.h"

enum { WAIT_MS = 60000 };

static int setup(void **state)
{
    setenv("FLASHSALE_ADDRESS_STREAMS", "0", 1); /* so that a dashboard is one too many */
    return fx_front_start(state);
}

/* ---- the log --------------------------------------------------------------------------------- */

/* Whether a line of the log matches. */
typedef struct expected {
    fx_process *proxy;
    const char *line;
} expected;

static bool is_logged(void *arg)
{
    expected *e = arg;
    regex_t form;
    assert_int_equal(regcomp(&form, e->line, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
    bool found = regexec(&form, fx_process_stdout(e->proxy), 0, NULL, 0) == 0;
    regfree(&form);
    return found;
}

static void expect_line(fx_process *proxy, const char *line)
{
    if (!fx_wait_until(is_logged, &(expected){proxy, line}, WAIT_MS))
        fail_msg("no line %s in\n%s", line, fx_process_stdout(proxy));
}

/* Time, client, status, how it ended, five times in ms, backend and server, request id. */
#define TIME  "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z 127\\.0\\.0\\.1:[0-9]+ "
#define TIMES " [-0-9]+/[-0-9]+/[-0-9]+/[-0-9]+/[0-9]+ "
#define END   " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
#define EMPTY "Content-Length: 0\r\n\r\n"

static void refusals_are_logged_and_nothing_else(void **state)
{
    (void)state;
    fx_front_need();
    static char long_body[5200];
    snprintf(long_body, sizeof(long_body),
             "POST /buy?user=secret" END "Content-Length: 5000\r\n\r\n%05000d", 0);
    const struct {
        const char *bytes, *status, *line; /* NULL: none */
    } cases[] = {
        {"POST /buy?item=P0001&user=secret" END EMPTY, "201", NULL},
        {"POST /buy?item=P0001&user=secret" END "Idempotency-Key: ordinary\r\n" EMPTY, "201", NULL},
        {"GET /stock?item=P0001" END "\r\n", "200", NULL},
        {"GET /orders/none?item=P0001" END "\r\n", "404", NULL},
        {"GET /sales?user=secret" END "\r\n", "404",
         TIME "404 PR--" TIMES "public/<NOSRV> - GET \"/sales\"$"},
        {"GET /no\"such%0a" END "\r\n", "404",
         TIME "404 PR--" TIMES "public/<NOSRV> - GET \"/no#22such%0a\"$"},
        {"GET /dashboard?item=P0001" END "\r\n", "429",
         TIME "429 PR--" TIMES "public/<NOSRV> - GET \"/dashboard\"$"},
        {long_body, "413", TIME "413 PR--" TIMES "public/<NOSRV> - POST \"/buy\"$"},
        {"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n", "400",
         TIME "400 PR--" TIMES "public/<NOSRV> - GET \"/livez\"$"},
        {"GET /li\1vez" END "\r\n", "400", TIME "400 PR--" TIMES "public/<NOSRV> - <BADREQ> "},
        {"POST /buy?user=secret HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc", "408",
         TIME "408 cR--" TIMES "public/<NOSRV> - POST \"/buy\"$"},
        {"POST /buy?item=P0001&user=secret" END "Idempotency-Key: two words\r\n" EMPTY, "400",
         TIME "400 ----" TIMES "instances/[a-z]+ - POST \"/buy\"$"},
        {"POST /buy?item=P0001&user=secret&request=abc%0A" END EMPTY, "400",
         TIME "400 ----" TIMES "instances/[a-z]+ - POST \"/buy\"$"},
        {"GET /buy" END "\r\n", "405", TIME "405 ----" TIMES "instances/[a-z]+ [A-Za-z0-9]+ GET "},
    };
    int lines = 0;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char reply[8192];
        fx_front_send(NULL, cases[i].bytes, reply, sizeof(reply));
        if (strncmp(reply + 9, cases[i].status, 3) != 0)
            fail_msg("%s\n%s", cases[i].bytes, reply);
        lines += cases[i].line != NULL;
        if (cases[i].line)
            expect_line(fx_front_proxy, cases[i].line);
    }
    const char *log = fx_process_stdout(fx_front_proxy);
    if (strstr(log, " 201 ") || strstr(log, "secret") || strstr(log, "ordinary"))
        fail_msg("too much in %s", log);
    for (const char *at = log; (at = strstr(at, "public/<NOSRV>")) != NULL; at++)
        lines--;
    assert_int_equal(lines, 3); /* those of an instance */
}

/* ---- 502 and 504 ----------------------------------------------------------------------------- */

/* An instance that is ready and answers no buy: it closes the connection, or it says nothing. */
typedef struct mute {
    int listener, port;
    bool closes;
    atomic_bool over;
    pthread_t thread;
} mute;

static void answer(const mute *m, int fd)
{
    static const char ready[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    char request[4096];
    ssize_t have = recv(fd, request, sizeof(request) - 1, 0);
    bool buy = have > 0 && strncmp(request, "POST /buy", 9) == 0;
    if (!buy)
        fx_raw_send(fd, ready, sizeof(ready) - 1);
    if (!buy || m->closes)
        close(fd); /* otherwise it stays open as long as this program runs */
}

static void *be_mute(void *arg)
{
    mute *m = arg;
    int fd;
    while ((fd = accept(m->listener, NULL, NULL)) >= 0 && !atomic_load(&m->over))
        answer(m, fd);
    return NULL;
}

static void start_mute(mute *m)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    m->port = fx_free_port();
    own.sin_port = htons((uint16_t)m->port);
    m->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(m->listener, (struct sockaddr *)&own, sizeof(own)), 0);
    assert_int_equal(listen(m->listener, 100), 0);
    assert_int_equal(pthread_create(&m->thread, NULL, be_mute, m), 0);
}

static void stop_mute(mute *m)
{
    atomic_store(&m->over, true);
    shutdown(m->listener, SHUT_RDWR);
    pthread_join(m->thread, NULL);
    close(m->listener);
}

typedef struct front_buy {
    int port;
    char reply[4096];
} front_buy;

static bool is_ready(void *url)
{
    fx_reply reply;
    int status = fx_http("GET", url, NULL, NULL, 5000, &reply);
    fx_reply_free(&reply);
    return status == 200;
}

/* Sends such a buy once more if no instance took it: a proxy that has just started may still try
   the two that do not exist. */
static bool is_taken(void *arg)
{
    front_buy *buy = arg;
    static const char bytes[] =
        "POST /buy?item=P0001&user=secret" END "Idempotency-Key: lost-buy_1\r\n" EMPTY;
    int fd = fx_raw_connect(buy->port, NULL);
    assert_true(fx_raw_send(fd, bytes, sizeof(bytes) - 1));
    fx_raw_read(fd, buy->reply, sizeof(buy->reply), WAIT_MS, NULL);
    close(fd);
    return strncmp(buy->reply + 9, "503", 3) != 0;
}

/* Buys at such an instance alone behind a proxy of its own. */
static void buy_in_vain(bool closes, const char *status, const char *line)
{
    mute m = {.closes = closes};
    char url[64];
    int port = fx_free_port();
    start_mute(&m);
    fx_front_set("FLASHSALE_FRONT", port);
    fx_front_set("FLASHSALE_INSTANCE_1", m.port);
    fx_front_set("FLASHSALE_INSTANCE_2", fx_free_port());
    fx_front_set("FLASHSALE_INSTANCE_3", fx_free_port());
    fx_process *door = fx_front_another();
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/readyz", port);
    assert_true(fx_wait_until(is_ready, url, WAIT_MS));

    front_buy buy = {.port = port};
    assert_true(fx_wait_until(is_taken, &buy, WAIT_MS));
    if (strncmp(buy.reply + 9, status, 3) != 0 || !strstr(buy.reply, "\"request\":\"lost-buy_1\""))
        fail_msg("not a %s with the id: %s", status, buy.reply);
    expect_line(door, line);
    /* haproxy 3.0 counts a closed connection twice */
    assert_int_equal(
        fx_shell("curl -sf \"http://$FLASHSALE_PROXY_METRICS/metrics\" |"
                 "grep -qx 'haproxy_backend_response_errors_total{proxy=\"instances\"} [12]'",
                 "", 20000),
        0);
    fx_process_free(door);
    stop_mute(&m);
}

static void a_502_is_logged_with_the_request_id(void **state)
{
    (void)state;
    fx_front_need();
    buy_in_vain(true, "502", TIME "502 SH--" TIMES "instances/one lost-buy_1 POST \"/buy\"$");
}

static void a_504_is_logged_with_the_request_id(void **state)
{
    (void)state;
    fx_front_need();
    buy_in_vain(false, "504", TIME "504 sH--" TIMES "instances/one lost-buy_1 POST \"/buy\"$");
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void the_numbers_are_told_and_not_to_the_public(void **state)
{
    (void)state;
    fx_front_need();
    fx_reply reply;
    assert_int_equal(fx_front_ask("GET", "/metrics", NULL, &reply), 404);
    assert_null(strstr(reply.body, "haproxy_"));
    fx_reply_free(&reply);
    assert_true(fx_front_metric("haproxy_frontend_requests_denied_total{proxy=\"public\"}") >= 1);
    assert_int_equal(fx_shell("grep -qF 'FLASHSALE_PROXY_METRICS-127.0.0.1:8404}'"
                              " docker/haproxy.cfg &&"
                              "! grep 'ports:' docker/compose.yaml | grep 8404",
                              NULL, 5000),
                     0);
}

static void each_number_of_an_alert_is_told(void **state)
{
    (void)state;
    fx_front_need();
    assert_int_equal(
        fx_shell("told=$(curl -sf \"http://$FLASHSALE_PROXY_METRICS/metrics\");"
                 "names=$(grep -o 'haproxy_[a-z_]*{proxy=\"[a-z]*\"' docker/observe/alerts.yml |"
                 "  sort -u);"
                 "[ $(echo \"$names\" | wc -l) -ge 7 ] || exit 1;"
                 "for name in $names; do"
                 "  echo \"$told\" | grep -q \"^$name\" ||"
                 "    { echo \"nothing tells $name\" >&2; exit 1; };"
                 "done",
                 "", 20000),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_are_logged_and_nothing_else),
        cmocka_unit_test(the_numbers_are_told_and_not_to_the_public),
        cmocka_unit_test(each_number_of_an_alert_is_told),
        cmocka_unit_test(a_502_is_logged_with_the_request_id),
        cmocka_unit_test(a_504_is_logged_with_the_request_id),
    };
    return cmocka_run_group_tests(tests, setup, fx_front_stop);
}
