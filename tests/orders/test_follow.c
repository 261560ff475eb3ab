/*
 * test_follow.c - flashsale-orders follows real instances: whatever is sold, by which sale and how,
 * is in the database as its buyer was told it, and a follower that was ended goes on. Each case
 * ends with `check`, and on SQLite and on PostgreSQL.
 *
 * (Trouble: test_follow_troubles.c. Two at once: test_followers.c. A Redis that has forgotten:
 * test_follow_lost.c.)
 */
#include "tests/orders/follower.h"
#include "tests/server/reservations.h"

#define PLAIN "'stock':5000,'strategy':'combined'"

static void begin_case(void **state)
{
    use_database(*state);
    open_shop();
}

/* ---- sales ----------------------------------------------------------------------------------- */

static void a_sale_is_copied_as_its_buyers_were_told(void **state)
{
    begin_case(state);
    sell_here(PLAIN);
    sell_to(40); /* before there is a follower */
    fx_process *follower = start_follower(FX_ARGS("--item", shop));
    await_orders(40);
    sell_to(60); /* and as it runs */
    fx_refused(fx.server[0], 422, "request_reused", "POST /buy?item=%s&user=u0&request=%s-r0", shop,
               shop);
    expect_all_that_was_told(shop);
    assert_int_equal(stop_follower(follower), 0);
    assert_string_equal(orders_err, "");
    expect_all_that_was_told(shop);
    assert_string_equal(sql_text("SELECT min(number), max(number), count(*), count(DISTINCT number)"
                                 " FROM flashsale_orders"),
                        "1|100|100|100");
}

/* Every strategy that keeps a ledger. */
static void every_strategy_is_copied(void **state)
{
    begin_case(state);
    fx_process *follower = start_follower(FX_ARGS("--item", shop));
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char terms[128];
        snprintf(terms, sizeof(terms), "'stock':100,'strategy':'%s'", s->name);
        sell_here(terms);
        sell_to(4);
    }
    expect_all_that_was_told(shop);
    assert_int_equal(stop_follower(follower), 0);
}

static void more_than_a_page_is_copied(void **state)
{
    begin_case(state);
    sell_here(PLAIN);
    sell_to(1203);
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
    expect_all_that_was_told(shop);
    assert_non_null(strstr(orders_out, "1203 events of 1 sales compared"));
}

static void one_sale_after_the_other_is_copied(void **state)
{
    begin_case(state);
    for (int i = 0; i < 2; i++) { /* two before it runs, one of them without a buyer */
        sell_here(PLAIN);
        sell_to(i * 10);
    }
    fx_process *follower = start_follower(FX_ARGS("--item", shop));
    for (int i = 0; i < 3; i++) { /* and others as it does */
        sell_here(i == 1 ? "'stock':1000,'strategy':'sharded','segments':3" : PLAIN);
        sell_to(i == 0 ? 0 : 12);
        if (i == 1)
            await_orders(count_told());
    }
    expect_all_that_was_told(shop);
    assert_non_null(strstr(orders_out, "of 5 sales compared"));
    await_number(4 + 2, "SELECT count(*) FROM flashsale_positions WHERE ended = 1");
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_positions WHERE ended = 0"), 1);
    assert_int_equal(stop_follower(follower), 0);
}

static void a_sharded_sale_is_copied(void **state)
{
    begin_case(state);
    fx_process *follower = start_follower(FX_ARGS("--item", shop));
    sell_here("'stock':1000,'strategy':'sharded','segments':4");
    sell_to(60);
    expect_all_that_was_told(shop);
    assert_int_equal(sql_number("SELECT count(DISTINCT segment) FROM flashsale_orders"), 4);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_positions"), 4);
    assert_int_equal(stop_follower(follower), 0);
}

/* Those of other cases are copied, too: what counts is what this one was told. */
static void all_items_are_copied(void **state)
{
    begin_case(state);
    told_order kept[3 * 7];
    int count = 0;
    fx_process *follower = start_follower(NULL);
    for (int i = 0; i < 3; i++) {
        open_shop();
        sell_here(PLAIN);
        sell_to(5 + i);
        memcpy(kept + count, told, (size_t)told_count * sizeof(told[0]));
        count += told_count;
        char sql[128];
        snprintf(sql, sizeof(sql), "SELECT count(*) FROM flashsale_orders WHERE item = '%s'", shop);
        await_number(5 + i, sql);
    }
    memcpy(told, kept, (size_t)count * sizeof(told[0]));
    told_count = count;
    expect_what_was_told();
    expect_sound(NULL);
    assert_int_equal(stop_follower(follower), 0);
    assert_int_equal(run_orders("follow", FX_ARGS("--once")), 0);
    expect_sound(NULL);
    assert_true(sql_number("SELECT count(DISTINCT item) FROM flashsale_positions") >= 4);
}

/* ---- reservations ---------------------------------------------------------------------------- */

#define RESERVING "'stock':100,'strategy':'combined','per_user_limit':9,'reserve_max_s':3600"

static void reserve_here(const char *request, const char *user, int units)
{
    fx_expect(fx.server[1], 201, "POST /buy?item=%s&user=%s&request=%s&quantity=%d&reserve_s=%d",
              shop, user, request, units, RESERVE_S);
}

static void settle_here(const char *what, const char *request, const char *sale)
{
    fx_expect(fx.server[0], 200, "POST /orders/%s/%s?item=%s&sale=%s", request, what, shop, sale);
}

static void revoke_here(const char *request, const char *sale)
{
    char url[512];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/orders/%s/cancel?item=%s&sale=%s", fx_server_url(fx.server[0]),
             request, shop, sale);
    assert_int_equal(
        fx_http("POST", url, FX_ARGS("Authorization: Bearer any"), NULL, 15000, &reply), 200);
    fx_reply_free(&reply);
}

/* The view says of each order what the service says. */
static void expect_states_as_told(const char *sale)
{
    static const char *const requests[] = {"kept", "paid", "back", "over", "late", "sold", "taken"};
    for (size_t i = 0; i < COUNT(requests); i++) {
        char state[32], sql[512];
        fx_copy_member(
            fx_expect(fx.server[0], 200, "GET /orders/%s?item=%s&sale=%s", requests[i], shop, sale),
            "state", state, sizeof(state));
        snprintf(sql, sizeof(sql),
                 "SELECT count(*) FROM flashsale_order_states WHERE request = '%s' AND"
                 " state = '%s' AND sale = '%s'",
                 requests[i], state, sale);
        await_number(1, sql);
    }
}

static void what_becomes_of_reservations_is_copied(void **state)
{
    begin_case(state);
    char sale[64];
    fx_process *follower = start_follower(FX_ARGS("--item", shop));
    snprintf(sale, sizeof(sale), "%s", sell_here(RESERVING));
    reserve_here("over", "u1", 2);
    let_redis_pass(RESERVE_S / 2);
    reserve_here("kept", "u1", 2);
    reserve_here("paid", "u1", 1);
    reserve_here("back", "u2", 3);
    reserve_here("late", "u3", 1);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u4&request=sold", shop);
    fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u4&request=taken", shop);
    settle_here("confirm", "paid", sale);
    settle_here("cancel", "back", sale);
    revoke_here("taken", sale);
    expect_states_as_told(sale);

    let_redis_pass(RESERVE_S / 2 + 1); /* one expires */
    await_number(1, "SELECT count(*) FROM flashsale_moves WHERE what = 'expired'");
    expect_states_as_told(sale);
    sell_here(PLAIN); /* the sale is over, and reservations of it are confirmed yet */
    sell_to(3);
    await_orders(count_told());
    settle_here("confirm", "late", sale);
    await_number(1, "SELECT count(*) FROM flashsale_moves WHERE request = 'late'");
    expect_states_as_told(sale);
    expect_all_that_was_told(shop);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_moves"), 5);
    assert_int_equal(stop_follower(follower), 0);

    settle_here("confirm", "kept", sale); /* and as nobody follows */
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
    expect_states_as_told(sale);
    expect_all_that_was_told(shop);
}

/* ---- ended, and started again ---------------------------------------------------------------- */

/* It ends by itself: a signal that comes while it is being loaded would kill it. */
static bool catches_sigterm(void *follower)
{
    char command[128], caught[32];
    snprintf(command, sizeof(command), "awk '$1 == \"SigCgt:\" { print $2 }' /proc/%d/status",
             (int)fx_process_pid(follower));
    assert_int_equal(fx_shell_output(command, caught, sizeof(caught)), 0);
    return strtoull(caught, NULL, 16) >> (SIGTERM - 1) & 1;
}

static void a_follower_goes_on_where_another_ended(void **state)
{
    begin_case(state);
    static const int signals[] = {SIGTERM, SIGKILL, SIGINT, SIGTERM};
    sell_here(PLAIN);
    for (int i = 0; i < 4; i++) {
        fx_process *follower = start_follower(FX_ARGS("--item", shop));
        sell_to(20);
        if (i % 2 == 0)
            await_orders(count_told());
        if (i == 2)
            sell_here(PLAIN);
        if (!fx_wait_until(catches_sigterm, follower, COPY_MS))
            fail_msg("follower %d: %s", i, fx_process_stderr(follower));
        fx_process_signal(follower, signals[i]);
        assert_int_equal(end_orders(follower), signals[i] == SIGKILL ? 128 + SIGKILL : 0);
        sell_to(20);
    }
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
    expect_all_that_was_told(shop);
}

/* What is there already is not written again. */
static void once_ends_with_all_that_there_is(void **state)
{
    begin_case(state);
    assert_int_equal(run_orders("follow", FX_ARGS("--item", "never-sold", "--once")), 0);
    assert_int_equal(sql_number("SELECT count(*) FROM flashsale_positions"), 0);
    sell_here(PLAIN);
    sell_to(30);
    for (int i = 0; i < 2; i++)
        assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
    expect_all_that_was_told(shop);
    sell_here("'stock':1000,'strategy':'sharded','segments':2");
    sell_to(30);
    assert_int_equal(run_orders("follow", FX_ARGS("--item", shop, "--once")), 0);
    assert_string_equal(orders_err, "");
    expect_all_that_was_told(shop);
}

static int stop_all(void **state)
{
    stop_postgres();
    return stop_with_clocks(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_EACH_DATABASE(a_sale_is_copied_as_its_buyers_were_told),
        ON_EACH_DATABASE(every_strategy_is_copied),
        ON_EACH_DATABASE(more_than_a_page_is_copied),
        ON_EACH_DATABASE(one_sale_after_the_other_is_copied),
        ON_EACH_DATABASE(a_sharded_sale_is_copied),
        ON_EACH_DATABASE(all_items_are_copied),
        ON_EACH_DATABASE(what_becomes_of_reservations_is_copied),
        ON_EACH_DATABASE(a_follower_goes_on_where_another_ended),
        ON_EACH_DATABASE(once_ends_with_all_that_there_is),
    };
    fx.plan = (fx_plan){.instances = 2, .one_server = true};
    return cmocka_run_group_tests(tests, start_with_clocks, stop_all);
}
