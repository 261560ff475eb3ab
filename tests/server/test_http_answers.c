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
    {"GET", "/", NULL, 200},
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
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
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
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
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
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
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
    {"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ", 1},
    {"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
     "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
     "HTTP/1.1 200 ", 2},
    {"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 ", 1},
    {"POST /buy HTTP/1.1\r\nContent-Length: 5x\r\n\r\n", "HTTP/1.1 400 ", 1},
    {"\r\rnothing like it\r\n\r\n", "HTTP/1.1 400 ", 1},
    {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 421 ", 1},
    {"GET http://elsewhere.example:1/livez HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 421 ", 1},
};

static void each_request_is_answered_once_and_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(connections) / sizeof(connections[0]); i++) {
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
        cmocka_unit_test(an_address_that_is_taken_is_said),
        cmocka_unit_test(no_other_site_may_read_the_answers),
    };
    return cmocka_run_group_tests(tests, setup, fx_service_stop);
}
