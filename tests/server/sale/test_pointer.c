/*
 * test_pointer.c - pointers to a sale, an item's or a segment's, that are missing or not what they
 * were: nothing is sold twice, nothing is written over, who has an order gets it, and what is
 * mended is sold.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

enum { WAIT_MS = 30000 };

static const char *const none_of_a_sale[] = {
    "", "abc", "ZZ", "z z", "0", "90.0", "06fffffffffff", "06FFFFFFFFFFFF", "06ffffffffffff ",
};
enum { NONE_OF_A_SALE = COUNT(none_of_a_sale) };

static void has(const char *body, const char *part)
{
    if (strstr(body, part) == NULL)
        fail_msg("expected %s in %s", part, body);
}

/* An argument of its own: some are empty, or have blanks. */
static void set(const char *key, const char *value)
{
    redisReply *reply = fx_redis_reply(fx.redis, "SET %s %s", key, value);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

static void await(const char *item, int status, const char *answer)
{
    char request[96];
    snprintf(request, sizeof(request), "POST /buy?item=%s&user=u1", item);
    fx_await(fx.server[0], request, status, answer, WAIT_MS);
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Sells so many of 40 in two segments, at an instance that is gone then. */
static const char *sell_and_go(const char *item, int units)
{
    fx_server *first = fx_server_start(fx_redis_url(fx.redis), NULL);
    const char *sale = fx_start_sale(first, item, "'stock':40,'strategy':'sharded','segments':2");
    for (int i = 0; i < units; i++)
        fx_expect(first, 201, "POST /buy?item=%s&user=u1&request=a%d", item, i);
    fx_server_kill(first);
    return sale;
}

/* As when a node of a cluster has come back empty. */
static void an_emptied_segment_is_not_started_again(void **state)
{
    (void)state;
    sell_and_go("E1", 31);
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS fs:{E1#0}:*");
    assert_non_null(keys);
    assert_true(keys->elements > 4);
    for (size_t i = 0; i < keys->elements; i++)
        fx_redis_do(fx.redis, "DEL %s", keys->element[i]->str);
    freeReplyObject(keys);
    for (int i = 0; i < 20; i++)
        fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=E1&user=u2&request=b%d",
                   i);
}

/* Of a sale whose starter has not said that it was done. */
static void what_a_segment_has_is_not_written_over(void **state)
{
    (void)state;
    char stock[128], sold[128];
    const char *sale = sell_and_go("E2", 10);
    snprintf(stock, sizeof(stock), "GET fs:{E2#0}:%s:stock", sale);
    snprintf(sold, sizeof(sold), "GET fs:{E2#0}:%s:sold", sale);
    long long left = fx_redis_number(fx.redis, stock), ordered = fx_redis_number(fx.redis, sold);
    fx_redis_do(fx.redis, "HSET fs:{E2}:%s:cfg segments_started 0", sale);
    fx_redis_do(fx.redis, "DEL fs:{E2#0}:sale fs:{E2#0}:latest");
    fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=E2&user=u2");
    assert_int_equal(fx_redis_number(fx.redis, stock), left);
    assert_int_equal(fx_redis_number(fx.redis, sold), ordered);
}

static void a_strange_pointer_of_a_segment_is_damage(void **state)
{
    (void)state;
    char sale[64], half[128];
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "E3", "'stock':10000,'strategy':'sharded','segments':2"));
    snprintf(half, sizeof(half), "%s rolled_back 1", sale);
    for (int i = 0; i <= NONE_OF_A_SALE; i++) {
        set("fs:{E3#1}:sale", i < NONE_OF_A_SALE ? none_of_a_sale[i] : half);
        await("E3", 503, "\"sale_damaged\""); /* a buyer may start in the other segment */
        for (int k = 0; k < 8; k++)
            fx_refused(fx.server[0], 503, "sale_damaged", "POST /buy?item=E3&user=u1&request=%d-%d",
                       i, k);
        set("fs:{E3#1}:sale", sale);
        await("E3", 201, "");
    }
    char halt[160];
    snprintf(halt, sizeof(halt), "%s rolled_back 1 0 x 1", sale);
    set("fs:{E3#1}:sale", halt);
    await("E3", 503, "\"sale_rolled_back\"");
}

/* ---- the item -------------------------------------------------------------------------------- */

static void a_strange_pointer_is_no_missing_sale(void **state)
{
    (void)state;
    char sale[64], order[1024], now[512], longest[300];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "P1", "'stock':10000,'strategy':'combined'"));
    snprintf(order, sizeof(order), "%s",
             fx_expect(fx.server[0], 201, "POST /buy?item=P1&user=u1&request=k1"));
    for (int i = 0; i <= NONE_OF_A_SALE; i++) {
        const char *strange = i < NONE_OF_A_SALE ? none_of_a_sale[i] : longest;
        set("fs:{P1}:sale", strange);
        await("P1", 503, "\"sale_damaged\"");
        assert_string_equal(fx_expect(fx.server[0], 201, "POST /buy?item=P1&user=u1&request=k1"),
                            order);
        fx_expect(fx.server[0], 200, "GET /orders/k1?item=P1");
        fx_server *other =
            fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--item", "P1", "--stock", "50"));
        fx_refused(other, 503, "sale_damaged", "POST /buy?item=P1&user=u1");
        fx_refused(other, 503, NULL, "POST /sales {'item':'P1','stock':50}");
        fx_server_kill(other);
        assert_true(fx_redis_text(fx.redis, now, sizeof(now), "GET fs:{P1}:sale"));
        assert_string_equal(now, strange);
        set("fs:{P1}:sale", sale);
        await("P1", 201, "");
    }
}

/* The pointer leads away for a while, and the sale has lost an order when it is back. `buy` is told
 * meanwhile. */
static void lead_away(const char *item, const char *code)
{
    char key[64];
    const char *sale = fx_start_sale(fx.server[0], item, "'stock':10000,'strategy':'atomic'");
    snprintf(key, sizeof(key), "fs:{%s}:sale", item);
    for (int i = 0; i < 9; i++)
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=k%d", item, i);
    set(key, "06ffffffffffff");
    await(item, 503, code);
    if (strcmp(code, "\"sale_damaged\"") == 0)
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=k1", item);
    fx_redis_do(fx.redis, "RPOP fs:{%s}:%s:ledger", item, sale);
    set(key, sale);
    await(item, 503, "\"sale_rolled_back\"");
    has(fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=%s&user=u1", item),
        "\"known\":9,\"found\":8,");
    has(fx_expect(fx.server[0], 200, "GET /readyz"), item);
    fx_expect(fx.server[0], 200, "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':1}",
              item, sale);
    await(item, 201, "");
    if (strstr(fx_expect(fx.server[0], 200, "GET /readyz"), item) != NULL)
        fail_msg("%s is sold, and yet in trouble", item);
}

static void what_was_known_outlives_a_pointer_to_nothing(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "sound", "'stock':9");
    lead_away("P2", "\"sale_damaged\"");
    fx_redis_do(fx.redis, "HSET fs:{P3}:06ffffffffffff:cfg schema 99");
    lead_away("P3", "\"sale_unreadable\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_emptied_segment_is_not_started_again),
        cmocka_unit_test(what_a_segment_has_is_not_written_over),
        cmocka_unit_test(a_strange_pointer_of_a_segment_is_damage),
        cmocka_unit_test(a_strange_pointer_is_no_missing_sale),
        cmocka_unit_test(what_was_known_outlives_a_pointer_to_nothing),
    };
    return fx_run(tests, .instances = 1);
}
