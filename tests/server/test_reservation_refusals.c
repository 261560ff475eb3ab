/*
 * test_reservation_refusals.c - who can not reserve, confirm or cancel, and what that changes:
 * nothing. Then what becomes of reservations when the next sale of the item has begun, and in a
 * sale that is halted.
 */
#include "tests/server/reservations.h"

/* ---- sales that have none -------------------------------------------------------------------- */

static void a_sale_needs_a_limit_and_a_strategy_for_it(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char name[sizeof(s->name)];
        bool reserves = s->reserves;
        memcpy(name, s->name, sizeof(name));
        if (reserves)
            fx_refused(fx.server[0], 400, "bad_sale",
                       "POST /sales {'item':'N1','stock':5,'strategy':'%s','reserve_max_s':60}",
                       name);
        else
            fx_refused(fx.server[0], 400, "reservations_not_supported",
                       "POST /sales {'item':'N1','stock':5,'strategy':'%s','reserve_max_s':60%s}",
                       name, s->sharded ? "" : ",'per_user_limit':1");
        fx_has(fx_expect(fx.server[0], 201,
                         "POST /sales {'item':'N2','stock':5,'strategy':'%s','reserve_max_s':0}",
                         name),
               "\"reserve_max_s\":0");
    }
    static const char *const wrong[] = {"-1", "43201", "1.5", "'60'", "true"};
    for (size_t i = 0; i < COUNT(wrong); i++)
        fx_refused(fx.server[0], 400, NULL,
                   "POST /sales {'item':'N1','stock':5,'per_user_limit':1,'strategy':'atomic',"
                   "'reserve_max_s':%s}",
                   wrong[i]);
    fx_refused(fx.server[0], 404, NULL, "GET /stock?item=N1");
    fx_has(fx_expect(fx.server[0], 201,
                     "POST /sales {'item':'N1','stock':5,'per_user_limit':1,'strategy':'atomic',"
                     "'reserve_max_s':43200}"),
           "\"reserve_max_s\":43200");
}

/* Every order says that it is sold, right behind its instance. */
static void what_is_sold_at_once_says_so(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char name[sizeof(s->name)];
        memcpy(name, s->name, sizeof(name));
        fx_sell("'stock':10,'strategy':'%s'", name);
        cJSON *order =
            cJSON_Parse(fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1&request=s-1"));
        const cJSON *instance = cJSON_GetObjectItemCaseSensitive(order, "instance");
        assert_non_null(instance);
        assert_non_null(instance->next);
        assert_string_equal(instance->next->string, "state");
        assert_string_equal(instance->next->valuestring, "sold");
        assert_null(instance->next->next);
        cJSON_Delete(order);
        fx_has(fx_expect(fx.server[1], 200, "GET /orders/s-1?item=P0001"), "\"state\":\"sold\"");
        fx_has(fx_refused(fx.server[1], 400, "reservation_not_offered",
                          "POST /buy?item=P0001&user=u1&request=s-2&reserve_s=1"),
               "\"request\":\"s-2\",\"sale\":\"");
        fx_expect(fx.server[2], 200, "POST /orders/s-1/confirm?item=P0001");
        assert_int_equal(fx_stock("units"), 1);
        assert_int_equal(fx_stock("sold"), 1);
        assert_int_equal(fx_stock("reserved"), 0);
    }
}

/* ---- who can not ----------------------------------------------------------------------------- */

static void refuse_to_reserve(const char *strategy)
{
    static const char *const wrong[] = {
        "0", "-1", "43201", "1.5", "x", "", "1e1", "+1", "99999999999999999999"};
    fx_sell("'stock':10,'per_user_limit':5,'reserve_max_s':60,'strategy':'%s'", strategy);
    for (size_t i = 0; i < COUNT(wrong); i++)
        fx_refused(fx.server[0], 400, "bad_reserve_s",
                   "POST /buy?item=P0001&user=u1&request=w1&reserve_s=%s", wrong[i]);
    fx_has(fx_refused(fx.server[1], 400, "reservation_not_offered",
                      "POST /buy?item=P0001&user=u1&request=w1&reserve_s=61"),
           "\"request\":\"w1\",\"sale\":\"");
    expect_stock(10, 0, 0);
    fx_expect(fx.server[2], 201, "POST /buy?item=P0001&user=u1&request=w1&reserve_s=60");
    fx_refused(fx.server[1], 422, "request_reused",
               "POST /buy?item=P0001&user=u1&request=w1&reserve_s=61");
    expect_stock(9, 1, 0);
}

static void not_for_so_long(void **state)
{
    (void)state;
    for_each_reserving(refuse_to_reserve);
}

static void ask_for_anothers(const char *strategy)
{
    static const char *const ends[] = {"confirm", "cancel"};
    char body[RESERVED_BODY];
    sell_reserving(strategy, 10, 5);
    reserve(0, "u1", "r1", 1, RESERVE_S, body);
    for (size_t i = 0; i < 2; i++) {
        fx_refused(fx.server[1], 404, "no_such_order", "POST /orders/r1/%s?item=P0001&user=u2",
                   ends[i]);
        fx_refused(fx.server[1], 404, "no_such_order", "POST /orders/r2/%s?item=P0001&user=u1",
                   ends[i]);
        fx_refused(fx.server[1], 404, "no_such_order", "POST /orders/r2/%s?item=P0001", ends[i]);
        fx_refused(fx.server[1], 400, NULL, "POST /orders/r%%201/%s?item=P0001", ends[i]);
        fx_refused(fx.server[1], 400, NULL, "POST /orders/r1/%s", ends[i]);
        fx_refused(fx.server[1], 400, NULL, "POST /orders/r1/%s?item=P0001&quantity=1", ends[i]);
        fx_refused(fx.server[1], 404, NULL, "POST /orders/r1/%s?item=NONE", ends[i]);
        fx_refused(fx.server[1], 404, "no_such_sale",
                   "POST /orders/r1/%s?item=P0001&sale=ffffffffffffff", ends[i]);
        fx_refused(fx.server[1], 405, NULL, "GET /orders/r1/%s?item=P0001", ends[i]);
    }
    expect_stock(9, 1, 0);
    fx_expect(fx.server[1], 200, "POST /orders/r1/confirm?item=P0001&user=u1");
    for (size_t i = 0; i < 2; i++) /* nor when it is settled */
        fx_refused(fx.server[2], 404, "no_such_order", "POST /orders/r1/%s?item=P0001&user=u2",
                   ends[i]);
    expect_stock(9, 0, 1);
}

static void nobody_settles_the_order_of_another(void **state)
{
    (void)state;
    for_each_reserving(ask_for_anothers);
}

/* An id that was declared final as not bought stays so. */
static void settle_what_is_void(const char *strategy)
{
    char first[RESERVED_BODY];
    const char *sale = sell_reserving(strategy, 10, 5);
    reserve(0, "u1", "r1", 1, RESERVE_S, first);
    fx_refused(fx.server[0], 404, "no_such_order", "POST /orders/r9/confirm?item=P0001&sale=%s",
               sale);
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1&request=r9&reserve_s=60");
    fx_expect(fx.server[1], 200, "POST /orders/r9/confirm?item=P0001&sale=%s", sale);
    expect_stock(8, 1, 1);
}

static void a_no_says_nothing_of_a_later_order(void **state)
{
    (void)state;
    for_each_reserving(settle_what_is_void);
}

/* not_after: 16 digits, long ago. */
static void settle_too_late(const char *strategy)
{
    char body[RESERVED_BODY], sold[RESERVED_BODY];
    sell_reserving(strategy, 10, 5);
    reserve(0, "u1", "r1", 1, RESERVE_S, body);
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_refused(fx.server[at], 409, "too_late",
                   "POST /orders/r1/confirm?item=P0001&not_after=1600000000000000");
        fx_refused(fx.server[at], 409, "too_late",
                   "POST /orders/r1/cancel?item=P0001&not_after=1600000000000000");
        fx_refused(fx.server[at], 409, "too_late",
                   "POST /buy?item=P0001&user=u1&reserve_s=9&not_after=1600000000000000");
    }
    expect_stock(9, 1, 0);
    snprintf(sold, sizeof(sold), "%s", /* 2100 */
             fx_expect(fx.server[1], 200,
                       "POST /orders/r1/confirm?item=P0001&not_after=4102444800000000"));
    expect_same(200, "POST /orders/r1/confirm?item=P0001&not_after=1600000000000000", sold);
    expect_stock(9, 0, 1);
}

static void nothing_changes_after_the_time_that_was_set(void **state)
{
    (void)state;
    for_each_reserving(settle_too_late);
}

/* ---- the next sale --------------------------------------------------------------------------- */

static void settle_after_the_sale(const char *strategy)
{
    char old[64], body[RESERVED_BODY], sold[RESERVED_BODY], key[160];
    snprintf(old, sizeof(old), "%s", sell_reserving(strategy, 10, 5));
    for (int i = 1; i <= 4; i++) {
        snprintf(key, sizeof(key), "r%d", i);
        reserve(0, "u1", key, 1, RESERVE_S, body);
    }
    sell_reserving(strategy, 20, 5);
    snprintf(sold, sizeof(sold), "%s",
             fx_expect(fx.server[1], 200, "POST /orders/r1/confirm?item=P0001&sale=%s", old));
    fx_has(sold, "\"state\":\"sold\"");
    fx_has(sold, old);
    for (int at = 0; at < FX_INSTANCES; at++)
        assert_string_equal(fx_expect(fx.server[at], 200,
                                      "POST /orders/r1/confirm?item=P0001&sale=%s&user=u1", old),
                            sold);
    fx_expect(fx.server[2], 200, "POST /orders/r2/cancel?item=P0001&sale=%s", old);
    fx_refused(fx.server[0], 409, "order_cancelled", "POST /orders/r2/confirm?item=P0001&sale=%s",
               old);
    fx_refused(fx.server[0], 409, "order_sold", "POST /orders/r1/cancel?item=P0001&sale=%s", old);
    fx_refused(fx.server[0], 404, "no_such_order", "POST /orders/r9/confirm?item=P0001&sale=%s",
               old);
    fx_refused(fx.server[0], 404, "no_such_order",
               "POST /orders/r3/confirm?item=P0001&sale=%s&user=u2", old);
    fx_expect(fx.server[0], 200, "POST /orders/r3/confirm?item=P0001"); /* of the sale before */
    fx_refused(fx.server[0], 409, "sale_closed", "POST /buy?item=P0001&user=u2&sale=%s&reserve_s=9",
               old);
    fx_refused(fx.server[0], 409, "too_late",
               "POST /orders/r4/confirm?item=P0001&sale=%s&not_after=1600000000000000", old);
    let_redis_pass(RESERVE_S + 1);
    fx_refused(fx.server[0], 409, "reservation_expired",
               "POST /orders/r4/confirm?item=P0001&sale=%s", old);
    assert_string_equal(
        fx_expect(fx.server[2], 200, "POST /orders/r1/confirm?item=P0001&sale=%s", old), sold);
    expect_stock(20, 0, 0);
    static const char *const parts[] = {"cfg",   "stock",  "sold",     "orders",  "ledger",
                                        "users", "epochs", "reserved", "buckets", "moves"};
    for (size_t i = 0; i < COUNT(parts); i++)
        if (fx_redis_number(fx.redis, "TTL fs:{P0001}:%s:%s", old, parts[i]) == -1)
            fail_msg("%s: %s of a sale that is over stays forever", strategy, parts[i]);
}

static void a_reservation_outlives_its_sale(void **state)
{
    (void)state;
    for_each_reserving(settle_after_the_sale);
}

/* The next sale has no reservations. */
static void settle_before_a_plain_sale(const char *strategy)
{
    char old[64], body[RESERVED_BODY];
    snprintf(old, sizeof(old), "%s", sell_reserving(strategy, 10, 5));
    reserve(0, "u1", "r1", 1, RESERVE_S, body);
    reserve(0, "u1", "r2", 1, RESERVE_S, body);
    fx_sell("'stock':10,'strategy':'%s'", strategy);
    fx_expect(fx.server[1], 200, "POST /orders/r1/confirm?item=P0001&sale=%s", old);
    fx_expect(fx.server[1], 200, "POST /orders/r2/confirm?item=P0001");
}

static void the_next_sale_may_have_no_reservations(void **state)
{
    (void)state;
    for_each_reserving(settle_before_a_plain_sale);
}

/* ---- what else tells of them ----------------------------------------------------------------- */

static void look_at_dashboard(const char *strategy)
{
    char body[RESERVED_BODY];
    sell_reserving(strategy, 10, 5);
    reserve(0, "u1", "r1", 2, RESERVE_S, body);
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1");
    static const char *const parts[] = {"\"reserved\":2", "\"sold\":1", "\"reserve_max_s\":3600"};
    for (size_t i = 0; i < COUNT(parts); i++)
        for (int at = 0; at < FX_INSTANCES; at++)
            fx_await(fx.server[at], "GET /dashboard?item=P0001", 200, parts[i], RESERVE_WAIT_MS);
}

static void the_live_page_tells_what_is_reserved(void **state)
{
    (void)state;
    for_each_reserving(look_at_dashboard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sale_needs_a_limit_and_a_strategy_for_it),
        cmocka_unit_test(what_is_sold_at_once_says_so),
        cmocka_unit_test(not_for_so_long),
        cmocka_unit_test(nobody_settles_the_order_of_another),
        cmocka_unit_test(a_no_says_nothing_of_a_later_order),
        cmocka_unit_test(nothing_changes_after_the_time_that_was_set),
        cmocka_unit_test(a_reservation_outlives_its_sale),
        cmocka_unit_test(the_next_sale_may_have_no_reservations),
        cmocka_unit_test(the_live_page_tells_what_is_reserved),
    };
    fx.plan = (fx_plan){.instances = FX_INSTANCES, .one_server = true};
    return cmocka_run_group_tests(tests, start_with_clocks, stop_with_clocks);
}
