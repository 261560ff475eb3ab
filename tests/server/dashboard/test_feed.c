/*
 * test_feed.c - how far the reader of a sale's orders has got: as one instance computes it from the
 * questions, in its metrics, and in every instance's live document. The questions are made by this
 * program, which is an instance of its own for that.
 */

#include "server/dashboard/dashboard.h"
#include "server/sale/feed_seen.h"
#include "server/sale/sale_find.h"
#include "tests/server/dashboard/look.h"
#include "tests/server/nodes.h"

/* ---- by its questions ------------------------------------------------------------------------ */

static fs_sale sale;
static sale_figures figures;

static void begin(int segments, int64_t orders)
{
    memset(&sale, 0, sizeof(sale));
    memset(&figures, 0, sizeof(figures));
    sale.open_sale.key_sets = segments;
    sale.open_sale.figures = &figures;
    sale_saw_numbers(&sale.open_sale, &(ledger_numbers){.orders = orders});
}

static void assert_lag(int64_t orders, int64_t behind)
{
    feed_lag lag;
    assert_true(sale_feed_lag(&sale, 60000, &lag));
    assert_int_equal(lag.orders, orders);
    assert_int_equal(lag.behind, behind);
    assert_in_range(lag.asked_us, 0, 60000000);
}

/* So much time passes. */
static void pass(int64_t ms)
{
    for (int k = 0; k < sale.open_sale.key_sets; k++)
        sale.feed[k].asked_us -= ms * 1000;
}

static void what_is_asked_for_says_how_far_one_is(void **state)
{
    (void)state;
    feed_lag lag;
    begin(1, 100);
    assert_false(sale_feed_lag(&sale, 60000, &lag)); /* nobody has asked */
    sale_saw_feed(&sale, 0, 0);
    assert_lag(0, 100);
    sale_saw_feed(&sale, 0, 75);
    assert_lag(75, 25);
    sale_saw_feed(&sale, 0, 101); /* sold since the last look */
    assert_lag(101, 0);
    pass(59000);
    assert_lag(101, 0);
    pass(2000);
    assert_false(sale_feed_lag(&sale, 60000, &lag));
    assert_true(sale_feed_lag(&sale, 600000, &lag));
    assert_true(lag.asked_us >= 61000000);
}

static void a_sharded_sale_is_the_sum_once_each_segment_is_known(void **state)
{
    (void)state;
    feed_lag lag;
    begin(3, 90);
    sale_saw_feed(&sale, 0, 30);
    sale_saw_feed(&sale, 2, 20);
    assert_false(sale_feed_lag(&sale, 60000, &lag));
    sale_saw_feed(&sale, 1, 10);
    assert_lag(60, 30);
    begin(3, 90);
    sale_saw_feed(&sale, FEED_EVERY_SEGMENT, 0); /* it reads the sale before */
    assert_lag(0, 90);
}

/* A check of everything beside the follower; and a follower that begins anew. */
static void who_is_furthest_on_counts_while_it_asks(void **state)
{
    (void)state;
    begin(1, 100);
    sale_saw_feed(&sale, 0, 80);
    sale_saw_feed(&sale, 0, 0);
    assert_lag(80, 20);
    pass(11000);
    sale_saw_feed(&sale, 0, 0);
    assert_lag(0, 100);
}

/* ---- as it is told --------------------------------------------------------------------------- */

static fs_store store;
static sale_table *table;
static fs_metrics metrics;
static dashboard *told;

static int start(void **state)
{
    char err[256];
    if (fx_service_start(state) != 0 ||
        store_open(&store, fx_redis_url(fx.redis), NULL, "reader", err, sizeof(err)) != 0)
        return -1;
    nodes_make_well(&store);
    nodes_admit_again(&store);
    table = sale_table_open(&store);
    told = table ? dashboard_start(&store, table, &metrics) : NULL;
    return told ? 0 : -1;
}

static int stop(void **state)
{
    dashboard_stop(told);
    sale_table_close(table);
    store_close(&store);
    return fx_service_stop(state);
}

/* The reader's own instance takes the sale up, and is asked for what comes after so many. */
static void ask(const char *item, int64_t orders)
{
    fs_sale *mine;
    assert_int_equal(sale_refresh(table, item, dlock_in_ms(10000)), SALE_OK);
    assert_int_equal(sale_find(table, item, dlock_in_ms(10000), &mine), SALE_OK);
    for (int k = 0; k < mine->open_sale.key_sets; k++)
        sale_saw_feed(mine, k, k == 0 ? orders : 0);
    sale_table_put(mine);
}

static bool has_metric(const char *name, const char *item, int number)
{
    char line[128];
    fs_text text;
    text_init(&text);
    sale_metrics_write(table, &text);
    snprintf(line, sizeof(line), "\nflashsale_feed_%s{item=\"%s\"} %d\n", name, item, number);
    bool has = strstr(text_bytes(&text), line) != NULL;
    text_free(&text);
    return has;
}

typedef struct wish {
    int orders, behind;
} wish;

static bool is_told(const cJSON *document, const void *arg)
{
    const wish *is = arg;
    const cJSON *feed = member(document, "feed");
    double now_us = fx_json_number(document, "now_ms") * 1000;
    return cJSON_IsObject(feed) && (int)fx_json_number(feed, "orders") == is->orders &&
           (int)fx_json_number(feed, "behind") == is->behind &&
           now_us - fx_json_number(feed, "asked_us") < 60e6;
}

static bool is_null(const cJSON *document, const void *arg)
{
    (void)arg;
    return cJSON_IsNull(member(document, "feed"));
}

static void what_one_instance_was_asked_all_tell(void **state)
{
    (void)state;
    static const char *const terms[] = {"'stock':50,'strategy':'combined'",
                                        "'stock':50,'strategy':'sharded','segments':2"};
    for (int t = 0; t < 2; t++) {
        fx_sell("%s", terms[t]);
        for (int i = 0; i < 5; i++)
            fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u%d", i);
        await_document(fx.server[1], "P0001", is_null, NULL, "nobody asks");
        ask("P0001", 2);
        assert_true(has_metric("behind_orders", "P0001", 3));
        assert_true(has_metric("asked_seconds", "P0001", 0));
        for (int i = 0; i < 2; i++)
            await_document(fx.server[i], "P0001", is_told, &(wish){2, 3}, "three behind");
        ask("P0001", 5);
        await_document(fx.server[0], "P0001", is_told, &(wish){5, 0}, "none behind");
    }
    fx_sell("'stock':50,'strategy':'combined'"); /* another sale */
    await_document(fx.server[0], "P0001", is_null, NULL, "not asked as yet");
}

static void follow(const char *sale_id, const char *after, char next[256])
{
    const char *page = fx_expect(fx.server[1], 200,
                                 "GET /orders?item=P0001&sale=%s&after=%s&limit=2", sale_id, after);
    fx_copy_member(page, "after", next, 256);
}

/* By its position, not by what it is answered: that is not in its database as yet. */
static void a_follower_is_where_it_asks_to_go_on(void **state)
{
    (void)state;
    char before[64], now[64], next[256];
    snprintf(before, sizeof(before), "%s", fx_sell("'stock':50,'strategy':'combined'"));
    snprintf(now, sizeof(now), "%s", fx_sell("'stock':50,'strategy':'combined'"));
    for (int i = 0; i < 3; i++)
        fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u%d", i);
    follow(before, "0", next);
    await_document(fx.server[0], "P0001", is_told, &(wish){0, 3}, "it reads the sale before");
    follow(now, "0", next);
    await_document(fx.server[0], "P0001", is_told, &(wish){0, 3}, "it has nothing as yet");
    follow(now, next, next);
    await_document(fx.server[0], "P0001", is_told, &(wish){2, 1}, "it has two");
    follow(before, "0", next); /* somebody else */
    follow(now, "0", next);
    await_document(fx.server[0], "P0001", is_told, &(wish){2, 1}, "it is where it was");
    fx_has(fx_expect(fx.server[1], 200, "GET /metrics"),
           "\nflashsale_feed_behind_orders{item=\"P0001\"} 1\n");
}

/* A question of long ago is no news for people; the metrics keep it for a while. */
static void who_does_not_ask_any_more_is_told_of_by_metrics_alone(void **state)
{
    (void)state;
    fs_sale *mine;
    fx_sell("'stock':50,'strategy':'combined'");
    ask("P0001", 0);
    await_document(fx.server[0], "P0001", is_told, &(wish){0, 0}, "asked");
    assert_true(sale_table_take(table, "P0001", false, &mine));
    mine->feed[0].asked_us -= 61 * 1000000LL;
    await_document(fx.server[0], "P0001", is_null, NULL, "a minute later");
    assert_true(has_metric("behind_orders", "P0001", 0));
    assert_false(has_metric("asked_seconds", "P0001", 0));
    mine->feed[0].asked_us -= 540 * 1000000LL;
    assert_false(has_metric("behind_orders", "P0001", 0));
    sale_table_put(mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for_says_how_far_one_is),
        cmocka_unit_test(a_sharded_sale_is_the_sum_once_each_segment_is_known),
        cmocka_unit_test(who_is_furthest_on_counts_while_it_asks),
        cmocka_unit_test(what_one_instance_was_asked_all_tell),
        cmocka_unit_test(a_follower_is_where_it_asks_to_go_on),
        cmocka_unit_test(who_does_not_ask_any_more_is_told_of_by_metrics_alone),
    };
    fx.plan = (fx_plan){.instances = 2, .args = FX_ARGS(FX_P0001)};
    return cmocka_run_group_tests(tests, start, stop);
}
