/*
 * What a plan says of a sale, of a user's name, and of which requests are sent again.
 */
#include "tests/support/fixture.h"

#include "loadtest/base/plan.h"

#include <string.h>

static void a_sale_is_a_strategy_with_its_options(void **unused)
{
    (void)unused;
    lt_sale_spec defaults = sale_spec_none(), sale;
    char err[512];
    defaults.hold_ms = 70;
    defaults.wait_ms = 80;
    assert_true(sale_spec_parse("setnx:wait_ms=0:lease_ms=86400000::per_user_limit=3:segments=16:"
                                "durability=disk",
                                &defaults, &sale, err, sizeof(err)));
    assert_string_equal(sale.strategy, "setnx");
    assert_string_equal(sale.durability, "disk");
    assert_int_equal(sale.wait_ms, 0);
    assert_int_equal(sale.lease_ms, 86400000);
    assert_int_equal(sale.hold_ms, 70);
    assert_int_equal(sale.per_user_limit, 3);
    assert_int_equal(sale.segments, 16);
    assert_true(sale_spec_parse("fair", &defaults, &sale, err, sizeof(err)));
    assert_string_equal(sale.strategy, "fair");
    assert_string_equal(sale.label, "fair");
    assert_string_equal(sale.durability, "");
    assert_int_equal(sale.wait_ms, 80);
    assert_int_equal(sale.lease_ms, SALE_NOT_GIVEN);
    assert_int_equal(sale.per_user_limit, SALE_NOT_GIVEN);
    assert_int_equal(sale.segments, SALE_NOT_GIVEN);
}

/* A sentence says why, and what was there stays as it was. */
static void what_is_no_sale_is_refused_with_words(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *words;
    } table[] = {
        {"", "\"\" is not a strategy"},
        {":wait_ms=1", "is not a strategy"},
        {"fair:wait_ms", "\"wait_ms\" needs a whole number from 0 to 86400000"},
        {"fair:wait_ms=", "needs a whole number"},
        {"fair:wait_ms=86400001", "needs a whole number"},
        {"fair:wait_m=1", "\"wait_m=1\" is not an option of a sale; there are lease_ms"},
        {"fair:durability", "\"durability\" is not an option of a sale"},
        {"fair:durability=", "\"durability=\" needs 1 to 31 letters"},
    };
    lt_sale_spec defaults = sale_spec_none();
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_sale_spec sale = {.segments = 12};
        char err[512] = "";
        if (sale_spec_parse(table[i].text, &defaults, &sale, err, sizeof(err)) ||
            !strstr(err, table[i].words) || sale.segments != 12)
            fail_msg("\"%s\" gave: %s", table[i].text, err);
    }
}

/* As many letters as there is room for, and one more: nothing is cut off in silence. */
static void nothing_of_a_sale_is_cut_off(void **unused)
{
    (void)unused;
    static const struct {
        const char *before;
        char letter;
        size_t most;
    } table[] = {{"", 'a', sizeof(((lt_sale_spec *)0)->strategy) - 1},
                 {"a", ':', sizeof(((lt_sale_spec *)0)->label) - 2},
                 {"a:durability=", 'a', sizeof(((lt_sale_spec *)0)->durability) - 1}};
    lt_sale_spec defaults = sale_spec_none(), sale;
    for (size_t i = 0; i < COUNT(table); i++) {
        char text[256], err[512] = "";
        size_t length = strlen(table[i].before) + table[i].most;
        snprintf(text, sizeof(text), "%s", table[i].before);
        memset(text + strlen(text), table[i].letter, table[i].most + 1);
        text[length + 1] = '\0';
        assert_false(sale_spec_parse(text, &defaults, &sale, err, sizeof(err)));
        assert_string_not_equal(err, "");
        text[length] = '\0';
        assert_true(sale_spec_parse(text, &defaults, &sale, err, sizeof(err)));
        assert_string_equal(sale.label, text);
    }
}

static void a_name_is_a_requests_or_a_users(void **unused)
{
    (void)unused;
    char name[USER_NAME_MAX];
    lt_plan plan = {.users = 10};
    plan_user_name(&plan, 25, name);
    assert_string_equal(name, "u25");
    plan.same_names = true;
    plan_user_name(&plan, 25, name);
    assert_string_equal(name, "buyer-5");
}

/* None, all, or about the share that was asked for; with another seed other ones. */
static void a_share_of_the_requests_is_sent_again(void **unused)
{
    (void)unused;
    enum { TICKETS = 10000 };
    int again = 0, other = 0;
    for (int64_t ticket = 0; ticket < TICKETS; ticket++) {
        lt_plan none = {.replay = 0}, all = {.replay = 1};
        lt_plan some = {.replay = 0.2, .seed = 1}, seeded = {.replay = 0.2, .seed = 77};
        assert_false(plan_replays(&none, ticket));
        assert_true(plan_replays(&all, ticket));
        again += plan_replays(&some, ticket);
        other += plan_replays(&some, ticket) != plan_replays(&seeded, ticket);
    }
    assert_in_range(again, TICKETS / 6, TICKETS / 4);
    assert_true(other > TICKETS / 10);
}

/* Some are confirmed, some cancelled, the rest is left alone; the same ones again. */
static void reserved_orders_end_in_three_ways(void **unused)
{
    (void)unused;
    enum { TICKETS = 10000 };
    lt_plan none = {.confirm = 1}, all = {.reserve_s = 1, .confirm = 1};
    lt_plan some = {.reserve_s = 1, .confirm = 0.6, .cancel = 0.3, .seed = 1};
    int confirmed = 0, cancelled = 0;
    for (int64_t ticket = 0; ticket < TICKETS; ticket++) {
        const char *ending = plan_ending(&some, ticket);
        assert_null(plan_ending(&none, ticket));
        assert_string_equal(plan_ending(&all, ticket), "confirm");
        confirmed += ending && strcmp(ending, "confirm") == 0;
        cancelled += ending && strcmp(ending, "cancel") == 0;
        assert_ptr_equal(ending, plan_ending(&some, ticket));
    }
    assert_in_range(confirmed, TICKETS * 0.57, TICKETS * 0.63);
    assert_in_range(cancelled, TICKETS * 0.27, TICKETS * 0.33);
}

static void a_timed_run_sells_half_the_time(void **unused)
{
    (void)unused;
    static const struct {
        double rps;
        long quantity, stock;
    } table[] = {
        {1000, 1, 750}, {999, 1, 750}, {1000, 3, 2250}, {0.1, 1, 1}, {1e300, 1, 1000000000}};
    for (size_t i = 0; i < COUNT(table); i++) {
        lt_plan plan = {.runs = 3,
                        .run_length = 1500 * NS_PER_MS,
                        .stock = 1000,
                        .requests = 5000,
                        .users = 100,
                        .quantity = table[i].quantity};
        plan_limit_time(&plan, table[i].rps);
        assert_int_equal(plan.stock, table[i].stock);
        assert_int_equal(plan.requests, 0);
        assert_int_equal(plan.duration, plan.run_length);
        assert_int_equal(plan.users, 100);
    }
    lt_plan without = {.runs = 3, .requests = 5000, .stock = 10}, with = without;
    with.run_length = NS_PER_S;
    assert_int_equal(plan_turns(&without), 3);
    assert_int_equal(plan_turns(&with), 4);
    plan_limit_time(&with, 0); /* a sale without a sold unit */
    assert_true(with.stock == 10 && with.requests == 5000 && with.duration == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sale_is_a_strategy_with_its_options),
        cmocka_unit_test(what_is_no_sale_is_refused_with_words),
        cmocka_unit_test(nothing_of_a_sale_is_cut_off),
        cmocka_unit_test(a_name_is_a_requests_or_a_users),
        cmocka_unit_test(a_share_of_the_requests_is_sent_again),
        cmocka_unit_test(reserved_orders_end_in_three_ways),
        cmocka_unit_test(a_timed_run_sells_half_the_time),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
