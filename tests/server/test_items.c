/*
 * test_items.c - GET /items: each way to start or take up a sale puts its item on the list, before
 * the sale is there; and who may read it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/proxy.h"
#include "tests/support/service.h"

static bool is_listed(fx_server *server, const char *item)
{
    char member[96], after[64];
    snprintf(member, sizeof(member), "{\"item\":\"%s\"}", item);
    snprintf(after, sizeof(after), "%.*s", (int)strlen(item) - 1, item); /* comes before it */
    return strstr(fx_expect(server, 200, "GET /items?after=%s", after), member) != NULL;
}

/* ---- what is on it --------------------------------------------------------------------------- */

static void each_way_to_a_sale_lists_its_item(void **state)
{
    (void)state;
    assert_false(is_listed(fx.server[0], "W-posted"));
    fx_start_sale(fx.server[0], "W-posted", "'stock':5");
    assert_true(is_listed(fx.server[0], "W-posted"));
    fx_start_sale(fx.server[0], "W-shards", "'stock':5,'strategy':'sharded'");
    assert_true(is_listed(fx.server[0], "W-shards"));
    fx_server *own =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--item", "W-option", "--stock", "5"));
    assert_true(is_listed(fx.server[0], "W-option"));
    fx_redis_do(fx.redis, "DEL fs:items");
    fx_server_kill(own);
    own = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--item", "W-option", "--stock", "5"));
    assert_true(is_listed(own, "W-option")); /* it has joined */
    fx_server_kill(own);
    assert_int_equal(fx_redis_number(fx.redis, "ZCARD fs:items"), 1);
}

/* As after an upgrade: the sale goes on, and an instance that is new meets it. */
static void who_takes_a_sale_up_lists_its_item(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "U1", "'stock':5");
    fx_redis_do(fx.redis, "DEL fs:items");
    fx_expect(fx.server[0], 201, "POST /buy?item=U1&user=u1");
    assert_false(is_listed(fx.server[0], "U1"));
    fx_server *next = fx_server_start(fx_redis_url(fx.redis), NULL);
    fx_expect(next, 201, "POST /buy?item=U1&user=u1");
    assert_true(is_listed(fx.server[0], "U1"));
    fx_server_kill(next);
}

static void where_it_can_not_be_written_a_sale_goes_on_and_none_is_started(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "T1", "'stock':5");
    fx_redis_do(fx.redis, "DEL fs:items");
    fx_redis_do(fx.redis, "SET fs:items none");
    fx_server *next = fx_server_start(fx_redis_url(fx.redis), NULL);
    fx_expect(next, 201, "POST /buy?item=T1&user=u1");
    fx_has(fx_process_stderr(fx_server_process(next)), "\"event\":\"item_not_listed\"");
    fx_has(fx_refused(next, 503, "store_unavailable", "POST /sales {'item':'T2','stock':5}"),
           "\"redis\":\"WRONGTYPE\"");
    fx_has(fx_refused(next, 503, "store_unavailable", "GET /items"), "\"redis\":\"WRONGTYPE\"");
    fx_expect(next, 404, "GET /stock?item=T2");
    fx_redis_do(fx.redis, "DEL fs:items");
    fx_expect(next, 201, "POST /sales {'item':'T2','stock':5}");
    assert_true(is_listed(next, "T2"));
    fx_server_kill(next);
}

/* Written or not, it may be tried again. */
static void a_write_that_is_not_answered_starts_nothing(void **state)
{
    (void)state;
    fx_only_single("the proxy stands before one server");
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(fx.redis));
    fx_server *server = fx_server_start(fx_proxy_url(proxy), NULL);
    fx_proxy_say(proxy, "drop reply 1 match fs:items");
    fx_refused(server, 503, "store_unavailable", "POST /sales {'item':'N1','stock':5}");
    fx_expect(server, 404, "GET /stock?item=N1");
    fx_expect(server, 201, "POST /sales {'item':'N1','stock':5}");
    fx_server_kill(server);
    fx_proxy_stop(proxy);
}

/* ---- pages ----------------------------------------------------------------------------------- */

enum { MANY = 2300, PAGE = 1000 };

/* Every name once, in their order. */
static int walk(char *after, size_t len, int names)
{
    cJSON *page = cJSON_Parse(
        fx_expect(fx.server[0], 200, "GET /items%s%s", after[0] ? "?after=" : "", after));
    const cJSON *each, *all = cJSON_GetObjectItemCaseSensitive(page, "items");
    cJSON_ArrayForEach(each, all) {
        char expected[16];
        snprintf(expected, sizeof(expected), "P%04d", names++);
        assert_string_equal(fx_json_text(each, "item"), expected);
    }
    const cJSON *next = cJSON_GetObjectItemCaseSensitive(page, "after");
    assert_true(cJSON_IsNull(next) || cJSON_GetArraySize(all) == PAGE);
    snprintf(after, len, "%s", cJSON_IsNull(next) ? "" : next->valuestring);
    cJSON_Delete(page);
    return names;
}

static void fill(int names)
{
    fx_redis_do(fx.redis, "DEL fs:items");
    fx_redis_do(fx.redis, "EVAL %s 1 fs:items %d",
                "for i = ARGV[1] - 1, 0, -1 do "
                "redis.call('ZADD', KEYS[1], 0, string.format('P%04d', i)) end",
                names);
}

static void names_come_in_pages_and_in_order(void **state)
{
    (void)state;
    char after[80] = "";
    static const int counts[] = {MANY, PAGE, PAGE + 1, 1};
    for (size_t i = 0; i < COUNT(counts); i++) {
        int names = 0, pages = 0;
        fill(counts[i]);
        do {
            names = walk(after, sizeof(after), names);
            pages++;
        } while (after[0] != '\0');
        assert_int_equal(names, counts[i]);
        assert_int_equal(pages, (counts[i] + PAGE - 1) / PAGE);
    }
    fx_redis_do(fx.redis, "DEL fs:items");
    assert_string_equal(fx_expect(fx.server[0], 200, "GET /items"),
                        "{\"items\":[],\"after\":null}\n");
    fx_refused(fx.server[0], 400, "bad_after", "GET /items?after=a.b");
    fx_refused(fx.server[0], 400, "bad_after", "GET /items?after=");
    fx_refused(fx.server[0], 400, "unknown_parameter", "GET /items?limit=5");
}

/* ---- who may --------------------------------------------------------------------------------- */

static void the_list_is_the_admin_s(void **state)
{
    (void)state;
    fx_reply reply;
    char url[256];
    setenv("FLASHSALE_ADMIN_TOKEN", "correct-horse", 1);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), NULL);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    fx_refused(server, 401, "token_missing", "GET /items");
    snprintf(url, sizeof(url), "%s/items", fx_server_url(server));
    assert_int_equal(
        fx_http("GET", url, FX_ARGS("Authorization: Bearer correct-horse"), NULL, 10000, &reply),
        200);
    fx_reply_free(&reply);
    fx_server_kill(server);
}

static void a_right_that_is_missing_is_said(void **state)
{
    (void)state;
    char url[512];
    fx_redis_do(fx.redis, "ACL SETUSER service on >secret allkeys allchannels +@all");
    fx_redis_url_as(fx.redis, "service:secret", url, sizeof(url));
    fx_server *server = fx_server_start(url, NULL);
    fx_redis_do(fx.redis, "ACL SETUSER service -zrangebylex");
    fx_has(fx_refused(server, 503, "store_unavailable", "GET /items"), "\"redis\":\"NOPERM\"");
    fx_expect(server, 201, "POST /sales {'item':'R1','stock':5}");
    fx_redis_do(fx.redis, "ACL SETUSER service -zadd");
    fx_has(fx_refused(server, 503, "store_unavailable", "POST /sales {'item':'R2','stock':5}"),
           "\"redis\":\"NOPERM\"");
    fx_redis_do(fx.redis, "ACL SETUSER service +zadd +zrangebylex");
    fx_await(server, "POST /sales {'item':'R2','stock':5}", 201, "", 20000);
    assert_true(is_listed(server, "R2"));
    fx_server_kill(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_a_sale_lists_its_item),
        cmocka_unit_test(who_takes_a_sale_up_lists_its_item),
        cmocka_unit_test(where_it_can_not_be_written_a_sale_goes_on_and_none_is_started),
        cmocka_unit_test(a_write_that_is_not_answered_starts_nothing),
        cmocka_unit_test(names_come_in_pages_and_in_order),
        cmocka_unit_test(the_list_is_the_admin_s),
        cmocka_unit_test(a_right_that_is_missing_is_said),
    };
    return fx_run(tests, .instances = 1);
}
