/* test_input.c - what a client gets wrong is refused with a 4xx and a code, and changes nothing. */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

static const struct {
    const char *what, *method, *path, *body;
    int status;
} cases[] = {
    {"no such item", "POST", "/buy?item=NOPE&user=u1", NULL, 404},
    {"no item", "POST", "/buy?user=u1", NULL, 400},
    {"no user", "POST", "/buy?item=P0001", NULL, 400},
    {"empty user", "POST", "/buy?item=P0001&user=", NULL, 400},
    {"negative quantity", "POST", "/buy?item=P0001&user=u1&quantity=-1", NULL, 400},
    {"quantity zero", "POST", "/buy?item=P0001&user=u1&quantity=0", NULL, 400},
    {"quantity 1.5", "POST", "/buy?item=P0001&user=u1&quantity=1.5", NULL, 400},
    {"quantity 1x", "POST", "/buy?item=P0001&user=u1&quantity=1x", NULL, 400},
    {"quantity 2^64+1", "POST", "/buy?item=P0001&user=u1&quantity=18446744073709551617", NULL, 400},
    {"not UTF-8", "POST", "/buy?item=P0001&user=%ff%fe", NULL, 400},
    {"a NUL in the user", "POST", "/buy?item=P0001&user=u%001", NULL, 400},
    {"braces in the item", "POST", "/buy?item=%7BP0001%7D&user=u1", NULL, 400},
    {"a new line in the user", "POST", "/buy?item=P0001&user=u%0d%0aX:1", NULL, 400},
    {"unknown strategy", "POST", "/sales", "{\"item\":\"P0001\",\"stock\":5,\"strategy\":\"hope\"}",
     400},
    {"negative stock", "POST", "/sales",
     "{\"item\":\"P0001\",\"stock\":-5,\"strategy\":\"atomic\"}", 400},
    {"stock 1.9", "POST", "/sales", "{\"item\":\"P0001\",\"stock\":1.9,\"strategy\":\"atomic\"}",
     400},
    {"stock as text", "POST", "/sales",
     "{\"item\":\"P0001\",\"stock\":\"5\",\"strategy\":\"atomic\"}", 400},
    {"name in capitals", "POST", "/sales", "{\"ITEM\":\"P0001\",\"stock\":5}", 400},
    {"rubbish after JSON", "POST", "/sales", "{\"item\":\"P0001\",\"stock\":5}x", 400},
    {"not JSON", "POST", "/sales", "item=P0001", 400},
    {"empty body", "POST", "/sales", "", 400},
    {"no such item's stock", "GET", "/stock?item=NOPE", NULL, 404},
    {"no such page", "GET", "/etc/passwd", NULL, 404},
    {"dots", "GET", "/../../etc/passwd", NULL, 404},
    {"two slashes", "POST", "//buy?item=P0001&user=u1", NULL, 404},
    {"a slash behind a path", "POST", "/buy/?item=P0001&user=u1", NULL, 404},
};

static void bad_input_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        print_message("%s\n", cases[i].what);
        fx_refused(fx.server[i % FX_INSTANCES], cases[i].status, NULL, "%s %s%s%s", cases[i].method,
                   cases[i].path, cases[i].body ? " " : "", cases[i].body ? cases[i].body : "");
    }
    assert_int_equal(fx_stock("remaining"), 1000);
    assert_int_equal(fx_stock("orders"), 0);
}

/* What is wrong with a parameter is told apart, and which one it is. */
static void missing_malformed_and_doubled_are_three_messages(void **state)
{
    (void)state;
    static const struct {
        const char *request, *code, *detail;
    } told[] = {
        {"POST /buy?user=u1", "bad_item", "item= is missing"},
        {"POST /buy?item=&user=u1", "bad_item", "item= must be 1 to 64"},
        {"POST /buy?item=P0001&item=P0001&user=u1", "repeated_parameter", "item= came twice"},
        {"POST /buy?item=P0001&it%65m=P0002&user=u1", "repeated_parameter", "item= came twice"},
        {"POST /buy?item=P0001&user=u1&quantity=1&quantity=2", "repeated_parameter", "quantity="},
        {"POST /buy?item=P0001", "bad_user", "user= is missing"},
        {"POST /buy?item=P0001&user=a%20b", "bad_user", "user= must be 1 to 128"},
        {"POST /buy?item=P0001&user=u1&sale=.", "bad_sale", "sale= must be"},
        {"POST /buy?item=P0001&user=u1&request=.", "bad_request_id", "request= must be"},
        {"POST /buy?item=P0001&user=u1&qty=2", "unknown_parameter", "'qty' is not known"},
        {"GET /stock", "bad_item", "item= is missing"},
        {"GET /stock?item=P0001&x=1", "unknown_parameter", "'x' is not known"},
        {"GET /stock?x=1", "unknown_parameter", "'x' is not known"},
        {"GET /orders/r1?item=P0001&cursor=0.0", "unknown_parameter", "'cursor' is not known"},
        {"GET /orders?item=P0001&user=u1", "unknown_parameter", "'user' is not known"},
        {"POST /sales?item=P0001", "unknown_parameter", "'item' is not known"},
        {"POST /sales item=P0001", "bad_body", "one flat JSON object"},
        {"POST /sales {'item':'P0001','stock':5,'x':1}", "unknown_parameter", "'x' is not known"},
        {"POST /sales {'item':'P0001','stock':5,'stock':5}", "repeated_parameter", "comes twice"},
        {"POST /sales {'item':'P0001'}", "bad_sale", "'stock' must be"},
        {"POST /sales {'item':'.','stock':5}", "bad_sale", "'item' must be"},
        {"POST /sales/resume []", "bad_body", "one flat JSON object"},
        {"POST /sales/resume {'item':'P0001','x':1}", "unknown_parameter", "'x' is not known"},
        {"POST /sales/resume {'item':'P0001'}", "bad_sale", "'lost_orders' are needed"},
        {"GET /locks?x=1", "unknown_parameter", "'x' is not known"},
        {"GET /strategies?x=1", "unknown_parameter", "'x' is not known"},
        {"GET /livez?x=1", "unknown_parameter", "'x' is not known"},
        {"GET /readyz?x=1", "unknown_parameter", "'x' is not known"},
        {"GET /metrics?x=1", "unknown_parameter", "'x' is not known"},
        {"GET /?x=1", "unknown_parameter", "'x' is not known"},
    };
    for (size_t i = 0; i < COUNT(told); i++) {
        const char *body = fx_refused(fx.server[0], 400, told[i].code, "%s", told[i].request);
        if (strstr(body, told[i].detail) == NULL)
            fail_msg("%s: %s", told[i].request, body);
    }
    assert_int_equal(fx_stock("orders"), 0);
}

static void a_user_of_5_kb_is_refused(void **state)
{
    (void)state;
    char path[6000] = "POST /buy?item=P0001&user=";
    size_t len = strlen(path);
    memset(path + len, 'u', 5120);
    path[len + 5120] = '\0';
    fx_reply reply;
    int status = fx_ask(fx.server[0], &reply, "%s", path);
    if (status < 400 || status > 499)
        fail_msg("expected a 4xx, got %d %s%s", status, reply.body, reply.error);
    fx_assert_problem("5 KB user", &reply, status, NULL);
    fx_reply_free(&reply);
    assert_int_equal(fx_stock("orders"), 0);
}

/* A reader that calls itself for every bracket leaves a thread's stack before the body's end. */
static void deep_nesting_is_refused_and_nobody_dies(void **state)
{
    (void)state;
    static const struct {
        const char *level;
        int levels;
    } bodies[] = {{"[", 1000}, {"[", 4096}, {"{\"a\":", 700}, {"{\"a\":[", 500}, {"[{\"a\":", 500}};
    static const char *const paths[] = {"/buy", "/sales", "/sales/resume"};
    const char *const headers[] = {"Content-Type: application/json", NULL};
    for (size_t i = 0; i < COUNT(bodies); i++) {
        char body[4096 + 1] = "";
        for (int n = 0, len = 0; n < bodies[i].levels; n++)
            len += snprintf(body + len, sizeof(body) - (size_t)len, "%s", bodies[i].level);
        for (size_t k = 0; k < COUNT(paths); k++) {
            char url[300];
            fx_reply reply;
            snprintf(url, sizeof(url), "%s%s", fx_server_url(fx.server[k]), paths[k]);
            fx_http("POST", url, headers, body, 20000, &reply);
            if (reply.status != 400)
                fail_msg("%d x %s to %s: %d %s", bodies[i].levels, bodies[i].level, paths[k],
                         reply.status, reply.error);
            fx_reply_free(&reply);
            fx_expect(fx.server[k], 200, "GET /livez");
        }
    }
    assert_int_equal(fx_stock("orders"), 0);
}

static void a_wrong_method_is_told_the_right_one(void **state)
{
    (void)state;
    char allow[64];
    fx_reply reply;
    fx_ask(fx.server[1], &reply, "GET /buy?item=P0001&user=u1");
    fx_assert_problem("GET /buy", &reply, 405, NULL);
    assert_string_equal(fx_reply_header(&reply, "Allow", allow, sizeof(allow)), "POST");
    assert_non_null(strstr(reply.body, "POST"));
    fx_reply_free(&reply);
    assert_int_equal(fx_stock("orders"), 0);
}

static void a_good_buy_is_answered_in_full(void **state)
{
    (void)state;
    cJSON *order = cJSON_Parse(fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u1"));
    assert_string_equal(fx_json_text(order, "item"), "P0001");
    assert_string_equal(fx_json_text(order, "user"), "u1");
    assert_int_equal((int)fx_json_number(order, "quantity"), 1);
    assert_int_equal((int)fx_json_number(order, "remaining"), 999);
    cJSON_Delete(order);
    assert_int_equal(fx_stock("orders"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input_is_refused_and_changes_nothing),
        cmocka_unit_test(missing_malformed_and_doubled_are_three_messages),
        cmocka_unit_test(a_user_of_5_kb_is_refused),
        cmocka_unit_test(deep_nesting_is_refused_and_nobody_dies),
        cmocka_unit_test(a_wrong_method_is_told_the_right_one),
        cmocka_unit_test(a_good_buy_is_answered_in_full),
    };
    return fx_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001, "--strategy", "atomic"));
}
