/*
 * test_reservations.c - reserving, and what becomes of it: confirmed, cancelled, over. Each case
 * sells with every strategy that reserves, and at every step no unit is missing or too many.
 *
 * (A damaged sale: selling/test_reserved_keys.c. A clock that goes back:
 * selling/test_reserve_clock.c. Who is refused: test_reservation_refusals.c. All at once:
 * e2e/test_reservation_races.c.)
 */
#include "tests/server/reservations.h"

#define AGAIN "POST /buy?item=P0001&user=u1&request=r1&quantity=2&reserve_s=300"

/* ---- reserved -------------------------------------------------------------------------------- */

static long long number_in(const char *body, const char *name)
{
    cJSON *json = cJSON_Parse(body);
    double number = fx_json_number(json, name);
    cJSON_Delete(json);
    return (long long)number;
}

static void reserve_until_a_tenth(const char *strategy)
{
    char body[RESERVED_BODY];
    sell_reserving(strategy, 10, 5);
    reserve(0, "u1", "r1", 2, RESERVE_S, body);
    expect_stock(8, 2, 0);
    expect_same(201, AGAIN, body);
    expect_stock(8, 2, 0);
    long long expires_us = number_in(body, "expires_us");
    const char *order = expect_state("r1", "reserved");
    long long more_us = expires_us - number_in(order, "time_us") - RESERVE_S * 1000000LL;
    assert_int_equal(expires_us % 100000, 0);
    assert_in_range(more_us, 0, 99999);
    assert_int_equal(number_in(order, "expires_us"), expires_us);
}

static void a_reservation_ends_at_a_tenth_of_a_second(void **state)
{
    (void)state;
    for_each_reserving(reserve_until_a_tenth);
}

static void reserve_otherwise(const char *strategy)
{
    char body[RESERVED_BODY];
    sell_reserving(strategy, 10, 5);
    reserve(0, "u1", "r1", 2, RESERVE_S, body);
    static const char *const others[] = {"&quantity=2", "&quantity=2&reserve_s=299",
                                         "&quantity=2&reserve_s=301", "&quantity=1&reserve_s=300"};
    for (size_t i = 0; i < COUNT(others); i++)
        fx_refused(fx.server[i % FX_INSTANCES], 422, "request_reused",
                   "POST /buy?item=P0001&user=u1&request=r1%s", others[i]);
    fx_refused(fx.server[0], 422, "request_reused",
               "POST /buy?item=P0001&user=u2&request=r1&quantity=2&reserve_s=300");
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u1&request=r2");
    fx_refused(fx.server[1], 422, "request_reused",
               "POST /buy?item=P0001&user=u1&request=r2&reserve_s=1");
    expect_stock(7, 2, 1);
}

static void the_seconds_belong_to_the_request(void **state)
{
    (void)state;
    for_each_reserving(reserve_otherwise);
}

/* The seconds also come in a body, as a form or as JSON. */
static void reserve_by_body(const char *strategy)
{
    static const char *const types[] = {"Content-Type: application/x-www-form-urlencoded",
                                        "Content-Type: application/json"};
    static const char *const bodies[] = {"reserve_s=60&quantity=2",
                                         "{\"reserve_s\":60,\"quantity\":2}"};
    sell_reserving(strategy, 10, 5);
    for (int i = 0; i < 2; i++) {
        char url[256];
        fx_reply reply;
        snprintf(url, sizeof(url), "%s/buy?item=P0001&user=u%d", fx_server_url(fx.server[i]), i);
        assert_int_equal(fx_http("POST", url, FX_ARGS(types[i]), bodies[i], 15000, &reply), 201);
        fx_has(reply.body, "\"state\":\"reserved\"");
        fx_reply_free(&reply);
    }
    expect_stock(6, 4, 0);
}

static void the_seconds_may_come_in_the_body(void **state)
{
    (void)state;
    for_each_reserving(reserve_by_body);
}

/* ---- confirmed ------------------------------------------------------------------------------- */

static void confirm_one(const char *strategy)
{
    char bought[RESERVED_BODY], confirmed[RESERVED_BODY];
    sell_reserving(strategy, 10, 5);
    reserve(0, "u1", "r1", 2, RESERVE_S, bought);
    snprintf(confirmed, sizeof(confirmed), "%s",
             fx_expect(fx.server[1], 200, "POST /orders/r1/confirm?item=P0001&user=u1"));
    fx_has(confirmed, "\"state\":\"sold\",\"expires_us\":");
    expect_stock(8, 0, 2);
    assert_string_equal(expect_state("r1", "sold"), confirmed);
    expect_same(200, "POST /orders/r1/confirm?item=P0001&user=u1", confirmed);
    expect_same(200, "POST /orders/r1/confirm?item=P0001", confirmed);
    expect_same(201, AGAIN, bought);
    fx_refused(fx.server[2], 409, "order_sold", "POST /orders/r1/cancel?item=P0001&user=u1");
    expect_stock(8, 0, 2);

    let_redis_pass(RESERVE_S + 1); /* what is sold is sold */
    expect_same(200, "POST /orders/r1/confirm?item=P0001&user=u1", confirmed);
    expect_same(201, AGAIN, bought);
    assert_string_equal(expect_state("r1", "sold"), confirmed);
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u2");
    expect_stock(7, 0, 3);
}

static void who_confirms_has_bought(void **state)
{
    (void)state;
    for_each_reserving(confirm_one);
}

static void confirm_what_is_sold(const char *strategy)
{
    sell_reserving(strategy, 10, 5);
    fx_has(fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1&request=r1"),
           "\"state\":\"sold\"");
    const char *body = fx_expect(fx.server[1], 200, "POST /orders/r1/confirm?item=P0001&user=u1");
    fx_has(body, "\"state\":\"sold\"");
    assert_null(strstr(body, "expires_us"));
    fx_refused(fx.server[2], 409, "order_sold", "POST /orders/r1/cancel?item=P0001&user=u1");
    expect_stock(9, 0, 1);
}

static void what_was_sold_at_once_is_confirmed(void **state)
{
    (void)state;
    for_each_reserving(confirm_what_is_sold);
}

/* ---- cancelled ------------------------------------------------------------------------------- */

static void cancel_one(const char *strategy)
{
    char bought[RESERVED_BODY], cancelled[RESERVED_BODY];
    sell_reserving(strategy, 2, 2);
    reserve(0, "u1", "r1", 2, RESERVE_S, bought);
    fx_has(fx_refused(fx.server[1], 409, "sold_out", "POST /buy?item=P0001&user=u2"),
           "\"reserved\":2");
    snprintf(cancelled, sizeof(cancelled), "%s",
             fx_expect(fx.server[2], 200, "POST /orders/r1/cancel?item=P0001&user=u1"));
    fx_has(cancelled, "\"state\":\"cancelled\",\"expires_us\":");
    expect_stock(2, 0, 0);
    expect_same(200, "POST /orders/r1/cancel?item=P0001", cancelled);
    expect_same(201, AGAIN, bought);
    assert_string_equal(expect_state("r1", "cancelled"), cancelled);
    fx_refused(fx.server[0], 409, "order_cancelled", "POST /orders/r1/confirm?item=P0001&user=u1");
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u2&quantity=2");
    expect_stock(0, 0, 2);

    let_redis_pass(RESERVE_S + 1); /* and they do not return once more */
    expect_same(200, "POST /orders/r1/cancel?item=P0001&user=u1", cancelled);
    fx_refused(fx.server[0], 409, "order_cancelled", "POST /orders/r1/confirm?item=P0001&user=u1");
    fx_refused(fx.server[0], 409, "sold_out", "POST /buy?item=P0001&user=u3");
    expect_stock(0, 0, 2);
}

static void what_is_cancelled_is_for_sale_again(void **state)
{
    (void)state;
    for_each_reserving(cancel_one);
}

/* Asks with an admin's header; the body into `ret`. */
static void take_back(int at, const char *request, int status, char ret[RESERVED_BODY])
{
    char url[256];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/orders/%s/cancel?item=P0001", fx_server_url(fx.server[at]),
             request);
    if (fx_http("POST", url, FX_ARGS("Authorization: Bearer any"), NULL, 15000, &reply) != status)
        fail_msg("%s: expected %d, got %d %s", url, status, reply.status, reply.body);
    snprintf(ret, RESERVED_BODY, "%s", reply.body);
    fx_reply_free(&reply);
}

static void take_all_back(const char *strategy)
{
    char body[RESERVED_BODY], again[RESERVED_BODY];
    sell_reserving(strategy, 10, 3);
    reserve(0, "u1", "r1", 1, RESERVE_S, body);
    reserve(0, "u1", "r2", 1, RESERVE_S, body);
    fx_expect(fx.server[1], 200, "POST /orders/r1/confirm?item=P0001&user=u1");
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u1&request=r3");
    fx_refused(fx.server[1], 409, "limit_reached", "POST /buy?item=P0001&user=u1");
    expect_stock(7, 1, 2);
    for (int i = 1; i <= 3; i++) { /* confirmed, reserved, sold at once */
        char request[16];
        snprintf(request, sizeof(request), "r%d", i);
        take_back(i % FX_INSTANCES, request, 200, body);
        fx_has(body, "\"state\":\"cancelled\"");
        take_back(0, request, 200, again);
        assert_string_equal(body, again);
        assert_string_equal(expect_state(request, "cancelled"), body);
        fx_refused(fx.server[0], 409, "order_cancelled",
                   "POST /orders/%s/confirm?item=P0001&user=u1", request);
    }
    expect_stock(10, 0, 0);
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u1&quantity=3");
    expect_stock(7, 0, 3);
}

static void the_admin_cancels_what_is_sold(void **state)
{
    (void)state;
    for_each_reserving(take_all_back);
}

/* ---- over ------------------------------------------------------------------------------------ */

static void let_one_pass(const char *strategy)
{
    char bought[RESERVED_BODY], expired[RESERVED_BODY];
    sell_reserving(strategy, 10, 2);
    reserve(0, "u1", "r1", 2, RESERVE_S, bought);
    fx_refused(fx.server[1], 409, "limit_reached", "POST /buy?item=P0001&user=u1");
    let_redis_pass(RESERVE_S + 1);
    await_return();
    expect_stock(10, 0, 0);
    snprintf(expired, sizeof(expired), "%s", expect_state("r1", "expired"));
    fx_has(expired, "\"expires_us\":");
    fx_refused(fx.server[0], 409, "reservation_expired",
               "POST /orders/r1/confirm?item=P0001&user=u1");
    fx_refused(fx.server[1], 409, "reservation_expired",
               "POST /orders/r1/cancel?item=P0001&user=u1");
    expect_same(201, AGAIN, bought);
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u1&quantity=2");
    fx_refused(fx.server[1], 409, "limit_reached", "POST /buy?item=P0001&user=u1");
    expect_stock(8, 0, 2);
    assert_string_equal(expect_state("r1", "expired"), expired);
}

static void what_is_over_returns_though_nobody_buys(void **state)
{
    (void)state;
    for_each_reserving(let_one_pass);
}

/* Whoever comes first when it is over, an instance or a buyer, returns them: the buyer has them. */
static void buy_what_is_over(const char *strategy)
{
    char body[RESERVED_BODY];
    sell_reserving(strategy, 3, 3);
    reserve(0, "u1", "r1", 3, RESERVE_S, body);
    fx_has(fx_refused(fx.server[1], 409, "sold_out", "POST /buy?item=P0001&user=u2"),
           "\"reserved\":3");
    let_redis_pass(RESERVE_S + 1);
    reserve(1, "u2", "r2", 3, RESERVE_S, body);
    expect_stock(0, 3, 0);
    fx_refused(fx.server[0], 409, "reservation_expired",
               "POST /orders/r1/confirm?item=P0001&user=u1");
    fx_expect(fx.server[0], 200, "POST /orders/r2/confirm?item=P0001&user=u2");
    expect_stock(0, 0, 3);
}

static void a_buyer_has_what_is_over(void **state)
{
    (void)state;
    for_each_reserving(buy_what_is_over);
}

/* ---- many ------------------------------------------------------------------------------------ */

/* Many are over at once, and what is not over yet stays. */
static void pass_in_turn(const char *strategy)
{
    enum { COUNT = 130 };
    char body[RESERVED_BODY], request[16], user[16];
    sell_reserving(strategy, 2 * COUNT, 1);
    for (int i = 0; i < COUNT; i++) {
        snprintf(request, sizeof(request), "r%d", i);
        snprintf(user, sizeof(user), "u%d", i);
        reserve(i % FX_INSTANCES, user, request, 1, i < COUNT - 10 ? 100 + i : 3000, body);
    }
    expect_stock(COUNT, COUNT, 0);
    fx_expect(fx.server[0], 200, "POST /orders/r0/confirm?item=P0001");
    fx_expect(fx.server[1], 200, "POST /orders/r1/cancel?item=P0001");
    expect_stock(COUNT + 1, COUNT - 2, 1);
    let_redis_pass(100 + COUNT);
    static stock_numbers n;
    for (n = read_stock(0); n.reserved > 10; n = read_stock(0)) /* it adds up meanwhile */
        fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=m%d-%d", n.reserved, n.orders);
    assert_int_equal(n.reserved, 10);
    expect_state("r2", "expired");
    expect_state("r129", "reserved");
    fx_expect(fx.server[2], 200, "POST /orders/r129/confirm?item=P0001");
    assert_int_equal(read_stock(2).reserved, 9);
}

static void many_end_one_after_the_other(void **state)
{
    (void)state;
    for_each_reserving(pass_in_turn);
}

/* What a user has is what was sold to it and what is reserved for it now. */
static void count_for_the_limit(const char *strategy)
{
    char body[RESERVED_BODY];
    sell_reserving(strategy, 20, 4);
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1");
    reserve(1, "u1", "r1", 1, 60, body);
    reserve(2, "u1", "r2", 2, 600, body);
    fx_refused(fx.server[0], 409, "limit_reached", "POST /buy?item=P0001&user=u1");
    fx_refused(fx.server[0], 409, "limit_reached", "POST /buy?item=P0001&user=u1&reserve_s=9");
    fx_refused(fx.server[0], 409, "quantity_above_limit",
               "POST /buy?item=P0001&user=u1&quantity=5&reserve_s=9");
    let_redis_pass(61);
    fx_refused(fx.server[1], 409, "limit_reached", "POST /buy?item=P0001&user=u1&quantity=2");
    reserve(2, "u1", "r3", 1, 600, body);
    fx_refused(fx.server[1], 409, "limit_reached", "POST /buy?item=P0001&user=u1");
    fx_expect(fx.server[0], 200, "POST /orders/r2/confirm?item=P0001&user=u1");
    fx_refused(fx.server[1], 409, "limit_reached", "POST /buy?item=P0001&user=u1");
    fx_expect(fx.server[0], 200, "POST /orders/r3/cancel?item=P0001&user=u1");
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u1");
    let_redis_pass(600);
    fx_refused(fx.server[1], 409, "limit_reached", "POST /buy?item=P0001&user=u1");
    await_return();
    expect_stock(16, 0, 4);
}

static void what_is_reserved_counts_for_the_limit(void **state)
{
    (void)state;
    for_each_reserving(count_for_the_limit);
}

static void list_all(const char *strategy)
{
    static const char *const states[] = {"sold", "cancelled", "expired", "reserved", "sold"};
    char body[RESERVED_BODY];
    sell_reserving(strategy, 10, 5);
    for (int i = 0; i < 4; i++) {
        char request[16];
        snprintf(request, sizeof(request), "r%d", i);
        reserve(i % FX_INSTANCES, "u1", request, 1, i == 3 ? 3000 : RESERVE_S, body);
    }
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1&request=r4");
    fx_expect(fx.server[1], 200, "POST /orders/r0/confirm?item=P0001");
    fx_expect(fx.server[2], 200, "POST /orders/r1/cancel?item=P0001");
    let_redis_pass(RESERVE_S + 1);
    cJSON *page = cJSON_Parse(fx_expect(fx.server[1], 200, "GET /orders?item=P0001"));
    const cJSON *orders = cJSON_GetObjectItemCaseSensitive(page, "orders");
    assert_int_equal(cJSON_GetArraySize(orders), 5);
    for (int i = 0; i < 5; i++) {
        const cJSON *order = cJSON_GetArrayItem(orders, i);
        char request[16];
        snprintf(request, sizeof(request), "r%d", i);
        assert_string_equal(fx_json_text(order, "request"), request);
        assert_string_equal(fx_json_text(order, "state"), states[i]);
        assert_int_equal(cJSON_HasObjectItem(order, "expires_us"), i < 4);
    }
    cJSON_Delete(page);
    assert_int_equal(read_stock(0).orders, 5);
}

static void all_orders_are_listed_whatever_became_of_them(void **state)
{
    (void)state;
    for_each_reserving(list_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reservation_ends_at_a_tenth_of_a_second),
        cmocka_unit_test(the_seconds_belong_to_the_request),
        cmocka_unit_test(the_seconds_may_come_in_the_body),
        cmocka_unit_test(who_confirms_has_bought),
        cmocka_unit_test(what_was_sold_at_once_is_confirmed),
        cmocka_unit_test(what_is_cancelled_is_for_sale_again),
        cmocka_unit_test(the_admin_cancels_what_is_sold),
        cmocka_unit_test(what_is_over_returns_though_nobody_buys),
        cmocka_unit_test(a_buyer_has_what_is_over),
        cmocka_unit_test(many_end_one_after_the_other),
        cmocka_unit_test(what_is_reserved_counts_for_the_limit),
        cmocka_unit_test(all_orders_are_listed_whatever_became_of_them),
    };
    fx.plan = (fx_plan){.instances = FX_INSTANCES, .one_server = true};
    return cmocka_run_group_tests(tests, start_with_clocks, stop_with_clocks);
}
