/*
 * test_feed.c - GET /orders with `after`: every order once and in its order, over pages, segments
 * and sales; a Redis that has forgotten is said, and both come to where they agree; nothing is told
 * that a failover may undo; and who has nothing to hear costs no write.
 *
 * (Reservations: test_feed_moves.c.)
 */
#include <pthread.h>
#include <signal.h>

#include "tests/server/feed.h"
#include "tests/support/proxy.h"

enum { WAIT_MS = 30000, MANY = 1005 };

static feed_copy copy;

static void buy(const char *item, const char *name, int from, int to)
{
    for (int i = from; i <= to; i++)
        fx_expect(fx.server[i % 2], 201, "POST /buy?item=%s&user=u%d&request=%s%d", item, i, name,
                  i);
}

/* It has so many orders, which are name1, name2 ... */
static void expect_orders(const char *name, int from, int to)
{
    assert_int_equal(copy.orders, to);
    for (int i = from; i <= to; i++) {
        char request[READER_WORD];
        snprintf(request, sizeof(request), "%s%d", name, i);
        assert_string_equal(copy.request[i], request);
    }
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void a_page_follows_the_other(void **state)
{
    (void)state;
    static const struct {
        int limit, pages;
    } all[] = {{1, MANY}, {7, 144}, {1000, 2}, {0, 2}};
    fx_start_sale(fx.server[0], "Pages", "'stock':5000,'strategy':'combined'");
    buy("Pages", "p", 1, MANY);
    for (size_t i = 0; i < COUNT(all); i++) {
        copy_begin(&copy, "Pages", "", 0);
        copy.limit = all[i].limit;
        assert_int_equal(copy_follow(&copy, fx.server[i % 2]), all[i].pages);
        expect_orders("p", 1, MANY);
    }
    assert_false(copy.end);
    assert_string_equal(copy.next_sale, "");
    buy("Pages", "p", MANY + 1, MANY + 2);
    assert_int_equal(copy_follow(&copy, fx.server[1]), 1);
    expect_orders("p", 1, MANY + 2);
    assert_int_equal(copy.rewound, 0);
}

/* An order is told with all that its buyer was told, whatever became of it. */
static void an_event_has_what_the_buyer_was_told(void **state)
{
    (void)state;
    static const char *const members[] = {"order", "request", "user", "instance"};
    static const char *const numbers[] = {"quantity", "remaining", "fence"};
    fx_start_sale(fx.server[0], "Told", "'stock':9,'strategy':'fenced'");
    cJSON *told = cJSON_Parse(fx_expect(
        fx.server[0], 201, "POST /buy?item=Told&user=ann%%40mail.example&quantity=2&request=t1"));
    cJSON *page = cJSON_Parse(fx_expect(fx.server[1], 200, "GET /orders?item=Told&after=0"));
    const cJSON *event = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(page, "events"), 0);
    for (size_t i = 0; i < COUNT(members); i++)
        assert_string_equal(fx_json_text(event, members[i]), fx_json_text(told, members[i]));
    for (size_t i = 0; i < COUNT(numbers); i++)
        assert_true(fx_json_number(event, numbers[i]) == fx_json_number(told, numbers[i]));
    assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(event, "expires_us")));
    assert_true(fx_json_number(event, "time_us") <= fx_json_number(page, "time_us"));
    cJSON_Delete(told);
    cJSON_Delete(page);
}

static void what_can_not_be_asked_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *query, *code;
    } all[] = {
        {"after=", "bad_after"},
        {"after=x", "bad_after"},
        {"after=1", "bad_after"},
        {"after=-1", "bad_after"},
        {"after=00", "bad_after"},
        {"after=0-0123456789ab", "bad_after"},
        {"after=01-0123456789ab", "bad_after"},
        {"after=1-0123456789a", "bad_after"},
        {"after=1-0123456789abc", "bad_after"},
        {"after=1-0123456789AB", "bad_after"},
        {"after=1-0123456789ab.", "bad_after"},
        {"after=1-0123456789ab.0", "bad_after"},
        {"after=1-0123456789ab.1", "bad_after"},
        {"after=1-0123456789ab.1-0123456789ab.", "bad_after"},
        {"after=1000000000000000-0123456789ab", "bad_after"},
        {"after=1.1-0123456789ab", "bad_after"},
        {"after=0&cursor=0.0", "bad_after"},
        {"limit=1", "bad_after"},
        {"segment=0", "bad_after"},
        {"sale=06ffffffffffff", "bad_after"},
        {"cursor=0.0&limit=1", "bad_after"},
        {"after=0&limit=0", "bad_limit"},
        {"after=0&limit=1001", "bad_limit"},
        {"after=0&limit=x", "bad_limit"},
        {"after=0&segment=1", "bad_segment"},
        {"after=0&segment=16", "bad_segment"},
        {"after=0&segment=-1", "bad_segment"},
        {"after=0&sale=%20", "bad_sale"},
    };
    fx_start_sale(fx.server[0], "Odd", "'stock':9");
    for (size_t i = 0; i < COUNT(all); i++)
        fx_refused(fx.server[0], 400, all[i].code, "GET /orders?item=Odd&%s", all[i].query);
    fx_refused(fx.server[0], 404, "no_such_sale", "GET /orders?item=Odd&after=0&sale=0000");
    fx_refused(fx.server[0], 404, "no_such_item", "GET /orders?item=none&after=0");
    fx_refused(fx.server[0], 400, "bad_item", "GET /orders?after=0");
}

static void only_the_admin_reads_it(void **state)
{
    (void)state;
    setenv("FLASHSALE_ADMIN_TOKEN", "correct-horse", 1);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), NULL);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    fx_refused(server, 401, "token_missing", "GET /orders?item=Pages&after=0");
    fx_server_kill(server);
}

/* ---- sales, and their segments --------------------------------------------------------------- */

/* From the oldest sale that is kept to the current one. The sales that were read. */
static int read_all_sales(const char *item, int orders[8])
{
    int sales = 0;
    char next[READER_WORD] = "";
    do {
        copy_begin(&copy, item, next, 0);
        copy_follow(&copy, fx.server[0]);
        orders[sales++] = copy.orders;
        assert_true(copy.end == (copy.next_sale[0] != '\0'));
        snprintf(next, sizeof(next), "%s", copy.next_sale);
    } while (next[0] != '\0' && sales < 8);
    return sales;
}

static void every_kept_sale_is_read_in_its_turn(void **state)
{
    (void)state;
    static const char *const strategies[] = {"none", "combined", "setnx", "atomic"};
    int orders[8];
    char first[READER_WORD] = "";
    for (int i = 0; i < 4; i++) {
        char name[8], sale[READER_WORD];
        snprintf(sale, sizeof(sale), "%s",
                 fx_start_sale(fx.server[0], "Turn", "'stock':50,'strategy':'%s'", strategies[i]));
        fx_wait_in_force("Turn", sale);
        if (i == 0)
            snprintf(first, sizeof(first), "%s", sale);
        snprintf(name, sizeof(name), "s%d-", i);
        buy("Turn", name, 1, i == 2 ? 0 : i + 3);
    }
    assert_int_equal(read_all_sales("Turn", orders), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(orders[i], i == 2 ? 0 : i + 3);
    assert_string_equal(copy.sale, fx_current_sale("Turn"));
    fx_redis_do(fx.redis, "DEL fs:{Turn}:%s:cfg", first); /* as when it is kept no more */
    fx_redis_do(fx.redis, "DEL fs:{Turn}:%s:stock", first);
    assert_int_equal(read_all_sales("Turn", orders), 3);
    assert_int_equal(orders[0], 4);
    fx_refused(fx.server[1], 404, "no_such_sale", "GET /orders?item=Turn&after=0&sale=%s", first);
}

/* An instance that has not heard of the sale that is in force knows which it is. */
static void a_sale_is_over_when_its_own_pointer_says_so(void **state)
{
    (void)state;
    char sale[READER_WORD], later[READER_WORD];
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "Parts", "'stock':90,'strategy':'sharded','segments':3"));
    fx_wait_in_force("Parts", sale);
    buy("Parts", "a", 1, 60);
    int orders = 0;
    for (int k = 0; k < 3; k++) {
        copy_begin(&copy, "Parts", sale, k);
        copy.limit = 7;
        copy_follow(&copy, fx.server[0]);
        assert_false(copy.end);
        orders += copy.orders;
    }
    assert_int_equal(orders, 60);
    fx_refused(fx.server[0], 400, "bad_segment", "GET /orders?item=Parts&after=0&segment=3");
    snprintf(later, sizeof(later), "%s",
             fx_start_sale(fx.server[0], "Parts", "'stock':9,'strategy':'atomic'"));
    for (int k = 0; k < 3; k++) {
        copy_begin(&copy, "Parts", sale, k);
        copy_ask(&copy, fx.server[1]);
        assert_true(copy.end);
        assert_string_equal(copy.next_sale, later);
        copy_begin(&copy, "Parts", sale, k);
        copy.limit = 1;
        copy_ask(&copy, fx.server[1]);
        assert_false(copy.end);
        assert_string_equal(copy.next_sale, "");
    }
}

/* ---- a Redis that has forgotten -------------------------------------------------------------- */

/* The latest orders are taken back, as by a Redis that is older. */
static void take_back(fx_redis *redis, const char *item, const char *sale, const char *name,
                      int from, int to)
{
    for (int i = from; i <= to; i++) {
        fx_redis_do(redis, "HDEL fs:{%s}:%s:orders %s%d", item, sale, name, i);
        fx_redis_do(redis, "RPOP fs:{%s}:%s:ledger", item, sale);
    }
    fx_redis_do(redis, "INCRBY fs:{%s}:%s:stock %d", item, sale, to - from + 1);
    fx_redis_do(redis, "DECRBY fs:{%s}:%s:sold %d", item, sale, to - from + 1);
}

static void await_halt(const char *item)
{
    char request[64];
    snprintf(request, sizeof(request), "POST /buy?item=%s&user=x", item);
    for (int at = 0; at < 2; at++)
        fx_await(fx.server[at], request, 503, "sale_rolled_back", WAIT_MS);
}

static void resume(const char *item)
{
    char sale[READER_WORD];
    const char *body =
        fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=%s&user=x", item);
    fx_copy_member(body, "sale", sale, sizeof(sale));
    cJSON *json = cJSON_Parse(body);
    int lost = feed_int(json, "lost_orders");
    cJSON_Delete(json);
    fx_expect(fx.server[0], 200, "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%d}",
              item, sale, lost);
    for (int at = 0; at < 2; at++) {
        char request[96];
        snprintf(request, sizeof(request), "POST /buy?item=%s&user=x&request=r%d", item, 16 + at);
        fx_await(fx.server[at], request, 201, "", WAIT_MS);
    }
}

/* The numbers of what was lost are given again, so a number alone would not tell. */
static void what_is_forgotten_is_told_and_agreed_upon(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "Lost", "'stock':100,'strategy':'atomic'");
    buy("Lost", "l", 1, 20);
    copy_begin(&copy, "Lost", "", 0);
    copy_follow(&copy, fx.server[0]);
    take_back(fx.redis, "Lost", fx_current_sale("Lost"), "l", 16, 20);
    fx_has(
        fx_refused(fx.server[1], 409, "feed_rewound", "GET /orders?item=Lost&after=%s", copy.after),
        "\"orders\":15,\"moves\":0");
    await_halt("Lost");
    copy_follow(&copy, fx.server[1]); /* the halted sale is read, too */
    assert_int_equal(copy.rewound, 1);
    expect_orders("l", 1, 15);
    copy_begin(&copy, "Lost", "", 0);
    copy_follow(&copy, fx.server[0]);
    expect_orders("l", 1, 15);
    feed_copy old = copy;
    copy_go_to(&old, 15, 0);
    resume("Lost"); /* sells orders 16 and 17 anew */
    buy("Lost", "r", 18, 30);
    for (int i = 16; i <= 20; i++) /* as who had read them before they were lost */
        memcpy(old.order_epoch[i], old.order_epoch[1], 16);
    for (int had = 15; had <= 20; had++) {
        copy = old;
        copy_go_to(&copy, had, 0);
        copy_follow(&copy, fx.server[had % 2]);
        assert_int_equal(copy.rewound, had > 15);
        assert_string_equal(copy.request[15], "l15");
        expect_orders("r", 16, 30);
    }
}

/* An epoch that the ledger does not have at all, of which nothing follows but that it is another:
 * back in steps, and to the beginning if need be. */
static void an_epoch_that_is_gone_leads_back_to_the_beginning(void **state)
{
    (void)state;
    copy_begin(&copy, "Pages", "", 0);
    copy_follow(&copy, fx.server[0]);
    int all = copy.orders;
    char fine[16];
    snprintf(fine, sizeof(fine), "%s", copy.order_epoch[1]);
    for (int i = 4; i <= all; i++)
        memcpy(copy.order_epoch[i], "ffffffffffff", 13);
    copy_go_to(&copy, all, 0);
    assert_int_equal(copy_ask(&copy, fx.server[1]), 409);
    assert_int_equal(copy.orders, all - 1000);
    assert_int_equal(copy_ask(&copy, fx.server[1]), 409);
    assert_int_equal(copy.orders, 0);
    copy_follow(&copy, fx.server[1]);
    expect_orders("p", 1, all);
    fx_has(fx_refused(fx.server[0], 409, "feed_rewound",
                      "GET /orders?item=Pages&after=999999999999999-%s", fine),
           "\"moves\":0");
    fx_has(fx_refused(fx.server[0], 409, "feed_rewound", "GET /orders?item=Pages&after=1-%s.7-%s",
                      fine, fine),
           "\"orders\":1,\"moves\":0");
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void a_damaged_ledger_is_not_told(void **state)
{
    (void)state;
    char sale[READER_WORD], key[128], record[512], epochs[256];
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "Hurt", "'stock':9,'strategy':'atomic'"));
    buy("Hurt", "h", 1, 3);
    snprintf(key, sizeof(key), "fs:{Hurt}:%s:orders", sale);
    assert_true(fx_redis_text(fx.redis, record, sizeof(record), "HGET %s h2", key));
    const char *rest = strchr(record, ' ');
    char *epoch = strrchr(record, ' ') - 12;
    char bad[5][600];
    snprintf(bad[0], sizeof(bad[0]), "3%s", rest);
    snprintf(bad[1], sizeof(bad[1]), "%s 17957259660", record);
    snprintf(bad[2], sizeof(bad[2]), "%s", "-");
    snprintf(bad[3], sizeof(bad[3]), "%.*sffffffffffff sold", (int)(epoch - record), record);
    snprintf(bad[4], sizeof(bad[4]), "%.*s reserved 17957259660", (int)(epoch + 12 - record),
             record);
    for (int i = 0; i < 5; i++) {
        freeReplyObject(fx_redis_reply(fx.redis, "HSET %s h2 %s", key, bad[i]));
        fx_refused(fx.server[1], 503, "sale_damaged", "GET /orders?item=Hurt&after=0");
    }
    freeReplyObject(fx_redis_reply(fx.redis, "HSET %s h2 %s", key, record));
    fx_redis_do(fx.redis, "RENAME fs:{Hurt}:%s:ledger fs:{Hurt}:kept", sale);
    fx_refused(fx.server[1], 503, "sale_damaged", "GET /orders?item=Hurt&after=0");
    fx_redis_do(fx.redis, "RENAME fs:{Hurt}:kept fs:{Hurt}:%s:ledger", sale);
    assert_true(fx_redis_text(fx.redis, epochs, sizeof(epochs), "GET fs:{Hurt}:%s:epochs", sale));
    fx_redis_do(fx.redis, "SET fs:{Hurt}:%s:epochs x", sale);
    fx_refused(fx.server[1], 503, "sale_damaged", "GET /orders?item=Hurt&after=0");
    freeReplyObject(fx_redis_reply(fx.redis, "SET fs:{Hurt}:%s:epochs %s", sale, epochs));
    copy_begin(&copy, "Hurt", "", 0);
    copy_follow(&copy, fx.server[1]);
    expect_orders("h", 1, 3);
    fx_wait_in_force("Hurt", fx_start_sale(fx.server[0], "Hurt", "'stock':9"));
    fx_redis_do(fx.redis, "SET fs:{Hurt}:%s:stock x", sale);
    snprintf(key, sizeof(key), "\"sale\":\"%s\",\"next_sale\":\"%s\"", sale,
             fx_current_sale("Hurt"));
    fx_has(fx_refused(fx.server[1], 503, "sale_damaged", "GET /orders?item=Hurt&after=0"), key);
    buy("Hurt", "n", 1, 3);
    take_back(fx.redis, "Hurt", fx_current_sale("Hurt"), "n", 2, 3);
    await_halt("Hurt"); /* a halt of the later one changes nothing about the one before */
    fx_has(fx_refused(fx.server[1], 503, "sale_damaged", "GET /orders?item=Hurt&after=0"), key);
}

/* Two sales that are over: the first one is asked about first, each time. */
static char over[2][READER_WORD];

static int logged_damage(int i)
{
    char text[READER_WORD + 16];
    int lines = 0;
    const char *line = fx_process_stderr(fx_server_process(fx.server[1]));
    snprintf(text, sizeof(text), "\"sale\":\"%s\"", over[i]);
    for (; (line = strstr(line, "\"event\":\"sale_damaged\"")); line++)
        lines += strncmp(strstr(line, "\"sale\":"), text, strlen(text)) == 0;
    return lines;
}

static bool is_logged(void *times)
{
    fx_refused(fx.server[1], 503, "sale_damaged", "GET /orders?item=Over0&after=0");
    fx_refused(fx.server[1], 503, "sale_damaged", "GET /orders?item=Over1&after=0");
    return logged_damage(0) >= ((int *)times)[0] && logged_damage(1) >= ((int *)times)[1];
}

static void damage_that_lasts_is_logged_once(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        char item[8];
        snprintf(item, sizeof(item), "Over%d", i);
        snprintf(over[i], sizeof(over[i]), "%s", fx_start_sale(fx.server[0], item, "'stock':9"));
        fx_wait_in_force(item, fx_start_sale(fx.server[0], item, "'stock':9"));
        fx_redis_do(fx.redis, "SET fs:{%s}:%s:stock x", item, over[i]);
    }
    assert_true(fx_wait_until(is_logged, (int[]){1, 1}, WAIT_MS));
    assert_int_equal(logged_damage(0), 1);
    fx_redis_do(fx.redis, "SET fs:{Over0}:%s:stock 9", over[0]);
    fx_expect(fx.server[1], 200, "GET /orders?item=Over0&after=0");
    fx_redis_do(fx.redis, "SET fs:{Over0}:%s:stock x", over[0]);
    assert_true(fx_wait_until(is_logged, (int[]){2, 1}, WAIT_MS));
    assert_int_equal(logged_damage(1), 1);
}

/* ---- what a failover may undo ---------------------------------------------------------------- */

static bool replica_is_online(void *redis)
{
    char info[4096];
    return fx_redis_text(redis, info, sizeof(info), "INFO replication") &&
           strstr(info, "state=online,") != NULL;
}

typedef struct stage {
    fx_redis *redis, *replica;
    fx_proxy *proxy;
    fx_server *server;
} stage;

/* A primary behind a proxy, its replica, and a sale with two orders. */
static stage start_stage(void)
{
    char port[16];
    stage s = {.redis = fx_redis_start_single(FX_ARGS("--repl-diskless-sync-delay", "0"))};
    snprintf(port, sizeof(port), "%d", fx_redis_port(s.redis));
    s.replica = fx_redis_start_single(FX_ARGS("--replicaof", "127.0.0.1", port));
    assert_true(fx_wait_until(replica_is_online, s.redis, WAIT_MS));
    s.proxy = fx_proxy_start(fx_redis_tcp_url(s.redis));
    s.server = fx_server_start(fx_proxy_url(s.proxy), FX_ARGS("--drain-delay", "0"));
    fx_start_sale(s.server, "Copy", "'stock':9,'strategy':'atomic','durability':'replicated'");
    for (int i = 1; i <= 2; i++)
        fx_expect(s.server, 201, "POST /buy?item=Copy&user=u&request=c%d", i);
    copy_begin(&copy, "Copy", "", 0);
    return s;
}

static void end_stage(stage *s)
{
    fx_server_kill(s->server);
    fx_proxy_stop(s->proxy);
    fx_redis_stop(s->replica);
    fx_redis_stop(s->redis);
}

static long waits(fx_redis *redis)
{
    char stats[8192];
    assert_true(fx_redis_text(redis, stats, sizeof(stats), "INFO commandstats"));
    const char *calls = strstr(stats, "cmdstat_wait:calls=");
    return calls ? strtol(calls + strlen("cmdstat_wait:calls="), NULL, 10) : 0;
}

/* The replica stands still. Who has everything hears that there is nothing; anybody else hears
 * neither of orders, nor that those that it has are not there. */
static void what_no_replica_has_is_not_told(void **state)
{
    (void)state;
    stage s = start_stage();
    fx_redis_do(s.redis, "CONFIG RESETSTAT");
    copy_follow(&copy, s.server);
    expect_orders("c", 1, 2);
    assert_int_equal(waits(s.redis), 1);
    for (int i = 0; i < 20; i++)
        copy_ask(&copy, s.server);
    assert_int_equal(waits(s.redis), 1); /* nothing was told, so nothing was written */
    fx_redis_signal(s.replica, SIGSTOP);
    fx_refused(s.server, 504, "unknown", "POST /buy?item=Copy&user=u&request=c3");
    fx_refused(s.server, 503, "durability_lost", "GET /orders?item=Copy&after=0");
    fx_refused(s.server, 503, "durability_lost", "GET /orders?item=Copy&after=%s", copy.after);
    fx_refused(s.server, 503, "durability_lost", "GET /orders?item=Copy&after=2-ffffffffffff");
    fx_refused(
        s.server, 503, "durability_lost",
        "GET /orders?item=Copy&after=0&sale=0123456789abcd"); /* another server may have it */
    fx_redis_signal(s.replica, SIGCONT);
    fx_await(s.server, "GET /orders?item=Copy&after=0", 200, "\"number\":3,", WAIT_MS);
    copy_follow(&copy, s.server);
    expect_orders("c", 1, 3);
    end_stage(&s);
}

#define CONFIRMS "match script redis.call('SET', KEYS[1], now, 'KEEPTTL')"

static void *ask_for_all(void *server)
{
    return (void *)(intptr_t)fx_status(server, "GET /orders?item=Copy&after=0");
}

static bool is_confirming(void *proxy)
{
    return fx_proxy_count(proxy, "stalled") > 0;
}

/* The order is gone between the page and its confirmation, as with a replica that was promoted. */
static void what_is_gone_when_it_is_confirmed_is_not_told(void **state)
{
    (void)state;
    void *status;
    pthread_t asker;
    char sale[READER_WORD];
    stage s = start_stage();
    assert_int_equal((intptr_t)ask_for_all(s.server), 200);
    assert_true(fx_redis_text(s.redis, sale, sizeof(sale), "GET fs:{Copy}:sale"));
    fx_proxy_say(s.proxy, "halfopen " CONFIRMS);
    assert_int_equal(pthread_create(&asker, NULL, ask_for_all, s.server), 0);
    assert_true(fx_wait_until(is_confirming, s.proxy, WAIT_MS));
    take_back(s.redis, "Copy", sale, "c", 2, 2);
    fx_proxy_say(s.proxy, "heal");
    pthread_join(asker, &status);
    assert_int_equal((intptr_t)status, 503);
    end_stage(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_follows_the_other),
        cmocka_unit_test(an_event_has_what_the_buyer_was_told),
        cmocka_unit_test(what_can_not_be_asked_is_refused),
        cmocka_unit_test(only_the_admin_reads_it),
        cmocka_unit_test(every_kept_sale_is_read_in_its_turn),
        cmocka_unit_test(a_sale_is_over_when_its_own_pointer_says_so),
        cmocka_unit_test(what_is_forgotten_is_told_and_agreed_upon),
        cmocka_unit_test(an_epoch_that_is_gone_leads_back_to_the_beginning),
        cmocka_unit_test(a_damaged_ledger_is_not_told),
        cmocka_unit_test(damage_that_lasts_is_logged_once),
        cmocka_unit_test(what_no_replica_has_is_not_told),
        cmocka_unit_test(what_is_gone_when_it_is_confirmed_is_not_told),
    };
    return fx_run(tests, .instances = 2);
}
