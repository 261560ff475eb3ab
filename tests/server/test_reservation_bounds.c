/*
 * test_reservation_bounds.c - what reservations may leave in Redis, and may cost it: orders that
 * sold nothing, and the ends that one user holds open. The numbers are brought about in Redis
 * itself.
 */
#include "tests/support/service.h"

#include <stdio.h>

static char sale[64];

static void begin(int stock, int limit)
{
    char terms[128];
    snprintf(terms, sizeof(terms), "'stock':%d,'per_user_limit':%d,'reserve_max_s':600", stock,
             limit);
    snprintf(sale, sizeof(sale), "%s", fx_start_sale(fx.server[0], "P0001", terms));
}

/* Runs Lua with the sale's keys: `key('stock')` and so on. */
static void in_redis(const char *body)
{
    char script[2048];
    snprintf(script, sizeof(script),
             "local function key(name) return 'fs:{P0001}:%s:' .. name end "
             "local epoch = string.match(redis.call('GET', key('epochs')), '^%%x+') %s",
             sale, body);
    fx_redis_do(fx.redis, "EVAL %s 1 fs:{P0001}:sale", script);
}

static void orders_that_come_to_nothing_are_bounded(void **state)
{
    (void)state;
    begin(3, 2);
    in_redis("redis.call('HSET', key('users'), 'u1', '0')");
    for (int i = 0; i < 20; i++) /* 1,000,020 */
        in_redis("local first = redis.call('LLEN', key('ledger')) "
                 "for n = first + 1, first + 50001 do "
                 "redis.call('HSET', key('orders'), 'o' .. n, n .. ' u1 1 2 0 i 1 ' .. epoch .. "
                 "' cancelled 17000000000') "
                 "redis.call('RPUSH', key('ledger'), 'o' .. n .. ' reserved') end");
    fx_refused(fx.server[0], 400, "reservation_not_offered",
               "POST /buy?item=P0001&user=u2&reserve_s=60");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u2");
}

static void the_ends_of_a_user_are_bounded(void **state)
{
    (void)state;
    begin(2000, 2000);
    in_redis(
        "local word, first = '0', redis.call('TIME')[1] * 10 + 3000 "
        "for n = 1, 1000 do local name = string.format('%.0f', first + n) "
        "redis.call('ZADD', key('buckets'), name, name) "
        "redis.call('HSET', key('reserved'), name, '1') "
        "redis.call('HSET', key('orders'), 'o' .. n, n .. ' u1 1 ' .. 2000 - n .. ' 0 i 1 ' .. "
        "epoch .. ' reserved ' .. name) "
        "redis.call('RPUSH', key('ledger'), 'o' .. n .. ' reserved') "
        "word = word .. ' ' .. name .. ':1' end "
        "redis.call('HSET', key('users'), 'u1', word) "
        "redis.call('HSET', key('reserved'), 'units', '1000') "
        "redis.call('SET', key('stock'), '1000')");
    fx_refused(fx.server[0], 409, "limit_reached", "POST /buy?item=P0001&user=u1&reserve_s=60");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u2&reserve_s=60");
    fx_expect(fx.server[0], 200, "POST /orders/o1/cancel?item=P0001");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1&reserve_s=60");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_that_come_to_nothing_are_bounded),
        cmocka_unit_test(the_ends_of_a_user_are_bounded),
    };
    return fx_run(tests, .instances = 1);
}
