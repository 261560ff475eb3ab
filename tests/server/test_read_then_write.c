/*
 * test_read_then_write.c - an order that is still on its way to Redis when its buyer, who has heard
 * nothing, asks again and is refused. The refusal must be true, so the order must not come any
 * more.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "tests/support/proxy.h"
#include "tests/support/service.h"

static fx_proxy *proxy;
static fx_server *far; /* behind the proxy */

static int setup(void **state)
{
    fx.plan = (fx_plan){.instances = 1};
    fx.plan.one_server = true; /* a proxy is before it */
    fx_service_start(state);
    proxy = fx_proxy_start(fx_redis_url(fx.redis));
    far = fx_server_start(fx_proxy_url(proxy), NULL);
    return 0;
}

static int teardown(void **state)
{
    fx_server_kill(far);
    fx_proxy_stop(proxy);
    return fx_service_stop(state);
}

/* The number that Redis answers to `command` about a key of the sale. */
static int ask_redis(const char *command, const char *key)
{
    return (int)fx_redis_number(fx.redis, "%s fs:{P0001}:%s:%s", command, fx_current_sale("P0001"),
                                key);
}

static void *buy_far(void *arg)
{
    (void)arg;
    fx_status(far, "POST /buy?item=P0001&user=u1&request=k1");
    return NULL;
}

static bool is_delayed(void *arg)
{
    (void)arg;
    return fx_proxy_count(proxy, "delayed") > 0;
}

/* The late order has come: it stands in the ledger, or its unit was put back. */
static bool has_come(void *arg)
{
    (void)arg;
    return ask_redis("LLEN", "ledger") == 2 || ask_redis("GET", "stock") == 1;
}

static void who_is_told_sold_out_gets_no_order_later(void **state)
{
    (void)state;
    pthread_t buyer;
    /* The request has a minute, and its order comes long before: it is not the time that stops it.
     */
    fx_start_sale(far, "P0001", "'stock':2,'strategy':'none','wait_ms':60000");
    fx_expect(far, 201, "POST /buy?item=P0001&user=u1");

    fx_proxy_say(proxy, "delay request 15s 1 match write :orders");
    assert_int_equal(pthread_create(&buyer, NULL, buy_far, NULL), 0);
    assert_true(fx_wait_until(is_delayed, NULL, 60000));
    fx_server_signal(far, SIGKILL); /* so its buyer hears nothing */
    pthread_join(buyer, NULL);

    assert_int_equal(ask_redis("GET", "stock"), 0);
    fx_refused(fx.server[0], 409, "sold_out", "POST /buy?item=P0001&user=u1&request=k1");
    assert_true(fx_wait_until(has_come, NULL, 60000));
    assert_int_equal(ask_redis("LLEN", "ledger"), 1);
    const char *body = fx_expect(fx.server[0], 404, "GET /orders/k1?item=P0001");
    assert_non_null(strstr(body, "\"final\":true"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_told_sold_out_gets_no_order_later),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
