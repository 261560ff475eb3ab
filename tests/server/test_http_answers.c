/*
 * test_http_answers.c - what every answer carries and no answer tells: headers for browsers, no
 * word about the server itself, and nothing for other sites' pages.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_tells_browsers_to_be_careful),
        cmocka_unit_test(no_answer_names_server_or_version),
        cmocka_unit_test(no_other_site_may_read_the_answers),
    };
    return cmocka_run_group_tests(tests, setup, fx_service_stop);
}
