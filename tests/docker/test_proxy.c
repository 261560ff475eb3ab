/*
 * test_proxy.c - the real haproxy with docker/haproxy.cfg in front of three real instances: slow
 * clients, limits, a rolling restart and a killed instance.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/crowd.h"
#include "tests/support/docker/front.h"
#include "tests/support/proxy.h"
#include "tests/support/raw.h"

/* It passes Host on as it came, so an instance knows its own pages' Origin from others'. */
static void only_its_own_pages_may_buy(void **state)
{
    (void)state;
    fx_front_need();
    char url[128], own[96];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/buy?item=P0001&user=page", fx_front_url);
    snprintf(own, sizeof(own), "Origin: %s", fx_front_url);
    assert_int_equal(fx_http("POST", url, FX_ARGS(own), NULL, 15000, &reply), 201);
    fx_reply_free(&reply);
    fx_http("POST", url, FX_ARGS("Origin: http://evil.example"), NULL, 15000, &reply);
    fx_assert_problem(url, &reply, 403, "cross_site");
    fx_reply_free(&reply);
}

/* ---- slow clients ---------------------------------------------------------------------------- */

enum { SLOW = 500, PROBES = 100 };

/* Asks from an address that is not the attackers'. */
static void probe(void)
{
    static const char request[] = "GET /stock?item=P0001 HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\n\r\n";
    char reply[4096];
    int fd = fx_raw_connect(fx_front_port, "127.9.9.9");
    assert_true(fd >= 0);
    assert_true(fx_raw_send(fd, request, strlen(request)));
    fx_raw_read(fd, reply, sizeof(reply), 60000, NULL);
    close(fd);
    assert_memory_equal(reply, "HTTP/1.1 200", 12);
}

static bool is_silent(int fd)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    return poll(&readable, 1, 0) == 0;
}

/* Half of them never end their headers, half never their body. From five addresses, so that the
 * limit for one address does not do the work. Others are answered while the last of them is still
 * waited for, so they did not wait for its end. */
static void slow_clients_do_not_slow_the_others(void **state)
{
    (void)state;
    fx_front_need();
    static const char head[] = "GET /stock?item=P0001 HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
    static const char body[] = "POST /buy?item=P0001&user=slow HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Length: 4000\r\n\r\n";
    int fd[SLOW], before = fx_front_orders();
    for (int i = 0; i < SLOW; i++) {
        char from[16];
        snprintf(from, sizeof(from), "127.0.0.%d", 2 + i % 5);
        fd[i] = fx_raw_connect(fx_front_port, from);
        assert_true(fd[i] >= 0);
        const char *bytes = i % 2 ? head : body;
        assert_true(fx_raw_send(fd[i], bytes, strlen(bytes)));
    }
    int beside = 0; /* probes answered in time */
    for (bool waiting = true; waiting && beside < PROBES; beside += waiting) {
        probe();
        waiting = is_silent(fd[SLOW - 1]);
    }
    print_message("%d probes were answered beside %d slow sockets\n", beside, SLOW);
    assert_true(beside > 0);

    for (int i = 0; i < SLOW; i++) { /* each is told off within the limit, and let go */
        char reply[2048];
        bool closed;
        fx_raw_read(fd[i], reply, sizeof(reply), 60000, &closed);
        assert_true(closed);
        assert_memory_equal(reply, "HTTP/1.1 408", 12);
        close(fd[i]);
    }
    assert_int_equal(fx_front_orders(), before);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void the_proxy_refuses_what_is_not_for_the_public(void **state)
{
    (void)state;
    fx_front_need();
    char big[5000];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    const struct {
        const char *method, *path, *body;
        int status;
    } cases[] = {
        {"POST", "/sales", "{\"item\":\"P0001\",\"stock\":1}", 404},
        {"GET", "/locks", NULL, 404},
        {"GET", "/metrics", NULL, 404},
        {"GET", "/orders?item=P0001", NULL, 404},
        {"GET", "/orders/none?item=P0001", NULL, 404},
        {"POST", "/orders/none/confirm", NULL, 400}, /* an instance says so */
        {"POST", "/orders/none/cancel", NULL, 400},
        {"POST", "/orders/none/sell?item=P0001", NULL, 404},
        {"GET", "/livez", NULL, 200},
        {"GET", "/openapi.json", NULL, 200},
        {"GET", "/?item=P0001", NULL, 200},
        {"GET", "/page/page.js", NULL, 200},
        {"GET", "/dashboard?item=P0001", NULL, 200},
        {"POST", "/buy?item=P0001&user=u", big, 413},
        {"GET", "/buy?item=P0001&user=u", NULL, 405},
        {"POST", "/buy?item=P0001&user=u", NULL, 201},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        fx_reply reply;
        char value[128];
        if (fx_front_ask(cases[i].method, cases[i].path, cases[i].body, &reply) != cases[i].status)
            fail_msg("%s %s: expected %d, got %d %s", cases[i].method, cases[i].path,
                     cases[i].status, reply.status, reply.body);
        if (cases[i].status >= 400)
            assert_string_equal(fx_reply_header(&reply, "Content-Type", value, sizeof(value)),
                                "application/problem+json");
        assert_string_equal(fx_reply_header(&reply, "Server", value, sizeof(value)), "");
        fx_reply_free(&reply);
    }
}

/* An instance reads each of these as /sales, /locks or /orders, and would let anybody in: it
 * has no token, and listens on loopback only. */
static void no_spelling_gets_past_the_proxy(void **state)
{
    (void)state;
    fx_front_need();
    static const char *const spellings[] = {
        "GET /%6cocks",
        "GET //locks",
        "GET /./locks",
        "GET /livez/../locks",
        "GET /page/../locks",
        "GET /orders/../locks",
        "GET /orders/..%2flocks",
        "GET /orders/%2e%2e/locks",
        "GET /%6frders?item=P0001",
        "GET //orders?item=P0001",
        "POST /orders/../sales",
        "POST /orders/a/b/confirm?item=P0001",
        "POST /orders//cancel?item=P0001",
        "POST /orders/a/%63ancel?item=P0001",
        "POST /orders/a/cancel/?item=P0001",
        "POST /%73ales",
        "GET http://localhost/locks",
        "GET http://localhost//locks",
    };
    for (size_t i = 0; i < COUNT(spellings); i++) {
        char request[256], reply[8192];
        snprintf(request, sizeof(request),
                 "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                 "Connection: close\r\n\r\n",
                 spellings[i]);
        fx_front_send(NULL, request, reply, sizeof(reply));
        if (strncmp(reply, "HTTP/1.1 404", 12) != 0 ||
            strstr(reply, "\"code\":\"not_found\"") == NULL)
            fail_msg("%s: %s", spellings[i], reply);
    }
}

/* A cancel is the admin's by its header alone where an instance has no token, as here. */
static void the_proxy_makes_nobody_the_admin(void **state)
{
    (void)state;
    fx_front_need();
    char url[192];
    fx_reply reply;
    fx_start_sale(fx.server[0], "K504", "'stock':5,'per_user_limit':5,'reserve_max_s':60");
    fx_expect(fx.server[0], 201, "POST /buy?item=K504&user=u&request=k1");
    snprintf(url, sizeof(url), "%s/orders/k1/cancel?item=K504", fx_front_url);
    fx_http("POST", url, FX_ARGS("Authorization: Bearer nobody"), NULL, 15000, &reply);
    fx_assert_problem(url, &reply, 409, "order_sold");
    fx_reply_free(&reply);
    snprintf(url, sizeof(url), "%s/orders/k1/cancel?item=K504", fx_server_url(fx.server[0]));
    assert_int_equal(
        fx_http("POST", url, FX_ARGS("Authorization: Bearer nobody"), NULL, 15000, &reply), 200);
    fx_reply_free(&reply);
}

#define FORM "Content-Type: application/x-www-form-urlencoded"
#define JSON "Content-Type: application/json"

/* An instance would read each of these as "request", and the proxy would not: its 502 would name an
 * id that the buy does not have. */
static void a_parameter_s_name_is_spelt_plainly(void **state)
{
    (void)state;
    fx_front_need();
    static const struct {
        const char *type, *query, *body;
        int status;
    } cases[] = {
        {"X-None: 1", "&re%71uest=q1", NULL, 400},
        {"X-None: 1", "&%72equest=q1", NULL, 400},
        {FORM, "", "re%71uest=q1", 400},
        {FORM, "", "quantity=1&reques%74=q1", 400},
        {JSON, "", "{\"requ\\u0065st\":\"q1\"}", 400},
        {JSON, "", "{\"quantity\":1,\"\\u0072equest\" : \"q1\"}", 400},
        {"X-None: 1", "%40x&request=q%31", NULL, 201}, /* values may be spelt as they like */
        {FORM, "", "request=q%32", 201},
        {JSON, "", "{\"request\":\"q\\u0033\",\"quantity\":1}", 201},
    };
    int before = fx_front_orders();
    for (size_t i = 0; i < COUNT(cases); i++) {
        char url[256];
        fx_reply reply;
        snprintf(url, sizeof(url), "%s/buy?item=P0001&user=u%s", fx_front_url, cases[i].query);
        fx_http("POST", url, FX_ARGS(cases[i].type), cases[i].body, 15000, &reply);
        if (reply.status != cases[i].status)
            fail_msg("%s %s: %d %s", cases[i].query, cases[i].body, reply.status, reply.body);
        fx_reply_free(&reply);
    }
    assert_int_equal(fx_front_orders(), before + 3);
}

/* What the proxy refuses itself has the instances' status, code and headers. */
static void the_proxy_speaks_as_the_instances_do(void **state)
{
    (void)state;
    fx_front_need();
    static char long_body[5200];
    int head = snprintf(long_body, sizeof(long_body),
                        "POST /buy?item=P0001&user=u HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                        "Content-Length: 5000\r\n\r\n");
    memset(long_body + head, ' ', 5000);
    const struct {
        const char *bytes;
        int status;
        const char *code;
    } cases[] = {
        {"GET /nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404, "not_found"},
        {"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n", 400, "malformed"},
        {"POST /buy?item=P0001&user=u HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc", 408,
         "body_too_slow"},
        {long_body, 413, "body_too_long"},
        {"GET http://a:99/livez HTTP/1.1\r\nHost: a:99\r\nConnection: close\r\n\r\n", 200, "alive"},
    };
    static const char *const headers[] = {"cache-control: no-store", "referrer-policy: no-referrer",
                                          "x-content-type-options: nosniff",
                                          "content-security-policy: default-src 'none'"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char reply[8192];
        fx_front_send(NULL, cases[i].bytes, reply, sizeof(reply));
        if ((int)strtol(reply + 9, NULL, 10) != cases[i].status || !strstr(reply, cases[i].code))
            fail_msg("%s\n%s", cases[i].bytes, reply);
        for (size_t h = 0; h < COUNT(headers); h++)
            if (strcasestr(reply, headers[h]) == NULL)
                fail_msg("no %s: %s", headers[h], reply);
    }
}

static bool is_open(void *port)
{
    int fd = fx_raw_connect(*(int *)port, NULL);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void one_address_has_not_all_the_requests(void **state)
{
    (void)state;
    fx_front_need();
    int strict = fx_free_port(), refused = 0;
    fx_front_set("FLASHSALE_FRONT", strict);
    setenv("FLASHSALE_ADDRESS_REQUESTS", "20", 1);
    fx_process *other = fx_front_another();
    unsetenv("FLASHSALE_ADDRESS_REQUESTS"); /* those after it are as they come */
    assert_true(fx_wait_until(is_open, &strict, 60000));
    for (int i = 0; i < 60; i++) {
        char url[64];
        fx_reply reply;
        snprintf(url, sizeof(url), "http://127.0.0.1:%d/livez", strict);
        if (fx_http("GET", url, NULL, NULL, 15000, &reply) == 429) {
            refused++;
            fx_assert_problem("a request too many", &reply, 429, "rate_limited");
        }
        fx_reply_free(&reply);
    }
    fx_process_free(other);
    assert_in_range(refused, 1, 59);
}

enum { CONNECTIONS = 360, CONNECTIONS_MOST = 300 };

/* How many were closed without a word. */
static int rejected(const int *fd)
{
    int count = 0;
    for (int i = 0; i < CONNECTIONS; i++) {
        char byte;
        count += fd[i] < 0 || (!is_silent(fd[i]) && recv(fd[i], &byte, 1, MSG_PEEK) <= 0);
    }
    return count;
}

static bool are_too_many_rejected(void *fd)
{
    return rejected(fd) >= CONNECTIONS - CONNECTIONS_MOST;
}

static void one_address_has_not_all_the_connections(void **state)
{
    (void)state;
    fx_front_need();
    int fd[CONNECTIONS];
    for (int i = 0; i < CONNECTIONS; i++)
        fd[i] = fx_raw_connect(fx_front_port, "127.0.7.7");
    assert_true(fx_wait_until(are_too_many_rejected, fd, 60000));
    assert_int_equal(rejected(fd), CONNECTIONS - CONNECTIONS_MOST);
    assert_int_equal(
        (int)fx_front_metric("haproxy_frontend_denied_connections_total{proxy=\"public\"}"),
        CONNECTIONS - CONNECTIONS_MOST);
    for (int i = 0; i < CONNECTIONS; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    assert_true(fx_front_is_ready(NULL)); /* others are not concerned */
}

/* ---- restarts -------------------------------------------------------------------------------- */

/* Whether buyers have come to this instance, through the proxy, since its start. */
static bool has_sold(void *server)
{
    fx_reply reply;
    fx_ask(server, &reply, "GET /metrics");
    const char *sold =
        strstr(reply.body, "flashsale_buy_duration_seconds_count{outcome=\"sold\"} ");
    bool some = sold && strtol(strchr(sold, ' '), NULL, 10) > 0;
    fx_reply_free(&reply);
    return some;
}

static void a_rolling_restart_fails_no_buy(void **state)
{
    (void)state;
    fx_front_need();
    int before = fx_front_orders();
    fx_crowd *crowd = fx_crowd_start(fx_front_url, 12);
    assert_true(fx_crowd_sells(crowd, 50, 60000));
    for (int i = 0; i < FX_INSTANCES; i++) {
        assert_int_equal(fx_server_stop(fx.server[i]), 0);
        fx.server[i] = fx_front_instance(i);
        assert_true(fx_wait_until(has_sold, fx.server[i], 60000)); /* it is back at work */
    }
    fx_crowd_sum sum = fx_crowd_stop(crowd);
    if (sum.refused + sum.unknown + sum.other > 0)
        fail_msg("%d bought, %d refused, %d unknown, %d other: %s", sum.bought, sum.refused,
                 sum.unknown, sum.other, sum.last_failure);
    assert_int_equal(fx_front_orders() - before, sum.bought);
}

static void a_killed_instance_loses_no_acknowledged_order(void **state)
{
    (void)state;
    fx_front_need();
    int before = fx_front_orders();
    fx_crowd *crowd = fx_crowd_start(fx_front_url, 12);
    assert_true(fx_crowd_sells(crowd, 50, 60000));
    fx_server_kill(fx.server[1]);
    fx.server[1] = NULL;
    assert_true(fx_crowd_sells(crowd, 200, 60000)); /* while it is gone */
    fx.server[1] = fx_front_instance(1);
    assert_true(fx_crowd_sells(crowd, 200, 60000));
    fx_crowd_sum sum = fx_crowd_stop(crowd);

    int made = fx_front_orders() - before;
    assert_int_equal(sum.other, 0);
    assert_in_range(made, sum.bought, sum.bought + sum.unknown);
}

/* ---- a buy without an answer ----------------------------------------------------------------- */

/* An instance alone behind a proxy of its own, and a line to Redis that can lose a reply. */
static fx_proxy *line;
static int lonely_port;
static char lonely_url[64];

static fx_server *start_lonely(void)
{
    char listen[32];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", lonely_port);
    return fx_server_start(fx_proxy_url(line), FX_ARGS("--listen", listen));
}

static bool lonely_is_ready(void *arg)
{
    (void)arg;
    char url[128];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/readyz", lonely_url);
    int status = fx_http("GET", url, NULL, NULL, 5000, &reply);
    fx_reply_free(&reply);
    return status == 200;
}

static fx_process *start_lonely_proxy(void)
{
    int port = fx_free_port();
    snprintf(lonely_url, sizeof(lonely_url), "http://127.0.0.1:%d", port);
    fx_front_set("FLASHSALE_FRONT", port);
    fx_front_set("FLASHSALE_INSTANCE_1", lonely_port);
    fx_front_set("FLASHSALE_INSTANCE_2", fx_free_port());
    fx_front_set("FLASHSALE_INSTANCE_3", fx_free_port());
    return fx_front_another();
}

/* Where the client puts its request id, if it has one. */
typedef struct lost_buy {
    const char *header, *query, *body, *request;
    char url[192];
    fx_reply reply;
} lost_buy;

static void *send_lost_buy(void *arg)
{
    lost_buy *buy = arg;
    fx_http("POST", buy->url, FX_ARGS(buy->header), buy->body, 30000, &buy->reply);
    return NULL;
}

static char orders_key[128];

static bool has_orders(void *count)
{
    return fx_redis_number(fx.redis, "HLEN %s", orders_key) == *(int *)count;
}

static bool is_confirmed(void *units)
{
    return fx_redis_number(fx.redis, "GET %s", orders_key) == *(int *)units;
}

/* Kills the instance between the order and its answer; the id in the 502. */
static void lose_the_answer(lost_buy *buy, int order, char request[64])
{
    pthread_t buyer;
    fx_server *lonely = start_lonely();
    assert_true(fx_wait_until(lonely_is_ready, NULL, 60000));
    snprintf(buy->url, sizeof(buy->url), "%s/buy?item=K502&user=zebra-502%s", lonely_url,
             buy->query);
    fx_proxy_say(line, "drop reply 1 match zebra-502");
    pthread_create(&buyer, NULL, send_lost_buy, buy);
    assert_true(fx_wait_until(has_orders, &order, 10000));
    fx_server_kill(lonely);
    pthread_join(buyer, NULL);
    fx_proxy_say(line, "heal");
    fx_assert_problem(buy->header, &buy->reply, 502, "unknown");
    fx_copy_member(buy->reply.body, "request", request, 64);
    fx_reply_free(&buy->reply);
}

static void a_502_tells_the_request_id_to_ask_with(void **state)
{
    (void)state;
    fx_front_need();
    static lost_buy buys[] = {
        {.header = "X-None: 1", .query = ""},
        {.header = "Flashsale-Request-Id: not-the-client-s", .query = ""},
        {.header = "Idempotency-Key: in-header", .query = "", .request = "in-header"},
        {.header = "Idempotency-Key: \"in-quotes\"", .query = "", .request = "in-quotes"},
        {.header = "X-None: 1", .query = "&request=in-query", .request = "in-query"},
        {.header = "X-None: 1", .query = "", .body = "request=in-form", .request = "in-form"},
        {.header = "Content-Type: application/json",
         .query = "",
         .body = "{\"request\":\"in-json\"}",
         .request = "in-json"},
        {.header = "X-None: 1", .query = "&request=spelt%2Dquery", .request = "spelt-query"},
        {.header = "X-None: 1",
         .query = "",
         .body = "request=spelt%2Dform",
         .request = "spelt-form"},
    };
    snprintf(orders_key, sizeof(orders_key), "fs:{K502}:%s:orders",
             fx_start_sale(fx.server[0], "K502", "'stock':50,'strategy':'atomic'"));
    line = fx_proxy_start(fx_redis_url(fx.redis));
    lonely_port = fx_free_port();
    fx_process *door = start_lonely_proxy();
    for (size_t i = 0; i < COUNT(buys); i++) {
        char request[64], user[64];
        lose_the_answer(&buys[i], (int)i + 1, request);
        if (buys[i].request)
            assert_string_equal(request, buys[i].request);
        assert_string_not_equal(request, "not-the-client-s");
        fx_copy_member(fx_expect(fx.server[0], 200, "GET /orders/%s?item=K502", request), "user",
                       user, sizeof(user));
        assert_string_equal(user, "zebra-502");
    }
    fx_process_free(door);
    fx_proxy_stop(line);
}

/* The instance is killed between what was done and its answer. */
static void a_502_of_a_confirm_tells_the_request_id(void **state)
{
    (void)state;
    fx_front_need();
    pthread_t buyer;
    int sold = 1;
    static lost_buy confirm = {.header = "X-None: 1"};
    const char *sale =
        fx_start_sale(fx.server[0], "K505",
                      "'stock':5,'strategy':'atomic','per_user_limit':5,'reserve_max_s':60");
    snprintf(orders_key, sizeof(orders_key), "fs:{K505}:%s:sold", sale);
    fx_expect(fx.server[0], 201, "POST /buy?item=K505&user=u&request=tapir-505&reserve_s=60");
    line = fx_proxy_start(fx_redis_url(fx.redis));
    lonely_port = fx_free_port();
    fx_process *door = start_lonely_proxy();
    fx_server *lonely = start_lonely();
    assert_true(fx_wait_until(lonely_is_ready, NULL, 60000));
    snprintf(confirm.url, sizeof(confirm.url), "%s/orders/tapir-505/confirm?item=K505", lonely_url);
    fx_proxy_say(line, "drop reply 1 match tapir-505");
    pthread_create(&buyer, NULL, send_lost_buy, &confirm);
    assert_true(fx_wait_until(is_confirmed, &sold, 10000));
    fx_server_kill(lonely);
    pthread_join(buyer, NULL);
    fx_assert_problem(confirm.url, &confirm.reply, 502, "unknown");
    fx_has(confirm.reply.body, "\"request\":\"tapir-505\"");
    fx_reply_free(&confirm.reply);
    fx_has(fx_expect(fx.server[0], 200, "GET /orders/tapir-505?item=K505"), "\"state\":\"sold\"");
    fx_process_free(door);
    fx_proxy_stop(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_proxy_refuses_what_is_not_for_the_public),
        cmocka_unit_test(no_spelling_gets_past_the_proxy),
        cmocka_unit_test(the_proxy_makes_nobody_the_admin),
        cmocka_unit_test(one_address_has_not_all_the_requests),
        cmocka_unit_test(only_its_own_pages_may_buy),
        cmocka_unit_test(slow_clients_do_not_slow_the_others),
        cmocka_unit_test(one_address_has_not_all_the_connections),
        cmocka_unit_test(a_502_tells_the_request_id_to_ask_with),
        cmocka_unit_test(a_502_of_a_confirm_tells_the_request_id),
        cmocka_unit_test(a_parameter_s_name_is_spelt_plainly),
        cmocka_unit_test(the_proxy_speaks_as_the_instances_do),
        cmocka_unit_test(a_rolling_restart_fails_no_buy),
        cmocka_unit_test(a_killed_instance_loses_no_acknowledged_order),
    };
    return cmocka_run_group_tests(tests, fx_front_start, fx_front_stop);
}
