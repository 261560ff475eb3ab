/*
 * test_checkout.c - a buyer asks again after the sale that it bought in is over, with the sale's
 * id, at an instance that may not have heard yet. It gets the order that it has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

static fx_redis *redis;
static fx_server *servers[2];
static char item[16]; /* of the case */

static int setup(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    for (int i = 0; i < 2; i++)
        servers[i] = fx_server_start(fx_redis_url(redis), NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        fx_server_kill(servers[i]);
    fx_redis_stop(redis);
    return 0;
}

/* Asks instance `at` and checks the status; the body in `body` when that is not NULL. */
static void ask(int at, const char *method, const char *path, const char *sent, int status,
                char body[1024])
{
    char url[512];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s%s", fx_server_url(servers[at]), path);
    if (fx_http(method, url, NULL, sent, 15000, &reply) != status)
        fail_msg("%s %s: expected %d, got %d %s", method, path, status, reply.status, reply.body);
    if (body != NULL)
        snprintf(body, 1024, "%s", reply.body);
    fx_reply_free(&reply);
}

/* Starts the case's next sale at instance 0. */
static void open_sale(const char *strategy, char id[64])
{
    char sent[256], body[1024];
    snprintf(sent, sizeof(sent), "{\"item\":\"%s\",\"stock\":50,\"strategy\":\"%s\"}", item,
             strategy);
    ask(0, "POST", "/sales", sent, 201, body);
    cJSON *sale = cJSON_Parse(body);
    snprintf(id, 64, "%s", fx_json_text(sale, "sale"));
    cJSON_Delete(sale);
}

/* Buys as u1; `sale` "" = in the current one, `request` "" = without a key. */
static void buy(int at, const char *request, const char *sale, int status, char body[1024])
{
    char path[256];
    snprintf(path, sizeof(path), "/buy?item=%s&user=u1%s%s%s%s", item,
             request[0] != '\0' ? "&request=" : "", request, sale[0] != '\0' ? "&sale=" : "", sale);
    ask(at, "POST", path, NULL, status, body);
}

static int sold_in(const char *sale)
{
    redisReply *keys = redisCommand(fx_redis_ctx(redis), "KEYS fs:*:%s:ledger", sale);
    assert_non_null(keys);
    int sold = 0;
    for (size_t i = 0; i < keys->elements; i++) {
        redisReply *len = redisCommand(fx_redis_ctx(redis), "LLEN %s", keys->element[i]->str);
        sold += (int)len->integer;
        freeReplyObject(len);
    }
    freeReplyObject(keys);
    return sold;
}

/* ---- retries --------------------------------------------------------------------------------- */

static const char *const pairs[][2] = {
    {"atomic", "combined"}, {"sharded", "atomic"}, {"combined", "sharded"}, {"setnx", "none"},
    {"sharded", "sharded"}, {"none", "fenced"},    {"fenced", "batched"},
};

static void has(const char *body, const char *code)
{
    if (strstr(body, code) == NULL)
        fail_msg("expected %s in %s", code, body);
}

/* The instances are asked at once after the switch: instance 1 may know the new sale or not. */
static void a_retry_gets_its_order_across_a_switch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        char first[1024], again[1024], path[128], old[64], now[64];
        snprintf(item, sizeof(item), "A%zu", i);
        open_sale(pairs[i][0], old);
        buy(1, "k1", "", 201, first);
        open_sale(pairs[i][1], now);
        for (int at = 1; at >= 0; at--) {
            buy(at, "k1", old, 201, again);
            assert_string_equal(again, first);
        }
        assert_int_equal(sold_in(now), 0);
        snprintf(path, sizeof(path), "/buy?item=%s&user=u2&request=k1&sale=%s", item, old);
        ask(0, "POST", path, NULL, 422, again);
        buy(0, "k2", old, 409, again);
        has(again, "sale_closed");
        buy(0, "", old, 409, again);
        has(again, "sale_closed");
        buy(1, "k2", "", 201, NULL);
        buy(0, "", "", 201, NULL);
        assert_int_equal(sold_in(old), 1);
        assert_int_equal(sold_in(now), 2);
    }
}

static void with_the_sale_a_retry_gets_its_order_for_as_long_as_it_is_kept(void **state)
{
    (void)state;
    char first[1024], again[1024], old[64], id[64];
    snprintf(item, sizeof(item), "B1");
    open_sale("sharded", old);
    buy(0, "k1", "", 201, first);
    open_sale("atomic", id);
    open_sale("none", id);
    open_sale("combined", id);
    buy(0, "k1", old, 201, again);
    assert_string_equal(again, first);
    buy(0, "k1", "nonsense", 404, again);
    has(again, "no_such_sale");
    assert_int_equal(sold_in(id), 0);
}

static void the_newest_sale_is_found_by_its_id_at_every_instance(void **state)
{
    (void)state;
    char id[64];
    snprintf(item, sizeof(item), "C1");
    open_sale("atomic", id);
    buy(1, "", id, 201, NULL);
    open_sale("atomic", id);
    buy(1, "k1", id, 201, NULL);
    assert_int_equal(sold_in(id), 1);
}

static void what_was_declared_void_stays_so_when_the_sale_is_over(void **state)
{
    (void)state;
    char body[1024], old[64], now[64];
    snprintf(item, sizeof(item), "E1");
    open_sale("atomic", old);
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "HSET fs:{%s}:%s:orders k1 -", item, old);
    assert_true(reply != NULL && reply->integer == 1);
    freeReplyObject(reply);
    open_sale("combined", now);
    buy(0, "k1", old, 409, body);
    has(body, "request_void");
    has(body, old);
    assert_int_equal(sold_in(now), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_gets_its_order_across_a_switch),
        cmocka_unit_test(with_the_sale_a_retry_gets_its_order_for_as_long_as_it_is_kept),
        cmocka_unit_test(the_newest_sale_is_found_by_its_id_at_every_instance),
        cmocka_unit_test(what_was_declared_void_stays_so_when_the_sale_is_over),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
