/*
 * test_framing.c - requests whose length two readers could disagree on, and others that are too
 * much, too slow or not what they seem.
 *
 * A proxy and an instance that disagree let a stranger's bytes pass as somebody's next request.
 * So each of these is refused and its connection closed, or read in the one way that it can be
 * read; never is there a second answer, and never is a hidden buy made.
 */
#include <civetweb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/framing.h"
#include "tests/support/raw.h"
#include "tests/support/service.h"

enum { ANSWER_MS = 60000, REPLY_MAX = 65536, HEAD_MAX = 8192 };

#define BUY    "POST /buy?item=P0001&user=u1 HTTP/1.1\r\n"
#define HOST   "Host: localhost\r\n"
#define CL66   "Content-Length: 66\r\n"
#define HIDDEN "POST /buy?item=P0001&user=hidden4321 HTTP/1.1\r\nHost: localhost\r\n\r\n"
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

/* As long as the lengths below say, so that who believes them is at the end of what was sent, and
 * has no other reason to refuse. */
_Static_assert(sizeof(HIDDEN) == 66 + 1, "HIDDEN has 66 bytes");

/* Each would be one order for one reader, and two, or none, for another. */
static const struct {
    const char *what, *bytes, *code;
} refused[] = {
    {"Content-Length and Transfer-Encoding",
     BUY HOST "Content-Length: 71\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN,
     "bad_framing"},
    {"Transfer-Encoding and Content-Length",
     BUY HOST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" HIDDEN,
     "bad_framing"},
    {"two lengths", BUY HOST "Content-Length: 0\r\n" CL66 "\r\n" HIDDEN, "bad_framing"},
    {"equal lengths", BUY HOST CL66 CL66 "\r\n" HIDDEN, "bad_framing"},
    {"a list of lengths", BUY HOST "Content-Length: 0, 66\r\n\r\n" HIDDEN, "bad_framing"},
    {"junk behind the length", BUY HOST "Content-Length: 66x\r\n\r\n" HIDDEN, "bad_framing"},
    {"a hexadecimal length", BUY HOST "Content-Length: 0x42\r\n\r\n" HIDDEN, "bad_framing"},
    {"a length in words", BUY HOST "Content-Length: five\r\n\r\nhello", "malformed"},
    {"a negative length", BUY HOST "Content-Length: -1\r\n\r\n" HIDDEN, "malformed"},
    {"a plus sign", BUY HOST "Content-Length: +66\r\n\r\n" HIDDEN, "bad_framing"},
    {"an empty length", BUY HOST "Content-Length:\r\n\r\n" HIDDEN, "malformed"},
    {"ten digits", BUY HOST "Content-Length: 0000000066\r\n\r\n" HIDDEN, "bad_framing"},
    {"a length of 2^64", BUY HOST "Content-Length: 18446744073709551616\r\n\r\n" HIDDEN,
     "bad_framing"},
    {"a length of 2^63", BUY HOST "Content-Length: 9223372036854775808\r\n\r\n" HIDDEN,
     "bad_framing"},
    {"chunks", BUY HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" HIDDEN, "length_required"},
    {"a coding nobody knows", BUY HOST "Transfer-Encoding: xchunked\r\n\r\n" HIDDEN, "malformed"},
    {"identity as a coding", BUY HOST "Transfer-Encoding: identity\r\n\r\n" HIDDEN, "bad_framing"},
    {"two codings", BUY HOST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" HIDDEN,
     "malformed"},
    {"a space before the colon", BUY HOST "Content-Length : 66\r\n\r\n" HIDDEN, "bad_framing"},
    {"a tab before the colon", BUY HOST "Content-Length\t: 66\r\n\r\n" HIDDEN, "malformed"},
    {"a folded header", BUY HOST "X-A: 1\r\n " CL66 "\r\n" HIDDEN, "bad_framing"},
    {"a folded first header", BUY " " HOST CL66 "\r\n" HIDDEN, "bad_framing"},
    {"a line of blanks first", BUY " \r\n" HOST CL66 "\r\n" HIDDEN, "bad_framing"},
    {"a header without a name", BUY HOST ": 1\r\n" CL66 "\r\n" HIDDEN, "bad_framing"},
    {"the same in HTTP/1.0", "POST /buy?item=P0001&user=u1 HTTP/1.0\r\n: 1\r\n" CL66 "\r\n" HIDDEN,
     "bad_framing"},
    {"a line that ends with LF", BUY HOST "X-A: 1\n" CL66 "\r\n" HIDDEN, "bad_framing"},
    {"a request line that ends with LF", "POST /buy?item=P0001&user=u1 HTTP/1.1\n" HOST "\r\n",
     "bad_framing"},
    {"a head that ends with LF", BUY HOST "X-A: 1\n\n" HIDDEN, "bad_framing"},
    {"a head that ends with LF, CR, LF", BUY HOST "X-A: 1\n\r\n" HIDDEN, "bad_framing"},
    {"a head that ends with CR", BUY HOST "X-A: 1\r\n\rX-B: 1\r\n\r\n" HIDDEN, "bad_framing"},
    {"two empty lines before", "\r\n\r\n" BUY HOST "\r\n" HIDDEN, "bad_framing"},
    {"five empty lines before", "\r\n\r\n\r\n\r\n\r\n" BUY HOST CL66 "\r\n" HIDDEN, "bad_framing"},
    {"a blank before", " " BUY HOST "\r\n", "bad_framing"},
    {"two blanks behind the method", "POST  /buy?item=P0001&user=u1 HTTP/1.1\r\n" HOST "\r\n",
     "bad_framing"},
    {"two blanks behind the path", "POST /buy?item=P0001&user=u1  HTTP/1.1\r\n" HOST "\r\n",
     "bad_framing"},
    {"a path on the next line", "POST \r\n/buy?item=P0001&user=u1 HTTP/1.1\r\n" HOST "\r\n",
     "bad_framing"},
    {"no Host", BUY "Content-Length: 0\r\n\r\n", "bad_framing"},
    {"two Hosts", BUY HOST "Host: elsewhere\r\nContent-Length: 0\r\n\r\n", "bad_framing"},
    {"two Origins", BUY HOST "Origin: http://localhost\r\nOrigin: http://localhost\r\n\r\n" HIDDEN,
     "bad_framing"},
    {"two Sec-Fetch-Sites",
     BUY HOST "Sec-Fetch-Site: none\r\nsec-fetch-site: cross-site\r\n\r\n" HIDDEN, "bad_framing"},
    {"two Buyer-Tokens", BUY HOST "Buyer-Token: 1.a\r\nBuyer-Token: 2.b\r\n\r\n" HIDDEN,
     "bad_framing"},
    {"no version", "POST /buy?item=P0001&user=u1\r\n" HOST "\r\n", "malformed"},
    {"a version from the future", "POST /buy?item=P0001&user=u1 HTTP/9.9\r\n" HOST "\r\n",
     "malformed"},
    {"HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "malformed"},
    {"a TLS hello", "\x16\x03\x01\x02\x01\x01\x01\xfc\x03\x03 no TLS here\r\n\r\n", "malformed"},
    {"the URL of another server", "POST http://a:1/buy?item=P0001&user=u1 HTTP/1.1\r\n" HOST "\r\n",
     "other_server"},
    {"the options of the server", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "other_server"},
};

/* Exactly one answer, and it says just that: a refusal for another reason would hide that this one
 * is gone. */
static void ambiguous_requests_are_refused_once(void **state)
{
    (void)state;
    char reply[REPLY_MAX], code[64];
    for (size_t i = 0; i < COUNT(refused); i++) {
        exchange(refused[i].what, refused[i].bytes, strlen(refused[i].bytes), reply);
        snprintf(code, sizeof(code), "\"code\":\"%s\"", refused[i].code);
        if (count(reply, "HTTP/1.1 ") != 1 || count(reply, code) != 1)
            fail_msg("%s: not one answer with %s:\n%s", refused[i].what, code, reply);
    }
    assert_int_equal(fx_stock("orders"), 0);
}

/* Reads a head with this length, cut up as civetweb does it. */
static http_framing read_cut_head(char *head, size_t size, const char *length)
{
    static const char format[] = "GET%c/%cHTTP/1.1%c%cHost%c a%c%cContent-Length%c %s%c%c\r";
    struct mg_request_info info = {.num_headers = 2};
    int len = snprintf(head, size, format, 0, 0, 0, 0, 0, 0, 0, 0, length, 0, 0);
    assert_in_range(len, 1, size - 1);
    info.request_method = head;
    info.request_uri = head + strlen("GET") + 1;
    info.http_version = info.request_uri + strlen("/") + 1 + strlen("HTTP/");
    info.http_headers[0].name = info.http_version + strlen("1.1") + 2;
    info.http_headers[0].value = info.http_headers[0].name + strlen("Host") + 2;
    info.http_headers[1].name = info.http_headers[0].value + strlen("a") + 2;
    info.http_headers[1].value = info.http_headers[1].name + strlen("Content-Length") + 2;
    http_framing found = framing_read(&info);
    assert_true(found.head == (size_t)len + 1);
    return found;
}

/* Some of these never get past civetweb; another version of it may let them. */
static void a_length_is_1_to_9_digits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long length; /* -1 = a fault */
    } cases[] = {{"0", 0},   {"7", 7},    {"000000066", 66}, {"999999999", 999999999},
                 {"", -1},   {"-1", -1},  {"+1", -1},        {"1000000000", -1},
                 {"1 ", -1}, {"0x1", -1}, {"1,1", -1},       {"one", -1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        _Alignas(16) char head[128];
        http_framing found = read_cut_head(head, sizeof(head), cases[i].text);
        if (!found.fault != (cases[i].length >= 0) ||
            (!found.fault && (long)found.body != cases[i].length))
            fail_msg("'%s': %zu, %s", cases[i].text, found.body, found.fault);
    }
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
    for (size_t i = 0; i < COUNT(cases); i++) {
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
                       "POST /sales HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n");
    memset(sent + len, ' ', 5000);
    assert_int_equal(exchange("a long body", sent, (size_t)len + 5000, reply), 413);
    assert_non_null(strstr(reply, "body_too_long"));
}

/* One byte every 200 ms would take a quarter of an hour. */
static void a_slow_body_is_cut_off(void **state)
{
    (void)state;
    static const char head[] =
        "POST /sales HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n";
    char reply[REPLY_MAX];
    bool closed = false;
    size_t got = 0;
    int fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL), sent = 0;
    assert_true(fx_raw_send(fd, head, strlen(head)));
    for (; sent < 600 && got == 0 && fx_raw_send(fd, " ", 1); sent++)
        got = fx_raw_read(fd, reply, sizeof(reply), 200, &closed);
    assert_in_range(sent, 1, 599); /* of 4,000 */
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

/* RFC 9112, 2.2: a client may send an empty line too many, behind a body for one. */
static void an_empty_line_before_a_request_is_ignored(void **state)
{
    (void)state;
    static const char both[] = "\r\nGET /livez HTTP/1.1\r\n" HOST "\r\n"
                               "\r\nGET /livez HTTP/1.1\r\n" HOST CLOSE "\r\n";
    char reply[REPLY_MAX];
    exchange("empty lines", both, strlen(both), reply);
    assert_int_equal(count(reply, "HTTP/1.1 200"), 2);
}

/* RFC 9112, 3.2.2: a server must accept the absolute form. */
static void a_whole_url_in_the_request_line_is_understood(void **state)
{
    (void)state;
    char request[256], reply[REPLY_MAX];
    int before = fx_stock("orders");
    snprintf(request, sizeof(request),
             "POST http://localhost:%d/buy?item=P0001&user=u1 HTTP/1.1\r\n" HOST CLOSE "\r\n",
             fx_server_port(fx.server[0]));
    assert_int_equal(exchange("a whole URL", request, strlen(request), reply), 201);
    assert_int_equal(fx_stock("orders"), before + 1);
}

static void a_path_is_not_cut_short(void **state)
{
    (void)state;
    static const char *const paths[] = {"/buy%00zzz", "/buy%00", "/buy%",     "/buy%zz",
                                        "/buy%2",     "//buy",   "/x/../buy", "/./buy"};
    int before = fx_stock("orders");
    for (size_t i = 0; i < COUNT(paths); i++) {
        char request[256], reply[REPLY_MAX];
        snprintf(request, sizeof(request),
                 "POST %s?item=P0001&user=u1 HTTP/1.1\r\n" HOST CLOSE "\r\n", paths[i]);
        if (exchange(paths[i], request, strlen(request), reply) != 404)
            fail_msg("%s: %s", paths[i], reply);
    }
    fx_expect(fx.server[0], 201, "POST /%%62uy?item=P0001&user=u1"); /* another spelling of it */
    assert_int_equal(fx_stock("orders"), before + 1);
}

static void requests_can_follow_one_another(void **state)
{
    (void)state;
    char reply[REPLY_MAX];
    const char *both = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
                       "HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
                       "POST /buy?item=P0001 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 7\r\n"
                       "Content-Type: application/x-www-form-urlencoded\r\n\r\nuser=u1"
                       "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    exchange("four requests", both, strlen(both), reply);
    int answers = 0, bodies = 0;
    for (const char *at = reply; (at = strstr(at, "HTTP/1.1 20")) != NULL; at++)
        answers++;
    for (const char *at = reply; (at = strstr(at, "alive\n")) != NULL; at++)
        bodies++;
    assert_int_equal(answers, 4);
    assert_int_equal(bodies, 2); /* HEAD has none */
}

/* The head of a request, filled up to `len` bytes, that makes no order. */
static void head_of(size_t len, char *ret, size_t size)
{
    static const char begins[] = "GET /livez HTTP/1.1\r\n" HOST CLOSE "X: ", ends[] = "\r\n\r\n";
    size_t fill = len - strlen(begins) - strlen(ends);
    assert_true(len < size);
    snprintf(ret, size, "%s%0*d%s", begins, (int)fill, 7, ends);
}

/* The longest head that there is room for is read, and one that is longer by a byte is not. */
static void a_head_has_8_kib(void **state)
{
    (void)state;
    char head[9000], reply[REPLY_MAX];
    for (size_t len = HEAD_MAX - 8; len <= HEAD_MAX + 8; len++) {
        char name[64];
        head_of(len, head, sizeof(head));
        snprintf(name, sizeof(name), "a head of %zu bytes", len);
        int status = exchange(name, head, len, reply);
        if ((status == 200) != (len <= HEAD_MAX) || count(reply, "HTTP/1.1 ") > 1)
            fail_msg("%s: %d:\n%s", name, status, reply);
    }
}

/* Who says how it goes on is believed, by both. */
static void the_answer_says_whether_the_connection_goes_on(void **state)
{
    (void)state;
    static const struct {
        const char *version, *header;
        bool goes_on;
    } cases[] = {{"1.1", "", true},
                 {"1.1", "Connection: keep-alive\r\n", true},
                 {"1.1", "Connection: Keep-Alive\r\n", true},
                 {"1.1", "Connection: close\r\n", false},
                 {"1.1", "Connection: Close\r\n", false},
                 {"1.0", "", false},
                 {"1.0", "Connection: keep-alive\r\n", true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char bytes[512], reply[REPLY_MAX], name[64];
        snprintf(bytes, sizeof(bytes),
                 "GET /livez HTTP/%s\r\n" HOST "%s\r\nGET /livez HTTP/1.1\r\n" HOST CLOSE "\r\n",
                 cases[i].version, cases[i].header);
        snprintf(name, sizeof(name), "HTTP/%s, %s", cases[i].version, cases[i].header);
        exchange(name, bytes, strlen(bytes), reply);
        if (count(reply, "HTTP/1.1 200") != 1 + cases[i].goes_on ||
            count(reply, "Connection: keep-alive") != cases[i].goes_on)
            fail_msg("%s:\n%s", name, reply);
    }
}

/* ---- HEAD, and who waits to be asked for the body
 * ------------------------------------------------ */

/* Whoever answers, the service or civetweb: of each request that civetweb has read as far as its
 * method. */
static void head_never_has_a_body(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int status;
    } cases[] = {
        {"HEAD /livez HTTP/1.1\r\n" HOST CLOSE "\r\n", 200},
        {"HEAD /nothing HTTP/1.1\r\n" HOST CLOSE "\r\n", 404},
        {"HEAD * HTTP/1.1\r\n" HOST "\r\n", 421},
        {"HEAD http://elsewhere.example:1/livez HTTP/1.1\r\n" HOST "\r\n", 421},
        {"HEAD /livez HTTP/1.1\r\n" HOST "Content-Length: five\r\n\r\n", 400},
        {"HEAD /livez HTTP/1.1\r\n" HOST "no colon\r\n\r\n", 400},
        {"HEAD /livez HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411},
        {"HEAD /livez HTTP/9.9\r\n" HOST "\r\n", 400},
        {"HEAD /livez HTTP/1.1\r\n" HOST "Expect: tea\r\n\r\n", 417},
        {"HEAD livez HTTP/1.1\r\n" HOST "\r\n", 400},
        {"HEAD /livez HTTP/1.1\r\n\r\n", 400},
    };
    char reply[REPLY_MAX];
    for (size_t i = 0; i < COUNT(cases); i++) {
        int status = exchange(cases[i].bytes, cases[i].bytes, strlen(cases[i].bytes), reply);
        const char *body = strstr(reply, "\r\n\r\n");
        if (status != cases[i].status || !body || body[4] != '\0')
            fail_msg("%s was answered:\n%s", cases[i].bytes, reply);
    }
}

/* Reads up to an empty line, or the end. */
static void read_head(int fd, char *reply)
{
    size_t got = 0;
    bool closed = false;
    reply[0] = '\0';
    for (int tries = 0; tries < ANSWER_MS / 10 && !closed && !strstr(reply, "\r\n\r\n"); tries++)
        got += fx_raw_read(fd, reply + got, REPLY_MAX - got, 10, &closed);
}

static void who_waits_to_send_the_body_is_asked_for_it(void **state)
{
    (void)state;
    static const char *const expectations[] = {"100-continue", "100-Continue"};
    static const char body[] = "item=P0001&user=waits";
    char reply[REPLY_MAX], head[512];
    int fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL);
    for (size_t i = 0; i < COUNT(expectations); i++) {
        int len = snprintf(head, sizeof(head),
                           "POST /buy HTTP/1.1\r\n" HOST
                           "Content-Type: application/x-www-form-urlencoded\r\n"
                           "Content-Length: %zu\r\nExpect: %s\r\n\r\n",
                           strlen(body), expectations[i]);
        assert_true(fx_raw_send(fd, head, (size_t)len));
        read_head(fd, reply);
        assert_string_equal(reply, "HTTP/1.1 100 Continue\r\n\r\n");
        assert_true(fx_raw_send(fd, body, strlen(body)));
        read_head(fd, reply);
        assert_memory_equal(reply, "HTTP/1.1 201 ", 13);
    }
    close(fd);
}

/* Its body is not wanted, or there is none, or it is of a time before such things. */
static void who_is_not_asked_for_the_body_gets_one_answer(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int status;
    } cases[] = {
        {BUY HOST CLOSE "Expect: 100-continue\r\nContent-Length: 5000\r\n\r\n", 413},
        {BUY CLOSE "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", 400},
        {BUY HOST CLOSE "Expect: 100-continue\r\n\r\n", 201},
        {BUY HOST CLOSE "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", 201},
        {BUY HOST "Expect: 100-continue, tea\r\nContent-Length: 5\r\n\r\n", 417},
        {BUY HOST "Expect: tea\r\nContent-Length: 5\r\n\r\n", 417},
        {BUY HOST "Expect:\r\nContent-Length: 5\r\n\r\n", 417},
        {"POST /sales HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n ", 400},
    };
    char reply[REPLY_MAX];
    for (size_t i = 0; i < COUNT(cases); i++) {
        int status = exchange(cases[i].bytes, cases[i].bytes, strlen(cases[i].bytes), reply);
        if (status != cases[i].status || count(reply, "HTTP/1.1 ") != 1)
            fail_msg("%s was answered:\n%s", cases[i].bytes, reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ambiguous_requests_are_refused_once),
        cmocka_unit_test(a_length_is_1_to_9_digits),
        cmocka_unit_test(too_many_headers_are_refused),
        cmocka_unit_test(what_is_too_much_is_refused),
        cmocka_unit_test(a_body_beyond_4_kib_is_refused),
        cmocka_unit_test(a_body_is_bounded),
        cmocka_unit_test(a_slow_body_is_cut_off),
        cmocka_unit_test(two_plain_requests_get_two_answers),
        cmocka_unit_test(an_empty_line_before_a_request_is_ignored),
        cmocka_unit_test(a_whole_url_in_the_request_line_is_understood),
        cmocka_unit_test(a_path_is_not_cut_short),
        cmocka_unit_test(requests_can_follow_one_another),
        cmocka_unit_test(a_head_has_8_kib),
        cmocka_unit_test(the_answer_says_whether_the_connection_goes_on),
        cmocka_unit_test(head_never_has_a_body),
        cmocka_unit_test(who_waits_to_send_the_body_is_asked_for_it),
        cmocka_unit_test(who_is_not_asked_for_the_body_gets_one_answer),
    };
    return fx_run(tests, .instances = 1, .args = FX_ARGS(FX_P0001, "--strategy", "atomic"));
}
