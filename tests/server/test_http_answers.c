/*
 * test_http_answers.c - what every answer carries and no answer tells: headers for browsers, no
 * word about the server itself, and nothing for other sites' pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/http.h"
#include "tests/support/raw.h"
#include "tests/support/service.h"

static int setup(void **state)
{
    setenv("FLASHSALE_ADMIN_TOKEN", "correct-horse", 1);
    fx.plan = (fx_plan){.instances = 1, .args = FX_ARGS(FX_P0001)};
    int status = fx_service_start(state);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    return status;
}

static int ask(const char *method, const char *path, const char *header, fx_reply *reply)
{
    char url[256];
    snprintf(url, sizeof(url), "%s%s", fx_server_url(fx.server[0]), path);
    return fx_http(method, url, header ? FX_ARGS(header) : NULL, NULL, 15000, reply);
}

static bool says(const fx_reply *reply, const char *header, const char *what)
{
    char value[256];
    return strstr(fx_reply_header(reply, header, value, sizeof(value)), what) != NULL;
}

static bool has(const fx_reply *reply, const char *header)
{
    char value[256];
    return fx_reply_header(reply, header, value, sizeof(value))[0] != '\0';
}

/* Pages, refusals of ours, and one of civetweb's. */
static const struct {
    const char *method, *path, *header;
    int status;
} answers[] = {
    {"GET", "/strategies", NULL, 200},
    {"GET", "/stock?item=P0001", NULL, 200},
    {"GET", "/livez", NULL, 200},
    {"GET", "/nothing", NULL, 404},
    {"GET", "/buy", NULL, 405},
    {"POST", "/sales", NULL, 401},
    {"POST", "/buy", "Transfer-Encoding: chunked", 411},
    {"TRACE", "/", NULL, 400},
    {"POST", "/buy", "Content-Length: 5x", 400},
};

static void every_answer_tells_browsers_to_be_careful(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        fx_reply reply;
        int status = ask(answers[i].method, answers[i].path, answers[i].header, &reply);
        if (status != answers[i].status)
            fail_msg("%s %s: %d %s", answers[i].method, answers[i].path, status, reply.error);
        if (!says(&reply, "X-Content-Type-Options", "nosniff") ||
            !says(&reply, "Cache-Control", "no-store") ||
            !says(&reply, "Referrer-Policy", "no-referrer") ||
            !says(&reply, "Content-Security-Policy", "default-src 'none'") ||
            !says(&reply, "Content-Security-Policy", "frame-ancestors 'none'"))
            fail_msg("%s %s: %s", answers[i].method, answers[i].path, reply.headers);
        fx_reply_free(&reply);
    }
}

static void no_answer_names_server_or_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        fx_reply reply;
        ask(answers[i].method, answers[i].path, answers[i].header, &reply);
        if (has(&reply, "Server") || has(&reply, "X-Powered-By") ||
            strstr(reply.body, FLASHSALE_VERSION) || strcasestr(reply.body, "civetweb"))
            fail_msg("%s %s: %s\n%s", answers[i].method, answers[i].path, reply.headers,
                     reply.body);
        fx_reply_free(&reply);
    }
}

static void no_other_site_may_read_the_answers(void **state)
{
    (void)state;
    static const char *const methods[] = {"GET", "POST", "OPTIONS"};
    for (size_t i = 0; i < COUNT(methods); i++) {
        static const char *const headers[] = {"Origin: https://elsewhere.example",
                                              "Access-Control-Request-Method: POST", NULL};
        char url[256];
        fx_reply reply;
        snprintf(url, sizeof(url), "%s/stock?item=P0001", fx_server_url(fx.server[0]));
        fx_http(methods[i], url, headers, NULL, 15000, &reply);
        assert_int_not_equal(reply.status, 0);
        if (strcasestr(reply.headers, "access-control-"))
            fail_msg("%s: %s", methods[i], reply.headers);
        fx_reply_free(&reply);
    }
}

/* What one connection is sent; the last request of each closes it. */
static const struct {
    const char *sent, *line; /* the answer's first */
    int answers;
} connections[] = {
    {"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ", 1},
    {"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
     "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
     "HTTP/1.1 200 ", 2},
    {"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 ", 1},
    {"POST /buy HTTP/1.1\r\nContent-Length: 5x\r\n\r\n", "HTTP/1.1 400 ", 1},
    {"\r\rnothing like it\r\n\r\n", "HTTP/1.1 400 ", 1},
    {"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 421 ", 1},
    {"GET http://elsewhere.example:1/livez HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 421 ",
     1},
};

static void each_request_is_answered_once_and_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(connections); i++) {
        char got[8192];
        bool closed;
        int fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL), answers_seen = 0;
        assert_true(fx_raw_send(fd, connections[i].sent, strlen(connections[i].sent)));
        fx_raw_read(fd, got, sizeof(got), 30000, &closed);
        close(fd);
        const char *body = got, *length;
        for (; strncmp(body, connections[i].line, strlen(connections[i].line)) == 0;
             answers_seen++) {
            length = strstr(body, "Content-Length: ");
            body = strstr(body, "\r\n\r\n");
            assert_true(length && body && length < body);
            long len = strtol(length + strlen("Content-Length: "), NULL, 10);
            body += strlen("\r\n\r\n");
            assert_in_range(len, 1, strlen(body));
            body += len;
        }
        if (!closed || answers_seen != connections[i].answers || *body != '\0')
            fail_msg("%s got %s", connections[i].sent, got);
    }
}

/* ---- to the byte ----------------------------------------------------------------------------- */

#define OTHER_HEADERS                                                                              \
    "Content-Length: LEN\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"        \
    "Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; "                \
    "frame-ancestors 'none'\r\n"
#define JSON_HEADERS    "Content-Type: application/json\r\n" OTHER_HEADERS
#define PROBLEM_HEADERS "Content-Type: application/problem+json\r\n" OTHER_HEADERS
#define BUY_B1          "POST /buy?item=B1&user=u1&request=b1 HTTP/1.1\r\nHost: localhost\r\n"
#define ORDER_B1                                                                                   \
    "{\"order\":\"SALE-EPOCH-1\",\"request\":\"b1\",\"item\":\"B1\",\"sale\":\"SALE\",\"user\":"   \
    "\"u1\","                                                                                      \
    "\"quantity\":1,\"remaining\":0,\"fence\":FENCE,\"instance\":\"box\",\"state\":\"sold\"}\n"

/* In this order on one connection, each once the answer before is there: so the leader of the batch
 * sends the second. */
static const struct {
    const char *sent, *answer;
} exchanges[] = {
    {BUY_B1 "\r\n",
     "HTTP/1.1 201 Created\r\n" JSON_HEADERS "Location: /orders/b1?item=B1&sale=SALE\r\n"
     "Connection: keep-alive\r\n\r\n" ORDER_B1},
    {BUY_B1 "\r\n", "HTTP/1.1 201 Created\r\n" JSON_HEADERS
                    "Location: /orders/b1?item=B1&sale=SALE\r\nIdempotency-Replayed: true\r\n"
                    "Connection: keep-alive\r\n\r\n" ORDER_B1},
    {"POST /buy?item=B1&user=u2&request=b2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
     "HTTP/1.1 409 Conflict\r\n" PROBLEM_HEADERS "Connection: keep-alive\r\n\r\n"
     "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,\"code\":\"sold_out\","
     "\"detail\":\"fewer units are left than asked for\",\"request\":\"b2\",\"sale\":\"SALE\"}\n"},
    {"GET /buy HTTP/1.1\r\nHost: localhost\r\n\r\n",
     "HTTP/1.1 405 Method Not Allowed\r\n" PROBLEM_HEADERS "Allow: POST\r\n"
     "Connection: keep-alive\r\n\r\n"
     "{\"type\":\"about:blank\",\"title\":\"Method Not Allowed\",\"status\":405"
     ",\"code\":\"method_not_allowed\","
     "\"detail\":\"GET is not possible here; try: POST /buy?item=P0001&user=u1\"}\n"},
    {"POST /sales HTTP/1.1\r\nHost: localhost\r\n\r\n",
     "HTTP/1.1 401 Unauthorized\r\n" PROBLEM_HEADERS "WWW-Authenticate: Bearer\r\n"
     "Connection: keep-alive\r\n\r\n"
     "{\"type\":\"about:blank\",\"title\":\"Unauthorized\",\"status\":401"
     ",\"code\":\"token_missing\","
     "\"detail\":\"an admin token is needed: Authorization: Bearer ...\"}\n"},
    {"POST /buy?item=B1&user=u3&request=b3 HTTP/1.1\r\nHost: localhost\r\nConnection: "
     "close\r\n\r\n",
     "HTTP/1.1 503 Service Unavailable\r\n" PROBLEM_HEADERS "Retry-After: 1\r\n"
     "Connection: close\r\n\r\n"
     "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503"
     ",\"code\":\"sale_damaged\","
     "\"detail\":\"the sale's data in Redis are damaged; this try bought "
     "nothing\",\"request\":\"b3\",\"sale\":\"SALE\"}\n"},
};

static void replace(char *text, size_t len, const char *what, const char *by)
{
    for (char *at = strstr(text, what); at; at = strstr(at + strlen(by), what)) {
        size_t what_len = strlen(what), by_len = strlen(by), rest = strlen(at + what_len) + 1;
        assert_true((size_t)(at - text) + by_len + rest <= len);
        memmove(at + by_len, at + what_len, rest);
        memcpy(at, by, by_len);
    }
}

static void replace_number(char *text, size_t len, const char *behind, const char *by)
{
    char number[32];
    const char *at = strstr(text, behind);
    if (!at)
        return;
    snprintf(number, sizeof(number), "%s%.*s", behind,
             (int)strspn(at + strlen(behind), "0123456789"), at + strlen(behind));
    replace(text, len, number, by);
}

static void mask_epoch(char *text, size_t len)
{
    char epochs[64], epoch[16];
    fx_redis_text(fx.redis, epochs, sizeof(epochs), "GET fs:{B1}:%s:epochs", fx_current_sale("B1"));
    snprintf(epoch, sizeof(epoch), "-%.12s-", epochs);
    replace(text, len, epoch, "-EPOCH-");
}

/* What differs from run to run, as words. */
static void mask(char *text, size_t len)
{
    const char *body = strstr(text, "\r\n\r\n");
    char length[48];
    assert_non_null(body);
    snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(body + 4));
    replace(text, len, length, "Content-Length: LEN\r\n");
    mask_epoch(text, len);
    replace(text, len, fx_current_sale("B1"), "SALE");
    replace_number(text, len, "\"fence\":", "\"fence\":FENCE");
}

static size_t read_answer(int fd, char *got, size_t len)
{
    size_t have = 0;
    bool closed = false;
    while (!closed && have + 1 < len) { /* the answers end with a line, and have none before */
        size_t more = fx_raw_read(fd, got + have, 2, 30000, &closed);
        const char *body = strstr(got, "\r\n\r\n");
        have += more;
        if (more == 0 || (body && strchr(body + 4, '\n')))
            break;
    }
    return have;
}

static void answers_are_these_bytes(void **state)
{
    (void)state;
    setenv("FLASHSALE_ADMIN_TOKEN", "correct-horse", 1);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis),
                                        FX_ARGS("--name", "box", "--item", "B1", "--stock", "1"));
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    int fd = fx_raw_connect(fx_server_port(server), NULL);
    size_t count = COUNT(exchanges);
    for (size_t i = 0; i < count; i++) {
        char got[4096];
        if (i + 1 == count)
            fx_redis_do(fx.redis, "DEL fs:{B1}:%s:stock", fx_current_sale("B1"));
        assert_true(fx_raw_send(fd, exchanges[i].sent, strlen(exchanges[i].sent)));
        read_answer(fd, got, sizeof(got));
        mask(got, sizeof(got));
        assert_string_equal(got, exchanges[i].answer);
    }
    close(fd);
    fx_server_kill(server);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Nor is there anything to stop of what did not start. */
static void an_address_that_is_taken_is_said(void **state)
{
    (void)state;
    char address[64], err[256] = "";
    fs_api api = {0};
    snprintf(address, sizeof(address), "127.0.0.1:%d", fx_server_port(fx.server[0]));
    fs_http *http = http_start(&api, address, 4, err, sizeof(err));
    assert_null(http);
    assert_non_null(strstr(err, address));
    http_stop(http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_tells_browsers_to_be_careful),
        cmocka_unit_test(no_answer_names_server_or_version),
        cmocka_unit_test(each_request_is_answered_once_and_whole),
        cmocka_unit_test(answers_are_these_bytes),
        cmocka_unit_test(an_address_that_is_taken_is_said),
        cmocka_unit_test(no_other_site_may_read_the_answers),
    };
    return cmocka_run_group_tests(tests, setup, fx_service_stop);
}
