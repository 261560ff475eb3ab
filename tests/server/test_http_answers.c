/*
 * test_http_answers.c - what an instance lets strangers do, and tells them: headers for browsers,
 * no word about itself, no list of the others' orders, and not too much at once from one address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

#define TOKEN "correct-horse"

static fx_redis *redis;
static fx_server *server; /* has a token, and a limit for addresses */

static int setup(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    setenv("FLASHSALE_ADMIN_TOKEN", TOKEN, 1);
    server =
        fx_server_start(fx_redis_url(redis),
                        (const char *const[]){"--item", "P0001", "--stock", "100", "--rate-address",
                                              "1", "--rate-burst", "5", NULL});
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_server_kill(server);
    fx_redis_stop(redis);
    return 0;
}

static int ask(const char *method, const char *path, const char *header, fx_reply *reply)
{
    char url[256];
    const char *const headers[] = {header, NULL};
    snprintf(url, sizeof(url), "%s%s", fx_server_url(server), path);
    return fx_http(method, url, header ? headers : NULL, NULL, 15000, reply);
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
        snprintf(url, sizeof(url), "%s/stock?item=P0001", fx_server_url(server));
        fx_http(methods[i], url, headers, NULL, 15000, &reply);
        assert_int_not_equal(reply.status, 0);
        if (strcasestr(reply.headers, "access-control-"))
            fail_msg("%s: %s", methods[i], reply.headers);
        fx_reply_free(&reply);
    }
}

static void orders_are_shown_by_request_id_only(void **state)
{
    (void)state;
    static const struct {
        const char *path, *header;
        int status;
    } cases[] = {
        {"/orders/mine?item=P0001", NULL, 200},
        {"/orders/other?item=P0001", NULL, 404},
        {"/orders?item=P0001", NULL, 401},
        {"/orders?item=P0001", "Authorization: Bearer wrong-horse", 403},
        {"/orders?item=P0001", "Authorization: Bearer " TOKEN, 200},
    };
    fx_reply reply;
    assert_int_equal(ask("POST", "/buy?item=P0001&user=u1&request=mine", NULL, &reply), 201);
    fx_reply_free(&reply);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int status = ask("GET", cases[i].path, cases[i].header, &reply);
        if (status != cases[i].status)
            fail_msg("%s: %d instead of %d: %s", cases[i].path, status, cases[i].status,
                     reply.body);
        if (status >= 400)
            assert_null(strstr(reply.body, "mine"));
        fx_reply_free(&reply);
    }
}

/* Whoever asks says another user and another address each time: neither helps. */
static void an_address_in_a_hurry_is_slowed_down(void **state)
{
    (void)state;
    int limited = 0;
    for (int i = 0; i < 40; i++) {
        char path[64], header[64];
        fx_reply reply;
        snprintf(path, sizeof(path), "/buy?item=P0001&user=quick%d", i);
        snprintf(header, sizeof(header), "X-Forwarded-For: 10.0.0.%d", i);
        if (ask("POST", path, header, &reply) == 429) {
            limited++;
            assert_true(has(&reply, "Retry-After"));
            assert_non_null(strstr(reply.body, "rate_limited"));
        }
        fx_reply_free(&reply);
    }
    assert_in_range(limited, 1, 39);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_tells_browsers_to_be_careful),
        cmocka_unit_test(no_answer_names_server_or_version),
        cmocka_unit_test(no_other_site_may_read_the_answers),
        cmocka_unit_test(orders_are_shown_by_request_id_only),
        cmocka_unit_test(an_address_in_a_hurry_is_slowed_down),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
