/*
 * test_reservation_troubles.c - reservations where something goes wrong with Redis: its clock goes
 * back, it is full, keys are gone, it has forgotten. What is over stays over, no bucket returns
 * twice, and nobody is told what is not so.
 */
#include "tests/server/reservations.h"

static char sale[64]; /* the current one of P0001 */

static void begin(const char *strategy, int stock, int limit)
{
    snprintf(sale, sizeof(sale), "%s", sell_reserving(strategy, stock, limit));
}

/* How often a bucket has returned, of all. */
static int returns(void)
{
    int count = 0;
    redisReply *moves = fx_redis_reply(fx.redis, "LRANGE fs:{P0001}:%s:moves 0 -1", sale);
    for (size_t i = 0; i < moves->elements; i++) {
        count += strncmp(moves->element[i]->str, "expired ", 8) == 0;
        for (size_t k = 0; k < i; k++) { /* none of them twice */
            char *one = moves->element[i]->str, *other = moves->element[k]->str;
            size_t len = strcspn(one + 8, " ") + 8;
            if (strncmp(one, "expired ", 8) == 0 && strncmp(one, other, len + 1) == 0)
                fail_msg("returned twice: %s, %s", one, other);
        }
    }
    freeReplyObject(moves);
    return count;
}

/* ---- the clock ------------------------------------------------------------------------------- */

static void step_back(const char *strategy)
{
    char body[RESERVED_BODY];
    begin(strategy, 10, 5);
    reserve(0, "u1", "r1", 2, RESERVE_S, body);
    reserve(0, "u1", "r2", 1, 2 * RESERVE_S, body);
    let_redis_pass(RESERVE_S + 1);
    if (!fx_wait_until(none_is_reserved, NULL, 0) && read_stock(0).reserved > 1)
        fx_await(fx.server[0], "GET /stock?item=P0001", 200, "\"reserved\":1", RESERVE_WAIT_MS);
    expect_stock(9, 1, 0);
    set_redis_ahead(redis_ahead_s - RESERVE_S - 1); /* before its end */
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_refused(fx.server[at], 409, "reservation_expired", "POST /orders/r1/confirm?item=P0001");
        fx_refused(fx.server[at], 409, "reservation_expired", "POST /orders/r1/cancel?item=P0001");
    }
    expect_state("r1", "expired");
    expect_state("r2", "reserved");
    reserve(1, "u2", "r3", 1, 1, body); /* ends after what is over, too */
    expect_stock(8, 2, 0);
    assert_int_equal(returns(), 1);
    let_redis_pass(RESERVE_S + 3); /* the same once more */
    fx_await(fx.server[0], "GET /stock?item=P0001", 200, "\"reserved\":1", RESERVE_WAIT_MS);
    expect_stock(9, 1, 0);
    assert_int_equal(returns(), 2);
    fx_expect(fx.server[2], 200, "POST /orders/r2/confirm?item=P0001");
    expect_stock(9, 0, 1);
}

static void what_is_over_stays_so_when_the_clock_goes_back(void **state)
{
    (void)state;
    for_each_reserving(step_back);
}

/* One that was made while the clock was ahead lives longer than it was made for, and not less. */
static void step_back_under_one(const char *strategy)
{
    char body[RESERVED_BODY];
    begin(strategy, 10, 5);
    let_redis_pass(600);
    reserve(0, "u1", "r1", 1, RESERVE_S, body);
    reserve(0, "u1", "r2", 1, RESERVE_S, body);
    set_redis_ahead(redis_ahead_s - 600);
    expect_state("r1", "reserved");
    fx_expect(fx.server[1], 200, "POST /orders/r1/confirm?item=P0001");
    expect_stock(8, 1, 1);
    let_redis_pass(600 + RESERVE_S + 1);
    await_return();
    expect_stock(9, 0, 1);
    expect_state("r2", "expired");
    assert_int_equal(returns(), 1);
}

static void what_is_live_stays_so_when_the_clock_goes_back(void **state)
{
    (void)state;
    for_each_reserving(step_back_under_one);
}

/* ---- looked at again and again --------------------------------------------------------------- */

enum { LOOKS = 8 * FX_INSTANCES };

static long long calls(void)
{
    char stats[8192] = "";
    fx_redis_text(fx.redis, stats, sizeof(stats), "INFO commandstats");
    const char *at = strstr(stats, "cmdstat_evalsha:calls=");
    return at ? strtoll(at + strlen("cmdstat_evalsha:calls="), NULL, 10) : 0;
}

static bool have_looked(void *before)
{
    return calls() >= *(long long *)before + LOOKS;
}

/* Each instance looks at each sale, to see what is over. */
static void let_all_look(void)
{
    long long before = calls();
    if (!fx_wait_until(have_looked, &before, RESERVE_WAIT_MS))
        fail_msg("nobody looks at the sales");
}

static bool has_returned(void *arg)
{
    (void)arg;
    return read_stock(0).reserved < 6;
}

static void return_once(const char *strategy)
{
    char body[RESERVED_BODY];
    begin(strategy, 10, 5);
    reserve(0, "u1", "r1", 5, 10 * RESERVE_S, body);
    reserve(0, "u2", "r2", 1, RESERVE_S, body);
    let_redis_pass(RESERVE_S + 1);
    assert_true(fx_wait_until(has_returned, NULL, RESERVE_WAIT_MS));
    let_all_look();
    expect_stock(5, 5, 0);
    assert_int_equal(returns(), 1);
    fx_expect(fx.server[1], 201, "POST /buy?item=P0001&user=u3");
    expect_stock(4, 5, 1);
}

static void what_is_over_returns_once(void **state)
{
    (void)state;
    for_each_reserving(return_once);
}

/* The instances' clocks are ahead of Redis's by more than a reservation is made for. */
static void be_ahead_of_redis(const char *strategy)
{
    char body[RESERVED_BODY];
    set_redis_ahead(-10 * RESERVE_S);
    begin(strategy, 10, 5);
    reserve(0, "u1", "r1", 1, RESERVE_S, body);
    let_all_look();
    expect_stock(9, 1, 0);
    fx_expect(fx.server[1], 200, "POST /orders/r1/confirm?item=P0001");
    expect_stock(9, 0, 1);
}

static void the_clock_of_an_instance_ends_nothing(void **state)
{
    (void)state;
    for_each_reserving(be_ahead_of_redis);
    set_redis_ahead(0);
}

/* ---- Redis is full --------------------------------------------------------------------------- */

static void fill_redis(const char *strategy)
{
    char body[RESERVED_BODY];
    begin(strategy, 10, 5);
    reserve(0, "u1", "r1", 1, RESERVE_S, body);
    reserve(0, "u1", "r2", 1, 2 * RESERVE_S, body);
    fx_redis_do(fx.redis, "CONFIG SET maxmemory 1");
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_refused(fx.server[at], 503, NULL, "POST /orders/r1/confirm?item=P0001");
        fx_refused(fx.server[at], 503, NULL, "POST /orders/r1/cancel?item=P0001");
        fx_refused(fx.server[at], 503, NULL, "POST /buy?item=P0001&user=u2&reserve_s=9");
    }
    expect_stock(8, 2, 0);
    fx_redis_do(fx.redis, "CONFIG SET maxmemory 0");
    fx_await(fx.server[0], "POST /orders/r2/confirm?item=P0001", 200, "\"state\":\"sold\"",
             RESERVE_WAIT_MS);
    let_redis_pass(RESERVE_S + 1);
    await_return();
    expect_stock(9, 0, 1);
    expect_state("r1", "expired");
}

static void a_redis_that_is_full_changes_nothing(void **state)
{
    (void)state;
    fx_only_single("it fills Redis");
    for_each_reserving(fill_redis);
}

/* ---- keys are gone --------------------------------------------------------------------------- */

static void lose_a_key(const char *strategy)
{
    static const char *const parts[] = {"reserved", "buckets", "users", "orders", "ledger"};
    char body[RESERVED_BODY];
    begin(strategy, 10, 5);
    reserve(0, "u1", "r1", 1, 10 * RESERVE_S, body);
    for (size_t i = 0; i < COUNT(parts); i++) {
        char key[128], confirm[64];
        snprintf(key, sizeof(key), "fs:{P0001}:%s:%s", sale, parts[i]);
        snprintf(confirm, sizeof(confirm), "POST /orders/r1/confirm?item=P0001");
        print_message("%s without %s\n", strategy, parts[i]);
        fx_redis_do(fx.redis, "RENAME %s %s:saved", key, key);
        for (int at = 0; at < FX_INSTANCES; at++) {
            fx_refused(fx.server[at], 503, NULL, "%s", confirm);
            fx_refused(fx.server[at], 503, "sale_damaged",
                       "POST /buy?item=P0001&user=u2&reserve_s=9");
            fx_refused(fx.server[at], 503, "sale_damaged", "POST /orders/r1/cancel?item=P0001");
        }
        assert_int_equal(fx_redis_number(fx.redis, "EXISTS %s", key), 0);
        fx_redis_do(fx.redis, "RENAME %s:saved %s", key, key);
        fx_await(fx.server[0], "POST /buy?item=P0001&user=u1&request=r1&reserve_s=3000", 201,
                 "\"state\":\"reserved\"", RESERVE_WAIT_MS);
        expect_stock(9, 1, 0);
        expect_state("r1", "reserved");
    }
    fx_await(fx.server[1], "POST /orders/r1/confirm?item=P0001", 200, "\"state\":\"sold\"",
             RESERVE_WAIT_MS);
    expect_stock(9, 0, 1);
}

static void a_key_that_is_gone_stops_all_until_it_is_mended(void **state)
{
    (void)state;
    for_each_reserving(lose_a_key);
}

/* ---- Redis has forgotten --------------------------------------------------------------------- */

static bool is_halted_on_all(void *request)
{
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_reply reply;
        int status = fx_ask(fx.server[at], &reply, "%s", (char *)request);
        bool halted = status == 503 && strstr(reply.body, "\"sale_rolled_back\"");
        fx_reply_free(&reply);
        if (!halted)
            return false;
    }
    return true;
}

static int lost; /* orders, as told at last */

static bool is_resumed(void *arg)
{
    (void)arg;
    fx_reply reply;
    fx_ask(fx.server[0], &reply, "POST /buy?item=P0001&user=x");
    cJSON *json = cJSON_Parse(reply.body);
    const cJSON *told = cJSON_GetObjectItemCaseSensitive(json, "lost_orders");
    lost = cJSON_IsNumber(told) ? told->valueint : lost;
    cJSON_Delete(json);
    fx_reply_free(&reply);
    return fx_status(fx.server[1],
                     "POST /sales/resume {'item':'P0001','sale':'%s','lost_orders':%d}", sale,
                     lost) == 200;
}

static void halt_and_go_on(const char *strategy)
{
    static char confirm[] = "POST /orders/r1/confirm?item=P0001";
    static char cancel[] = "POST /orders/r1/cancel?item=P0001";
    char first[RESERVED_BODY], body[RESERVED_BODY];
    begin(strategy, 100, 50);
    reserve(0, "u1", "r1", 1, RESERVE_S, first);
    reserve(0, "u1", "r2", 1, 2 * RESERVE_S, body);
    reserve(0, "u1", "r3", 1, RESERVE_S, body);
    fx_expect(fx.server[0], 200, "POST /orders/r3/confirm?item=P0001");
    fx_redis_do(fx.redis, "SAVE");
    for (int i = 0; i < 6; i++) /* each instance knows of some that will be lost */
        fx_expect(fx.server[i % FX_INSTANCES], 201, "POST /buy?item=P0001&user=u2");
    fx_redis_restart(fx.redis);
    assert_true(fx_wait_until(is_halted_on_all, confirm, RESERVE_WAIT_MS));
    assert_true(is_halted_on_all(cancel));
    for (int at = 0; at < FX_INSTANCES; at++) /* who has something hears of it */
        fx_await(fx.server[at], "POST /orders/r3/confirm?item=P0001", 200, "\"state\":\"sold\"",
                 RESERVE_WAIT_MS);
    expect_same(201, "POST /buy?item=P0001&user=u1&request=r1&reserve_s=300", first);
    fx_clocks_set(-1, redis_ahead_s += RESERVE_S + 1); /* the clock of a halted sale runs */
    assert_true(fx_wait_until(is_halted_on_all, confirm, RESERVE_WAIT_MS));
    expect_state("r1", "expired");
    assert_int_equal(read_stock(0).reserved, 2);
    assert_true(fx_wait_until(is_resumed, NULL, RESERVE_WAIT_MS));
    set_redis_ahead(redis_ahead_s);
    fx_await(fx.server[0], confirm, 409, "\"reservation_expired\"", RESERVE_WAIT_MS);
    fx_await(fx.server[0], "GET /stock?item=P0001", 200, "\"reserved\":1", RESERVE_WAIT_MS);
    fx_await(fx.server[2], "POST /orders/r2/confirm?item=P0001", 200, "\"state\":\"sold\"",
             RESERVE_WAIT_MS);
    assert_int_equal(read_stock(0).sold, 2);
}

static void the_clock_of_a_halted_sale_runs(void **state)
{
    (void)state;
    fx_only_single("it restarts Redis");
    for_each_reserving(halt_and_go_on);
}

/* No order is lost, only what became of it, of which each instance has told somebody. */
static void forget_what_became(const char *strategy)
{
    static const char *const ends[] = {"confirm", "cancel"};
    static char again[] = "POST /orders/r9/confirm?item=P0001";
    char body[RESERVED_BODY], request[16];
    for (int k = 0; k < 2; k++) {
        begin(strategy, 100, 50);
        for (int i = 0; i < FX_INSTANCES; i++) {
            snprintf(request, sizeof(request), "r%d", i);
            reserve(i, "u1", request, 1, 10 * RESERVE_S, body);
        }
        reserve(0, "u1", "r9", 1, 10 * RESERVE_S, body);
        fx_redis_do(fx.redis, "SAVE");
        for (int i = 0; i < FX_INSTANCES; i++)
            fx_expect(fx.server[i], 200, "POST /orders/r%d/%s?item=P0001", i, ends[k]);
        fx_redis_restart(fx.redis);
        assert_true(fx_wait_until(is_halted_on_all, again, RESERVE_WAIT_MS));
        for (int i = 0; i < FX_INSTANCES; i++)
            fx_refused(fx.server[i], 503, "sale_rolled_back", "POST /orders/r%d/%s?item=P0001", i,
                       ends[1 - k]);
        lost = 0;
        assert_true(fx_wait_until(is_resumed, NULL, RESERVE_WAIT_MS));
        for (int i = 0; i < FX_INSTANCES; i++) { /* all as it stands there, and goes on */
            char path[64];
            snprintf(path, sizeof(path), "POST /orders/r%d/%s?item=P0001", i, ends[1 - k]);
            fx_await(fx.server[i], path, 200, "\"state\":", RESERVE_WAIT_MS);
        }
        expect_stock(k == 0 ? 99 : 96, 1, k == 0 ? 0 : 3);
    }
}

static void a_lost_confirmation_halts_the_sale(void **state)
{
    (void)state;
    fx_only_single("it restarts Redis");
    for_each_reserving(forget_what_became);
}

/* The list of what became of reservations is gone, and put back. */
static void lose_the_moves(const char *strategy)
{
    char body[RESERVED_BODY], key[128];
    begin(strategy, 10, 5);
    reserve(0, "u1", "r1", 1, 10 * RESERVE_S, body);
    reserve(0, "u1", "r2", 1, 10 * RESERVE_S, body);
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_expect(fx.server[i], 200, "POST /orders/r1/confirm?item=P0001");
    snprintf(key, sizeof(key), "fs:{P0001}:%s:moves", sale);
    fx_redis_do(fx.redis, "RENAME %s %s:saved", key, key);
    for (int at = 0; at < FX_INSTANCES; at++)
        fx_await(fx.server[at], "GET /stock?item=P0001", 200, "\"halted\":", RESERVE_WAIT_MS);
    fx_redis_do(fx.redis, "RENAME %s:saved %s", key, key);
    lost = 0;
    assert_true(fx_wait_until(is_resumed, NULL, RESERVE_WAIT_MS));
    fx_await(fx.server[2], "POST /orders/r2/confirm?item=P0001", 200, "\"state\":\"sold\"",
             RESERVE_WAIT_MS);
    expect_stock(8, 0, 2);
}

static void moves_that_are_gone_halt_the_sale(void **state)
{
    (void)state;
    for_each_reserving(lose_the_moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_over_stays_so_when_the_clock_goes_back),
        cmocka_unit_test(what_is_live_stays_so_when_the_clock_goes_back),
        cmocka_unit_test(what_is_over_returns_once),
        cmocka_unit_test(the_clock_of_an_instance_ends_nothing),
        cmocka_unit_test(a_redis_that_is_full_changes_nothing),
        cmocka_unit_test(a_key_that_is_gone_stops_all_until_it_is_mended),
        cmocka_unit_test(the_clock_of_a_halted_sale_runs),
        cmocka_unit_test(a_lost_confirmation_halts_the_sale),
        cmocka_unit_test(moves_that_are_gone_halt_the_sale),
    };
    fx.plan = (fx_plan){.instances = FX_INSTANCES, .one_server = true};
    return cmocka_run_group_tests(tests, start_with_clocks, stop_with_clocks);
}
