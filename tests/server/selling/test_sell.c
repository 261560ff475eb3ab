/*
 * test_sell.c - what sell() tells its buyers is what the ledger has of them.
 *
 * The script tells a new order's number, and sell.c puts the rest of the order together; the record
 * in Redis is put together by the script. Both are compared field by field, for buyers who want
 * different quantities, and across numbers that grow or lose a digit.
 */
#include <stdio.h>
#include <string.h>

#include "server/selling/sell.h"
#include "server/strategies/registry.h"
#include "tests/server/ledger.h"
#include "tests/server/nodes.h"
#include "tests/support/service.h"

enum { BUYERS = 23, CALLS = 6 };

static fs_store store;
static open_sale sale;

static purchase asked[BUYERS];
static purchase_result results[BUYERS];
static sell_buyer buyers[BUYERS];

static void open_sale_of(int64_t units, int64_t per_user_limit)
{
    static int count;
    sale_terms terms = {.initial = units, .per_user_limit = per_user_limit, .lease_ms = 300};
    snprintf(terms.item, sizeof(terms.item), "T%d", ++count);
    snprintf(terms.id, sizeof(terms.id), "0000000000000%d", count);
    snprintf(terms.strategy, sizeof(terms.strategy), "atomic");
    sale_close(&sale);
    assert_true(sale_open(&sale, &terms, strategy_find("atomic"), &store));
    fx_redis_do(fx.redis, "SET %s %s", sale.keys->current, terms.id);
    fx_redis_do(fx.redis, "SET %s %lld", sale.keys->stock, (long long)units);
    fx_redis_do(fx.redis, "SET %s 0", sale.keys->sold);
    ledger_make(sale.keys, sale.known);
}

static void ask_for(int place, int request, int64_t quantity)
{
    purchase *p = &asked[place];
    *p = (purchase){.quantity = quantity, .keyed = true, .deadline = dlock_in_ms(10000)};
    snprintf(p->request, sizeof(p->request), "r%d", request);
    snprintf(p->user, sizeof(p->user), "u+%d@shop", request);
    p->not_after_us = node_redis_us(sale_node(&sale, 0), p->deadline);
    memset(&results[place], 0, sizeof(results[place]));
    buyers[place] = (sell_buyer){p, &results[place]};
}

static void sell_to(int count)
{
    sell(&sale, sale.keys, (sell_lock){.hold = NULL}, buyers, count, asked[0].deadline);
}

/* The order that Redis has of the request. */
static void read_record(const char *request, fs_order *ret)
{
    char record[320] = "";
    assert_true(
        fx_redis_text(fx.redis, record, sizeof(record), "HGET %s %s", sale.keys->orders, request));
    if (!order_read(record, strlen(record), ret))
        fail_msg("%s has the record '%s'", request, record);
}

static void check_told(int place, int64_t number, int64_t remaining)
{
    fs_order has;
    const fs_order *told = &results[place].order;
    assert_int_equal(results[place].outcome, BUY_SOLD);
    read_record(asked[place].request, &has);
    assert_int_equal(has.number, number);
    assert_int_equal(has.remaining, remaining);
    assert_int_equal(told->number, has.number);
    assert_string_equal(told->user, has.user);
    assert_string_equal(has.user, asked[place].user);
    assert_int_equal(told->quantity, has.quantity);
    assert_int_equal(has.quantity, asked[place].quantity);
    assert_int_equal(told->remaining, has.remaining);
    assert_int_equal(told->fence, has.fence);
    assert_string_equal(told->instance, has.instance);
    assert_int_equal(told->time_us, has.time_us);
    assert_true(has.time_us > INT64_C(1600000000000000));
}

static void check_numbers(long long left, long long sold, long long orders)
{
    assert_int_equal(fx_redis_number(fx.redis, "GET %s", sale.keys->stock), left);
    assert_int_equal(fx_redis_number(fx.redis, "GET %s", sale.keys->sold), sold);
    assert_int_equal(fx_redis_number(fx.redis, "LLEN %s", sale.keys->ledger), orders);
    assert_int_equal(fx_redis_number(fx.redis, "HLEN %s", sale.keys->orders), orders);
}

/* `most`: buyers want 1, 2, ... units up to it. */
static void sell_and_compare(int64_t units, int buyers_a_call, int64_t most)
{
    int64_t left = units, number = 0;
    open_sale_of(units, 0);
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < buyers_a_call; i++)
            ask_for(i, call * BUYERS + i, 1 + i % most);
        sell_to(buyers_a_call);
        for (int i = 0; i < buyers_a_call; i++) {
            left -= asked[i].quantity;
            check_told(i, ++number, left);
        }
    }
    check_numbers(left, units - left, number);
}

static void an_order_is_told_as_it_was_recorded(void **state)
{
    (void)state;
    sell_and_compare(CALLS, 1, 1); /* down to the last unit */
    sell_and_compare(1005, 1, 1);
    sell_and_compare(CALLS * BUYERS, BUYERS, 1);
    sell_and_compare(1000000, BUYERS, 1);
    sell_and_compare(999999999, BUYERS, 12);
    sell_and_compare(100000, BUYERS, 3);
}

/* Each by itself: what one wants, until when, and what the request has already. */
static void buyers_of_one_call_are_told_apart(void **state)
{
    (void)state;
    open_sale_of(10, 0);
    ask_for(0, 0, 1);
    sell_to(1);
    ask_for(0, 1, 4);
    ask_for(1, 0, 1); /* has an order */
    ask_for(2, 2, 1);
    asked[2].not_after_us -= 20000000; /* a moment of as many digits, that has passed */
    ask_for(3, 1, 4);                  /* twice in one call */
    ask_for(4, 3, 6);                  /* more than there are */
    ask_for(5, 4, 5);
    ask_for(6, 5, 1);
    asked[5].not_after_us += 1000000;
    ask_for(7, 6, 1);
    asked[7].not_after_us = 1;
    sell_to(8);
    static const purchase_outcome expected[] = {BUY_SOLD,     BUY_SOLD, BUY_BUSY,     BUY_SOLD,
                                                BUY_SOLD_OUT, BUY_SOLD, BUY_SOLD_OUT, BUY_BUSY};
    for (int i = 0; i < 8; i++) {
        assert_int_equal(results[i].outcome, expected[i]);
        assert_int_equal(results[i].replayed, i == 1 || i == 3);
        assert_int_equal(results[i].remaining, 0);
    }
    check_told(0, 2, 5);
    check_told(1, 1, 9);
    check_told(3, 2, 5);
    check_told(5, 3, 0);
    check_numbers(0, 10, 3);
}

static void one_user_has_no_more_than_the_limit_in_one_call(void **state)
{
    (void)state;
    open_sale_of(100, 3);
    for (int i = 0; i < 5; i++) {
        ask_for(i, i, 1 + (i == 3));
        if (i < 4)
            snprintf(asked[i].user, sizeof(asked[i].user), "one");
    }
    sell_to(5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(results[i].outcome, i == 3 ? BUY_LIMIT_REACHED : BUY_SOLD);
    check_told(2, 3, 97);
    check_told(4, 4, 96);
    check_numbers(96, 4, 4);
    assert_int_equal(fx_redis_number(fx.redis, "HGET %s one", sale.keys->users), 3);
    assert_int_equal(fx_redis_number(fx.redis, "HGET %s u+4@shop", sale.keys->users), 1);
}

static int setup(void **state)
{
    char err[256];
    fx_service_start(state);
    assert_int_equal(store_open(&store, fx_redis_url(fx.redis), NULL, "i", err, sizeof(err)), 0);
    nodes_make_well(&store);
    return 0;
}

static int teardown(void **state)
{
    store_close(&store);
    return fx_service_stop(state);
}

/* A record with a number that is not its own stops no other buyer of the call, and nothing of it is
 * remembered. Who asks twice in the call that sells to it has its order twice. */
static void a_false_number_is_one_buyers_damage(void **state)
{
    (void)state;
    open_sale_of(100, 0);
    for (int i = 0; i < 3; i++)
        ask_for(i, i, 1);
    sell_to(3);
    freeReplyObject(fx_redis_reply(fx.redis, "HSET %s r1 %s", sale.keys->orders,
                                   "999999999999 u+1@shop 1 98 0 i 1 " LEDGER_EPOCH " sold"));
    ask_for(3, 3, 1);
    ask_for(4, 3, 1);
    sell_to(5);
    check_told(0, 1, 99);
    assert_int_equal(results[1].outcome, BUY_DAMAGED);
    check_told(2, 3, 97);
    check_told(3, 4, 96);
    check_told(4, 4, 96);
    assert_true(results[4].replayed);
    int64_t number;
    known_ledger_epochs(sale.known, &number);
    assert_int_equal(number, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_is_told_as_it_was_recorded),
        cmocka_unit_test(buyers_of_one_call_are_told_apart),
        cmocka_unit_test(one_user_has_no_more_than_the_limit_in_one_call),
        cmocka_unit_test(a_false_number_is_one_buyers_damage),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
