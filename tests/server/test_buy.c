/* test_buy.c - orders end to end: replay, limits, quantities, the ledger, finality. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

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

/* Asks instance `at` and checks the status; the body in `body` when that is not NULL. */
static void ask(int at, const char *method, const char *path, const char *sent, int status,
                char *body, size_t body_len)
{
    fx_reply reply;
    fx_site_ask(site, at, method, path, sent, &reply);
    if (reply.status != status)
        fail_msg("%s %s: expected %d, got %d %s%s", method, path, status, reply.status, reply.body,
                 reply.error);
    if (body != NULL)
        snprintf(body, body_len, "%s", reply.body);
    fx_reply_free(&reply);
}

/* Whether every instance has the sale with this id in force. */
static bool is_in_force(void *id)
{
    bool all = true;
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_reply reply;
        fx_site_ask(site, at, "GET", "/stock?item=P0001", NULL, &reply);
        all = all && strstr(reply.body, id) != NULL;
        fx_reply_free(&reply);
    }
    return all;
}

static int sales; /* so far: for request ids that belong to one sale */

/* Starts a sale, and waits until it is in force everywhere. */
static void open_sale(const char *terms)
{
    sales++;
    char text[256], body[1024], id[64];
    snprintf(text, sizeof(text), "{\"item\":\"P0001\",%s}", terms);
    ask(0, "POST", "/sales", text, 201, body, sizeof(body));
    cJSON *sale = cJSON_Parse(body);
    snprintf(id, sizeof(id), "%s", fx_json_text(sale, "sale"));
    cJSON_Delete(sale);
    assert_true(fx_wait_until(is_in_force, id, 10000));
}

static void has_code(const char *body, const char *code)
{
    char member[64];
    snprintf(member, sizeof(member), "\"code\":\"%s\"", code);
    if (strstr(body, member) == NULL)
        fail_msg("expected %s in %s", code, body);
}

/* ---- replay ---------------------------------------------------------------------------------- */

static const char *const replaying[] = {"none",     "setnx",  "watchdog", "reentrant", "fenced",
                                        "combined", "atomic", "batched",  "sharded"};

static void a_retry_gets_the_same_answer_from_every_instance(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(replaying) / sizeof(replaying[0]); i++) {
        char first[1024], sale[128];
        fx_reply again;
        snprintf(sale, sizeof(sale), "\"stock\":10,\"strategy\":\"%s\"", replaying[i]);
        open_sale(sale);
        char path[128], other[128];
        snprintf(path, sizeof(path), "/buy?item=P0001&user=u1&quantity=2&request=r-%d", sales);
        ask(0, "POST", path, NULL, 201, first, sizeof(first));
        for (int at = 0; at < FX_INSTANCES; at++) {
            char replayed[16];
            fx_site_ask(site, at, "POST", path, NULL, &again);
            assert_int_equal(again.status, 201);
            assert_string_equal(again.body, first);
            fx_reply_header(&again, "Idempotency-Replayed", replayed, sizeof(replayed));
            assert_string_equal(replayed, "true");
            fx_reply_free(&again);
        }
        snprintf(other, sizeof(other), "/buy?item=P0001&user=u2&quantity=2&request=r-%d", sales);
        ask(1, "POST", other, NULL, 422, first, sizeof(first));
        has_code(first, "request_reused");
        snprintf(other, sizeof(other), "/buy?item=P0001&user=u1&quantity=1&request=r-%d", sales);
        ask(2, "POST", other, NULL, 422, NULL, 0);
        assert_int_equal(fx_site_stock(site, "units"), 2);
    }
}

static void an_order_without_a_key_gets_one_and_can_be_found(void **state)
{
    (void)state;
    char body[1024], path[256];
    open_sale("\"stock\":10,\"strategy\":\"combined\"");
    ask(0, "POST", "/buy?item=P0001&user=u1", NULL, 201, body, sizeof(body));
    const char *request = strstr(body, "\"request\":\"");
    assert_non_null(request);
    request += strlen("\"request\":\"");
    snprintf(path, sizeof(path), "/orders/%.*s?item=P0001", (int)strcspn(request, "\""), request);
    char found[1024];
    ask(1, "GET", path, NULL, 200, found, sizeof(found));
    assert_int_equal(strncmp(found, body, strlen(body) - 2), 0); /* all of it but the brace */
}

/* The request id of an order bought without a key. */
static void buy_without_key(int at, char id[64])
{
    char body[1024];
    ask(at, "POST", "/buy?item=P0001&user=u1", NULL, 201, body, sizeof(body));
    cJSON *order = cJSON_Parse(body);
    snprintf(id, 64, "%s", fx_json_text(order, "request"));
    cJSON_Delete(order);
}

static void a_request_id_tells_nothing_of_the_next(void **state)
{
    (void)state;
    char one[64], two[64];
    open_sale("\"stock\":10,\"strategy\":\"atomic\"");
    buy_without_key(0, one);
    buy_without_key(0, two);
    size_t same = 0;
    assert_true(strlen(one) >= 32 && strlen(one) == strlen(two));
    while (one[same] != '\0' && one[same] == two[same])
        same++;
    if (same >= 12) /* by chance once in 2^48 */
        fail_msg("%s, then %s", one, two);
}

static void a_void_or_differing_key_is_refused(void **state)
{
    (void)state;
    char body[1024], url[256];
    static const char *const headers[][2] = {{"Idempotency-Key: a b", NULL},
                                             {"Idempotency-Key: k2", NULL}};
    snprintf(url, sizeof(url), "%s/buy?item=P0001&user=u1&request=k1",
             fx_server_url(site->server[0]));
    for (int i = 0; i < 2; i++) {
        fx_reply reply;
        assert_int_equal(fx_http("POST", url, headers[i], NULL, 5000, &reply), 400);
        snprintf(body, sizeof(body), "%s", reply.body);
        has_code(body, "bad_request_id");
        fx_reply_free(&reply);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void a_user_gets_no_more_than_the_limit(void **state)
{
    (void)state;
    static const char *const strategies[] = {"none",     "reentrant", "fenced",
                                             "combined", "atomic",    "batched"};
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        char body[512], sale[128];
        snprintf(sale, sizeof(sale), "\"stock\":10,\"per_user_limit\":3,\"strategy\":\"%s\"",
                 strategies[i]);
        open_sale(sale);
        ask(0, "POST", "/buy?item=P0001&user=u1&quantity=2", NULL, 201, NULL, 0);
        ask(1, "POST", "/buy?item=P0001&user=u1&quantity=2", NULL, 409, body, sizeof(body));
        has_code(body, "limit_reached");
        ask(2, "POST", "/buy?item=P0001&user=u1", NULL, 201, NULL, 0);
        ask(0, "POST", "/buy?item=P0001&user=u1", NULL, 409, NULL, 0);
        ask(0, "POST", "/buy?item=P0001&user=u2&quantity=3", NULL, 201, NULL, 0);
        assert_int_equal(fx_site_stock(site, "remaining"), 4);
    }
}

static void a_quantity_is_sold_whole_or_not_at_all(void **state)
{
    (void)state;
    static const char *const strategies[] = {"none", "fair", "combined", "atomic"};
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        char body[512], sale[128];
        snprintf(sale, sizeof(sale), "\"stock\":5,\"strategy\":\"%s\"", strategies[i]);
        open_sale(sale);
        ask(0, "POST", "/buy?item=P0001&user=u1&quantity=6", NULL, 409, body, sizeof(body));
        has_code(body, "sold_out");
        ask(1, "POST", "/buy?item=P0001&user=u1&quantity=5", NULL, 201, NULL, 0);
        ask(2, "POST", "/buy?item=P0001&user=u1", NULL, 409, NULL, 0);
        assert_int_equal(fx_site_stock(site, "units"), 5);
        assert_int_equal(fx_site_stock(site, "orders"), 1);
        assert_int_equal(fx_site_stock(site, "remaining"), 0);
    }
}

static void segments_do_not_sell_one_request_twice(void **state)
{
    (void)state;
    char body[512];
    open_sale("\"stock\":8,\"strategy\":\"sharded\",\"segments\":4");
    /* Two units a segment: three are nowhere, and then two must not count as a new request. */
    ask(0, "POST", "/buy?item=P0001&user=u1&quantity=3&request=big", NULL, 409, body, sizeof(body));
    for (int i = 0; i < 8; i++) {
        char path[128];
        snprintf(path, sizeof(path), "/buy?item=P0001&user=u1&request=s-%d", i);
        ask(i % FX_INSTANCES, "POST", path, NULL, 201, NULL, 0);
        ask((i + 1) % FX_INSTANCES, "POST", path, NULL, 201, NULL, 0);
    }
    ask(0, "POST", "/buy?item=P0001&user=u1&request=s-9", NULL, 409, body, sizeof(body));
    has_code(body, "sold_out");
    assert_int_equal(fx_site_stock(site, "orders"), 8);
    assert_int_equal(fx_site_stock(site, "remaining"), 0);
}

/* ---- the same key at once -------------------------------------------------------------------- */

#define FEW  60
#define MANY 1000

static int requests;
static bool in_step; /* the three of one key start at once; else each goes on as it can */
static pthread_barrier_t step;

typedef struct client {
    int at, sold;
    char other[600]; /* the last answer that was not a sale */
    pthread_t thread;
} client;

static void *buy_all(void *arg)
{
    client *mine = arg;
    for (int i = 0; i < requests; i++) {
        char path[128];
        fx_reply reply;
        snprintf(path, sizeof(path), "/buy?item=P0001&user=u%d&request=q-%d-%d", i, sales, i);
        if (in_step)
            pthread_barrier_wait(&step);
        if (fx_site_ask(site, mine->at, "POST", path, NULL, &reply) == 201)
            mine->sold++;
        else
            snprintf(mine->other, sizeof(mine->other), "%d %.300s%s", reply.status, reply.body,
                     reply.error);
        fx_reply_free(&reply);
    }
    return NULL;
}

static void one_key_at_three_instances_at_once_makes_one_order(void **state)
{
    (void)state;
    static const struct {
        const char *strategy;
        int requests;
        bool apart; /* where it costs much when the three meet every time */
    } cases[] = {{"setnx", FEW, true},      {"nested", FEW, true},   {"pubsub", FEW, false},
                 {"fair", FEW, false},      {"batched", FEW, false}, {"atomic", MANY, false},
                 {"reentrant", MANY, true}, {"fenced", MANY, true},  {"combined", MANY, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sale[256];
        client clients[FX_INSTANCES];
        requests = cases[i].requests;
        in_step = !cases[i].apart;
        snprintf(sale, sizeof(sale), "\"stock\":2000,\"wait_ms\":20000,\"strategy\":\"%s\"",
                 cases[i].strategy);
        open_sale(sale);
        pthread_barrier_init(&step, NULL, FX_INSTANCES);
        for (int at = 0; at < FX_INSTANCES; at++) {
            clients[at] = (client){.at = at};
            pthread_create(&clients[at].thread, NULL, buy_all, &clients[at]);
        }
        for (int at = 0; at < FX_INSTANCES; at++) {
            pthread_join(clients[at].thread, NULL);
            if (clients[at].sold != requests)
                fail_msg("%s: %d of %d sold, then %s", cases[i].strategy, clients[at].sold,
                         requests, clients[at].other);
        }
        pthread_barrier_destroy(&step);
        assert_int_equal(fx_site_stock(site, "orders"), requests);
        assert_int_equal(fx_site_stock(site, "remaining"), 2000 - requests);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static int count_page(const char *cursor, char *next, size_t next_len)
{
    char path[128], *body = malloc(100000);
    assert_non_null(body);
    snprintf(path, sizeof(path), "/orders?item=P0001%s%s", cursor[0] ? "&cursor=" : "", cursor);
    ask(1, "GET", path, NULL, 200, body, 100000);
    cJSON *page = cJSON_Parse(body);
    free(body);
    assert_non_null(page);
    int count = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(page, "orders"));
    const cJSON *cursor_json = cJSON_GetObjectItemCaseSensitive(page, "cursor");
    snprintf(next, next_len, "%s", cJSON_IsString(cursor_json) ? cursor_json->valuestring : "");
    cJSON_Delete(page);
    return count;
}

static void the_ledger_is_read_in_pages(void **state)
{
    (void)state;
    static const char *const strategies[] = {"atomic", "sharded"};
    for (int s = 0; s < 2; s++) {
        char sale[128], cursor[40] = "", path[128];
        snprintf(sale, sizeof(sale), "\"stock\":500,\"strategy\":\"%s\"", strategies[s]);
        open_sale(sale);
        for (int i = 0; i < 230; i++) {
            snprintf(path, sizeof(path), "/buy?item=P0001&user=u%d", i);
            ask(0, "POST", path, NULL, 201, NULL, 0);
        }
        int orders = 0, pages = 0;
        do {
            orders += count_page(cursor, cursor, sizeof(cursor));
            pages++;
        } while (cursor[0] != '\0');
        assert_int_equal(orders, 230);
        assert_in_range(pages, 3, 8);
    }
    ask(0, "GET", "/orders?item=P0001&cursor=9.0", NULL, 400, NULL, 0);
    ask(0, "GET", "/orders?item=P0001&cursor=x", NULL, 400, NULL, 0);
}

static void orders_of_the_sale_before_are_still_found(void **state)
{
    (void)state;
    char body[512];
    open_sale("\"stock\":10,\"strategy\":\"sharded\"");
    ask(0, "POST", "/buy?item=P0001&user=u1&request=before", NULL, 201, NULL, 0);
    open_sale("\"stock\":10,\"strategy\":\"combined\"");
    ask(2, "GET", "/orders/before?item=P0001", NULL, 200, body, sizeof(body));
    assert_non_null(strstr(body, "\"request\":\"before\""));
}

static bool is_final(void *arg)
{
    fx_reply reply;
    bool final;
    fx_site_ask(site, 1, "GET", arg, NULL, &reply);
    assert_int_equal(reply.status, 404);
    final = strstr(reply.body, "\"final\":true") != NULL;
    fx_reply_free(&reply);
    return final;
}

static void no_such_order_becomes_final_and_stays_true(void **state)
{
    (void)state;
    char body[512], path[] = "/orders/ghost?item=P0001";
    open_sale("\"stock\":10,\"strategy\":\"combined\"");
    assert_false(is_final(path));
    assert_true(fx_wait_until(is_final, path, 20000));
    ask(0, "POST", "/buy?item=P0001&user=u1&request=ghost", NULL, 409, body, sizeof(body));
    has_code(body, "request_void");
    assert_true(is_final(path));
    assert_int_equal(fx_site_stock(site, "orders"), 0);
}

static void a_closed_sale_sells_no_more(void **state)
{
    (void)state;
    char body[1024], path[256];
    ask(0, "POST", "/sales", "{\"item\":\"P0001\",\"stock\":10,\"strategy\":\"none\"}", 201, body,
        sizeof(body));
    cJSON *sale = cJSON_Parse(body);
    snprintf(path, sizeof(path), "/buy?item=P0001&user=u1&sale=%s", fx_json_text(sale, "sale"));
    cJSON_Delete(sale);
    ask(0, "POST", path, NULL, 201, NULL, 0);
    ask(0, "POST", "/sales", "{\"item\":\"P0001\",\"stock\":10,\"strategy\":\"atomic\"}", 201, body,
        sizeof(body));
    for (int at = 0; at < FX_INSTANCES; at++) {
        ask(at, "POST", "/buy?item=P0001&user=u1", NULL, 201, body, sizeof(body));
        ask(at, "POST", path, NULL, 409, body, sizeof(body));
        has_code(body, "sale_closed");
    }
    ask(0, "POST", "/buy?item=P0001&user=u1&sale=nonsense", NULL, 404, NULL, 0);
    assert_int_equal(fx_site_stock(site, "orders"), FX_INSTANCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_gets_the_same_answer_from_every_instance),
        cmocka_unit_test(an_order_without_a_key_gets_one_and_can_be_found),
        cmocka_unit_test(a_request_id_tells_nothing_of_the_next),
        cmocka_unit_test(a_void_or_differing_key_is_refused),
        cmocka_unit_test(a_user_gets_no_more_than_the_limit),
        cmocka_unit_test(a_quantity_is_sold_whole_or_not_at_all),
        cmocka_unit_test(segments_do_not_sell_one_request_twice),
        cmocka_unit_test(one_key_at_three_instances_at_once_makes_one_order),
        cmocka_unit_test(the_ledger_is_read_in_pages),
        cmocka_unit_test(orders_of_the_sale_before_are_still_found),
        cmocka_unit_test(no_such_order_becomes_final_and_stays_true),
        cmocka_unit_test(a_closed_sale_sells_no_more),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
