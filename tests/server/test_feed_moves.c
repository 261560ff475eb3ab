/*
 * test_feed_moves.c - reservations in the feed: an order as it was at first, and behind it what
 * became of it, each once; also when its sale is over; and moves that Redis has forgotten.
 */
#include "tests/server/feed.h"
#include "tests/server/reservations.h"

static feed_copy copy;

static const char *start(const char *strategy)
{
    static char sale[READER_WORD];
    snprintf(sale, sizeof(sale), "%s", sell_reserving(strategy, 100, 90));
    copy_begin(&copy, "P0001", sale, 0);
    return sale;
}

static void reserve_some(int from, int to, int seconds)
{
    char body[RESERVED_BODY], request[16];
    for (int i = from; i <= to; i++) {
        snprintf(request, sizeof(request), "r%d", i);
        reserve(i % 2, "u1", request, 2, seconds, body);
    }
}

static void settle(const char *what, int number, const char *sale)
{
    fx_expect(fx.server[number % 2], 200, "POST /orders/r%d/%s?item=P0001&sale=%s", number, what,
              sale);
}

static void expect_moves(const char *const *moves)
{
    int count = 0;
    for (; moves[count]; count++)
        assert_string_equal(copy.move[count + 1], moves[count]);
    assert_int_equal(copy.moves, count);
}
#define MOVES(...) expect_moves(FX_ARGS(__VA_ARGS__))

/* ---- behind their orders --------------------------------------------------------------------- */

static void hear_what_becomes_of_orders(const char *strategy)
{
    const char *sale = start(strategy);
    reserve_some(1, 4, RESERVE_S);
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u2&request=plain");
    settle("confirm", 1, sale);
    settle("cancel", 2, sale);
    copy_follow(&copy, fx.server[0]);
    assert_int_equal(copy.orders, 5);
    MOVES("confirmed r1", "cancelled r2");
    let_redis_pass(RESERVE_S + 1);
    await_return();
    copy_follow(&copy, fx.server[1]);
    assert_true(copy.moves >= 3); /* by moments, of which 3 and 4 may have one each */
    for (int i = 3; i <= copy.moves; i++)
        assert_string_equal(copy.move[i], "expired -");
    reserve_some(6, 6, RESERVE_S);
    settle("confirm", 6, sale);
    int moves = copy.moves;
    copy_follow(&copy, fx.server[0]);
    assert_int_equal(copy.orders, 6);
    assert_string_equal(copy.move[moves + 1], "confirmed r6");
    feed_copy *all = malloc(sizeof(*all)); /* in pages of any size it is the same */
    *all = copy;
    for (int limit = 1; limit <= 7; limit += 3) {
        copy_begin(&copy, "P0001", sale, 0);
        copy.limit = limit;
        copy_follow(&copy, fx.server[1]);
        assert_int_equal(copy.orders, all->orders);
        assert_int_equal(copy.moves, all->moves);
        assert_memory_equal(copy.order, all->order, sizeof(copy.order));
        assert_memory_equal(copy.move, all->move, sizeof(copy.move));
    }
    free(all);
    assert_int_equal(copy.rewound, 0);
}

static void moves_come_behind_their_orders(void **state)
{
    (void)state;
    for_each_reserving(hear_what_becomes_of_orders);
}

/* Its state now is told by moves alone. */
static void an_order_is_told_as_it_was_at_first(void **state)
{
    (void)state;
    char body[RESERVED_BODY];
    const char *sale = start("combined");
    reserve(0, "u1", "r1", 2, RESERVE_S, body);
    char *told = strdup(
        fx_expect(fx.server[0], 200, "GET /orders?item=P0001&after=0&limit=1&sale=%s", sale));
    settle("confirm", 1, sale);
    const char *later =
        fx_expect(fx.server[1], 200, "GET /orders?item=P0001&after=0&limit=1&sale=%s", sale);
    size_t event = (size_t)(strstr(told, "],\"after\"") - strstr(told, "[{"));
    assert_memory_equal(strstr(later, "[{"), strstr(told, "[{"), event);
    cJSON *order = cJSON_Parse(body);
    cJSON *page = cJSON_Parse(later);
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(page, "events"), 0);
    assert_true(fx_json_number(first, "expires_us") == fx_json_number(order, "expires_us"));
    assert_string_equal(fx_json_text(first, "order"), fx_json_text(order, "order"));
    cJSON_Delete(order);
    cJSON_Delete(page);
    free(told);
}

/* By the admin: it has no reservation, and a move all the same. */
static void what_was_sold_at_once_can_be_cancelled(void **state)
{
    (void)state;
    char url[256];
    fx_reply reply;
    const char *sale = start("atomic");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u1&request=r1");
    snprintf(url, sizeof(url), "%s/orders/r1/cancel?item=P0001", fx_server_url(fx.server[0]));
    fx_http("POST", url, FX_ARGS("Authorization: Bearer any"), NULL, RESERVE_WAIT_MS, &reply);
    assert_int_equal(reply.status, 200);
    fx_reply_free(&reply);
    copy_follow(&copy, fx.server[1]);
    MOVES("cancelled r1");
    fx_has(fx_expect(fx.server[1], 200, "GET /orders?item=P0001&after=0&limit=1&sale=%s", sale),
           ",\"expires_us\":null}]");
}

/* ---- over, and forgotten --------------------------------------------------------------------- */

static void moves_come_when_the_sale_is_over_too(void **state)
{
    (void)state;
    char sale[READER_WORD], later[READER_WORD];
    snprintf(sale, sizeof(sale), "%s", start("batched"));
    reserve_some(1, 3, RESERVE_S);
    snprintf(later, sizeof(later), "%s", fx_sell("'stock':9,'strategy':'atomic'"));
    copy_follow(&copy, fx.server[0]);
    assert_int_equal(copy.orders, 3);
    assert_string_equal(copy.next_sale, later); /* there is no further order, */
    assert_false(copy.end);                     /* but moves come as long as it is kept */
    settle("confirm", 2, sale);
    settle("cancel", 3, sale);
    copy_follow(&copy, fx.server[1]);
    MOVES("confirmed r2", "cancelled r3");
    assert_string_equal(copy.next_sale, later);
    assert_false(copy.end);
}

/* The same place again, in another epoch or not at all. */
static void moves_that_are_forgotten_are_told_and_agreed_upon(void **state)
{
    (void)state;
    char sale[READER_WORD], fine[16];
    snprintf(sale, sizeof(sale), "%s", start("atomic"));
    reserve_some(1, 9, RESERVE_S);
    for (int i = 1; i <= 4; i++)
        settle("confirm", i, sale);
    copy_follow(&copy, fx.server[0]);
    memcpy(fine, copy.move_epoch[1], sizeof(fine));
    for (int i = 3; i <= 9; i++) /* what it would have, were this another history */
        snprintf(copy.move_epoch[i], sizeof(copy.move_epoch[i]), "ffffffffffff");
    for (int had = 3; had <= 9; had++) {
        copy_go_to(&copy, 9, had);
        copy.rewound = 0;
        copy_follow(&copy, fx.server[1]);
        MOVES("confirmed r1", "confirmed r2", "confirmed r3", "confirmed r4");
        assert_int_equal(copy.rewound, 1);
        for (int i = 3; i <= 9; i++)
            snprintf(copy.move_epoch[i], sizeof(copy.move_epoch[i]), "ffffffffffff");
    }
    static const struct {
        const char *orders, *moves, *told;
    } all[] = {{"9", "9", "\"orders\":9,\"moves\":4"},
               {"10", "4", "\"orders\":9,\"moves\":4"},
               {"10", "5", "\"orders\":9,\"moves\":4"}};
    for (int i = 0; i < 3; i++)
        fx_has(fx_refused(fx.server[0], 409, "feed_rewound",
                          "GET /orders?item=P0001&sale=%s&after=%s-%s.%s-%s", sale, all[i].orders,
                          fine, all[i].moves, fine),
               all[i].told);
    fx_has(fx_expect(fx.server[0], 200, "GET /orders?item=P0001&sale=%s&after=0.4-%s", sale, fine),
           "\"after\":\"9-");
    fx_redis_do(fx.redis, "RPOP fs:{P0001}:%s:moves", sale);
    fx_has(fx_refused(fx.server[0], 409, "feed_rewound",
                      "GET /orders?item=P0001&sale=%s&after=9-%s.4-%s", sale, fine, fine),
           "\"orders\":9,\"moves\":3");
}

static void a_damaged_move_is_not_told(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "x",
        "sold r1 2 1795725966024068 0123456789ab",
        "confirmed r1 2 1795725966024068",
        "confirmed r.1 2 1795725966024068 0123456789ab",
        "confirmed r1 x 1795725966024068 0123456789ab",
        "confirmed r1 2 1795725966024068 0123456789a",
        "confirmed r1 2 1795725966024068 0123456789ab more",
        "expired 0 2 1795725966024068 0123456789ab",
        "expired r1 2 1795725966024068 0123456789ab",
    };
    const char *sale = start("atomic");
    reserve_some(1, 2, RESERVE_S);
    settle("confirm", 1, sale);
    for (size_t i = 0; i < COUNT(bad); i++) {
        freeReplyObject(fx_redis_reply(fx.redis, "RPUSH fs:{P0001}:%s:moves %s", sale, bad[i]));
        fx_refused(fx.server[0], 503, "sale_damaged", "GET /orders?item=P0001&after=0&sale=%s",
                   sale);
        fx_redis_do(fx.redis, "RPOP fs:{P0001}:%s:moves", sale);
    }
    fx_redis_do(fx.redis, "RENAME fs:{P0001}:%s:moves fs:{P0001}:kept", sale);
    fx_redis_do(fx.redis, "SET fs:{P0001}:%s:moves x", sale);
    fx_refused(fx.server[0], 503, "sale_damaged", "GET /orders?item=P0001&after=0&sale=%s", sale);
    fx_redis_do(fx.redis, "RENAME fs:{P0001}:kept fs:{P0001}:%s:moves", sale);
    copy_follow(&copy, fx.server[0]);
    MOVES("confirmed r1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_come_behind_their_orders),
        cmocka_unit_test(an_order_is_told_as_it_was_at_first),
        cmocka_unit_test(what_was_sold_at_once_can_be_cancelled),
        cmocka_unit_test(moves_come_when_the_sale_is_over_too),
        cmocka_unit_test(a_damaged_move_is_not_told),
        cmocka_unit_test(moves_that_are_forgotten_are_told_and_agreed_upon), /* halts */
    };
    fx.plan = (fx_plan){.instances = 2, .one_server = true};
    return cmocka_run_group_tests(tests, start_with_clocks, stop_with_clocks);
}
