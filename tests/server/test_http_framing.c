/*
 * test_http_framing.c - requests whose length two readers could disagree on.
 *
 * A proxy and an instance that disagree let a stranger's bytes pass as somebody's next request.
 * So each of these is refused and its connection closed, or read in the one way that it can be
 * read; never is there a second answer, and never is a hidden buy made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/raw.h"
#include "tests/support/site.h"

enum { ANSWER_MS = 12000, REPLY_MAX = 65536 };

#define BUY    "POST /buy?item=P0001&user=u1 HTTP/1.1\r\n"
#define HOST   "Host: localhost\r\n"
#define HIDDEN "POST /buy?item=P0001&user=hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define CLOSE  "Connection: close\r\n"

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

static int count(const char *text, const char *what)
{
    int n = 0;
    while ((text = strstr(text, what)) != NULL) {
        n++;
        text++;
    }
    return n;
}

/* Sends the bytes, half-closes nothing, and returns all that comes until the server closes. */
static void exchange(const char *what, const char *bytes, size_t len, char *reply)
{
    bool closed;
    int fd = fx_raw_connect(fx_server_port(site->server[0]), NULL);
    assert_true(fd >= 0);
    fx_raw_send(fd, bytes, len);
    fx_raw_read(fd, reply, REPLY_MAX, ANSWER_MS, &closed);
    if (!closed)
        fail_msg("%s: the connection was left open after:\n%s", what, reply);
    close(fd);
}

static const struct {
    const char *what, *bytes;
} refused[] = {
    {"Content-Length and Transfer-Encoding",
     BUY HOST "Content-Length: 64\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN},
    {"Transfer-Encoding and Content-Length",
     BUY HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" HIDDEN},
    {"two lengths", BUY HOST "Content-Length: 0\r\nContent-Length: 66\r\n\r\n" HIDDEN},
    {"a list of lengths", BUY HOST "Content-Length: 0, 66\r\n\r\n" HIDDEN},
    {"junk behind the length", BUY HOST "Content-Length: 0x\r\n\r\n" HIDDEN},
    {"a hexadecimal length", BUY HOST "Content-Length: 0x42\r\n\r\n" HIDDEN},
    {"a negative length", BUY HOST "Content-Length: -1\r\n\r\n" HIDDEN},
    {"a plus sign", BUY HOST "Content-Length: +0\r\n\r\n" HIDDEN},
    {"an empty length", BUY HOST "Content-Length:\r\n\r\n" HIDDEN},
    {"a length of 2^64", BUY HOST "Content-Length: 18446744073709551616\r\n\r\n" HIDDEN},
    {"a length of 2^63", BUY HOST "Content-Length: 9223372036854775808\r\n\r\n" HIDDEN},
    {"chunks", BUY HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN},
    {"a coding nobody knows", BUY HOST "Transfer-Encoding: xchunked\r\n\r\n" HIDDEN},
    {"identity as a coding", BUY HOST "Transfer-Encoding: identity\r\n\r\n" HIDDEN},
    {"two codings", BUY HOST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" HIDDEN},
    {"a space before the colon", BUY HOST "Content-Length : 66\r\n\r\n" HIDDEN},
    {"a folded header", BUY HOST "X-A: 1\r\n Content-Length: 66\r\n\r\n" HIDDEN},
    {"no Host", BUY "Content-Length: 0\r\n\r\n"},
    {"two Hosts", BUY HOST "Host: elsewhere\r\nContent-Length: 0\r\n\r\n"},
    {"no version", "POST /buy?item=P0001&user=u1\r\n" HOST "\r\n"},
    {"a version from the future", "POST /buy?item=P0001&user=u1 HTTP/9.9\r\n" HOST "\r\n"},
    {"HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
    {"a TLS hello", "\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03 no TLS here\r\n\r\n"},
};

static void ambiguous_requests_are_refused_once(void **state)
{
    (void)state;
    char *reply = malloc(REPLY_MAX);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        exchange(refused[i].what, refused[i].bytes, strlen(refused[i].bytes), reply);
        int answers = count(reply, "HTTP/1.1 ");
        /* No answer at all, only the end of the connection, is a refusal too. */
        if (answers > 1 || (answers == 1 && strncmp(reply, "HTTP/1.1 4", 10) != 0 &&
                            strncmp(reply, "HTTP/1.1 5", 10) != 0))
            fail_msg("%s: %d answers:\n%s", refused[i].what, answers, reply);
    }
    free(reply);
    assert_int_equal(fx_site_stock(site, "orders"), 0);
}

/* As many of the header as given, each with a value of `width` bytes. */
static char *many_headers(int lines, int width, size_t *len)
{
    size_t size = (size_t)lines * (size_t)(width + 32) + 512;
    char *bytes = malloc(size);
    int at = snprintf(bytes, size, "%s%s%s", BUY, HOST, CLOSE);
    for (int i = 0; i < lines; i++)
        at += snprintf(bytes + at, size - (size_t)at, "X-%d: %0*d\r\n", i, width, 7);
    at += snprintf(bytes + at, size - (size_t)at, "Content-Length: 0\r\n\r\n");
    *len = (size_t)at;
    return bytes;
}

static void what_is_too_much_is_refused(void **state)
{
    (void)state;
    static const struct {
        int lines, width, status;
    } cases[] = {{20, 8, 201}, {65, 8, 431}, {200, 8, 431}, {1, 9000, 400}, {4, 4000, 400}};
    char *reply = malloc(REPLY_MAX);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[64];
        size_t len;
        char *bytes = many_headers(cases[i].lines, cases[i].width, &len);
        snprintf(name, sizeof(name), "%d headers of %d", cases[i].lines, cases[i].width);
        exchange(name, bytes, len, reply);
        free(bytes);
        int status = strlen(reply) > 12 ? (int)strtol(reply + 9, NULL, 10) : 0;
        if (count(reply, "HTTP/1.1 ") > 1 || status != cases[i].status)
            fail_msg("%s: expected %d:\n%s", name, cases[i].status, reply);
    }
    free(reply);
    assert_int_equal(fx_site_stock(site, "orders"), 1);
}

static void a_body_beyond_4_kib_is_refused(void **state)
{
    (void)state;
    char body[5000];
    fx_reply reply;
    memset(body, ' ', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    assert_int_equal(fx_site_ask(site, 0, "POST", "/sales", body, &reply), 413);
    fx_reply_free(&reply);
}

/* The control: two requests that are what they seem to be get two answers. */
static void two_plain_requests_get_two_answers(void **state)
{
    (void)state;
    static const char both[] = "GET /livez HTTP/1.1\r\n" HOST "\r\n"
                               "GET /livez HTTP/1.1\r\n" HOST CLOSE "\r\n";
    char *reply = malloc(REPLY_MAX);
    exchange("two plain requests", both, strlen(both), reply);
    assert_int_equal(count(reply, "HTTP/1.1 200"), 2);
    free(reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ambiguous_requests_are_refused_once),
        cmocka_unit_test(what_is_too_much_is_refused),
        cmocka_unit_test(a_body_beyond_4_kib_is_refused),
        cmocka_unit_test(two_plain_requests_get_two_answers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
