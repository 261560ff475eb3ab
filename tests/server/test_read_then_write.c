/*
 * test_read_then_write.c - an order that is still on its way to Redis when its buyer, who has heard
 * nothing, asks again and is refused. The refusal must be true, so the order must not come any
 * more.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/proxy.h"
#include "tests/support/site.h"

static fx_redis *redis;
static fx_proxy *proxy;
static fx_server *far, *near; /* far: behind the proxy */

static int setup(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    proxy = fx_proxy_start(fx_redis_url(redis));
    far = fx_server_start(fx_proxy_url(proxy), NULL);
    near = fx_server_start(fx_redis_url(redis), NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_server_kill(far);
    fx_server_kill(near);
    fx_proxy_stop(proxy);
    fx_redis_stop(redis);
    return 0;
}

static int ask(fx_server *server, const char *method, const char *path, const char *body,
               char answer[1024])
{
    char url[512];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s%s", fx_server_url(server), path);
    int status = fx_http(method, url, NULL, body, 15000, &reply);
    if (answer != NULL)
        snprintf(answer, 1024, "%s", reply.body);
    fx_reply_free(&reply);
    return status;
}

/* The number that Redis answers to `command` about a key of the sale. */
static int ask_redis(const char *command, const char *key)
{
    redisReply *sale = redisCommand(fx_redis_ctx(redis), "GET fs:{P0001}:sale");
    assert_true(sale != NULL && sale->type == REDIS_REPLY_STRING);
    redisReply *reply =
        redisCommand(fx_redis_ctx(redis), "%s fs:{P0001}:%s:%s", command, sale->str, key);
    assert_non_null(reply);
    int answer =
        reply->type == REDIS_REPLY_STRING ? (int)strtol(reply->str, NULL, 10) : (int)reply->integer;
    freeReplyObject(reply);
    freeReplyObject(sale);
    return answer;
}

static void *buy_far(void *arg)
{
    (void)arg;
    ask(far, "POST", "/buy?item=P0001&user=u1&request=k1", NULL, NULL);
    return NULL;
}

static bool is_delayed(void *arg)
{
    (void)arg;
    return fx_proxy_count(proxy, "delayed") > 0;
}

/* The late order has come: it stands in the books, or its unit was put back. */
static bool has_come(void *arg)
{
    (void)arg;
    return ask_redis("LLEN", "ledger") == 2 || ask_redis("GET", "stock") == 1;
}

static void who_is_told_sold_out_gets_no_order_later(void **state)
{
    (void)state;
    char body[1024];
    pthread_t buyer;
    assert_int_equal(
        ask(far, "POST", "/sales", "{\"item\":\"P0001\",\"stock\":2,\"strategy\":\"none\"}", NULL),
        201);
    assert_int_equal(ask(far, "POST", "/buy?item=P0001&user=u1", NULL, NULL), 201);

    fx_proxy_say(proxy, "delay request 5s 1 match script ARGV[8]"); /* record.lua */
    assert_int_equal(pthread_create(&buyer, NULL, buy_far, NULL), 0);
    assert_true(fx_wait_until(is_delayed, NULL, 10000));
    fx_server_kill(far); /* so its buyer hears nothing */
    far = NULL;
    pthread_join(buyer, NULL);

    assert_int_equal(ask_redis("GET", "stock"), 0);
    assert_int_equal(ask(near, "POST", "/buy?item=P0001&user=u1&request=k1", NULL, body), 409);
    assert_non_null(strstr(body, "\"code\":\"sold_out\""));
    assert_true(fx_wait_until(has_come, NULL, 20000));
    assert_int_equal(ask_redis("LLEN", "ledger"), 1);
    assert_int_equal(ask(near, "GET", "/orders/k1?item=P0001", NULL, body), 404);
    assert_non_null(strstr(body, "\"final\":true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_told_sold_out_gets_no_order_later),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
