/* test_authority.c - which pages may have a browser ask: those of the service's own name; and by
 * which names an instance goes that has no admin token. */
#include "server/base/authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/raw.h"
#include "tests/support/service.h"

static void loopback_has_few_names(void **state)
{
    (void)state;
    static const char *const names[] = {"localhost",   "LocalHost:7000",   "127.0.0.1",
                                        "127.0.0.1:1", "127.200.3.4:7000", "[::1]",
                                        "[::1]:7000",  "localhost:"};
    static const char *const others[] = {
        "",
        "evil.example",
        "evil.example:7000",
        "localhost.evil.example",
        "127.1",
        "128.0.0.1",
        "127.0.0.1.example",
        "localhost@evil.example",
        "[::2]",
        "[::1",
        "[::1]7000",
        "localhost:7000:1",
        "localhost,evil.example",
        "0.0.0.0:7000",
        "127.0.0.1:evil",
    };
    for (size_t i = 0; i < COUNT(names); i++)
        if (!authority_is_loopback(names[i]))
            fail_msg("'%s' is a loopback name", names[i]);
    for (size_t i = 0; i < COUNT(others); i++)
        if (authority_is_loopback(others[i]))
            fail_msg("'%s' is no loopback name", others[i]);
}

static void an_origin_is_of_its_host(void **state)
{
    (void)state;
    static const struct {
        const char *host, *origin;
        bool same;
    } cases[] = {
        {"shop.example", "http://shop.example", true},
        {"shop.example", "https://shop.example", true},
        {"shop.example:80", "http://shop.example", true},
        {"shop.example", "https://shop.example:443", true},
        {"Shop.Example:7000", "HTTP://sHOP.example:7000", true},
        {"[::1]:7000", "http://[::1]:7000", true},
        {"shop.example:7000", "http://shop.example", false},
        {"shop.example", "http://shop.example:7000", false},
        {"shop.example", "http://shop.example.evil", false},
        {"shop.example", "http://evil.example", false},
        {"shop.example", "http://shop.example/", false},
        {"shop.example", "http://shop.example http://evil.example", false},
        {"shop.example", "shop.example", false},
        {"shop.example", "null", false},
        {"null", "null", false},
        {"shop.example", "", false},
        {"", "http://", false},
        {"localhost:7000", "http://127.0.0.1:7000", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (authority_is_of_origin(cases[i].host, cases[i].origin) != cases[i].same)
            fail_msg("Host '%s', Origin '%s'", cases[i].host, cases[i].origin);
}

/* ---- over HTTP ------------------------------------------------------------------------------- */

enum { HEADERS = 3 };

#define BUY "POST /buy?item=P0001&user=u1"

/* Asks with these headers, in which %d stands for the port; the status and code must be these. */
static void ask(fx_server *server, const char *request, const char *const *lines, int status,
                const char *code)
{
    char method[8], url[256], expanded[HEADERS][160];
    const char *headers[HEADERS + 1] = {NULL}, *path = strchr(request, ' ') + 1;
    const char *body = strchr(path, ' ');
    fx_reply reply;
    for (int i = 0; i < HEADERS && lines[i]; i++) {
        const char *port = strstr(lines[i], "%d");
        snprintf(expanded[i], sizeof(expanded[i]), "%.*s", (int)strcspn(lines[i], "%"), lines[i]);
        if (port)
            snprintf(expanded[i] + strlen(expanded[i]), 8, "%d", fx_server_port(server));
        headers[i] = expanded[i];
    }
    snprintf(method, sizeof(method), "%.*s", (int)(path - request - 1), request);
    snprintf(url, sizeof(url), "%s%.*s", fx_server_url(server),
             body ? (int)(body - path) : (int)strlen(path), path);
    fx_http(method, url, headers, body ? body + 1 : NULL, 15000, &reply);
    if (reply.status != status || (code && !strstr(reply.body, code)))
        fail_msg("%s with %s, %s: %d %s, not %d %s", request, headers[0] ? headers[0] : "nothing",
                 headers[1] ? headers[1] : "no more", reply.status, reply.body, status,
                 code ? code : "");
    fx_reply_free(&reply);
}

#define START "POST /sales {\"item\":\"P0001\",\"stock\":1}"

static const struct {
    const char *request, *headers[HEADERS];
    int status;
} sites[] = {
    {BUY, {NULL}, 201},
    {BUY, {"Origin: http://127.0.0.1:%d"}, 201},
    {BUY, {"Origin: https://127.0.0.1:%d"}, 201},
    {BUY, {"Host: localhost", "Origin: http://localhost"}, 201},
    {BUY, {"Host: localhost", "Origin: http://localhost:80"}, 201},
    {BUY, {"Host: localhost:443", "Origin: https://localhost"}, 201},
    {BUY, {"Host: LOCALHOST:%d", "Origin: http://localhost:%d"}, 201},
    {BUY, {"Origin: http://127.0.0.1:%d", "Sec-Fetch-Site: same-origin"}, 201},
    {BUY, {"Sec-Fetch-Site: same-origin"}, 201},
    {BUY, {"Sec-Fetch-Site: same-site"}, 201},
    {BUY, {"Sec-Fetch-Site: none"}, 201},
    {BUY, {"Sec-Fetch-Site: cross-site"}, 403},
    {BUY, {"Sec-Fetch-Site: cross-site", "Origin: http://127.0.0.1:%d"}, 403},
    {BUY, {"Sec-Fetch-Site: same-site", "Origin: http://127.0.0.1:1"}, 403},
    {BUY, {"Origin: http://127.0.0.1"}, 403},
    {BUY, {"Origin: http://localhost:%d"}, 403},
    {BUY, {"Origin: http://evil.example"}, 403},
    {BUY, {"Origin: null"}, 403},
    {START, {"Origin: http://evil.example", "Content-Type: text/plain"}, 403},
    {START, {"Sec-Fetch-Site: cross-site", "Content-Type: text/plain"}, 403},
    {"POST /sales/resume {}", {"Origin: http://evil.example"}, 403},
    {"POST /nothing", {"Origin: http://evil.example"}, 403},
    {"POST /livez", {"Origin: http://evil.example"}, 403},
    {"GET /stock?item=P0001", {"Origin: http://evil.example", "Sec-Fetch-Site: cross-site"}, 200},
};

static void other_sites_can_not_act(void **state)
{
    (void)state;
    char sale[64];
    int sold = 0;
    snprintf(sale, sizeof(sale), "%s", fx_sell("'stock':100"));
    for (size_t i = 0; i < COUNT(sites); i++) {
        ask(fx.server[0], sites[i].request, sites[i].headers, sites[i].status,
            sites[i].status == 403 ? "\"cross_site\"" : NULL);
        sold += sites[i].status == 201;
    }
    assert_int_equal(fx_stock("orders"), sold);
    assert_string_equal(fx_current_sale("P0001"), sale);
}

static void the_token_does_not_excuse_another_site(void **state)
{
    (void)state;
    char sale[64];
    static const char *const foreign[HEADERS] = {"Authorization: Bearer correct-horse",
                                                 "Origin: http://evil.example"};
    static const char *const own[HEADERS] = {"Authorization: Bearer correct-horse",
                                             "Host: shop.example", "Origin: https://shop.example"};
    setenv("FLASHSALE_ADMIN_TOKEN", "correct-horse", 1);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), NULL);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    snprintf(sale, sizeof(sale), "%s", fx_sell("'stock':100"));
    ask(server, START, foreign, 403, "\"cross_site\"");
    assert_string_equal(fx_current_sale("P0001"), sale);
    ask(server, START, own, 201, NULL);
    assert_string_not_equal(fx_current_sale("P0001"), sale);
    fx_server_kill(server);
}

/* ---- an admin without a token ---------------------------------------------------------------- */

/* A name that is not this machine's may be led to it (DNS rebinding): its page is of the same site.
 */
static void an_open_admin_goes_by_loopback_names_only(void **state)
{
    (void)state;
    static const char *const requests[] = {BUY,          START,   "GET /stock?item=P0001",
                                           "GET /locks", "GET /", "GET /nothing"};
    static const char *const names[][HEADERS] = {
        {"Host: evil.example:%d", "Origin: http://evil.example:%d", "Content-Type: text/plain"},
        {"Host: evil.example"},
        {"Host: 127.0.0.1.evil.example"},
        {"Host: 192.168.1.1:%d"},
    };
    static const char *const right[][HEADERS] = {
        {"Host: localhost"}, {"Host: [::1]:%d"}, {"Host: 127.3.2.1"}};
    char sale[64], got[4096];
    snprintf(sale, sizeof(sale), "%s", fx_sell("'stock':100"));
    for (size_t n = 0; n < COUNT(names); n++) {
        for (size_t r = 0; r < COUNT(requests); r++)
            ask(fx.server[0], requests[r], names[n], 421, "\"other_server\"");
        ask(fx.server[0], "GET /livez", names[n], 200, NULL);
        ask(fx.server[0], "GET /readyz", names[n], 200, NULL);
    }
    assert_int_equal(fx_stock("orders"), 0);
    assert_string_equal(fx_current_sale("P0001"), sale);
    for (size_t n = 0; n < COUNT(right); n++)
        ask(fx.server[0], "GET /locks", right[n], 200, NULL);

    int fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL); /* no browser's */
    fx_raw_send(fd, "GET /locks HTTP/1.0\r\n\r\n", 23);
    fx_raw_read(fd, got, sizeof(got), 15000, NULL);
    close(fd);
    assert_non_null(strstr(got, "HTTP/1.1 200 "));
}

static void with_a_token_or_closed_any_name_will_do(void **state)
{
    (void)state;
    static const char *const other[HEADERS] = {"Host: shop.example"};
    setenv("FLASHSALE_ADMIN_TOKEN", "correct-horse", 1);
    fx_server *token = fx_server_start(fx_redis_url(fx.redis), NULL);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    fx_server *closed = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--require-token", "yes"));
    fx_sell("'stock':100");
    ask(token, BUY, other, 201, NULL);
    ask(token, "GET /locks", other, 401, "\"token_missing\"");
    ask(closed, BUY, other, 201, NULL);
    ask(closed, "GET /locks", other, 403, "\"admin_disabled\"");
    fx_server_kill(token);
    fx_server_kill(closed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loopback_has_few_names),
        cmocka_unit_test(an_origin_is_of_its_host),
        cmocka_unit_test(other_sites_can_not_act),
        cmocka_unit_test(the_token_does_not_excuse_another_site),
        cmocka_unit_test(an_open_admin_goes_by_loopback_names_only),
        cmocka_unit_test(with_a_token_or_closed_any_name_will_do),
    };
    return fx_run(tests, .instances = 1);
}
