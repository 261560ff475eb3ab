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
    fx_expect(fx.server[0], 503, "POST /buy?item=%s&user=u1", item);
    assert_int_equal(fx_redis_number(fx.redis, "EXISTS fs:{%s}:%s:%s", item, sale, key), 0);
    fx_expect(fx.server[0], 503, "GET /stock?item=%s", item);
}

static void nothing_is_sold_from_what_is_left(void **state)
{
    (void)state;
    static const char *const keys[] = {"stock", "sold", "orders", "ledger", "users"};
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++)
        for (size_t k = 0; !s->sharded && k < sizeof(keys) / sizeof(keys[0]); k++)
            lose(s->name, keys[k]);
}

static void stock_that_was_written_by_a_stranger_is_not_sold(void **state)
{
    (void)state;
    const char *sale = fx_start_sale(fx.server[0], "X1", "'stock':5,'strategy':'combined'");
    fx_expect(fx.server[0], 201, "POST /buy?item=X1&user=u1");
    assert_int_equal(fx_redis_number(fx.redis, "INCR fs:{X1}:%s:stock", sale), 5);
    fx_expect(fx.server[0], 503, "POST /buy?item=X1&user=u1");
    assert_int_equal(fx_redis_number(fx.redis, "LLEN fs:{X1}:%s:ledger", sale), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_sold_from_what_is_left),
        cmocka_unit_test(stock_that_was_written_by_a_stranger_is_not_sold),
    };
    return fx_run(tests, .instances = 1);
}
