/*
 * test_framing.c - requests whose length two readers could disagree on, and others that are too
 * much, too slow or not what they seem.
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
#include "tests/support/service.h"

enum { ANSWER_MS = 12000, REPLY_MAX = 65536 };

#define BUY    "POST /buy?item=P0001&user=u1 HTTP/1.1\r\n"
#define HOST   "Host: localhost\r\n"
#define HIDDEN "POST /buy?item=P0001&user=hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define CLOSE  "Connection: close\r\n"

static int count(const char *text, const char *what)
{
    int n = 0;
    while ((text = strstr(text, what)) != NULL) {
        n++;
        text++;
    }
    return n;
}

/* Sends the bytes, half-closes nothing, and reads all that comes until the server closes. The
 * status of the first answer, 0 = there was none. */
static int exchange(const char *what, const char *bytes, size_t len, char *reply)
{
    bool closed;
    int fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL);
    assert_true(fd >= 0);
    fx_raw_send(fd, bytes, len);
    fx_raw_read(fd, reply, REPLY_MAX, ANSWER_MS, &closed);
    if (!closed)
        fail_msg("%s: the connection was left open after:\n%s", what, reply);
    close(fd);
    return strncmp(reply, "HTTP/1.1 ", 9) == 0 ? (int)strtol(reply + 9, NULL, 10) : 0;
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
    char reply[REPLY_MAX];
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        exchange(refused[i].what, refused[i].bytes, strlen(refused[i].bytes), reply);
        int answers = count(reply, "HTTP/1.1 ");
        /* No answer at all, only the end of the connection, is a refusal too. */
        if (answers > 1 || (answers == 1 && strncmp(reply, "HTTP/1.1 4", 10) != 0 &&
                            strncmp(reply, "HTTP/1.1 5", 10) != 0))
            fail_msg("%s: %d answers:\n%s", refused[i].what, answers, reply);
    }
    assert_int_equal(fx_stock("orders"), 0);
}

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
        char reply[REPLY_MAX];
        int status = exchange(cases[i].what, cases[i].sent, strlen(cases[i].sent), reply);
        if (status < 400 || status > 499)
            fail_msg("%s: %d %s", cases[i].what, status, reply);
    }
    assert_int_equal(fx_stock("orders"), 0);
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

static void too_many_headers_are_refused(void **state)
{
    (void)state;
    size_t len;
    char reply[REPLY_MAX], *bytes = many_headers(70, 1, &len);
    assert_in_range(exchange("70 headers", bytes, len, reply), 400, 499);
    free(bytes);
    assert_int_equal(fx_stock("orders"), 0);
}

static void what_is_too_much_is_refused(void **state)
{
    (void)state;
    static const struct {
        int lines, width, status;
    } cases[] = {{20, 8, 201}, {65, 8, 431}, {200, 8, 431}, {1, 9000, 400}, {4, 4000, 400}};
    char reply[REPLY_MAX];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char name[64];
        size_t len;
        char *bytes = many_headers(cases[i].lines, cases[i].width, &len);
        snprintf(name, sizeof(name), "%d headers of %d", cases[i].lines, cases[i].width);
        int status = exchange(name, bytes, len, reply);
        free(bytes);
        if (count(reply, "HTTP/1.1 ") > 1 || status != cases[i].status)
            fail_msg("%s: expected %d:\n%s", name, cases[i].status, reply);
    }
    assert_int_equal(fx_stock("orders"), 1);
}

static void a_body_beyond_4_kib_is_refused(void **state)
{
    (void)state;
    char body[5000];
    memset(body, ' ', sizeof(body) - 1);
    body[sizeof(body) - 1] = '\0';
    fx_expect(fx.server[0], 413, "POST /sales %s", body);
}

static void a_body_is_bounded(void **state)
{
    (void)state;
    char sent[8192], reply[REPLY_MAX];
    int len = snprintf(sent, sizeof(sent),
                       "POST /sales HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
    memset(sent + len, ' ', 5000);
    assert_int_equal(exchange("a long body", sent, (size_t)len + 5000, reply), 413);
    assert_non_null(strstr(reply, "body_too_long"));
}

/* One byte every 200 ms would take a quarter of an hour. */
static void a_slow_body_is_cut_off(void **state)
{
    (void)state;
    static const char head[] = "POST /sales HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n";
    char reply[REPLY_MAX];
    bool closed = false;
    size_t got = 0;
    int fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL), sent = 0;
    assert_true(fx_raw_send(fd, head, strlen(head)));
    for (; sent < 100 && got == 0 && fx_raw_send(fd, " ", 1); sent++)
        got = fx_raw_read(fd, reply, sizeof(reply), 200, &closed);
    assert_in_range(sent, 1, 60);
    fx_raw_read(fd, reply + got, sizeof(reply) - got, ANSWER_MS, &closed);
    assert_non_null(strstr(reply, "body_too_slow"));
    close(fd);
}

/* The control: two requests that are what they seem to be get two answers. */
static void two_plain_requests_get_two_answers(void **state)
{
    (void)state;
    static const char both[] = "GET /livez HTTP/1.1\r\n" HOST "\r\n"
                               "GET /livez HTTP/1.1\r\n" HOST CLOSE "\r\n";
    char reply[REPLY_MAX];
    exchange("two plain requests", both, strlen(both), reply);
    assert_int_equal(count(reply, "HTTP/1.1 200"), 2);
}

static void requests_can_follow_one_another(void **state)
{
    (void)state;
    char reply[REPLY_MAX];
    const char *both = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"
                       "HEAD /livez HTTP/1.1\r\nHost: a\r\n\r\n"
                       "POST /buy?item=P0001&user=u1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                       "\r\nabc"
                       "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    exchange("four requests", both, strlen(both), reply);
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
        cmocka_unit_test(ambiguous_requests_are_refused_once),
        cmocka_unit_test(bad_framing_is_refused_and_the_connection_ends),
        cmocka_unit_test(too_many_headers_are_refused),
        cmocka_unit_test(what_is_too_much_is_refused),
        cmocka_unit_test(a_body_beyond_4_kib_is_refused),
        cmocka_unit_test(a_body_is_bounded),
        cmocka_unit_test(a_slow_body_is_cut_off),
        cmocka_unit_test(two_plain_requests_get_two_answers),
        cmocka_unit_test(requests_can_follow_one_another),
    };
    return fx_run(tests, .instances = 1, .args = FX_ARGS(FX_P0001, "--strategy", "atomic"));
}
