/*
 * test_late_replies.c - a reply that comes when nobody waits for it any more: the connection is not
 * used again, or the next question that goes over it would be answered with another one's order.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/proxy.h"
#include "tests/support/service.h"

enum {
    ROUNDS = 4,
    LATE_MS = 2000 /* a question waits 1.5 s for Redis; the next one is to be asked before this */
};

static fx_proxy *proxy;
static char sale[64]; /* said with each question, which one script answers then */

static int start(void **state)
{
    (void)state;
    fx.redis = fx_redis_start_single(NULL);
    proxy = fx_proxy_start(fx_redis_url(fx.redis));
    fx.server[0] = fx_server_start(fx_proxy_url(proxy), FX_ARGS("--drain-delay", "0"));
    return 0;
}

static int stop(void **state)
{
    fx_service_stop(state);
    fx_proxy_stop(proxy);
    return 0;
}

/* What is asked behind the late one is answered for itself, or not at all. */
static void expect_own(const char *user)
{
    fx_reply reply;
    char own[64];
    int status = fx_ask(fx.server[0], &reply, "GET /orders/of-%s?item=L1&sale=%s", user, sale);
    snprintf(own, sizeof(own), "\"user\":\"%s\"", user);
    if (status != 503 && (status != 200 || !strstr(reply.body, own)))
        fail_msg("of %s: %d %s", user, status, reply.body);
    fx_reply_free(&reply);
}

static void a_late_reply_is_nobodys(void **state)
{
    (void)state;
    snprintf(sale, sizeof(sale), "%s", fx_start_sale(fx.server[0], "L1", "'stock':5"));
    fx_expect(fx.server[0], 201, "POST /buy?item=L1&user=ann&request=of-ann");
    fx_expect(fx.server[0], 201, "POST /buy?item=L1&user=bob&request=of-bob");
    for (int i = 0; i < ROUNDS; i++) {
        int64_t before = fx_proxy_count(proxy, "delayed");
        fx_proxy_say(proxy, "delay reply %dms 1 match of-ann", LATE_MS);
        fx_refused(fx.server[0], 503, NULL, "GET /orders/of-ann?item=L1&sale=%s", sale);
        expect_own("bob");
        fx_proxy_say(proxy, "heal");
        assert_int_equal(fx_proxy_count(proxy, "delayed"), before + 1);
    }
    fx_expect(fx.server[0], 200, "GET /orders/of-ann?item=L1&sale=%s", sale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_late_reply_is_nobodys)};
    return cmocka_run_group_tests(tests, start, stop);
}
