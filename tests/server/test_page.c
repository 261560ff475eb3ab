/* test_page.c - the live page as it is served: every file that it names, and nothing from
 * elsewhere. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/raw.h"
#include "tests/support/service.h"

/* A file in one of the two folders is served under its name, as this type. */
static const char *type_of(const char *name)
{
    static const char *const types[][2] = {
        {".html", "text/html; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".svg", "image/svg+xml"},
        {".json", "application/json"},
    };
    for (size_t i = 0; i < COUNT(types); i++)
        if (strcmp(strrchr(name, '.'), types[i][0]) == 0)
            return types[i][1];
    fail_msg("of what type is %s?", name);
    return NULL;
}

static void assert_header(const fx_reply *reply, const char *name, const char *value)
{
    char buf[512];
    assert_string_equal(fx_reply_header(reply, name, buf, sizeof(buf)), value);
}

/* Calls check(name, the file's text, what is served) for each file. */
static void each_file(void (*check)(const char *, const char *, const fx_reply *))
{
    char line[256], text[1 << 17];
    int files = 0;
    FILE *list = popen("ls server/page/*.* loadtest/report/parts/*.* | grep -v README", "r");
    assert_non_null(list);
    while (fgets(line, sizeof(line), list)) {
        line[strcspn(line, "\n")] = '\0';
        FILE *file = fopen(line, "r");
        assert_non_null(file);
        size_t len = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
        text[len] = '\0';
        const char *name = strrchr(line, '/') + 1;
        fx_reply reply;
        fx_ask(fx.server[0], &reply, "GET /page/%s", name);
        assert_int_equal(reply.status, 200);
        check(name, text, &reply);
        fx_reply_free(&reply);
        files++;
    }
    assert_int_equal(pclose(list), 0);
    assert_true(files >= 20);
}

static void check_whole(const char *name, const char *text, const fx_reply *reply)
{
    if (strcmp(reply->body, text) != 0)
        fail_msg("%s is served otherwise than it stands in its folder", name);
    assert_header(reply, "Content-Type", type_of(name));
    assert_header(reply, "Cache-Control", "no-cache");
    assert_header(reply, "Connection", "close");
    assert_header(reply, "X-Content-Type-Options", "nosniff");
}

static void every_part_of_the_page_is_served(void **state)
{
    (void)state;
    each_file(check_whole);
}

/* ---- nothing from elsewhere ------------------------------------------------------------------ */

static void check_own(const char *name, const char *text, const fx_reply *reply)
{
    static const char *const forbidden[] = {
        "https:",    "src=\"//", "href=\"//", "@import", " style=\"", "<style",
        "innerHTML", "eval(",    "onclick=",  "'style'", "import(",   "document.write",
    };
    (void)reply;
    for (size_t i = 0; i < COUNT(forbidden); i++)
        if (strstr(text, forbidden[i]))
            fail_msg("%s has %s", name, forbidden[i]);
    /* A name space is no address; nor is a pattern within the same drawing. */
    for (const char *at = text; (at = strstr(at, "http:")) != NULL; at++)
        if (strncmp(at, "http://www.w3.org/2000/svg", 26) != 0)
            fail_msg("%s has %.40s", name, at);
    for (const char *at = text; (at = strstr(at, "url(")) != NULL; at++)
        if (at[4] != '#')
            fail_msg("%s has %.40s", name, at);
}

static void nothing_comes_from_elsewhere(void **state)
{
    (void)state;
    each_file(check_own);
    const char *page = fx_expect(fx.server[0], 200, "GET /");
    for (const char *at = page; (at = strstr(at, "<script")) != NULL; at++)
        assert_non_null(strstr(at, "src=\"/page/"));
}

/* All that is named is there: by the page, and by modules that import others. */
static void what_the_page_names_is_there(void **state)
{
    (void)state;
    assert_int_equal(
        fx_shell("names=$({ grep -ohE '(src|href)=\"/page/[^\"]+' server/page/index.html;"
                 "  grep -ohE \"^(import|export) .* from '[^']+\" server/page/*.js"
                 "    loadtest/report/parts/*.js; } | sed 's,.*[/'\"'\"'],,' | sort -u);"
                 "[ $(echo \"$names\" | wc -l) -ge 15 ] || exit 1;"
                 "for name in $names; do"
                 "  curl -sfo /dev/null \"$1/page/$name\" || { echo \"no $name\" >&2; exit 1; };"
                 "done;"
                 "twice=$(ls server/page loadtest/report/parts | grep -v README | sort | uniq -d |"
                 "  grep '[a-z]') && { echo \"two files are $twice\" >&2; exit 1; } || true",
                 fx_server_url(fx.server[0]), 30000),
        0);
}

/* ---- how it is answered ---------------------------------------------------------------------- */

static void the_page_has_the_strictest_policy(void **state)
{
    (void)state;
    fx_reply reply;
    assert_int_equal(fx_ask(fx.server[0], &reply, "GET /?item=P0001"), 200);
    assert_header(&reply, "Content-Type", "text/html; charset=utf-8");
    assert_header(&reply, "Content-Security-Policy",
                  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                  "connect-src 'self'; form-action 'none'; base-uri 'none'; "
                  "frame-ancestors 'none'");
    assert_header(&reply, "Connection", "close");
    fx_reply_free(&reply);
}

static int ask_if(const char *path, const char *etag, fx_reply *ret)
{
    char url[256], header[128];
    snprintf(url, sizeof(url), "%s%s", fx_server_url(fx.server[0]), path);
    snprintf(header, sizeof(header), "If-None-Match: %s", etag);
    return fx_http("GET", url, FX_ARGS(header), NULL, 15000, ret);
}

static void what_the_browser_has_is_not_sent_again(void **state)
{
    (void)state;
    static const char *const paths[] = {"/", "/page/page.js", "/page/style.css"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        char etag[64], list[160];
        fx_reply reply;
        assert_int_equal(fx_ask(fx.server[0], &reply, "GET %s", paths[i]), 200);
        fx_reply_header(&reply, "ETag", etag, sizeof(etag));
        assert_true(strlen(etag) > 10 && etag[0] == '"' && etag[strlen(etag) - 1] == '"');
        fx_reply_free(&reply);

        snprintf(list, sizeof(list), "\"another\", W/%s", etag);
        assert_int_equal(ask_if(paths[i], list, &reply), 304);
        assert_string_equal(reply.body, "");
        assert_header(&reply, "ETag", etag);
        assert_header(&reply, "Cache-Control", "no-cache");
        fx_reply_free(&reply);

        assert_int_equal(ask_if(paths[i], "\"another\"", &reply), 200);
        assert_true(strlen(reply.body) > 100);
        fx_reply_free(&reply);
    }
}

static void other_names_and_methods_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"none.js",     "page",         "README.md", "a/page.js",
                                        "../page.js",  "page.js%00",   "PAGE.JS",   "page.js/",
                                        "%2e%2e/main", "../../main.c", "."};
    for (size_t i = 0; i < COUNT(names); i++)
        fx_refused(fx.server[0], 404, "not_found", "GET /page/%s", names[i]);
    fx_refused(fx.server[0], 404, "not_found", "GET /page/");
    fx_refused(fx.server[0], 404, "not_found", "GET /page");
    fx_refused(fx.server[0], 405, "method_not_allowed", "POST /page/page.js");
    fx_refused(fx.server[0], 405, "method_not_allowed", "POST /");
    fx_refused(fx.server[0], 400, "unknown_parameter", "GET /page/page.js?v=1");
}

/* A HEAD to the byte, and that the connection ends. */
static void head_has_all_but_the_body(void **state)
{
    (void)state;
    static const char asked[] = "HEAD /page/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char got[4096], length[64];
    bool closed;
    fx_reply reply;
    assert_int_equal(fx_ask(fx.server[0], &reply, "GET /page/page.js"), 200);
    snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", strlen(reply.body));
    fx_reply_free(&reply);
    int fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL);
    assert_true(fx_raw_send(fd, asked, strlen(asked)));
    fx_raw_read(fd, got, sizeof(got), 30000, &closed);
    close(fd);
    assert_true(closed && strncmp(got, "HTTP/1.1 200 OK\r\n", 17) == 0);
    assert_non_null(strstr(got, length));
    assert_string_equal(strstr(got, "\r\n\r\n"), "\r\n\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_of_the_page_is_served),
        cmocka_unit_test(nothing_comes_from_elsewhere),
        cmocka_unit_test(what_the_page_names_is_there),
        cmocka_unit_test(the_page_has_the_strictest_policy),
        cmocka_unit_test(what_the_browser_has_is_not_sent_again),
        cmocka_unit_test(other_names_and_methods_are_refused),
        cmocka_unit_test(head_has_all_but_the_body),
    };
    return fx_run(tests, .instances = 1, .args = FX_ARGS(FX_P0001));
}
