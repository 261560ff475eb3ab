/* test_reply.c - a reply as bytes: each status with its title, and the headers that only some
 * replies have. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/api/reply.h"

/* By RFC 9110, but 429 and 431, which are of RFC 6585. */
static const struct {
    int status;
    const char *title;
} titles[] = {
    {200, "OK"},
    {201, "Created"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
};

static const char *title_of(int status)
{
    for (size_t i = 0; i < COUNT(titles); i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Unknown";
}

/* Every status that an outcome, a refusal or a page has, and those next to them. */
static void each_status_has_its_title(void **state)
{
    (void)state;
    for (int status = 200; status < 600; status++) {
        char expected[256];
        api_reply reply;
        fs_text out;
        reply_init(&reply);
        text_init(&out);
        problem(&reply, status, "some_code", "Some detail.");
        snprintf(expected, sizeof(expected),
                 "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"code\":\"some_code\","
                 "\"detail\":\"Some detail.\"",
                 title_of(status), status);
        assert_string_equal(text_bytes(&reply.body), expected);
        reply_write(&out, &reply, false);
        snprintf(expected, sizeof(expected),
                 "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\n", status,
                 title_of(status));
        assert_int_equal(strncmp(text_bytes(&out), expected, strlen(expected)), 0);
        bool again = status == 503 || status == 429;
        assert_int_equal(strstr(text_bytes(&out), "\r\nRetry-After: 1\r\n") != NULL, again);
        assert_int_equal(strstr(text_bytes(&out), "Retry-After") != NULL, again);
        text_free(&out);
        reply_free(&reply);
    }
    for (int outcome = 0; outcome < BUY_OUTCOMES; outcome++)
        assert_string_not_equal(title_of(outcome_table[outcome].status), "Unknown");
}

static void the_length_is_that_of_the_body(void **state)
{
    (void)state;
    for (int object = 0; object < 2; object++) {
        api_reply reply;
        fs_text out;
        size_t length = 0;
        reply_init(&reply);
        text_init(&out);
        if (object)
            reply_json(&reply, 200);
        else
            reply.status = 200;
        reply.retry_after_s = 2;
        text_add(&reply.location, "/x");
        reply_write(&out, &reply, false);
        const char *at = strstr(text_bytes(&out), "\r\nContent-Length: ");
        const char *body = strstr(text_bytes(&out), "\r\n\r\n");
        assert_true(at && body);
        assert_int_equal(sscanf(at, " Content-Length: %zu", &length), 1);
        assert_int_equal(strlen(body + 4), length);
        assert_string_equal(body + 4, object ? "{}\n" : "");
        assert_non_null(strstr(text_bytes(&out), "\r\nLocation: /x\r\n"));
        assert_non_null(strstr(text_bytes(&out), "\r\nRetry-After: 2\r\n"));
        text_free(&out);
        reply_free(&reply);
    }
}

/* Each word of Redis that a reason is known for, and one that none is known for. */
static void refusals_of_redis_are_explained(void **state)
{
    (void)state;
    static const char *const reasons[][2] = {
        {"OOM", "Redis refused (OOM): out of memory; no"},
        {"READONLY", "Redis refused (READONLY): it takes no writes; no"},
        {"NOPERM", "Redis refused (NOPERM): the service's user lacks a right; no"},
        {"NOAUTH", "Redis refused (NOAUTH): it wants a password; no"},
        {"WRONGPASS", "Redis refused (WRONGPASS): the password is wrong; no"},
        {"MISCONF", "Redis refused (MISCONF): its writes are off since a save failed; no"},
        {"NOREPLICAS", "Redis refused (NOREPLICAS): it has too few replicas; no"},
        {"LOADING", "Redis refused (LOADING): it is still loading; no"},
        {"STRANGE", "Redis refused (STRANGE): see the log; no"},
        {"", "Redis did not answer; no"},
        {"no_answer", "Redis did not answer; no"},
    };
    for (size_t i = 0; i < COUNT(reasons); i++) {
        api_reply reply;
        reply_init(&reply);
        problem_redis(&reply, reasons[i][0], "no");
        assert_int_equal(reply.status, 503);
        if (!strstr(text_bytes(&reply.body), reasons[i][1]))
            fail_msg("%s: %s", reasons[i][0], text_bytes(&reply.body));
        reply_free(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_has_its_title),
        cmocka_unit_test(the_length_is_that_of_the_body),
        cmocka_unit_test(refusals_of_redis_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
