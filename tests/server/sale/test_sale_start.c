/*
 * test_sale_start.c - sales as an operator meets them: how long sections may last, starts that
 * Redis does not answer, sales of another version, and what durability is promised.
 */
#include <string.h>

#include "server/sale/sale_start.h"
#include "tests/server/nodes.h"
#include "tests/support/proxy.h"
#include "tests/support/service.h"

static void has(const char *body, const char *part)
{
    if (strstr(body, part) == NULL)
        fail_msg("expected %s in %s", part, body);
}

static void who_does_not_want_to_wait_may_hold_for_long(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (!s->locked)
            continue;
        print_message("%s\n", s->name);
        fx_start_sale(fx.server[0], "H1", "'stock':9,'strategy':'%s','wait_ms':0,'hold_ms':400",
                      s->name);
        fx_expect(fx.server[0], 201, "POST /buy?item=H1&user=u1");
    }
}

static void nobody_is_given_a_section_too_long_for_a_request(void **state)
{
    (void)state;
    static const struct {
        int wait_ms, hold_ms, status;
    } cases[] = {{0, 9500, 201},      {0, 9501, 400},      {5000, 14000, 400},
                 {20000, 20500, 201}, {20000, 21000, 400}, {60000, 60000, 201}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *answer = fx_expect(
            fx.server[0], cases[i].status,
            "POST /sales {'item':'H2','stock':9,'strategy':'fenced','wait_ms':%d,'hold_ms':%d}",
            cases[i].wait_ms, cases[i].hold_ms);
        if (cases[i].status == 201)
            continue;
        has(answer, "\"code\":\"bad_sale\"");
        has(answer, "'hold_ms' must be an integer from 0 to ");
    }
}

static void nobody_takes_a_lock_too_late_to_use_it(void **state)
{
    (void)state;
    const char *sale = fx_start_sale(fx.server[0], "H3",
                                     "'stock':9,'strategy':'fenced','wait_ms':8000,'hold_ms':9000");
    fx_redis_do(fx.redis, "SET fs:{H3}:%s:lock a-stranger PX 6000", sale);
    fx_refused(fx.server[0], 503, "busy", "POST /buy?item=H3&user=u1");
    char issued[64];
    assert_true(fx_redis_text(fx.redis, issued, sizeof(issued),
                              "GET dlock:{H3}:fence:fs:{H3}:%s:lock", sale));
    assert_string_equal(issued, "0 s -"); /* it was not granted */
}

static void disk_is_promised_only_where_it_is_kept(void **state)
{
    (void)state;
    static const char start[] =
        "POST /sales {'item':'K1','stock':5,'strategy':'combined','durability':'disk'}";
    fx_expect(fx.server[0], 409, start);
    fx_expect(fx.server[0], 404, "GET /stock?item=K1");

    fx_redis *durable = fx_redis_start(FX_ARGS("--appendonly", "yes", "--appendfsync", "always"));
    fx_server *server = fx_server_start(fx_redis_url(durable), NULL);
    fx_expect(server, 201, start);
    fx_expect(server, 201, "POST /buy?item=K1&user=u1");
    fx_server_kill(server);
    fx_redis_stop(durable);
}

/* ---- starts that Redis does not answer ------------------------------------------------------- */

#define START "match script redis.call('HSET', KEYS[2], unpack("

/* Starts an instance behind the proxy, which has started a sale before: its script is known. */
static fx_server *start_behind(fx_proxy *proxy)
{
    fx_server *behind = fx_server_start(fx_proxy_url(proxy), NULL);
    fx_start_sale(behind, "first", "'stock':1");
    return behind;
}

static void a_start_without_an_answer_is_unknown(void **state)
{
    (void)state;
    fx_only_single("a proxy is before Redis");
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(fx.redis));
    fx_server *behind = start_behind(proxy);
    fx_proxy_say(proxy, "drop reply 1 " START);
    fx_refused(behind, 504, "unknown", "POST /sales {'item':'U1','stock':3}");
    has(fx_expect(fx.server[0], 200, "GET /stock?item=U1"), "\"initial\":3,"); /* it was started */
    fx_server_kill(behind);
    fx_proxy_stop(proxy);
}

static bool a_script_has_run(void *arg)
{
    char stats[8192];
    (void)arg;
    return fx_redis_text(fx.redis, stats, sizeof(stats), "INFO commandstats") &&
           strstr(stats, "cmdstat_evalsha:") != NULL;
}

static void a_start_that_comes_late_does_nothing(void **state)
{
    (void)state;
    fx_only_single("a proxy is before Redis");
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(fx.redis)); /* TCP would be reset */
    fx_server *behind = start_behind(proxy);
    fx_proxy_say(proxy, "delay request 3s 1 " START);
    fx_redis_do(fx.redis, "CONFIG RESETSTAT");
    has(fx_expect(behind, 504, "POST /sales {'item':'U2','stock':3}"), "\"sale\":\"");
    assert_true(fx_wait_until(a_script_has_run, NULL, 20000));
    fx_expect(fx.server[0], 404, "GET /stock?item=U2");
    fx_server_kill(behind);
    fx_proxy_stop(proxy);
}

static void who_takes_up_a_sale_starts_what_its_starter_left(void **state)
{
    (void)state;
    fx_only_single("a proxy is before Redis");
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(fx.redis));
    fx_server *behind = start_behind(proxy);
    fx_start_sale(fx.server[0], "U3", "'stock':9,'strategy':'sharded','segments':2");
    fx_proxy_say(proxy, "reset before match {U3#2}");
    fx_start_sale(behind, "U3", "'stock':8,'strategy':'sharded','segments':4");
    fx_server_kill(behind);
    fx_proxy_stop(proxy);

    fx_server *other = fx_server_start(fx_redis_url(fx.redis), NULL);
    has(fx_expect(other, 200, "GET /stock?item=U3"), "\"initial\":8,\"remaining\":8,");
    for (int i = 0; i < 8; i++)
        fx_expect(other, 201, "POST /buy?item=U3&user=u1");
    fx_refused(other, 409, "sold_out", "POST /buy?item=U3&user=u1");
    fx_server_kill(other);
}

static bool is_damaged(void *server)
{
    fx_reply reply;
    static int request;
    fx_ask(server, &reply, "POST /buy?item=U5&user=u1&request=d%d", request++);
    bool damaged = reply.status == 503 && strstr(reply.body, "sale_damaged");
    fx_reply_free(&reply);
    return damaged;
}

/* A buyer who has met a damaged segment stops the sale, also where no look is answered by which the
 * others could be compared. */
static void a_damaged_segment_stops_the_sale_without_a_look(void **state)
{
    (void)state;
    fx_only_single("a proxy is before Redis");
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(fx.redis));
    fx_server *behind = start_behind(proxy);
    fx_start_sale(behind, "U5", "'stock':900,'strategy':'sharded','segments':4");
    fx_expect(behind, 201, "POST /buy?item=U5&user=u1");
    fx_proxy_say(proxy, "reset before match {U5}:%s:lost",
                 fx_current_sale("U5")); /* of looks only */
    fx_redis_do(fx.redis, "RENAME fs:{U5#2}:%s:stock fs:{U5#2}:away", fx_current_sale("U5"));
    assert_true(fx_wait_until(is_damaged, behind, 20000));
    for (int i = 0; i < 12; i++)
        assert_true(is_damaged(behind));
    fx_redis_do(fx.redis, "RENAME fs:{U5#2}:away fs:{U5#2}:%s:stock", fx_current_sale("U5"));
    fx_proxy_say(proxy, "heal");
    for (int i = 0; i < 12; i++)
        fx_expect(behind, 201, "POST /buy?item=U5&user=u1");
    fx_server_kill(behind);
    fx_proxy_stop(proxy);
}

/* Terms that somebody removes meanwhile: what the segments have is worth nothing without them, and
 * half of them is not written back. */
static void segments_without_terms_are_not_noted_as_started(void **state)
{
    (void)state;
    char err[256];
    fs_store store = {0};
    sale_terms terms = {
        .item = "T1", .id = "00000000000001", .strategy = "sharded", .initial = 8, .segments = 2};
    assert_int_equal(store_open(&store, fx_redis_url(fx.redis), NULL, "i", err, sizeof(err)), 0);
    nodes_make_well(&store);
    assert_int_equal(sale_start_segments(&store, &terms, dlock_in_ms(20000)), SALE_DAMAGED);
    assert_int_equal(fx_redis_number(fx.redis, "EXISTS fs:{T1}:%s:cfg", terms.id), 0);
    store_close(&store);
}

/* ---- what an instance can not do ------------------------------------------------------------- */

static void a_sale_of_another_version_ends_the_one_before(void **state)
{
    (void)state;
    static const char buy[] = "POST /buy?item=V1&user=u1";
    fx_start_sale(fx.server[0], "V1", "'stock':9,'strategy':'atomic'");
    fx_expect(fx.server[0], 201, buy);
    fx_redis_do(fx.redis, "HSET fs:{V1}:06ffffffffffff:cfg schema 99");
    fx_redis_do(fx.redis, "SET fs:{V1}:sale 06ffffffffffff");
    fx_refused(fx.server[0], 503, "sale_unreadable", buy);
    fx_refused(fx.server[0], 503, "sale_unreadable", "GET /stock?item=V1");
    fx_start_sale(fx.server[0], "V1", "'stock':9,'strategy':'atomic'");
    fx_expect(fx.server[0], 201, buy);
}

/* A newer program's sale may mean something else by its segments: this one must not start them. */
static void nothing_is_written_for_a_strategy_that_is_not_here(void **state)
{
    (void)state;
    fx_redis_do(fx.redis, "HSET fs:{V2}:06ffffffffffff:cfg schema 1 strategy later durability "
                          "memory initial 8 segments 4 lease_ms 3000 wait_ms 5000");
    fx_redis_do(fx.redis, "SET fs:{V2}:sale 06ffffffffffff");
    fx_refused(fx.server[0], 503, "sale_unreadable", "POST /buy?item=V2&user=u1");
    for (int k = 0; k < 4; k++)
        assert_int_equal(fx_redis_number(fx.redis, "EXISTS fs:{V2#%d}:sale", k), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_want_to_wait_may_hold_for_long),
        cmocka_unit_test(nobody_is_given_a_section_too_long_for_a_request),
        cmocka_unit_test(nobody_takes_a_lock_too_late_to_use_it),
        cmocka_unit_test(disk_is_promised_only_where_it_is_kept),
        cmocka_unit_test(a_start_without_an_answer_is_unknown),
        cmocka_unit_test(a_start_that_comes_late_does_nothing),
        cmocka_unit_test(who_takes_up_a_sale_starts_what_its_starter_left),
        cmocka_unit_test(a_damaged_segment_stops_the_sale_without_a_look),
        cmocka_unit_test(segments_without_terms_are_not_noted_as_started),
        cmocka_unit_test(a_sale_of_another_version_ends_the_one_before),
        cmocka_unit_test(nothing_is_written_for_a_strategy_that_is_not_here),
    };
    return fx_run(tests, .instances = 1);
}
