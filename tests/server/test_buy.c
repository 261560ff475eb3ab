/* test_buy.c - buying: replay of a request, limits, quantities, and the same request at once. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

static int sales; /* so far: for request ids that belong to one sale */

/* Buys at instance `at`; the body of the answer. */
static const char *buy(int at, int status, const char *query)
{
    return fx_expect(fx.server[at], status, "POST /buy?item=P0001&%s", query);
}

static void refuse(int at, int status, const char *code, const char *query)
{
    fx_refused(fx.server[at], status, code, "POST /buy?item=P0001&%s", query);
}

/* ---- replay ---------------------------------------------------------------------------------- */

static void a_retry_gets_the_same_answer_from_every_instance(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char first[1024], query[128];
        print_message("%s\n", s->name);
        fx_sell("'stock':10,'strategy':'%s'", s->name);
        snprintf(query, sizeof(query), "user=u1&quantity=2&request=r-%d", ++sales);
        snprintf(first, sizeof(first), "%s", buy(0, 201, query));
        for (int at = 0; at < FX_INSTANCES; at++) {
            char replayed[16];
            fx_reply again;
            fx_ask(fx.server[at], &again, "POST /buy?item=P0001&%s", query);
            assert_int_equal(again.status, 201);
            assert_string_equal(again.body, first);
            fx_reply_header(&again, "Idempotency-Replayed", replayed, sizeof(replayed));
            assert_string_equal(replayed, "true");
            fx_reply_free(&again);
        }
        snprintf(query, sizeof(query), "user=u2&quantity=2&request=r-%d", sales);
        refuse(1, 422, "request_reused", query);
        snprintf(query, sizeof(query), "user=u1&quantity=1&request=r-%d", sales);
        refuse(2, 422, "request_reused", query);
        assert_int_equal(fx_stock("units"), 2);
    }
}

/* Buys one; the fence of the lock that it was sold under. */
static double buy_fence(int at)
{
    char body[1024];
    snprintf(body, sizeof(body), "%s", buy(at, 201, "user=u1"));
    cJSON *order = cJSON_Parse(body);
    assert_non_null(order);
    double fence = fx_json_number(order, "fence");
    cJSON_Delete(order);
    return fence;
}

/* 0 says that there was none: without a lock, or under one that issues none. */
static void an_order_names_the_fence_it_was_sold_under(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        fx_sell("'stock':10,'strategy':'%s'", s->name);
        double first = buy_fence(0), second = buy_fence(1);
        bool rises = first > 0 && second > first;
        bool none = first == 0 && second == 0;
        bool fenced = s->guarded && s->locked;
        if (!(s->locked ? rises || (none && !fenced) : none))
            fail_msg("%s: %.0f, then %.0f", s->name, first, second);
    }
}

/* The request id of an order bought without a key. */
static void buy_without_key(int at, char id[64])
{
    fx_copy_member(buy(at, 201, "user=u1"), "request", id, 64);
}

static void an_order_without_a_key_gets_one_and_can_be_found(void **state)
{
    (void)state;
    char body[1024], request[64];
    fx_sell("'stock':10,'strategy':'combined'");
    snprintf(body, sizeof(body), "%s", buy(0, 201, "user=u1"));
    fx_copy_member(body, "request", request, sizeof(request));
    const char *found = fx_expect(fx.server[1], 200, "GET /orders/%s?item=P0001", request);
    assert_int_equal(strncmp(found, body, strlen(body) - 2), 0); /* all of it but the brace */
}

static void a_request_id_tells_nothing_of_the_next(void **state)
{
    (void)state;
    char one[64], two[64];
    fx_sell("'stock':10,'strategy':'atomic'");
    buy_without_key(0, one);
    buy_without_key(0, two);
    size_t same = 0;
    assert_true(strlen(one) >= 32 && strlen(one) == strlen(two));
    while (one[same] != '\0' && one[same] == two[same])
        same++;
    if (same >= 12) /* by chance once in 2^48 */
        fail_msg("%s, then %s", one, two);
}

/* Buys with one header more, and fails unless the answer has this status. Free the reply. */
static void buy_with_header(int status, const char *header, const char *query, const char *body,
                            fx_reply *ret)
{
    char url[512];
    snprintf(url, sizeof(url), "%s/buy%s", fx_server_url(fx.server[0]), query);
    if (fx_http("POST", url, FX_ARGS(header), body, 15000, ret) != status)
        fail_msg("%s, %s, %s: expected %d, got %d %s", header, query, body, status, ret->status,
                 ret->body);
}

/* The draft of the IETF has the key in quotes; everybody else has none. */
static void a_key_is_the_same_with_quotes_and_without(void **state)
{
    (void)state;
    char order[64], again[64];
    fx_reply reply;
    fx_sell("'stock':10,'strategy':'combined'");
    buy_with_header(201, "Idempotency-Key: \"q-1\"", "?item=P0001&user=u1", NULL, &reply);
    fx_copy_member(reply.body, "order", order, sizeof(order));
    fx_reply_free(&reply);
    buy_with_header(201, "Idempotency-Key: q-1", "?item=P0001&user=u1", NULL, &reply);
    fx_copy_member(reply.body, "order", again, sizeof(again));
    assert_string_equal(order, again);
    fx_reply_free(&reply);
    buy_with_header(201, "Idempotency-Key: \"q-1\"", "?item=P0001&user=u1&request=q-1", NULL,
                    &reply);
    fx_reply_free(&reply);
    static const char *const wrong[] = {"\"", "\"\"", "\"q-1", "q-1\"", "\"a b\"", "\"a\"b\""};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char header[64];
        snprintf(header, sizeof(header), "Idempotency-Key: %s", wrong[i]);
        buy_with_header(400, header, "?item=P0001&user=u1", NULL, &reply);
        fx_assert_problem(header, &reply, 400, "bad_request_id");
        fx_reply_free(&reply);
    }
    assert_int_equal(fx_stock("orders"), 1);
}

static void location_says_where_the_order_is(void **state)
{
    (void)state;
    char location[256], order[64], found[64];
    fx_reply reply;
    fx_sell("'stock':10,'strategy':'atomic'");
    buy_with_header(201, "X-None: 1", "?item=P0001&user=u1", NULL, &reply);
    fx_reply_header(&reply, "Location", location, sizeof(location));
    fx_copy_member(reply.body, "order", order, sizeof(order));
    fx_reply_free(&reply);
    fx_copy_member(fx_expect(fx.server[1], 200, "GET %s", location), "order", found, sizeof(found));
    assert_string_equal(order, found);
}

/* The id that the proxy tells a buyer whose answer never came. It makes no retry: the proxy sends a
 * buy once. What the client says goes before. */
static void the_proxys_id_is_used_where_the_client_has_none(void **state)
{
    (void)state;
    char request[64];
    fx_reply reply;
    fx_sell("'stock':10,'strategy':'combined'");
    buy_with_header(201, "Flashsale-Request-Id: px-1", "?item=P0001&user=u1", NULL, &reply);
    fx_copy_member(reply.body, "request", request, sizeof(request));
    assert_string_equal(request, "px-1");
    fx_reply_free(&reply);
    buy_with_header(201, "Flashsale-Request-Id: px-2", "?item=P0001&user=u1&request=mine", NULL,
                    &reply);
    fx_copy_member(reply.body, "request", request, sizeof(request));
    assert_string_equal(request, "mine");
    fx_reply_free(&reply);
    buy_with_header(201, "Flashsale-Request-Id: not an id", "?item=P0001&user=u1", NULL, &reply);
    fx_copy_member(reply.body, "request", request, sizeof(request));
    assert_int_equal(strlen(request), 32);
    fx_reply_free(&reply);
}

/* ---- bodies ---------------------------------------------------------------------------------- */

#define FORM "Content-Type: application/x-www-form-urlencoded"
#define JSON "Content-Type: application/json"

static void a_body_is_read_as_the_query_is(void **state)
{
    (void)state;
    static const struct {
        const char *type, *query, *body;
        int quantity;
    } cases[] = {
        {FORM, "?item=P0001&user=u1", "quantity=2", 2},
        {FORM, "", "item=P0001&user=u1&quantity=3", 3},
        {"Content-Type: APPLICATION/x-www-form-urlencoded; charset=utf-8", "?item=P0001",
         "user=ann%2Bx%40mail.example", 1},
        {JSON, "", "{\"item\":\"P0001\",\"user\":\"u1\",\"quantity\":4}", 4},
        {"Content-Type: application/json;charset=UTF-8", "?item=P0001&user=u1", "{}", 1},
        {JSON, "?item=P0001&user=u1", "{\"quantity\":5,\"request\":\"in-json\"}", 5},
        {JSON, "?item=P0001&user=u1", "", 1},
        {"Content-Type: text/plain", "?item=P0001&user=u1", "", 1},
    };
    int units = 0;
    fx_sell("'stock':100,'strategy':'combined'");
    for (size_t i = 0; i < COUNT(cases); i++) {
        fx_reply reply;
        buy_with_header(201, cases[i].type, cases[i].query, cases[i].body, &reply);
        fx_reply_free(&reply);
        units += cases[i].quantity;
        assert_int_equal(fx_stock("units"), units);
    }
    fx_expect(fx.server[1], 200, "GET /orders/in-json?item=P0001");
}

static void a_body_that_is_not_understood_buys_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *type, *query, *body;
        int status;
        const char *code;
    } cases[] = {
        {"Content-Type: text/plain", "?item=P0001&user=u1", "quantity=2", 415,
         "unsupported_media_type"},
        {"Content-Type:", "?item=P0001&user=u1", "quantity=2", 415, "unsupported_media_type"},
        {"Content-Type: application/jsonx", "?item=P0001&user=u1", "{}", 415,
         "unsupported_media_type"},
        {"Content-Type: multipart/form-data; boundary=x", "?item=P0001&user=u1", "--x--", 415,
         "unsupported_media_type"},
        {FORM, "?item=P0001&user=u1", "{\"quantity\":2}", 400, "unknown_parameter"},
        {FORM, "?item=P0001&user=u1", "user=u1", 400, "repeated_parameter"},
        {FORM, "?item=P0001&user=u1", "quantity=0", 400, "bad_quantity"},
        {FORM, "?item=P0001", "user=a+b", 400, "bad_user"},
        {JSON, "?item=P0001&user=u1", "{\"item\":\"P0001\"}", 400, "repeated_parameter"},
        {JSON, "?item=P0001&user=u1", "{\"amount\":2}", 400, "unknown_parameter"},
        {JSON, "?item=P0001&user=u1", "{\"quantity\":\"2\"}", 400, "bad_quantity"},
        {JSON, "?item=P0001&user=u1", "{\"quantity\":2.5}", 400, "bad_quantity"},
        {JSON, "?item=P0001&user=u1", "{\"quantity\":1.0}", 400, "bad_quantity"},
        {JSON, "?item=P0001&user=u1", "{\"quantity\":1e0}", 400, "bad_quantity"},
        {JSON, "?item=P0001", "{\"user\":7}", 400, "bad_user"},
        {JSON, "?item=P0001&user=u1", "quantity=2", 400, "bad_body"},
        {JSON, "?item=P0001&user=u1", "[]", 400, "bad_body"},
    };
    fx_sell("'stock':100,'strategy':'combined'");
    for (size_t i = 0; i < COUNT(cases); i++) {
        fx_reply reply;
        buy_with_header(cases[i].status, cases[i].type, cases[i].query, cases[i].body, &reply);
        fx_assert_problem(cases[i].body, &reply, cases[i].status, cases[i].code);
        fx_reply_free(&reply);
    }
    assert_int_equal(fx_stock("orders"), 0);
}

static void a_void_or_differing_key_is_refused(void **state)
{
    (void)state;
    static const char *const headers[][2] = {{"Idempotency-Key: a b", NULL},
                                             {"Idempotency-Key: k2", NULL}};
    for (int i = 0; i < 2; i++) {
        char url[256];
        fx_reply reply;
        snprintf(url, sizeof(url), "%s/buy?item=P0001&user=u1&request=k1",
                 fx_server_url(fx.server[0]));
        fx_http("POST", url, headers[i], NULL, 5000, &reply);
        fx_assert_problem(headers[i][0], &reply, 400, "bad_request_id");
        fx_reply_free(&reply);
    }
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void a_user_gets_no_more_than_the_limit(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (s->sharded)
            continue;
        print_message("%s\n", s->name);
        fx_sell("'stock':10,'per_user_limit':3,'strategy':'%s'", s->name);
        buy(0, 201, "user=u1&quantity=2");
        refuse(1, 409, "limit_reached", "user=u1&quantity=2");
        buy(2, 201, "user=u1");
        refuse(0, 409, "limit_reached", "user=u1");
        buy(0, 201, "user=u2&quantity=3");
        assert_int_equal(fx_stock("remaining"), 4);
    }
}

static void a_quantity_above_the_limit_is_told_so(void **state)
{
    (void)state;
    fx_sell("'stock':10,'per_user_limit':3,'strategy':'combined'");
    refuse(0, 409, "quantity_above_limit", "user=u1&quantity=4");
    buy(0, 201, "user=u1&quantity=3");
    refuse(0, 409, "limit_reached", "user=u1");
    refuse(0, 409, "quantity_above_limit", "user=u1&quantity=4");
    assert_int_equal(fx_stock("units"), 3);
}

/* A user is a word of a record, a field, and a part of the keys of strategies and limits. */
static void a_user_may_be_an_e_mail_address(void **state)
{
    (void)state;
    static const char address[] = "Ann.O_Neil-2+50%@mail.example.org";
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char user[64], request[64], body[1024];
        print_message("%s\n", s->name);
        fx_sell("'stock':20,'strategy':'%s'%s", s->name, s->sharded ? "" : ",'per_user_limit':2");
        snprintf(body, sizeof(body), "%s",
                 buy(0, 201, "user=Ann.O_Neil-2%2B50%25@mail.example.org&quantity=2"));
        fx_copy_member(body, "user", user, sizeof(user));
        assert_string_equal(user, address);
        fx_copy_member(body, "request", request, sizeof(request));
        fx_copy_member(fx_expect(fx.server[1], 200, "GET /orders/%s?item=P0001", request), "user",
                       user, sizeof(user));
        assert_string_equal(user, address);
        if (!s->sharded)
            refuse(1, 409, "limit_reached", "user=Ann.O_Neil-2%2B50%25@mail.example.org");
    }
}

static void a_quantity_is_sold_whole_or_not_at_all(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (s->sharded) /* no segment has all of it */
            continue;
        print_message("%s\n", s->name);
        fx_sell("'stock':5,'strategy':'%s'", s->name);
        refuse(0, 409, "sold_out", "user=u1&quantity=6");
        buy(1, 201, "user=u1&quantity=5");
        refuse(2, 409, "sold_out", "user=u1");
        assert_int_equal(fx_stock("units"), 5);
        assert_int_equal(fx_stock("orders"), 1);
        assert_int_equal(fx_stock("remaining"), 0);
    }
}

static void segments_do_not_sell_one_request_twice(void **state)
{
    (void)state;
    fx_sell("'stock':8,'strategy':'sharded','segments':4");
    /* Two units a segment: three are nowhere, and then two must not count as a new request. */
    refuse(0, 409, "sold_out", "user=u1&quantity=3&request=big");
    for (int i = 0; i < 8; i++) {
        char query[64];
        snprintf(query, sizeof(query), "user=u1&request=s-%d", i);
        buy(i % FX_INSTANCES, 201, query);
        buy((i + 1) % FX_INSTANCES, 201, query);
    }
    refuse(0, 409, "sold_out", "user=u1&request=s-9");
    assert_int_equal(fx_stock("orders"), 8);
    assert_int_equal(fx_stock("remaining"), 0);
}

static void a_closed_sale_sells_no_more(void **state)
{
    (void)state;
    char query[128];
    snprintf(query, sizeof(query), "user=u1&sale=%s",
             fx_start_sale(fx.server[0], "P0001", "'stock':10,'strategy':'none'"));
    buy(0, 201, query);
    fx_start_sale(fx.server[0], "P0001", "'stock':10,'strategy':'atomic'");
    for (int at = 0; at < FX_INSTANCES; at++) {
        buy(at, 201, "user=u1");
        refuse(at, 409, "sale_closed", query);
    }
    buy(0, 404, "user=u1&sale=nonsense");
    assert_int_equal(fx_stock("orders"), FX_INSTANCES);
}

/* ---- the same key at once -------------------------------------------------------------------- */

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
        fx_reply reply;
        if (in_step)
            pthread_barrier_wait(&step);
        if (fx_ask(fx.server[mine->at], &reply, "POST /buy?item=P0001&user=u%d&request=q-%d-%d", i,
                   sales, i) == 201)
            mine->sold++;
        else
            snprintf(mine->other, sizeof(mine->other), "%d %.300s%s", reply.status, reply.body,
                     reply.error);
        fx_reply_free(&reply);
    }
    return NULL;
}

static void buy_at_once(const char *strategy, int count, bool together)
{
    client clients[FX_INSTANCES];
    sales++;
    requests = count;
    in_step = together;
    fx_sell("'stock':2000,'wait_ms':20000,'strategy':'%s'", strategy);
    pthread_barrier_init(&step, NULL, FX_INSTANCES);
    for (int at = 0; at < FX_INSTANCES; at++) {
        clients[at] = (client){.at = at};
        pthread_create(&clients[at].thread, NULL, buy_all, &clients[at]);
    }
    for (int at = 0; at < FX_INSTANCES; at++) {
        pthread_join(clients[at].thread, NULL);
        if (clients[at].sold != requests)
            fail_msg("%s: %d of %d sold, then %s", strategy, clients[at].sold, requests,
                     clients[at].other);
    }
    pthread_barrier_destroy(&step);
    assert_int_equal(fx_stock("orders"), requests);
    assert_int_equal(fx_stock("remaining"), 2000 - requests);
}

/* Where Redis decides, it decides a thousand times. The others get fewer: to meet costs much where
 * waiters poll. */
static void one_key_at_three_instances_at_once_makes_one_order(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (s->guarded) {
            buy_at_once(s->name, 1000, true);
        } else if (s->locked) { /* without a lock, nothing keeps two of one key apart */
            buy_at_once(s->name, 20, true);
            buy_at_once(s->name, 200, false);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_gets_the_same_answer_from_every_instance),
        cmocka_unit_test(an_order_names_the_fence_it_was_sold_under),
        cmocka_unit_test(an_order_without_a_key_gets_one_and_can_be_found),
        cmocka_unit_test(a_request_id_tells_nothing_of_the_next),
        cmocka_unit_test(a_void_or_differing_key_is_refused),
        cmocka_unit_test(a_key_is_the_same_with_quotes_and_without),
        cmocka_unit_test(location_says_where_the_order_is),
        cmocka_unit_test(the_proxys_id_is_used_where_the_client_has_none),
        cmocka_unit_test(a_body_is_read_as_the_query_is),
        cmocka_unit_test(a_body_that_is_not_understood_buys_nothing),
        cmocka_unit_test(a_user_gets_no_more_than_the_limit),
        cmocka_unit_test(a_quantity_above_the_limit_is_told_so),
        cmocka_unit_test(a_user_may_be_an_e_mail_address),
        cmocka_unit_test(a_quantity_is_sold_whole_or_not_at_all),
        cmocka_unit_test(segments_do_not_sell_one_request_twice),
        cmocka_unit_test(a_closed_sale_sells_no_more),
        cmocka_unit_test(one_key_at_three_instances_at_once_makes_one_order),
    };
    return fx_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001, "--strategy", "atomic"));
}
