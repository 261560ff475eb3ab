/*
 * test_ledger.c - what questions about orders cost the shop: memory that is bounded, and so many
 * commands, however many are asked and however many sales there were; and what buyers do who are
 * refused. No buyer's answers end for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/ledger.h"
#include "tests/support/service.h"

static char item[16]; /* of the case */

/* The base of the keys of the current sale. */
static void name_base(char base[128])
{
    snprintf(base, 128, "fs:{%s}:%s", item, fx_current_sale(item));
}

static bool is_final(const char *request)
{
    const char *body = fx_expect(fx.server[0], 404, "GET /orders/%s?item=%s", request, item);
    return strstr(body, "\"final\":true") != NULL;
}

/* In a Redis of 16 MB, which refuses writes when it is full. */
static void questions_do_not_fill_redis(void **state)
{
    (void)state;
    enum { QUESTIONS = 20000 };
    char err[256];
    fs_store store;
    sale_terms terms;
    ledger_entry entry;
    fx_redis *redis = fx_redis_start(FX_ARGS("--maxmemory", "16mb"));
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    const char *sale =
        fx_start_sale(server, "M1", "'stock':100,'strategy':'sharded','segments':16");
    assert_int_equal(store_open(&store, fx_redis_url(redis), NULL, "i", err, sizeof(err)), 0);
    assert_int_equal(terms_read(&store, "M1", sale, dlock_in_ms(5000), &terms, err, sizeof(err)),
                     SALE_OK);
    for (int i = 0; i < QUESTIONS; i++) {
        char request[IDENT_MAX + 1];
        snprintf(request, sizeof(request), "random-%032d", i);
        assert_int_equal(ledger_find_recent(&store, &terms, request, 0, dlock_in_ms(5000), &entry),
                         LEDGER_NOT_YET);
    }
    fx_expect(server, 201, "POST /buy?item=M1&user=u1");
    assert_in_range(fx_redis_number(redis, "DBSIZE"), 1, 16 * 8); /* no key a question */
    store_close(&store);
    fx_server_kill(server);
    fx_redis_stop(redis);
}

/* All commands so far, those of scripts too. */
static long long commands_processed(void)
{
    long long calls = 0;
    redisReply *stats = fx_redis_reply(fx.redis, "INFO commandstats");
    for (const char *at = stats->str; (at = strstr(at, "calls=")); at++)
        calls += strtoll(at + strlen("calls="), NULL, 10);
    freeReplyObject(stats);
    return calls;
}

/* What one question about a request costs, in commands; the least of some, for the instances ask
 * Redis things of their own meanwhile. */
static long long cost_of_question(const char *query)
{
    long long least = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        long long before = commands_processed();
        fx_expect(fx.server[0], 404, "GET /orders/nobody?item=%s%s", item, query);
        long long cost = commands_processed() - before;
        least = cost < least ? cost : least;
    }
    return least;
}

/* Without the sale's id the current sale and the one before are asked; so a request of an older one
 * is never said to have no order, and is found by its sale. */
static void a_question_is_bounded_over_many_sales(void **state)
{
    (void)state;
    enum { SALES = 10, SEGMENTS = 16 };
    char first[80], query[96];
    snprintf(item, sizeof(item), "F4");
    snprintf(first, sizeof(first), "%s",
             fx_start_sale(fx.server[0], item, "'stock':16,'strategy':'sharded','segments':16"));
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=early", item);
    for (int i = 1; i < SALES; i++)
        fx_start_sale(fx.server[0], item, "'stock':16,'strategy':'sharded','segments':16");
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=before", item);
    fx_start_sale(fx.server[0], item, "'stock':16,'strategy':'sharded','segments':16");
    fx_expect(fx.server[0], 200, "GET /orders/before?item=%s", item);
    long long cost = cost_of_question("");
    print_message("a question after %d sharded sales: %lld commands\n", SALES, cost);
    assert_in_range(cost, 1, 2 * 2 * SEGMENTS);

    char base[128];
    name_base(base);
    fx_redis_do(fx.redis, "ZADD %s:asked 1 early", base); /* asked long ago */
    assert_false(is_final("early"));
    fx_expect(fx.server[0], 200, "GET /orders/early?item=%s&sale=%s", item, first);

    snprintf(query, sizeof(query), "&sale=%s", first);
    assert_in_range(cost_of_question(query), 1, 200);
    const char *body = fx_expect(fx.server[0], 404, "GET /orders/nobody?item=%s%s", item, query);
    assert_non_null(strstr(body, "\"final\":true"));
    fx_refused(fx.server[0], 404, "no_such_sale", "GET /orders/early?item=%s&sale=never", item);
    fx_refused(fx.server[0], 400, "bad_sale", "GET /orders/early?item=%s&sale=%%20", item);
}

static void run_lua(const char *lua, const char *key)
{
    redisReply *reply = fx_redis_reply(fx.redis, "EVAL %s 1 %s", lua, key);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* However many ask, everybody's question is noted, and the notes take no more room. */
static void notes_are_bounded(void **state)
{
    (void)state;
    char base[128], notes[140];
    snprintf(item, sizeof(item), "F5");
    fx_start_sale(fx.server[0], item, "'stock':10,'strategy':'atomic'");
    name_base(base);
    snprintf(notes, sizeof(notes), "%s:asked", base);
    run_lua("local t = redis.call('TIME') for i = 1, 30000 do "
            "redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2] - i, i) end",
            notes);
    assert_false(is_final("late"));
    assert_int_equal(fx_redis_number(fx.redis, "ZCARD %s", notes), 30000);
    long long asked_us = fx_redis_number(fx.redis, "ZSCORE %s late", notes);
    assert_true(asked_us > 0);
    fx_redis_do(fx.redis, "ZADD %s %lld late", notes, asked_us - 60 * 1000000LL);
    assert_true(is_final("late"));
}

/* ---- what refused buyers leave in a sharded sale --------------------------------------------- */

static int has_marks(const char *segment)
{
    return (int)fx_redis_number(fx.redis, "HLEN %s", segment);
}

static void name_orders(char orders[2][140])
{
    for (int k = 0; k < 2; k++)
        snprintf(orders[k], 140, "fs:{%s#%d}:%s:orders", item, k, fx_current_sale(item));
}

static void what_no_segment_ever_had_leaves_no_mark(void **state)
{
    (void)state;
    char orders[2][140];
    snprintf(item, sizeof(item), "F8");
    fx_start_sale(fx.server[0], item, "'stock':19,'strategy':'sharded','segments':2");
    name_orders(orders);
    fx_refused(fx.server[0], 409, "sold_out", "POST /buy?item=%s&user=u1&quantity=11", item);
    fx_refused(fx.server[0], 409, "sold_out", "POST /buy?item=%s&user=u1&quantity=1000", item);
    assert_int_equal(has_marks(orders[0]) + has_marks(orders[1]), 0);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&quantity=10", item);
}

/* Buyers who went on to another segment end no final answer; and they leave so many marks. */
static void marks_are_bounded_and_no_voids(void **state)
{
    (void)state;
    char orders[2][140];
    snprintf(item, sizeof(item), "F9");
    fx_start_sale(fx.server[0], item, "'stock':20,'strategy':'sharded','segments':2");
    name_orders(orders);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&quantity=5&request=a", item);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&quantity=5&request=b", item);
    for (int k = 0; k < 2; k++)
        run_lua("for i = 1, 39999 do redis.call('HSET', KEYS[1], 'm' .. i, '>') end", orders[k]);

    char base[128];
    name_base(base);
    fx_redis_do(fx.redis, "ZADD %s:asked 1 ghost", base); /* asked long ago */
    assert_true(is_final("ghost"));

    int before = has_marks(orders[0]) + has_marks(orders[1]);
    for (int i = 0; i < 4; i++)
        fx_refused(fx.server[0], 503, "busy", "POST /buy?item=%s&user=u1&quantity=10&request=x%d",
                   item, i);
    assert_int_equal(has_marks(orders[0]) + has_marks(orders[1]), before);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&quantity=1", item);
}

/* Nor do final answers turn buyers away who go on to another segment. */
static void voids_leave_room_for_marks(void **state)
{
    (void)state;
    char orders[2][140];
    snprintf(item, sizeof(item), "F10");
    fx_start_sale(fx.server[0], item, "'stock':20,'strategy':'sharded','segments':2");
    name_orders(orders);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&quantity=5&request=a", item);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&quantity=5&request=b", item);
    for (int k = 0; k < 2; k++)
        run_lua("for i = 1, 50000 do redis.call('HSET', KEYS[1], 'v' .. i, '-', '#void', i) end",
                orders[k]);
    int before = has_marks(orders[0]) + has_marks(orders[1]);
    for (int i = 0; i < 4; i++)
        fx_refused(fx.server[0], 409, "sold_out",
                   "POST /buy?item=%s&user=u1&quantity=10&request=x%d", item, i);
    assert_int_equal(has_marks(orders[0]) + has_marks(orders[1]), before + 2 * 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_do_not_fill_redis),
        cmocka_unit_test(a_question_is_bounded_over_many_sales),
        cmocka_unit_test(notes_are_bounded),
        cmocka_unit_test(what_no_segment_ever_had_leaves_no_mark),
        cmocka_unit_test(marks_are_bounded_and_no_voids),
        cmocka_unit_test(voids_leave_room_for_marks),
    };
    return fx_run(tests, .instances = 1);
}
