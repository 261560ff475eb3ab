/*
 * test_orders.c - reading orders: the ledger in pages, orders of earlier sales; and "no such order"
 * is said for good only when it is true: over the sales that may have it, and over all segments.
 * What questions cost the shop in memory and in commands is bounded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

static char item[16]; /* of the case */

static void start_sale(const char *terms)
{
    fx_start_sale(fx.server[0], item, "%s", terms);
}

static const char *buy(const char *request, int status)
{
    return fx_expect(fx.server[0], status, "POST /buy?item=%s&user=u1&request=%s", item, request);
}

static const char *find(const char *request, int status)
{
    return fx_expect(fx.server[0], status, "GET /orders/%s?item=%s", request, item);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static int count_page(const char *cursor, char *next, size_t next_len)
{
    cJSON *page = cJSON_Parse(fx_expect(fx.server[1], 200, "GET /orders?item=P0001%s%s",
                                        cursor[0] ? "&cursor=" : "", cursor));
    assert_non_null(page);
    int count = cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(page, "orders"));
    const cJSON *cursor_json = cJSON_GetObjectItemCaseSensitive(page, "cursor");
    snprintf(next, next_len, "%s", cJSON_IsString(cursor_json) ? cursor_json->valuestring : "");
    cJSON_Delete(page);
    return count;
}

static void the_ledger_is_read_in_pages(void **state)
{
    (void)state;
    static const char *const strategies[] = {"atomic", "sharded"};
    for (int s = 0; s < 2; s++) {
        char cursor[40] = "";
        fx_sell("'stock':500,'strategy':'%s'", strategies[s]);
        for (int i = 0; i < 230; i++)
            fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u%d", i);
        int orders = 0, pages = 0;
        do {
            orders += count_page(cursor, cursor, sizeof(cursor));
            pages++;
        } while (cursor[0] != '\0');
        assert_int_equal(orders, 230);
        assert_in_range(pages, 3, 8);
    }
    fx_expect(fx.server[0], 400, "GET /orders?item=P0001&cursor=9.0");
    fx_expect(fx.server[0], 400, "GET /orders?item=P0001&cursor=x");
}

static void orders_of_the_sale_before_are_still_found(void **state)
{
    (void)state;
    fx_sell("'stock':10,'strategy':'sharded'");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1&request=before");
    fx_sell("'stock':10,'strategy':'combined'");
    const char *body = fx_expect(fx.server[2], 200, "GET /orders/before?item=P0001");
    assert_non_null(strstr(body, "\"request\":\"before\""));
}

/* ---- for good -------------------------------------------------------------------------------- */

static bool is_final(void *request)
{
    return strstr(find(request, 404), "\"final\":true") != NULL;
}

static void no_such_order_becomes_final_and_stays_true(void **state)
{
    (void)state;
    snprintf(item, sizeof(item), "F0");
    start_sale("'stock':10,'strategy':'combined'");
    assert_false(is_final((void *)"ghost"));
    assert_true(fx_wait_until(is_final, (void *)"ghost", 20000));
    fx_refused(fx.server[0], 409, "request_void", "POST /buy?item=F0&user=u1&request=ghost");
    assert_true(is_final((void *)"ghost"));
    const char *stock = fx_expect(fx.server[0], 200, "GET /stock?item=F0");
    assert_non_null(strstr(stock, "\"orders\":0,"));
}

/* What is told to be final is so in the sale that is named, and in no later one. */
static void what_is_final_is_so_in_the_sale_that_is_named(void **state)
{
    (void)state;
    char first[64], named[64], query[96];
    snprintf(item, sizeof(item), "F6");
    start_sale("'stock':10,'strategy':'combined'");
    snprintf(first, sizeof(first), "%s", fx_current_sale(item));
    fx_redis_do(fx.redis, "ZADD fs:{%s}:%s:asked 1 ghost", item, first); /* asked long ago */
    fx_copy_member(find("ghost", 404), "sale", named, sizeof(named));
    assert_string_equal(named, first);
    assert_true(is_final((void *)"ghost"));
    start_sale("'stock':10,'strategy':'combined'");
    buy("ghost", 201);
    snprintf(query, sizeof(query), "%s&sale=%s", item, first);
    const char *body = fx_expect(fx.server[0], 404, "GET /orders/ghost?item=%s", query);
    assert_non_null(strstr(body, "\"final\":true"));
    fx_copy_member(body, "sale", named, sizeof(named));
    assert_string_equal(named, first);
}

/* Moves the item's current sale a day and an hour back, and drops the one before. */
static void age_sale(fx_redis *redis, const char *before, const char *now)
{
    char old[64], older[64];
    long long day_us = 25 * 3600 * 1000000LL;
    snprintf(old, sizeof(old), "%014llx", strtoull(now, NULL, 16) - (unsigned long long)day_us);
    snprintf(older, sizeof(older), "%014llx",
             strtoull(before, NULL, 16) - (unsigned long long)day_us);
    static const char *const keys[] = {"cfg", "stock", "sold", "epochs"};
    for (size_t i = 0; i < COUNT(keys); i++) {
        fx_redis_do(redis, "RENAME fs:{F7}:%s:%s fs:{F7}:%s:%s", now, keys[i], old, keys[i]);
        fx_redis_do(redis, "DEL fs:{F7}:%s:%s", before, keys[i]);
    }
    fx_redis_do(redis, "HSET fs:{F7}:%s:cfg previous %s", old, older);
    fx_redis_do(redis, "HDEL fs:{F7}:%s:cfg digest", old); /* it was of the other terms */
    fx_redis_do(redis, "SET fs:{F7}:sale %s", old);
    fx_redis_do(redis, "ZADD fs:{F7}:%s:asked 1 early", old); /* asked long ago */
}

/* An order that is gone with its sale was one: nobody is told that it never was. */
static void what_is_older_than_sales_are_kept_is_not_final(void **state)
{
    (void)state;
    char before[64], now[64], sale[64];
    fx_redis *redis = fx_redis_start(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    snprintf(before, 64, "%s", fx_start_sale(server, "F7", "'stock':10,'strategy':'atomic'"));
    fx_expect(server, 201, "POST /buy?item=F7&user=u1&request=early");
    snprintf(now, 64, "%s", fx_start_sale(server, "F7", "'stock':10,'strategy':'atomic'"));
    fx_server_kill(server);
    age_sale(redis, before, now);

    server = fx_server_start(fx_redis_url(redis), NULL);
    const char *body = fx_expect(server, 404, "GET /orders/early?item=F7");
    if (!strstr(body, "\"final\":false") || !strstr(body, "it had others"))
        fail_msg("%s", body);
    fx_copy_member(body, "sale", sale, sizeof(sale)); /* of this one alone it is known */
    body = fx_expect(server, 404, "GET /orders/early?item=F7&sale=%s", sale);
    assert_non_null(strstr(body, "\"final\":true"));
    fx_server_kill(server);
    fx_redis_stop(redis);
}

/* The base of the keys of one segment of the current sale, -1 = not sharded. */
static void name_base(int segment, char base[128])
{
    char tag[32];
    snprintf(tag, sizeof(tag), segment < 0 ? "%s" : "%s#%d", item, segment);
    snprintf(base, 128, "fs:{%s}:%s", tag, fx_current_sale(item));
}

/* Lets the first question about a request lie a minute back, so that nobody has to wait here. */
static void age_note(const char *request)
{
    char base[128];
    name_base(-1, base);
    assert_in_range(fx_redis_number(fx.redis, "PTTL %s:asked", base), 1, 10 * 11000);
    long long asked_us = fx_redis_number(fx.redis, "ZSCORE %s:asked %s", base, request);
    assert_true(asked_us > 0);
    fx_redis_do(fx.redis, "ZADD %s:asked %lld %s", base, asked_us - 60 * 1000000LL, request);
}

/* In the current sale and the one before; with its sale as long as that is kept. Of an item that
 * had no other sales "no" becomes final, of others not. */
static void an_order_is_found_after_any_number_of_sales(void **state)
{
    (void)state;
    char first[64];
    snprintf(item, sizeof(item), "F1");
    start_sale("'stock':10,'strategy':'sharded','segments':3");
    snprintf(first, sizeof(first), "%s", fx_current_sale(item));
    buy("mine", 201);
    start_sale("'stock':10,'strategy':'none'");
    assert_non_null(strstr(find("mine", 200), "\"request\":\"mine\""));
    assert_false(is_final((void *)"other"));
    age_note("other");
    assert_true(is_final((void *)"other"));

    start_sale("'stock':10,'strategy':'sharded','segments':2");
    buy("late", 201);
    start_sale("'stock':10,'strategy':'combined'");
    assert_non_null(strstr(find("late", 200), "\"request\":\"late\""));
    assert_false(is_final((void *)"mine"));
    fx_expect(fx.server[0], 200, "GET /orders/mine?item=F1&sale=%s", first);
}

static void a_sale_that_can_not_be_read_leaves_it_open(void **state)
{
    (void)state;
    char base[128];
    snprintf(item, sizeof(item), "F2");
    start_sale("'stock':10,'strategy':'atomic'");
    name_base(-1, base);
    start_sale("'stock':10,'strategy':'atomic'");
    assert_int_equal(fx_redis_number(fx.redis, "DEL %s:cfg", base), 1);
    name_base(-1, base);
    fx_redis_do(fx.redis, "ZADD %s:asked 1 ghost", base); /* asked long ago */
    fx_refused(fx.server[0], 503, "sale_damaged", "GET /orders/ghost?item=%s", item);
}

/* Terms that are missing beside a stock are damage: the request may have an order. */
static void a_sale_without_its_terms_is_not_taken_for_none(void **state)
{
    (void)state;
    char base[128], first[64];
    snprintf(item, sizeof(item), "F7");
    start_sale("'stock':10,'strategy':'atomic'");
    snprintf(first, sizeof(first), "%s", fx_current_sale(item));
    name_base(-1, base);
    buy("mine", 201);
    start_sale("'stock':10,'strategy':'atomic'");
    fx_redis_do(fx.redis, "RENAME %s:cfg %s:away", base, base);
    fx_refused(fx.server[0], 503, "sale_damaged", "GET /orders/mine?item=F7&sale=%s", first);
    fx_refused(fx.server[0], 503, "sale_damaged", "POST /buy?item=F7&user=u1&request=mine&sale=%s",
               first);
    fx_redis_do(fx.redis, "RENAME %s:away %s:cfg", base, base);
    fx_expect(fx.server[0], 200, "GET /orders/mine?item=F7&sale=%s", first);
}

/* What stands where the item's sale belongs may be damage: then the sale is not over. */
static void a_sale_is_over_only_when_a_later_one_is_there(void **state)
{
    (void)state;
    char sale[64];
    fx_reply reply;
    snprintf(item, sizeof(item), "F8");
    start_sale("'stock':10,'strategy':'combined'");
    snprintf(sale, sizeof(sale), "%s", fx_current_sale(item));
    fx_redis_do(fx.redis, "SET fs:{F8}:sale ffffffffffffff");
    fx_ask(fx.server[0], &reply, "GET /orders/k9?item=F8&sale=%s", sale);
    assert_null(strstr(reply.body, "\"final\":true"));
    fx_reply_free(&reply);
    fx_redis_do(fx.redis, "SET fs:{F8}:sale %s", sale);
    assert_non_null(strstr(buy("k9", 201), "\"request\":\"k9\""));
}

/* Who has an order in the sale before hears no "no" while that sale's data are damaged, however
 * they ask; and all of it when they are mended. */
static void damage_of_the_sale_before_is_no_answer(void **state)
{
    (void)state;
    char base[128], first[64], record[256];
    snprintf(item, sizeof(item), "F5");
    start_sale("'stock':10,'strategy':'atomic'");
    snprintf(first, sizeof(first), "%s", fx_current_sale(item));
    name_base(-1, base);
    buy("mine", 201);
    start_sale("'stock':10,'strategy':'atomic'");
    assert_true(fx_redis_text(fx.redis, record, sizeof(record), "HGET %s:orders mine", base));
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            fx_redis_do(fx.redis, "HSET %s:cfg per_user_limit 7", base);
        else
            fx_redis_do(fx.redis, "HDEL %s:orders mine", base);
        find("mine", i == 0 ? 503 : 404);
        if (i == 1)
            age_note("mine"); /* it would be final now */
        fx_refused(fx.server[0], 503, "sale_damaged", "GET /orders/mine?item=F5");
        fx_refused(fx.server[0], 503, "sale_damaged", "GET /orders/mine?item=F5&sale=%s", first);
        fx_refused(fx.server[0], 503, "sale_damaged",
                   "POST /buy?item=F5&user=u1&request=mine&sale=%s", first);
        fx_redis_do(fx.redis, "HSET %s:cfg per_user_limit 0", base);
        freeReplyObject(fx_redis_reply(fx.redis, "HSET %s:orders mine %s", base, record));
        find("mine", 200);
        fx_expect(fx.server[0], 201, "POST /buy?item=F5&user=u1&request=mine&sale=%s", first);
    }
}

/* Which segment has the request's order. */
static int segment_of(const char *request, int segments)
{
    for (int k = 0; k < segments; k++) {
        char base[128];
        name_base(k, base);
        if (fx_redis_number(fx.redis, "HEXISTS %s:orders %s", base, request) == 1)
            return k;
    }
    fail_msg("%s has no order", request);
    return -1;
}

/* Leaves a sale of three segments with one unit each and two orders, "far" on the segment after the
 * one that it starts at, whose unit another request has. Where they start is seen in another item's
 * sale. */
static void sell_further_on(void)
{
    char beside[16] = "";
    snprintf(item, sizeof(item), "F3-starts");
    start_sale("'stock':300,'strategy':'sharded','segments':3");
    buy("far", 201);
    int start = segment_of("far", 3);
    for (int i = 0; beside[0] == '\0' || segment_of(beside, 3) != start; i++) {
        assert_true(i < 90);
        snprintf(beside, sizeof(beside), "beside-%d", i);
        buy(beside, 201);
    }
    snprintf(item, sizeof(item), "F3");
    start_sale("'stock':3,'strategy':'sharded','segments':3");
    buy(beside, 201);
    buy("far", 201);
    assert_int_equal(segment_of("far", 3), (start + 1) % 3);
}

static void what_is_found_on_any_segment_is_not_void(void **state)
{
    (void)state;
    char base[128];
    sell_further_on();
    int there = segment_of("far", 3);
    name_base(-1, base);
    fx_redis_do(fx.redis, "ZADD %s:asked 1 far", base);
    find("far", 200);
    assert_int_equal(segment_of("far", 3), there); /* and on no segment before it anything else */

    /* Declared void where it starts, by somebody who did not get further. */
    name_base((there + 2) % 3, base);
    fx_redis_do(fx.redis, "HSET %s:orders far -", base);
    find("far", 200);
    assert_non_null(strstr(buy("far", 201), "\"request\":\"far\""));
}

/* What was given back, or is over, does not count any more. */
static void a_user_reserves_no_more_than_the_limit(void **state)
{
    (void)state;
    static const char buy[] = "POST /buy?item=P0001&user=u1&request=%s&reserve_s=%d";
    fx_sell("'stock':9,'per_user_limit':2,'reserve_max_s':600");
    fx_expect(fx.server[0], 201, buy, "r1", 600);
    fx_expect(fx.server[0], 201, buy, "r2", 1);
    fx_refused(fx.server[0], 409, "limit_reached", buy, "r3", 600);
    fx_expect(fx.server[0], 200, "POST /orders/r1/cancel?item=P0001");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1&request=r4");
    fx_await(fx.server[0], "GET /orders/r2?item=P0001", 200, "\"state\":\"expired\"", 20000);
    fx_expect(fx.server[0], 201, buy, "r5", 600);
    fx_refused(fx.server[0], 409, "limit_reached", "POST /buy?item=P0001&user=u1&request=r6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ledger_is_read_in_pages),
        cmocka_unit_test(orders_of_the_sale_before_are_still_found),
        cmocka_unit_test(no_such_order_becomes_final_and_stays_true),
        cmocka_unit_test(what_is_final_is_so_in_the_sale_that_is_named),
        cmocka_unit_test(what_is_older_than_sales_are_kept_is_not_final),
        cmocka_unit_test(an_order_is_found_after_any_number_of_sales),
        cmocka_unit_test(a_sale_that_can_not_be_read_leaves_it_open),
        cmocka_unit_test(a_sale_without_its_terms_is_not_taken_for_none),
        cmocka_unit_test(a_sale_is_over_only_when_a_later_one_is_there),
        cmocka_unit_test(damage_of_the_sale_before_is_no_answer),
        cmocka_unit_test(what_is_found_on_any_segment_is_not_void),
        cmocka_unit_test(a_user_reserves_no_more_than_the_limit),
    };
    return fx_run(tests, .instances = 3);
}
