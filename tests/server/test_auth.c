/* test_auth.c - the admin's token: where it comes from, and what it opens. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/api/auth.h"
#include "tests/support/service.h"

/* Whether the header is refused with this code; NULL: it is admitted. */
static void assert_refused(const fs_auth *auth, const char *authorization, const char *code)
{
    api_reply reply;
    reply_init(&reply);
    bool admitted = auth_admit(auth, authorization, &reply);
    assert_int_equal(admitted, code == NULL);
    if (!admitted)
        assert_non_null(strstr(text_bytes(&reply.body), code));
    reply_free(&reply);
}

static void only_the_token_opens_what_is_the_admin_s(void **state)
{
    (void)state;
    fs_auth auth;
    char err[256];
    assert_int_equal(auth_init(&auth, NULL, NULL, true, err, sizeof(err)), 0);
    assert_refused(&auth, NULL, NULL);
    assert_int_equal(auth_init(&auth, NULL, NULL, false, err, sizeof(err)), 0);
    assert_refused(&auth, "Bearer x", "admin_disabled");

    assert_int_equal(auth_init(&auth, NULL, "correct-horse", true, err, sizeof(err)), 0);
    assert_refused(&auth, "Bearer correct-horse", NULL);
    assert_refused(&auth, "bearer correct-horse", NULL);
    assert_refused(&auth, "Bearer correct-hors", "token_wrong");
    assert_refused(&auth, "Bearer correct-horse1", "token_wrong");
    assert_refused(&auth, "Bearer ", "token_wrong");
    assert_refused(&auth, "Basic correct-horse", "token_missing");
    assert_refused(&auth, NULL, "token_missing");
    assert_int_equal(auth_init(&auth, NULL, "short", true, err, sizeof(err)), -1);
}

static void the_token_may_come_from_a_file(void **state)
{
    (void)state;
    fs_auth auth;
    char dir[256], path[300], err[512];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/token", dir);
    assert_int_equal(auth_init(&auth, path, NULL, true, err, sizeof(err)), -1);
    assert_non_null(strstr(err, path));
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "from-a-file\n", 12), 12);
    close(fd);
    assert_int_equal(auth_init(&auth, path, NULL, true, err, sizeof(err)), 0);
    assert_refused(&auth, "Bearer from-a-file", NULL);
    fx_dir_remove(dir);
}

/* ---- over HTTP ------------------------------------------------------------------------------- */

static const char sale[] = "{\"item\":\"T1\",\"stock\":5,\"strategy\":\"atomic\"}";

/* Starts an instance that has this token. */
static fx_server *start_with_token(const char *token)
{
    setenv("FLASHSALE_ADMIN_TOKEN", token, 1);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS(FX_P0001));
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    return server;
}

/* `token` NULL: none is sent. */
static int ask(fx_server *server, const char *method, const char *path, const char *token,
               const char *body, fx_reply *ret)
{
    char url[256], header[128];
    snprintf(url, sizeof(url), "%s%s", fx_server_url(server), path);
    snprintf(header, sizeof(header), "Authorization: Bearer %s", token ? token : "");
    return fx_http(method, url, token ? FX_ARGS(header) : NULL, body, 15000, ret);
}

static void sales_need_the_token_where_there_is_one(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path, *token, *body;
        int status;
    } cases[] = {
        {"POST", "/sales", NULL, sale, 401},         {"POST", "/sales", "wrong", sale, 403},
        {"GET", "/locks", NULL, NULL, 401},          {"POST", "/sales", "open-sesame", sale, 201},
        {"GET", "/locks", "open-sesame", NULL, 200}, {"GET", "/stock?item=T1", NULL, NULL, 200},
    };
    fx_server *server = start_with_token("open-sesame");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fx_reply reply;
        int status =
            ask(server, cases[i].method, cases[i].path, cases[i].token, cases[i].body, &reply);
        if (status != cases[i].status)
            fail_msg("%s %s: %d instead of %d: %s", cases[i].method, cases[i].path, status,
                     cases[i].status, reply.body);
        fx_reply_free(&reply);
    }
    assert_null(strstr(fx_process_stderr(fx_server_process(server)), "open-sesame"));
    fx_server_kill(server);
}

static void orders_are_shown_by_request_id_only(void **state)
{
    (void)state;
    static const struct {
        const char *path, *token;
        int status;
    } cases[] = {
        {"/orders/mine?item=P0001", NULL, 200},
        {"/orders/other?item=P0001", NULL, 404},
        {"/orders?item=P0001", NULL, 401},
        {"/orders?item=P0001", "wrong-horse", 403},
        {"/orders?item=P0001", "correct-horse", 200},
    };
    fx_server *server = start_with_token("correct-horse");
    fx_expect(server, 201, "POST /buy?item=P0001&user=u1&request=mine");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fx_reply reply;
        int status = ask(server, "GET", cases[i].path, cases[i].token, NULL, &reply);
        if (status != cases[i].status)
            fail_msg("%s: %d instead of %d: %s", cases[i].path, status, cases[i].status,
                     reply.body);
        if (status >= 400)
            assert_null(strstr(reply.body, "mine"));
        fx_reply_free(&reply);
    }
    fx_server_kill(server);
}

static void without_a_token_only_loopback_is_open(void **state)
{
    (void)state;
    char program[512], line[128], url[128];
    fx_build_path("flashsale", program, sizeof(program));
    fx_process *server = fx_spawn(
        FX_ARGS(program, "--listen", "0.0.0.0:0", "--redis", fx_redis_url(fx.redis)), true);
    assert_true(fx_process_first_line(server, line, sizeof(line), 5000));
    snprintf(url, sizeof(url), "http://127.0.0.1%s/sales", strrchr(line, ':'));
    fx_reply reply;
    assert_int_equal(fx_http("POST", url, NULL, sale, 5000, &reply), 403);
    assert_non_null(strstr(reply.body, "admin_disabled"));
    fx_reply_free(&reply);
    fx_process_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_token_opens_what_is_the_admin_s),
        cmocka_unit_test(the_token_may_come_from_a_file),
        cmocka_unit_test(sales_need_the_token_where_there_is_one),
        cmocka_unit_test(orders_are_shown_by_request_id_only),
        cmocka_unit_test(without_a_token_only_loopback_is_open),
    };
    return fx_run(tests, .instances = 0);
}
