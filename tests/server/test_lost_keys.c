/*
 * test_lost_keys.c - a Redis that has lost some of a sale's keys: to an eviction, or to a hand that
 * deleted them. Nobody is sold anything from what is left of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

static fx_redis *redis;
static fx_server *server;

static int setup(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    server = fx_server_start(fx_redis_url(redis), NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_server_kill(server);
    fx_redis_stop(redis);
    return 0;
}

static int ask(const char *method, const char *path, const char *body, fx_reply *reply)
{
    char url[512];
    snprintf(url, sizeof(url), "%s%s", fx_server_url(server), path);
    return fx_http(method, url, NULL, body, 15000, reply);
}

static void expect(const char *what, const char *method, const char *path, const char *body,
                   int status)
{
    fx_reply reply;
    if (ask(method, path, body, &reply) != status)
        fail_msg("%s: %s %s: expected %d, got %d %s", what, method, path, status, reply.status,
                 reply.body);
    fx_reply_free(&reply);
}

static long long ask_redis(const char *command, const char *item, const char *key)
{
    redisReply *sale = redisCommand(fx_redis_ctx(redis), "GET fs:{%s}:sale", item);
    assert_true(sale != NULL && sale->type == REDIS_REPLY_STRING);
    redisReply *reply =
        redisCommand(fx_redis_ctx(redis), "%s fs:{%s}:%s:%s", command, item, sale->str, key);
    assert_non_null(reply);
    long long answer = reply->integer;
    freeReplyObject(reply);
    freeReplyObject(sale);
    return answer;
}

/* Sells one unit, loses one key, and asks for another unit. */
static void lose(const char *strategy, const char *key)
{
    static int count;
    char what[64], item[16], path[64], body[256];
    snprintf(what, sizeof(what), "%s without %s", strategy, key);
    snprintf(item, sizeof(item), "D%03d", ++count);
    snprintf(body, sizeof(body),
             "{\"item\":\"%s\",\"stock\":5,\"strategy\":\"%s\",\"per_user_limit\":3}", item,
             strategy);
    expect(what, "POST", "/sales", body, 201);
    snprintf(path, sizeof(path), "/buy?item=%s&user=u1", item);
    expect(what, "POST", path, NULL, 201);
    assert_int_equal(ask_redis("DEL", item, key), 1);
    expect(what, "POST", path, NULL, 503);
    if (ask_redis("EXISTS", item, key) != 0)
        fail_msg("%s: it is there again", what);
    snprintf(path, sizeof(path), "/stock?item=%s", item);
    expect(what, "GET", path, NULL, strcmp(key, "users") == 0 ? 200 : 503);
}

static void nothing_is_sold_from_what_is_left(void **state)
{
    (void)state;
    static const char *const strategies[] = {"none",     "setnx",  "fair",   "fenced",
                                             "combined", "atomic", "batched"};
    static const char *const keys[] = {"stock", "sold", "orders", "ledger", "users"};
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++)
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
            lose(strategies[i], keys[k]);
}

static void stock_that_was_written_by_a_stranger_is_not_sold(void **state)
{
    (void)state;
    expect("", "POST", "/sales", "{\"item\":\"X1\",\"stock\":5,\"strategy\":\"combined\"}", 201);
    expect("", "POST", "/buy?item=X1&user=u1", NULL, 201);
    assert_int_equal(ask_redis("INCR", "X1", "stock"), 5);
    expect("", "POST", "/buy?item=X1&user=u1", NULL, 503);
    assert_int_equal(ask_redis("LLEN", "X1", "ledger"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_sold_from_what_is_left),
        cmocka_unit_test(stock_that_was_written_by_a_stranger_is_not_sold),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
