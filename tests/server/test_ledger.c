/*
 * test_ledger.c - "no such order" is said for good only when it is true: over all sales that are
 * kept, over all segments, and also to somebody who asks seldom.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/site.h"

static fx_redis *redis;
static fx_server *server;
static char item[16]; /* of the case */

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

/* Asks and checks the status; the body in `body` when that is not NULL. */
static void ask(const char *method, const char *path, const char *sent, int status, char body[1024])
{
    char url[512];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s%s", fx_server_url(server), path);
    if (fx_http(method, url, NULL, sent, 15000, &reply) != status)
        fail_msg("%s %s: expected %d, got %d %s", method, path, status, reply.status, reply.body);
    if (body != NULL)
        snprintf(body, 1024, "%s", reply.body);
    fx_reply_free(&reply);
}

static void open_sale(const char *terms)
{
    char body[256];
    snprintf(body, sizeof(body), "{\"item\":\"%s\",%s}", item, terms);
    ask("POST", "/sales", body, 201, NULL);
}

static void buy(const char *request, int status, char body[1024])
{
    char path[128];
    snprintf(path, sizeof(path), "/buy?item=%s&user=u1&request=%s", item, request);
    ask("POST", path, NULL, status, body);
}

static void find(const char *request, int status, char body[1024])
{
    char path[128];
    snprintf(path, sizeof(path), "/orders/%s?item=%s", request, item);
    ask("GET", path, NULL, status, body);
}

static bool is_final(const char *request)
{
    char body[1024];
    find(request, 404, body);
    return strstr(body, "\"final\":true") != NULL;
}

/* The current sale and the base of the keys of one of its segments, -1 = not sharded. */
static void name_base(int segment, char base[128])
{
    char tag[32];
    redisReply *sale = redisCommand(fx_redis_ctx(redis), "GET fs:{%s}:sale", item);
    assert_true(sale != NULL && sale->type == REDIS_REPLY_STRING);
    snprintf(tag, sizeof(tag), segment < 0 ? "%s" : "%s#%d", item, segment);
    snprintf(base, 128, "fs:{%s}:%s", tag, sale->str);
    freeReplyObject(sale);
}

/* Lets the first question about a request lie an hour back, so that nobody has to wait here. */
static void age_note(int segment, const char *request)
{
    char base[128];
    name_base(segment, base);
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "PTTL %s:asked:%s", base, request);
    assert_non_null(reply);
    long long left_ms = reply->integer;
    freeReplyObject(reply);
    assert_in_range(left_ms, 23 * 3600 * 1000LL, 24 * 3600 * 1000LL); /* as long as the orders */
    redisReply *note = redisCommand(fx_redis_ctx(redis), "GET %s:asked:%s", base, request);
    assert_true(note != NULL && note->type == REDIS_REPLY_STRING);
    reply = redisCommand(fx_redis_ctx(redis), "SET %s:asked:%s %lld", base, request,
                         strtoll(note->str, NULL, 10) - 3600 * 1000000LL);
    assert_non_null(reply);
    freeReplyObject(reply);
    freeReplyObject(note);
}

static void an_order_is_found_after_any_number_of_sales(void **state)
{
    (void)state;
    char body[1024];
    snprintf(item, sizeof(item), "F1");
    open_sale("\"stock\":10,\"strategy\":\"sharded\",\"segments\":3");
    buy("mine", 201, NULL);
    open_sale("\"stock\":10,\"strategy\":\"none\"");
    open_sale("\"stock\":10,\"strategy\":\"sharded\",\"segments\":2");
    open_sale("\"stock\":10,\"strategy\":\"combined\"");
    find("mine", 200, body);
    assert_non_null(strstr(body, "\"request\":\"mine\""));
    assert_false(is_final("other"));
    age_note(-1, "other");
    assert_true(is_final("other"));
}

static void a_sale_that_can_not_be_read_leaves_it_open(void **state)
{
    (void)state;
    char base[128];
    snprintf(item, sizeof(item), "F2");
    open_sale("\"stock\":10,\"strategy\":\"atomic\"");
    name_base(-1, base);
    open_sale("\"stock\":10,\"strategy\":\"atomic\"");
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "DEL %s:cfg", base);
    assert_true(reply != NULL && reply->integer == 1);
    freeReplyObject(reply);
    assert_false(is_final("ghost"));
    age_note(-1, "ghost");
    assert_false(is_final("ghost"));
}

/* Which segment has the request's order. */
static int segment_of(const char *request, int segments)
{
    for (int k = 0; k < segments; k++) {
        char base[128];
        name_base(k, base);
        redisReply *reply =
            redisCommand(fx_redis_ctx(redis), "HEXISTS %s:orders %s", base, request);
        assert_non_null(reply);
        bool has = reply->integer == 1;
        freeReplyObject(reply);
        if (has)
            return k;
    }
    fail_msg("%s has no order", request);
    return -1;
}

/* Puts a request's order from one segment's books to another's, as if its own had been sold out. */
static void move_order(const char *request, int from, int to)
{
    char old[128], now[128];
    name_base(from, old);
    name_base(to, now);
    redisContext *ctx = fx_redis_ctx(redis);
    redisReply *record = redisCommand(ctx, "HGET %s:orders %s", old, request);
    assert_true(record != NULL && record->type == REDIS_REPLY_STRING);
    freeReplyObject(redisCommand(ctx, "HSET %s:orders %s %s", now, request, record->str));
    freeReplyObject(redisCommand(ctx, "HDEL %s:orders %s", old, request));
    freeReplyObject(record);
}

/* Leaves a sale of three segments with one order, on the segment after the one that its request
 * starts at. */
static void sell_further_on(void)
{
    open_sale("\"stock\":9,\"strategy\":\"sharded\",\"segments\":3");
    buy("far", 201, NULL);
    int start = segment_of("far", 3);
    move_order("far", start, (start + 1) % 3);
}

static void what_is_found_on_any_segment_is_not_void(void **state)
{
    (void)state;
    char body[1024];
    snprintf(item, sizeof(item), "F3");
    sell_further_on();
    int there = segment_of("far", 3);
    for (int k = 0; k < 3; k++) {
        char base[128];
        name_base(k, base);
        freeReplyObject(redisCommand(fx_redis_ctx(redis), "SET %s:asked:far 1", base));
    }
    find("far", 200, body);
    assert_int_equal(segment_of("far", 3), there); /* and on no segment before it anything else */

    /* Declared void where it starts, by somebody who did not get further. */
    char base[128];
    name_base((there + 2) % 3, base);
    freeReplyObject(redisCommand(fx_redis_ctx(redis), "HSET %s:orders far -", base));
    find("far", 200, body);
    buy("far", 201, body);
    assert_non_null(strstr(body, "\"request\":\"far\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_is_found_after_any_number_of_sales),
        cmocka_unit_test(a_sale_that_can_not_be_read_leaves_it_open),
        cmocka_unit_test(what_is_found_on_any_segment_is_not_void),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
