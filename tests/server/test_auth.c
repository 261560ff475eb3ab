/* test_auth.c - the admin's token and the buyers': where they come from, and what they open. */
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
    assert_int_equal(auth_init(&auth, "", "", "", true, err, sizeof(err)), 0);
    assert_refused(&auth, NULL, NULL);
    assert_int_equal(auth_init(&auth, "", "", "", false, err, sizeof(err)), 0);
    assert_refused(&auth, "Bearer x", "admin_disabled");

    assert_int_equal(auth_init(&auth, "", "correct-horse", "", true, err, sizeof(err)), 0);
    assert_refused(&auth, "Bearer correct-horse", NULL);
    assert_refused(&auth, "bearer correct-horse", NULL);
    assert_refused(&auth, "Bearer correct-hors", "token_wrong");
    assert_refused(&auth, "Bearer correct-horse1", "token_wrong");
    assert_refused(&auth, "Bearer ", "token_wrong");
    assert_refused(&auth, "Basic correct-horse", "token_missing");
    assert_refused(&auth, NULL, "token_missing");
    assert_int_equal(auth_init(&auth, "", "short", "", true, err, sizeof(err)), -1);
}

static void the_token_may_come_from_a_file(void **state)
{
    (void)state;
    fs_auth auth;
    char dir[256], path[300], err[512];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/token", dir);
    assert_int_equal(auth_init(&auth, path, "", "", true, err, sizeof(err)), -1);
    assert_non_null(strstr(err, path));
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "from-a-file\n", 12), 12);
    close(fd);
    assert_int_equal(auth_init(&auth, path, "", "", true, err, sizeof(err)), 0);
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
    for (size_t i = 0; i < COUNT(cases); i++) {
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
    for (size_t i = 0; i < COUNT(cases); i++) {
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

/* As the installed unit starts them. */
static void a_token_may_be_required(void **state)
{
    (void)state;
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--require-token", "yes"));
    fx_refused(server, 403, "admin_disabled", "POST /sales {'item':'T1','stock':5}");
    fx_refused(server, 403, "admin_disabled", "GET /locks");
    fx_start_sale(fx.server[0], "T1", "'stock':5");
    fx_await(server, "GET /dashboard?item=T1", 200, "\"admin\":\"closed\"", 15000);
    fx_server_kill(server);
}

/* ---- buyers ---------------------------------------------------------------------------------- */

#define KEY "0123456789abcdef0123456789abcdef"

/* Makes a Buyer-Token by the line in API.md; it expires `from_now` seconds from now. */
static void sign(const char *key, const char *user, int from_now, char *ret, size_t ret_len)
{
    char command[512];
    snprintf(command, sizeof(command),
             "USER='%s' KEY='%s' EXPIRES=$(($(date +%%s) + %d));"
             "eval \"$(grep '^ *HEX=' server/API.md)\"; printf %%s \"$EXPIRES.$HEX\"",
             user, key, from_now);
    assert_int_equal(fx_shell_output(command, ret, ret_len), 0);
}

static fx_server *start_with_key(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, KEY "\nanother line\n", 46), 46);
    close(fd);
    return fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--buyer-key-file", path));
}

/* Buys with this value of Buyer-Token, NULL: without; the status and code must be these. */
static void buy(fx_server *server, const char *path, const char *token, int status,
                const char *code)
{
    char url[256], header[320];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s%s", fx_server_url(server), path);
    snprintf(header, sizeof(header), "Buyer-Token: %s", token ? token : "");
    fx_http("POST", url, token ? FX_ARGS(header) : NULL, NULL, 15000, &reply);
    if (reply.status != status || (code && !strstr(reply.body, code)))
        fail_msg("%s with '%s': %d %s, not %d", path, token ? token : "none", reply.status,
                 reply.body, status);
    if (status == 401)
        assert_string_equal(fx_reply_header(&reply, "WWW-Authenticate", header, sizeof(header)),
                            "Buyer-Token");
    fx_reply_free(&reply);
}

#define BUY_ANN "/buy?item=Signed&user=ann%2Bshop@mail.example"
#define ANN     "ann+shop@mail.example"

static void a_key_binds_buys_to_their_user(void **state)
{
    (void)state;
    char dir[256], path[300], right[128], other[256];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/key", dir);
    fx_server *server = start_with_key(path);
    fx_start_sale(server, "Signed", "'stock':100,'per_user_limit':3");
    sign(KEY, ANN, 3600, right, sizeof(right));
    buy(server, BUY_ANN "&request=once", right, 201, NULL);
    buy(server, BUY_ANN "&quantity=2", right, 201, NULL);
    buy(server, BUY_ANN, right, 409, "limit_reached");
    buy(server, "/buy?item=Signed&user=bob", right, 403, "buyer_token_wrong");
    buy(server, BUY_ANN, NULL, 401, "buyer_token_missing");
    sign(KEY, ANN, -1, other, sizeof(other));
    buy(server, BUY_ANN, other, 403, "expired");
    sign(KEY "0", ANN, 3600, other, sizeof(other));
    buy(server, BUY_ANN, other, 403, "buyer_token_wrong");
    snprintf(other, sizeof(other), "9%s", right); /* later than was signed */
    buy(server, BUY_ANN, other, 403, "buyer_token_wrong");

    fx_expect(server, 200, "GET /orders/once?item=Signed");       /* asking takes none */
    buy(fx.server[0], BUY_ANN, "nonsense", 409, "limit_reached"); /* nor do those without a key */
    fx_server_kill(server);
    fx_dir_remove(dir);
}

#define CONFIRM "/orders/h1/confirm?item=Held"
#define CANCEL  "/orders/h1/cancel?item=Held"

/* Who knows the request id ends it where users have no tokens; else the user alone, and the admin,
 * who cancels what is sold, too. */
static void only_the_user_or_the_admin_ends_a_reservation(void **state)
{
    (void)state;
    static const char *const ends[] = {CONFIRM, CANCEL};
    char dir[256], path[300], right[128], bob[128];
    fx_reply reply;
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/key", dir);
    setenv("FLASHSALE_ADMIN_TOKEN", "correct-horse", 1);
    fx_server *server = start_with_key(path);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    fx_start_sale(fx.server[0], "Held", "'stock':9,'per_user_limit':9,'reserve_max_s':600");
    sign(KEY, ANN, 3600, right, sizeof(right));
    sign(KEY, "bob", 3600, bob, sizeof(bob));
    buy(server, "/buy?item=Held&request=h1&reserve_s=600&user=ann%2Bshop@mail.example", right, 201,
        NULL);
    for (int i = 0; i < 2; i++) {
        char anns[160], bobs[160];
        snprintf(anns, sizeof(anns), "%s&user=ann%%2Bshop@mail.example", ends[i]);
        snprintf(bobs, sizeof(bobs), "%s&user=bob", ends[i]);
        buy(server, anns, NULL, 401, "buyer_token_missing");
        buy(server, anns, bob, 403, "buyer_token_wrong");
        buy(server, bobs, right, 403, "buyer_token_wrong");
        buy(server, bobs, bob, 404, "no_such_order");
        buy(server, ends[i], right, 400, "bad_user");
    }
    fx_has(fx_expect(server, 200, "GET /orders/h1?item=Held"), "\"state\":\"reserved\"");
    buy(server, CONFIRM "&user=ann%2Bshop@mail.example", right, 200, "\"state\":\"sold\"");
    buy(server, CANCEL "&user=ann%2Bshop@mail.example", right, 409, "order_sold");
    assert_int_equal(ask(server, "POST", CANCEL, "wrong-horse", NULL, &reply), 403);
    fx_reply_free(&reply);
    assert_int_equal(ask(server, "POST", CANCEL, "correct-horse", NULL, &reply), 200);
    fx_reply_free(&reply);

    fx_expect(fx.server[0], 201, "POST /buy?item=Held&request=h2&reserve_s=600&user=u");
    fx_expect(fx.server[0], 200, "POST /orders/h2/confirm?item=Held");
    fx_server_kill(server);
    fx_dir_remove(dir);
}

static void malformed_buyer_tokens_are_refused(void **state)
{
    (void)state;
    char dir[256], path[300], right[128], odd[10][256];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/key", dir);
    fx_server *server = start_with_key(path);
    fx_start_sale(server, "Signed", "'stock':100");
    sign(KEY, ANN, 3600, right, sizeof(right));
    const char *hex = strchr(right, '.') + 1;
    int point = (int)(hex - right) - 1;
    snprintf(odd[0], sizeof(odd[0]), "%s0", right);
    snprintf(odd[1], sizeof(odd[1]), "%.*s", (int)strlen(right) - 1, right);
    snprintf(odd[2], sizeof(odd[2]), "%s", hex);
    snprintf(odd[3], sizeof(odd[3]), ".%s", hex);
    snprintf(odd[4], sizeof(odd[4]), "%.*s", point, right);
    snprintf(odd[5], sizeof(odd[5]), "0%s", right);
    snprintf(odd[6], sizeof(odd[6]), "-%s", right);
    snprintf(odd[7], sizeof(odd[7]), "99999999999999999999.%s", hex);
    snprintf(odd[8], sizeof(odd[8]), "%.*s,%s", point, right, hex);
    snprintf(odd[9], sizeof(odd[9]), "%s", right);
    for (char *c = odd[9]; *c != '\0'; c++)
        *c = *c >= 'a' && *c <= 'f' ? (char)(*c - 'a' + 'A') : *c;
    for (size_t i = 0; i < COUNT(odd); i++)
        buy(server, BUY_ANN, odd[i], 403, "buyer_token_wrong");
    cJSON *stock = cJSON_Parse(fx_expect(server, 200, "GET /stock?item=Signed"));
    assert_int_equal((int)fx_json_number(stock, "orders"), 0);
    cJSON_Delete(stock);
    assert_null(strstr(fx_process_stderr(fx_server_process(server)), KEY));
    fx_server_kill(server);
    fx_dir_remove(dir);
}

static void a_bad_key_file_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *content, *says;
    } cases[] = {
        {NULL, "No such file"},
        {"", "32 to 256 characters"},
        {"\n" KEY KEY "\n", "32 to 256 characters"},
        {"0123456789abcdef0123456789abcde\n", "32 to 256 characters"},
    };
    char dir[256], path[300], program[512], longer[258 + 1];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/key", dir);
    fx_build_path("flashsale", program, sizeof(program));
    memset(longer, 'x', 257);
    memcpy(longer + 257, "\n", 2);
    for (size_t i = 0; i <= COUNT(cases); i++) {
        bool last = i == COUNT(cases);
        const char *content = last ? longer : cases[i].content;
        int fd = content ? open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600) : -1;
        if (content)
            assert_int_equal(write(fd, content, strlen(content)), strlen(content));
        if (content)
            close(fd);
        fx_process *process = fx_spawn(FX_ARGS(program, "--listen", "127.0.0.1:0", "--redis",
                                               fx_redis_url(fx.redis), "--buyer-key-file", path),
                                       true);
        assert_int_equal(fx_process_wait(process, 20000), 64);
        const char *said = fx_process_stderr(process);
        if (!strstr(said, "--buyer-key-file") || !strstr(said, path) ||
            !strstr(said, last ? "32 to 256 characters" : cases[i].says) || strstr(said, KEY))
            fail_msg("%zu: %s", i, said);
        fx_process_free(process);
    }
    fx_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_token_opens_what_is_the_admin_s),
        cmocka_unit_test(the_token_may_come_from_a_file),
        cmocka_unit_test(sales_need_the_token_where_there_is_one),
        cmocka_unit_test(orders_are_shown_by_request_id_only),
        cmocka_unit_test(without_a_token_only_loopback_is_open),
        cmocka_unit_test(a_token_may_be_required),
        cmocka_unit_test(a_key_binds_buys_to_their_user),
        cmocka_unit_test(only_the_user_or_the_admin_ends_a_reservation),
        cmocka_unit_test(malformed_buyer_tokens_are_refused),
        cmocka_unit_test(a_bad_key_file_is_refused),
    };
    return fx_run(tests, .instances = 1);
}
