/*
 * test_reserve_script.c - who returns what is over; and what the reserving script writes without a
 * right that it needs, or on a server that refuses to write: nothing, and all of it later.
 */
#include "tests/server/selling/reserving_shop.h"

#include "lock/redis/conn.h"

/* Whoever writes next, a buyer or somebody who confirms, returns what is over: once. */
static void return_by_whoever_comes(void)
{
    static const struct {
        purchase_action action;
        int64_t reserve_s;
        purchase_outcome outcome;
    } comers[] = {{PURCHASE_BUY, 0, BUY_SOLD},
                  {PURCHASE_BUY, RESERVE_S, BUY_SOLD},
                  {PURCHASE_CONFIRM, 0, BUY_EXPIRED},
                  {PURCHASE_CANCEL, 0, BUY_EXPIRED},
                  {PURCHASE_REVOKE, 0, BUY_EXPIRED}};
    for (size_t i = 0; i < COUNT(comers); i++) {
        snprintf(context, sizeof(context), "%s, comer %zu", shop.strategy->name, i);
        shop.reserved = make_order(RESERVE_S);
        purchase_result made = ask_as(PURCHASE_BUY, shop.reserved, RESERVE_S);
        long long bucket = made.order.expires_us / BUCKET_US;
        pass(bucket);
        long long before = fx_redis_number(fx.redis, "LLEN %s", shop.keys->moves);
        int order = comers[i].action == PURCHASE_BUY ? shop.requests++ : shop.reserved;
        assert_int_equal(ask_for(comers[i].action, order, comers[i].reserve_s), comers[i].outcome);
        assert_int_equal(fx_redis_number(fx.redis, "HEXISTS %s %lld", shop.keys->reserved, bucket),
                         0);
        assert_true(fx_redis_number(fx.redis, "LLEN %s", shop.keys->moves) > before);
        check_books();
        expect_mended();
    }
}

static void whoever_comes_returns_what_is_over(void **state)
{
    (void)state;
    for_each_shop(return_by_whoever_comes);
}

/* Else losing the later ones would not be noticed. */
static void remember_the_last_move(void)
{
    known_ledger *known = &shop.sale.known[0];
    for (int i = 1; i <= 3; i++) {
        char expected[64];
        size_t len;
        dlock_args args;
        snprintf(context, sizeof(context), "%s, move %d", shop.strategy->name, i);
        assert_int_equal(ask_for(PURCHASE_CONFIRM, make_order(RESERVE_S), 0), BUY_SOLD);
        known_ledger_mark(known, "run");
        dlock_args_init(&args);
        known_ledger_put_moves(known, &args);
        snprintf(expected, sizeof(expected), "%s %lld ", LEDGER_EPOCH,
                 fx_redis_number(fx.redis, "LLEN %s", shop.keys->moves));
        const char *put = dlock_args_first(&args, &len);
        if (len != strlen(expected) || memcmp(put, expected, len) != 0)
            fail_msg("%s: %.*s, not %s", context, (int)len, put, expected);
        dlock_args_free(&args);
    }
    assert_int_equal(fx_redis_number(fx.redis, "LLEN %s", shop.keys->moves), 3);
}

static void the_last_move_is_remembered(void **state)
{
    (void)state;
    for_each_shop(remember_the_last_move);
}

/* More are over than one call returns: the next ones return the rest. */
static void return_in_turn(void)
{
    enum { ENDS = 1100, A_CALL = 1000 };
    for (int i = 0; i < ENDS; i++)
        make_order(RESERVE_S + i + 1); /* none is over before all are made */
    purchase_result last = ask_as(PURCHASE_BUY, shop.requests - 1, RESERVE_S + ENDS);
    snprintf(context, sizeof(context), "%s, many ends", shop.strategy->name);
    pass(last.order.expires_us / BUCKET_US);
    assert_int_equal(buy(0), BUY_SOLD);
    check_books();
    assert_true(fx_redis_number(fx.redis, "ZCARD %s", shop.keys->buckets) >= ENDS - A_CALL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(buy(0), BUY_SOLD);
    check_books();
    assert_int_equal(fx_redis_number(fx.redis, "HGET %s units", shop.keys->reserved), 0);
}

static void more_ends_than_one_call_returns(void **state)
{
    (void)state;
    for_each_shop(return_in_turn);
}

/* ---- commands that are forbidden, a server that refuses -------------------------------------- */

static char granted[2048]; /* the line of the service in docker/users.acl */

static void read_granted(void)
{
    FILE *file = fopen("docker/users.acl", "r");
    assert_non_null(file);
    while (fgets(granted, sizeof(granted), file) && !strstr(granted, "user flashsale "))
        ;
    fclose(file);
    assert_non_null(strstr(granted, "+evalsha"));
}

static bool is_no(purchase_outcome outcome)
{
    return outcome == BUY_UNAVAILABLE || outcome == BUY_BUSY || outcome == BUY_STALE;
}

/* Either nobody needed what is refused, and all was done; or nobody was answered, and not a byte of
 * the sale has changed. How many were refused. */
static int ask_all_while_refused(void)
{
    picture before;
    int refused = 0, from = shop.requests;
    take_picture(&before);
    purchase_outcome told[] = {buy(0), buy(RESERVE_S), ask_for(PURCHASE_CONFIRM, shop.reserved, 0),
                               ask_for(PURCHASE_REVOKE, shop.sold, 0)};
    enum { TOLD = COUNT(told) };
    for (int i = 0; i < TOLD; i++)
        refused += is_no(told[i]);
    if (refused == TOLD) {
        expect_as_before(&before);
        return refused;
    }
    for (int i = 0; i < TOLD; i++)
        if (told[i] != BUY_SOLD && !is_no(told[i]))
            fail_msg("%s: %d was told %s", context, i, outcome_table[told[i]].name);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fx_redis_number(fx.redis, "HEXISTS %s r%d", shop.keys->orders, from + i),
                         told[i] == BUY_SOLD);
    return refused;
}

/* One that is reserved, and is over from now on. */
static void make_due(void)
{
    int order = make_order(1);
    purchase_result made = ask_as(PURCHASE_BUY, order, 1);
    pass(made.order.expires_us / BUCKET_US);
}

static bool is_needed(const char *right)
{
    static const char *const needed[] = {"zadd",   "zrangebyscore", "zremrangebyscore",
                                         "hdel",   "hset",          "hmget",
                                         "incrby", "rpush",         "mget",
                                         "llen",   "hlen",          "time"};
    for (size_t i = 0; i < COUNT(needed); i++)
        if (strcmp(right, needed[i]) == 0)
            return true;
    return false;
}

static void without_each_right(void)
{
    char words[sizeof(granted)], *rest = NULL;
    memcpy(words, granted, sizeof(words));
    for (char *word = strtok_r(words, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        if (*word != '+')
            continue;
        snprintf(context, sizeof(context), "%s without %s", shop.strategy->name, word + 1);
        make_orders();
        make_due();
        fx_redis_do(fx.redis, "ACL SETUSER service -%s", word + 1);
        int refused = ask_all_while_refused();
        fx_redis_do(fx.redis, "ACL SETUSER service +%s", word + 1);
        if (is_needed(word + 1) && refused == 0)
            fail_msg("%s: all was done", context);
        expect_mended();
    }
}

static void no_right_that_is_missing_misleads_a_strategy(void **state)
{
    (void)state;
    for_each_shop(without_each_right);
}

static const struct {
    const char *begins, *ends;
} refusing[] = {
    {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
    {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
    {"CONFIG SET min-replicas-to-write 9", "CONFIG SET min-replicas-to-write 0"},
    {"ACL SETUSER service resetkeys %%R~*", "ACL SETUSER service resetkeys ~*"},
};

static void redis_do(const char *command)
{
    redisReply *reply = fx_redis_reply(fx.redis, command);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void where_writes_are_refused(void)
{
    for (size_t i = 0; i < COUNT(refusing); i++) {
        if (strstr(refusing[i].begins, "REPLICAOF") && !fx_is_single())
            continue; /* who is the primary is the topology's affair */
        snprintf(context, sizeof(context), "%s after %s", shop.strategy->name, refusing[i].begins);
        make_orders();
        make_due();
        redis_do(refusing[i].begins);
        int refused = ask_all_while_refused();
        redis_do(refusing[i].ends);
        nodes_admit_again(&store);
        if (refused != 4)
            fail_msg("%s: %d of 4 were refused", context, refused);
        expect_mended();
    }
}

static void nothing_is_written_half_where_writes_are_refused(void **state)
{
    (void)state;
    for_each_shop(where_writes_are_refused);
}

/* ---- many in one call ------------------------------------------------------------------------ */

/* Three who confirm, the second with a damaged word, in one call. */
static void what_one_has_stops_no_other(void **state)
{
    (void)state;
    open_shop(strategy_find("batched"));
    purchase asked[3];
    purchase_result results[3];
    sell_buyer buyers[3];
    for (int i = 0; i < 3; i++) {
        int order = make_order(RESERVE_S);
        asked[i] = (purchase){.action = i == 0 ? PURCHASE_CANCEL : PURCHASE_CONFIRM,
                              .quantity = 1,
                              .keyed = true,
                              .deadline = dlock_in_ms(CALL_MS)};
        asked[i].not_after_us = node_redis_us(sale_node(&shop.sale, 0), asked[i].deadline);
        snprintf(asked[i].request, sizeof(asked[i].request), "r%d", order);
        buyers[i] = (sell_buyer){&asked[i], &results[i]};
    }
    char word[64];
    int second = shop.requests - 2;
    fx_redis_text(fx.redis, word, sizeof(word), "HGET %s u%d", shop.keys->users, second);
    fx_redis_do(fx.redis, "HSET %s u%d 9e1", shop.keys->users, second);
    sell(&shop.sale, shop.keys, (sell_lock){.hold = NULL}, buyers, 3, asked[0].deadline);
    assert_int_equal(results[0].outcome, BUY_SOLD);
    assert_int_equal(results[1].outcome, BUY_DAMAGED);
    assert_int_equal(results[2].outcome, BUY_SOLD);
    fx_redis_do(fx.redis, "HSET %s u%d %s", shop.keys->users, second, word);
    sell(&shop.sale, shop.keys, (sell_lock){.hold = NULL}, buyers, 3, asked[0].deadline);
    for (int i = 0; i < 3; i++)
        assert_int_equal(results[i].outcome, BUY_SOLD);
    check_books();
    close_shop();
}

static int setup(void **state)
{
    read_granted();
    return open_store(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_comes_returns_what_is_over),
        cmocka_unit_test(the_last_move_is_remembered),
        cmocka_unit_test(more_ends_than_one_call_returns),
        cmocka_unit_test(no_right_that_is_missing_misleads_a_strategy),
        cmocka_unit_test(nothing_is_written_half_where_writes_are_refused),
        cmocka_unit_test(what_one_has_stops_no_other),
    };
    return cmocka_run_group_tests(tests, setup, close_store);
}
