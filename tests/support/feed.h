/* feed.h - a database that follows a sale, as far as instances can tell: a record of one more
 * instance, "reader", which was asked for what comes after `orders`, so many seconds ago. */
#ifndef TESTS_SUPPORT_FEED_H
#define TESTS_SUPPORT_FEED_H

#include "tests/support/service.h"

static inline void fx_feed_leave(const char *item, const char *sale, int orders, int behind,
                                 int asked_s)
{
    fx_redis_do(fx.redis, "EVAL %s 1 fs:{flashsale}:instances %s %s %d %d %d",
                "redis.call('HDEL', KEYS[1], 'reader') "
                "local any, t = redis.call('HVALS', KEYS[1])[1], redis.call('TIME') "
                "local form, numbers = string.match(any, '^%d+ (%S+) %S+( .*)$') "
                "redis.call('HSET', KEYS[1], 'reader', string.format("
                "'%.0f %s reader%s %s %s %s %s %.0f', t[1] * 1000 + math.floor(t[2] / 1000), form,"
                " numbers, ARGV[1], ARGV[2], ARGV[3], ARGV[4], (t[1] - ARGV[5]) * 1000000))",
                item, sale, orders, behind, asked_s);
}

static inline void fx_feed_remove(void)
{
    fx_redis_do(fx.redis, "HDEL fs:{flashsale}:instances reader");
}

#endif
