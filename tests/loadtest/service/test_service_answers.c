/*
 * What a run reads out of the service's answers besides orders: a stock, a sale that was started,
 * whether a target lives. Each member is left out, of another type, and out of its range in turn.
 */
#include "tests/loadtest/service/canned.h"

#include "loadtest/service/sale_api.h"

#include <cjson/cJSON.h>

static lt_plan plan;
static lt_sale_spec spec;
static lt_http *http;

static int start(void **state)
{
    http = http_new(NULL);
    return http ? canned_start(state) : -1;
}

static int stop(void **state)
{
    http_free(http);
    return canned_stop(state);
}

static int set_up(void **unused)
{
    (void)unused;
    plan = (lt_plan){.target_count = 1, .item = "P", .stock = 100};
    spec = sale_spec_none();
    snprintf(spec.strategy, sizeof(spec.strategy), "fair");
    snprintf(plan.targets[0], sizeof(plan.targets[0]), "http://127.0.0.1:%d", canned.port);
    return 0;
}

static void answer(int status, const char *body, const char *type)
{
    canned_set(&(canned_answer){status, body, type}, 1);
}

/* An object with a member changed to this JSON, or left out where that is NULL. */
static void change(const char *object, const char *name, const char *value, char *ret, size_t size)
{
    cJSON *json = cJSON_Parse(object);
    cJSON_DeleteItemFromObject(json, name);
    if (value)
        cJSON_AddRawToObject(json, name, value);
    char *text = cJSON_PrintUnformatted(json);
    snprintf(ret, size, "%s", text);
    free(text);
    cJSON_Delete(json);
}

/* ---- a stock --------------------------------------------------------------------------------- */

static const char good_stock[] =
    "{\"item\":\"P\",\"sale\":\"s1\",\"strategy\":\"fair\",\"initial\":100,\"remaining\":91,"
    "\"orders\":4,\"units\":9,\"oversold\":1,\"lost_updates\":2,\"unordered\":3,\"lost_orders\":5,"
    "\"reserved\":6,\"sold\":7,\"halted\":{\"why\":\"limits\",\"lost_orders\":8}}";

/* The history that the reading leaves is in `text`, without its times. */
static bool read_stock(lt_stock *ret, char *err, size_t err_len, char *text, size_t size)
{
    char failed[256], raw[2048], *at;
    lt_recorder *recorder = recorder_open(NULL, failed, sizeof(failed));
    assert_non_null(recorder);
    lt_pen *pen = pen_new(recorder);
    bool good = stock_read(http, pen, &plan, 0, false, ret, err, err_len);
    pen_free(pen);
    FILE *file = fopen(recorder_path(recorder), "r");
    assert_non_null(file);
    raw[fread(raw, 1, sizeof(raw) - 1, file)] = '\0';
    fclose(file);
    recorder_free(recorder);
    at = strstr(raw, " target=0");
    snprintf(text, size, "%s", at ? at : raw);
    return good;
}

static void a_stock_is_read_member_by_member(void **unused)
{
    (void)unused;
    char err[512] = "", text[2048];
    lt_stock stock;
    answer(200, good_stock, NULL);
    assert_true(read_stock(&stock, err, sizeof(err), text, sizeof(text)));
    assert_string_equal(stock.sale, "s1");
    assert_string_equal(stock.strategy, "fair");
    assert_string_equal(stock.halted, "limits");
    assert_true(stock.initial == 100 && stock.remaining == 91 && stock.orders == 4);
    assert_true(stock.units == 9 && stock.oversold == 1 && stock.lost_updates == 2);
    assert_true(stock.unordered == 3 && stock.lost_orders == 5);
    assert_true(stock.reserved.form == FORM_GOOD && stock.reserved.value == 6);
    assert_true(stock.sold.form == FORM_GOOD && stock.sold.value == 7);
    assert_string_equal(text, " target=0 remaining=91 units=9 orders=4 initial=100 oversold=1 "
                              "lost_updates=2 unordered=3 lost_orders=5 reserved=6 sold=7 sale=s1 "
                              "strategy=fair halted=limits\n");
    assert_string_equal(canned.asked[0], "GET /stock?item=P");
}

static void a_stock_without_what_it_must_have_is_none(void **unused)
{
    (void)unused;
    static const char *const must[] = {"item",      "sale",  "strategy", "initial",     "orders",
                                       "remaining", "units", "oversold", "lost_updates"};
    static const char *const may[] = {"unordered", "lost_orders"};
    static const char *const never[] = {"1.5", "\"1\"", "[]", "true", "1e300"};
    char body[1024], err[512], text[2048], expected[600];
    lt_stock stock;
    snprintf(expected, sizeof(expected),
             "GET %s/stock?item=P: not a stock of that item: HTTP 200: ", plan.targets[0]);
    for (size_t i = 0; i < COUNT(must) + COUNT(may); i++) {
        const char *name = i < COUNT(must) ? must[i] : may[i - COUNT(must)];
        for (size_t j = 0; j <= COUNT(never); j++) {
            bool left_out = j == COUNT(never), number = i > 2;
            if (!number && !left_out && j == 1)
                continue; /* a text is right there */
            change(good_stock, name, left_out ? NULL : never[j], body, sizeof(body));
            answer(200, body, NULL);
            bool good = read_stock(&stock, err, sizeof(err), text, sizeof(text));
            if (good != (left_out && i >= COUNT(must)))
                fail_msg("%s: %s", good ? "read" : "not read", body);
            if (!good && (strncmp(err, expected, strlen(expected)) != 0 ||
                          strcmp(text, " target=0 status=0\n") != 0))
                fail_msg("%s: %s, %s", body, err, text);
        }
    }
    change(good_stock, "item", "\"Q\"", body, sizeof(body));
    answer(200, body, NULL);
    assert_false(read_stock(&stock, err, sizeof(err), text, sizeof(text)));
}

/* No member is written that says nothing; what halts a sale may have any form. */
static void what_a_stock_does_not_tell_is_not_recorded(void **unused)
{
    (void)unused;
    static const struct {
        const char *name, *value, *tail;
    } cases[] = {
        {"halted", NULL, "lost_orders=5 reserved=6 sold=7 sale=s1 strategy=fair\n"},
        {"halted", "false", "lost_orders=5 reserved=6 sold=7 sale=s1 strategy=fair\n"},
        {"halted", "null", "lost_orders=5 reserved=6 sold=7 sale=s1 strategy=fair\n"},
        {"halted", "true", "lost_orders=5 reserved=6 sold=7 sale=s1 strategy=fair halted=yes\n"},
        {"halted", "{\"why\":7}",
         "lost_orders=5 reserved=6 sold=7 sale=s1 strategy=fair halted=yes\n"},
        {"lost_orders", "0",
         "lost_orders=8 reserved=6 sold=7 sale=s1 strategy=fair halted=limits\n"},
        {"lost_orders", NULL,
         "lost_orders=8 reserved=6 sold=7 sale=s1 strategy=fair halted=limits\n"},
        {"reserved", NULL, "lost_orders=5 sold=7 sale=s1 strategy=fair halted=limits\n"},
        {"sold", "\"7\"", "lost_orders=5 reserved=6 sale=s1 strategy=fair halted=limits\n"},
        {"oversold", "0",
         "initial=100 lost_updates=2 unordered=3 lost_orders=5 reserved=6 sold=7 "
         "sale=s1 strategy=fair halted=limits\n"},
    };
    char body[1024], err[512], text[2048];
    lt_stock stock;
    for (size_t i = 0; i < COUNT(cases); i++) {
        change(good_stock, cases[i].name, cases[i].value, body, sizeof(body));
        answer(200, body, NULL);
        size_t tail = strlen(cases[i].tail);
        if (!read_stock(&stock, err, sizeof(err), text, sizeof(text)) || strlen(text) < tail ||
            strcmp(text + strlen(text) - tail, cases[i].tail) != 0)
            fail_msg("%s: %s, %s", body, err, text);
    }
}

/* A text is cut nowhere: what is too long is none. */
static void texts_of_a_stock_have_a_longest_length(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        int most;
    } cases[] = {{"sale", 135}, {"strategy", 63}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (int more = 0; more < 2; more++) {
            char value[200], body[1400], err[512], text[2048];
            lt_stock stock;
            snprintf(value, sizeof(value), "\"%0*d\"", cases[i].most + more, 7);
            change(good_stock, cases[i].name, value, body, sizeof(body));
            answer(200, body, NULL);
            if (read_stock(&stock, err, sizeof(err), text, sizeof(text)) != !more)
                fail_msg("%s of %d", cases[i].name, cases[i].most + more);
        }
    }
}

/* ---- sentences about answers ----------------------------------------------------------------- */

static void an_answer_that_is_none_is_described(void **unused)
{
    (void)unused;
    char longest[400], expected[512], err[512];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    static const struct {
        lt_http_reply reply;
        const char *said;
    } cases[] = {
        {{.status = 0, .body = "", .error = "cut"}, "GET u: cut"},
        {{.status = 400, .body = "{}\r\nmore", .type = "application/json"},
         "GET u: bad: HTTP 400: {}"},
        {{.status = 400, .body = "x\ny", .type = "application/problem+json"},
         "GET u: bad: HTTP 400: x"},
        {{.status = 404, .body = "secret", .type = "text/html"},
         "GET u: not a flashsale service: HTTP 404, text/html"},
        {{.status = 501, .body = "secret", .type = ""},
         "GET u: not a flashsale service: HTTP 501, of no type"},
        {{.status = 502, .body = "secret", .type = "text/html"},
         "GET u: no flashsale service answers there: HTTP 502, text/html"},
        {{.status = 503, .body = "secret", .type = ""},
         "GET u: no flashsale service answers there: HTTP 503, of no type"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        describe_reply("GET", "u", &cases[i].reply, "bad", err, sizeof(err));
        assert_string_equal(err, cases[i].said);
    }
    for (int len = 199; len <= 201; len++) {
        lt_http_reply reply = {.status = 400, .body = longest + 399 - len, .type = "text/json"};
        describe_reply("GET", "u", &reply, "bad", err, sizeof(err));
        snprintf(expected, sizeof(expected), "GET u: bad: HTTP 400: %.*s", len < 200 ? len : 200,
                 longest);
        assert_string_equal(err, expected);
    }
}

/* ---- a sale ---------------------------------------------------------------------------------- */

static const char good_sale[] =
    "{\"sale\":\"s1\",\"previous\":\"s0\",\"item\":\"P\",\"strategy\":\"fair\",\"stock\":100,"
    "\"durability\":\"memory\",\"per_user_limit\":2,\"lease_ms\":3000,\"wait_ms\":5000,"
    "\"hold_ms\":1,\"segments\":1,\"reserve_max_s\":60}";

static void ask_for_all(void)
{
    spec.lease_ms = 3000;
    spec.wait_ms = 5000;
    spec.hold_ms = 1;
    spec.per_user_limit = 2;
    snprintf(spec.durability, sizeof(spec.durability), "memory");
    plan.reserve_s = 60;
}

static void a_sale_is_asked_for_as_it_is_planned(void **unused)
{
    (void)unused;
    char err[512], expected[512];
    lt_sale sale;
    answer(201, good_sale, NULL);
    assert_true(sale_create(http, &plan, &spec, &sale, err, sizeof(err)));
    assert_string_equal(canned.asked[0],
                        "POST /sales {\"item\":\"P\",\"stock\":100,\"strategy\":\"fair\"}");
    assert_string_equal(sale.id, "s1");
    assert_string_equal(sale.previous, "s0");
    assert_true(sale.lease_ms == 3000 && sale.wait_ms == 5000 && sale.segments == 1);
    ask_for_all();
    spec.segments = 1;
    answer(201, good_sale, NULL);
    assert_true(sale_create(http, &plan, &spec, &sale, err, sizeof(err)));
    snprintf(expected, sizeof(expected),
             "POST /sales {\"item\":\"P\",\"stock\":100,\"strategy\":\"fair\",\"lease_ms\":3000,"
             "\"wait_ms\":5000,\"hold_ms\":1,\"per_user_limit\":2,\"segments\":1,"
             "\"reserve_max_s\":60,\"durability\":\"memory\"}");
    assert_string_equal(canned.asked[0], expected);
}

static void a_sale_on_other_terms_is_none(void **unused)
{
    (void)unused;
    static const char *const numbers[] = {"stock",    "per_user_limit", "reserve_max_s",
                                          "lease_ms", "wait_ms",        "hold_ms"};
    static const char *const texts[] = {"item", "strategy", "durability"};
    char body[1024], err[512], expected[128];
    lt_sale sale;
    ask_for_all();
    for (size_t i = 0; i < COUNT(numbers) + COUNT(texts); i++) {
        bool number = i < COUNT(numbers);
        const char *name = number ? numbers[i] : texts[i - COUNT(numbers)];
        static const char *const values[] = {"77", "\"other\"", "null", NULL};
        for (size_t j = 0; j < COUNT(values); j++) {
            change(good_sale, name, values[j], body, sizeof(body));
            answer(201, body, NULL);
            bool good = sale_create(http, &plan, &spec, &sale, err, sizeof(err));
            snprintf(expected, sizeof(expected), "POST /sales: the sale has another %s than", name);
            if (good != (j >= 2) || (!good && strncmp(err, expected, strlen(expected)) != 0))
                fail_msg("%s: %d, %s", body, (int)good, err);
        }
    }
}

/* What was not asked for may be any. */
static void terms_that_are_left_to_the_service_may_be_any(void **unused)
{
    (void)unused;
    static const char *const names[] = {"per_user_limit", "reserve_max_s", "lease_ms", "wait_ms",
                                        "hold_ms"};
    char body[1024], err[512];
    lt_sale sale;
    for (size_t i = 0; i < COUNT(names); i++) {
        change(good_sale, names[i], "77", body, sizeof(body));
        answer(201, body, NULL);
        if (!sale_create(http, &plan, &spec, &sale, err, sizeof(err)))
            fail_msg("%s: %s", body, err);
    }
    change(good_sale, "durability", "\"disk\"", body, sizeof(body));
    answer(201, body, NULL);
    assert_true(sale_create(http, &plan, &spec, &sale, err, sizeof(err)));
}

static void terms_that_are_not_told_are_those_asked_for_or_the_widest(void **unused)
{
    (void)unused;
    char err[512];
    lt_sale sale;
    answer(201, "{\"sale\":7}", NULL);
    assert_true(sale_create(http, &plan, &spec, &sale, err, sizeof(err)));
    assert_string_equal(sale.id, "7");
    assert_string_equal(sale.previous, "");
    assert_true(sale.wait_ms == 60000 && sale.segments == 1 && sale.lease_ms == 0);
    spec.wait_ms = 250;
    snprintf(spec.strategy, sizeof(spec.strategy), "sharded");
    assert_true(sale_create(http, &plan, &spec, &sale, err, sizeof(err)));
    assert_true(sale.wait_ms == 250 && sale.segments == 1024);
    spec.segments = 8;
    assert_true(sale_create(http, &plan, &spec, &sale, err, sizeof(err)));
    assert_true(sale.segments == 8);
}

static void a_stock_is_split_as_its_strategy_can(void **unused)
{
    (void)unused;
    static const struct {
        const char *strategy, *told;
        long asked;
        int64_t segments; /* 0: no sale */
    } cases[] = {
        {"fair", "0", SALE_NOT_GIVEN, 1},
        {"fair", "1", SALE_NOT_GIVEN, 1},
        {"fair", "2", SALE_NOT_GIVEN, 0},
        {"sharded", "0", SALE_NOT_GIVEN, 0},
        {"sharded", "1", SALE_NOT_GIVEN, 1},
        {"sharded", "1024", SALE_NOT_GIVEN, 1024},
        {"sharded", "1025", SALE_NOT_GIVEN, 0},
        {"sharded", "4", 4, 4},
        {"sharded", "4", 5, 0},
        {"fair", "1", 5, 1},
        {"fair", "-1", SALE_NOT_GIVEN, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char body[256], err[512];
        lt_sale sale = {.id = "before"};
        snprintf(spec.strategy, sizeof(spec.strategy), "%s", cases[i].strategy);
        spec.segments = cases[i].asked;
        snprintf(body, sizeof(body), "{\"sale\":\"s\",\"segments\":%s}", cases[i].told);
        answer(201, body, NULL);
        bool good = sale_create(http, &plan, &spec, &sale, err, sizeof(err));
        if (good != (cases[i].segments > 0) || (good && sale.segments != cases[i].segments))
            fail_msg("case %zu: %d, %lld segments", i, (int)good, (long long)sale.segments);
        if (!good && (!strstr(err, "segments") || strcmp(sale.id, "before") != 0))
            fail_msg("case %zu: %s, sale %s", i, err, sale.id);
    }
}

static void what_is_no_201_with_an_id_is_no_sale(void **unused)
{
    (void)unused;
    static const canned_answer answers[] = {{200, "{\"sale\":\"s\"}", NULL},
                                            {409, "{\"sale\":\"s\"}", NULL},
                                            {201, "{}", NULL},
                                            {201, "{\"sale\":\"\"}", NULL},
                                            {201, "nothing", NULL}};
    for (size_t i = 0; i < COUNT(answers); i++) {
        char err[512];
        lt_sale sale;
        canned_set(&answers[i], 1);
        assert_false(sale_create(http, &plan, &spec, &sale, err, sizeof(err)));
        if (!strstr(err, i < 2 ? "/sales: no sale: HTTP" : "no sale id in the answer: HTTP 201"))
            fail_msg("answer %zu: %s", i, err);
    }
}

/* ---- when and where -------------------------------------------------------------------------- */

static void no_order_is_final_after_a_request_and_a_margin(void **unused)
{
    (void)unused;
    static const int64_t cases[][2] = {{0, 11000},     {5000, 11000},  {10000, 11000},
                                       {10001, 12001}, {59999, 61999}, {60000, 62000},
                                       {60001, 62000}, {90000, 62000}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        lt_sale sale = {.wait_ms = cases[i][0]};
        assert_int_equal(sale_final_after(&sale), cases[i][1] * NS_PER_MS);
    }
}

static void a_target_is_alive_when_the_service_says_so(void **unused)
{
    (void)unused;
    static const struct {
        canned_answer answer;
        const char *said; /* NULL: it is */
    } cases[] = {
        {{200, "{}", NULL}, NULL},
        {{200, "", ""}, NULL},
        {{200, "", "text/html"}, "not a flashsale service: HTTP 200, text/html"},
        {{503, "{}", NULL}, "/livez: not alive: HTTP 503: {}"},
        {{0, "", NULL}, "is down: "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[512] = "";
        canned_set(&cases[i].answer, 1);
        bool alive = sale_targets_alive(http, &plan, err, sizeof(err));
        if (alive != !cases[i].said || (!alive && !strstr(err, cases[i].said)))
            fail_msg("case %zu: %d, %s", i, (int)alive, err);
        assert_string_equal(canned.asked[0], "GET /livez");
    }
    plan.target_count = 2; /* the second is named, too */
    snprintf(plan.targets[1], sizeof(plan.targets[1]), "http://127.0.0.1:%d", fx_free_port());
    char err[512];
    answer(200, "{}", NULL);
    assert_false(sale_targets_alive(http, &plan, err, sizeof(err)));
    assert_non_null(strstr(err, plan.targets[1]));
}

static void a_sale_is_waited_for_everywhere(void **unused)
{
    (void)unused;
    char other[1024], err[512];
    change(good_stock, "sale", "\"s0\"", other, sizeof(other));
    plan.target_count = 2;
    snprintf(plan.targets[1], sizeof(plan.targets[1]), "%s", plan.targets[0]);
    canned_set((const canned_answer[]){{200, other, NULL},
                                       {503, "{}", NULL},
                                       {200, good_stock, NULL},
                                       {200, other, NULL},
                                       {200, good_stock, NULL}},
               5);
    assert_true(sale_wait_everywhere(http, &plan, "s1", err, sizeof(err)));
    assert_int_equal(canned.asked_len, 5);
    answer(200, other, NULL);
    mono_ns before = clock_now();
    assert_false(sale_wait_everywhere(http, &plan, "s1", err, sizeof(err)));
    assert_true(clock_now() - before >= 3 * NS_PER_S);
    assert_non_null(strstr(err, " still serves sale s0, 3 s after s1 was created"));
    assert_true(canned.asked_len <= 3000 / 20 + 2); /* with pauses */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_stock_is_read_member_by_member, set_up),
        cmocka_unit_test_setup(a_stock_without_what_it_must_have_is_none, set_up),
        cmocka_unit_test_setup(what_a_stock_does_not_tell_is_not_recorded, set_up),
        cmocka_unit_test_setup(texts_of_a_stock_have_a_longest_length, set_up),
        cmocka_unit_test_setup(an_answer_that_is_none_is_described, set_up),
        cmocka_unit_test_setup(a_sale_is_asked_for_as_it_is_planned, set_up),
        cmocka_unit_test_setup(a_sale_on_other_terms_is_none, set_up),
        cmocka_unit_test_setup(terms_that_are_left_to_the_service_may_be_any, set_up),
        cmocka_unit_test_setup(terms_that_are_not_told_are_those_asked_for_or_the_widest, set_up),
        cmocka_unit_test_setup(a_stock_is_split_as_its_strategy_can, set_up),
        cmocka_unit_test_setup(what_is_no_201_with_an_id_is_no_sale, set_up),
        cmocka_unit_test_setup(no_order_is_final_after_a_request_and_a_margin, set_up),
        cmocka_unit_test_setup(a_target_is_alive_when_the_service_says_so, set_up),
        cmocka_unit_test_setup(a_sale_is_waited_for_everywhere, set_up),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
