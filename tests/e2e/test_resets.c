/*
 * test_resets.c - a bad line to Redis: connections reset before a request or after its execution.
 *
 * Buyers retry with the same key, as a client should, until they get an answer that is definite.
 * Whatever happens: no order twice, every 201 has its order, every refusal has none, and what stays
 * unknown is resolved by GET /orders/{request}.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/support/proxy.h"
#include "tests/support/site.h"

/* In one sale; with FLASHSALE_TEST_BUYS in the environment as many as it says, up to the limit. */
#define BUYS    1000
#define MOST    10000
#define CLIENTS 8
#define RETRIES 4

static fx_redis *redis;
static fx_proxy *proxy;
static fx_server *servers[FX_INSTANCES];

static int setup(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    proxy = fx_proxy_start(fx_redis_tcp_url(redis));
    for (int i = 0; i < FX_INSTANCES; i++)
        servers[i] = fx_server_start(fx_proxy_url(proxy), NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_server_kill(servers[i]);
    fx_proxy_stop(proxy);
    fx_redis_stop(redis);
    return 0;
}

static int ask(int at, const char *method, const char *path, const char *body, fx_reply *reply)
{
    char url[512];
    snprintf(url, sizeof(url), "%s%s", fx_server_url(servers[at % FX_INSTANCES]), path);
    return fx_http(method, url, NULL, body, 20000, reply);
}

/* ---- the crowd ------------------------------------------------------------------------------- */

static int buys, stock; /* of this sale */
static atomic_int next_buy;
static int outcome[MOST]; /* 201, 409, or 504 when it stayed unknown */
static const char *item;

/* One buyer: asks until the answer is definite, a few times. A 503 is definite too ("nothing was
 * bought by this try"), but after an unknown try it says nothing about that one. */
static int buy(int number)
{
    char path[256];
    bool doubt = false;
    snprintf(path, sizeof(path), "/buy?item=%s&user=u%d&request=r-%d", item, number % 100, number);
    for (int try = 0; try < RETRIES || !doubt; try++) {
        fx_reply reply;
        int status = ask(number + try, "POST", path, NULL, &reply);
        fx_reply_free(&reply);
        if (status == 201 || status == 409)
            return status;
        doubt = doubt || status != 503;
    }
    return 504;
}

static void *crowd(void *arg)
{
    (void)arg;
    for (int number; (number = atomic_fetch_add(&next_buy, 1)) < buys;)
        outcome[number] = buy(number);
    return NULL;
}

static void let_crowd_in(void)
{
    pthread_t threads[CLIENTS];
    atomic_store(&next_buy, 0);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd, NULL), 0);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- the books ------------------------------------------------------------------------------- */

static bool has_order(const char *sale, int number)
{
    redisReply *reply =
        redisCommand(fx_redis_ctx(redis), "HGET fs:{%s}:%s:orders r-%d", item, sale, number);
    bool has = reply != NULL && reply->type == REDIS_REPLY_STRING && reply->str[0] != '-';
    freeReplyObject(reply);
    return has;
}

static bool is_resolved(void *arg)
{
    char path[128];
    fx_reply reply;
    snprintf(path, sizeof(path), "/orders/r-%d?item=%s", *(int *)arg, item);
    int status = ask(0, "GET", path, NULL, &reply);
    bool resolved = status == 200 || (status == 404 && strstr(reply.body, "\"final\":true"));
    outcome[*(int *)arg] = status == 200 ? 201 : 409;
    fx_reply_free(&reply);
    return resolved;
}

static void check_books(const char *sale)
{
    int sold = 0, unknown[MOST], unknowns = 0;
    for (int i = 0; i < buys; i++)
        if (outcome[i] == 504)
            unknown[unknowns++] = i;
    for (int i = 0; i < unknowns; i++) /* the first question about each */
        is_resolved(&unknown[i]);
    for (int i = 0; i < unknowns; i++)
        assert_true(fx_wait_until(is_resolved, &unknown[i], 30000));
    for (int i = 0; i < buys; i++) {
        sold += outcome[i] == 201;
        if (has_order(sale, i) != (outcome[i] == 201))
            fail_msg("%s: r-%d was told %d", item, i, outcome[i]);
    }
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "LLEN fs:{%s}:%s:ledger", item, sale);
    assert_int_equal(reply->integer, sold);
    freeReplyObject(reply);
    reply = redisCommand(fx_redis_ctx(redis), "GET fs:{%s}:%s:stock", item, sale);
    assert_int_equal((int)strtol(reply->str, NULL, 10), stock - sold);
    freeReplyObject(reply);
    assert_int_equal(sold, stock); /* nobody is refused while there is stock */
}

static void sell_through_resets(const char *strategy, int how_many)
{
    char body[256], sale[64];
    fx_reply reply;
    item = strategy;
    buys = how_many;
    stock = how_many * 7 / 8;
    snprintf(body, sizeof(body),
             "{\"item\":\"%s\",\"stock\":%d,\"strategy\":\"%s\",\"wait_ms\":10000}", item, stock,
             strategy);
    assert_int_equal(ask(0, "POST", "/sales", body, &reply), 201);
    cJSON *started = fx_reply_json(&reply);
    snprintf(sale, sizeof(sale), "%s", fx_json_text(started, "sale"));
    cJSON_Delete(started);
    fx_reply_free(&reply);

    fx_proxy_say(proxy, "reset before 2.5%%");
    fx_proxy_say(proxy, "reset after 2.5%%");
    dlock_time begin = dlock_now();
    let_crowd_in();
    print_message("%s: %d buys in %lld ms\n", item, buys,
                  (long long)((dlock_now().us - begin.us) / 1000));
    fx_proxy_say(proxy, "heal");
    check_books(sale);
    assert_true(fx_proxy_count(proxy, "resets") > 20);
}

static void resets_make_no_duplicate_and_lose_no_order(void **state)
{
    (void)state;
    const char *said = getenv("FLASHSALE_TEST_BUYS");
    int how_many = said != NULL ? (int)strtol(said, NULL, 10) : BUYS;
    assert_in_range(how_many, 100, MOST);
    sell_through_resets("combined", how_many);
    sell_through_resets("atomic", how_many);
    sell_through_resets("fenced", how_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resets_make_no_duplicate_and_lose_no_order),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
