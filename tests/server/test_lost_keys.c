/*
 * test_lost_keys.c - a Redis that has lost some of a sale's keys: to an eviction, or to a hand that
 * deleted them. Nobody is sold anything from what is left of it.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

/* Sells one unit, loses one key, and asks for another unit. */
static void lose(const char *strategy, const char *key)
{
    static int count;
    char item[16];
    print_message("%s without %s\n", strategy, key);
    snprintf(item, sizeof(item), "D%03d", ++count);
    const char *sale =
        fx_start_sale(fx.server[0], item, "'stock':5,'strategy':'%s','per_user_limit':3", strategy);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1", item);
    assert_int_equal(fx_redis_number(fx.redis, "DEL fs:{%s}:%s:%s", item, sale, key), 1);
    fx_refused(fx.server[0], 503, "sale_damaged", "POST /buy?item=%s&user=u1", item);
    assert_int_equal(fx_redis_number(fx.redis, "EXISTS fs:{%s}:%s:%s", item, sale, key), 0);
    fx_has(fx_refused(fx.server[0], 503, "sale_damaged", "GET /stock?item=%s", item), sale);
}

static void nothing_is_sold_from_what_is_left(void **state)
{
    (void)state;
    static const char *const keys[] = {"stock", "sold", "orders", "ledger", "users"};
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++)
        for (size_t k = 0; !s->sharded && k < COUNT(keys); k++)
            lose(s->name, keys[k]);
}

static void stock_that_was_written_by_a_stranger_is_not_sold(void **state)
{
    (void)state;
    const char *sale = fx_start_sale(fx.server[0], "X1", "'stock':5,'strategy':'combined'");
    fx_expect(fx.server[0], 201, "POST /buy?item=X1&user=u1");
    assert_int_equal(fx_redis_number(fx.redis, "INCR fs:{X1}:%s:stock", sale), 5);
    fx_refused(fx.server[0], 503, "sale_damaged", "POST /buy?item=X1&user=u1");
    fx_refused(fx.server[0], 503, "sale_damaged", "GET /stock?item=X1");
    assert_int_equal(fx_redis_number(fx.redis, "LLEN fs:{X1}:%s:ledger", sale), 1);
}

/* One segment is lost: as soon as a buyer has met it, the others sell no more; then it is mended.
 */
static void a_segment_that_is_lost_stops_the_others(void **state)
{
    (void)state;
    int sold = 0;
    char stock[128];
    const char *sale =
        fx_start_sale(fx.server[0], "X2", "'stock':300,'strategy':'sharded','segments':3");
    snprintf(stock, sizeof(stock), "fs:{X2#1}:%s:stock", sale);
    fx_redis_do(fx.redis, "RENAME %s %s:saved", stock, stock);
    while (fx_status(fx.server[0], "POST /buy?item=X2&user=u1&request=s%d", sold) == 201)
        assert_in_range(sold++, 0, 100);
    for (int i = 0; i < 20; i++)
        fx_refused(fx.server[0], 503, "sale_damaged", "POST /buy?item=X2&user=u2");
    if (sold > 0)
        fx_expect(fx.server[0], 201, "POST /buy?item=X2&user=u1&request=s0"); /* a retry */
    fx_redis_do(fx.redis, "RENAME %s:saved %s", stock, stock);
    for (int i = 0; i < 20; i++)
        fx_expect(fx.server[0], 201, "POST /buy?item=X2&user=u3");
}

/* A stock that is none was "sold out" to strategies that read it first, and their ids were void. */
static void a_stock_that_is_mended_sells_on(void **state)
{
    (void)state;
    static const char *const values[] = {"abc", "", "12.5", "99999999999999999999"};
    static int count;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char item[16];
        snprintf(item, sizeof(item), "V%03d", ++count);
        const char *sale = fx_start_sale(fx.server[0], item, "'stock':9,'strategy':'%s'%s", s->name,
                                         s->sharded ? ",'segments':1" : "");
        char stock[128];
        snprintf(stock, sizeof(stock), s->sharded ? "fs:{%s#0}:%s:stock" : "fs:{%s}:%s:stock", item,
                 sale);
        for (size_t i = 0; i < COUNT(values); i++) {
            fx_redis_do(fx.redis, "SET %s %s", stock, values[i]);
            fx_refused(fx.server[0], 503, "sale_damaged", "POST /buy?item=%s&user=u1&request=k%zu",
                       item, i);
            fx_refused(fx.server[0], 503, "sale_damaged", "GET /stock?item=%s", item);
            fx_redis_do(fx.redis, "SET %s %d", stock, 9 - (int)i);
            fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=k%zu", item, i);
        }
        assert_non_null(
            strstr(fx_expect(fx.server[0], 200, "GET /stock?item=%s", item), "\"unordered\":0"));
        fx_redis_do(fx.redis, "SET %s 2", stock); /* as when an order never came */
        if (s->guarded) { /* whose stock and orders are written in one step */
            fx_refused(fx.server[0], 503, "sale_damaged", "GET /stock?item=%s", item);
            fx_refused(fx.server[0], 503, "sale_damaged", "POST /buy?item=%s&user=u1", item);
            continue;
        }
        assert_non_null(
            strstr(fx_expect(fx.server[0], 200, "GET /stock?item=%s", item), "\"unordered\":3"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_sold_from_what_is_left),
        cmocka_unit_test(a_segment_that_is_lost_stops_the_others),
        cmocka_unit_test(a_stock_that_is_mended_sells_on),
        cmocka_unit_test(stock_that_was_written_by_a_stranger_is_not_sold),
    };
    return fx_run(tests, .instances = 1);
}
