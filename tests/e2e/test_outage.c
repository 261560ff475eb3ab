/*
 * test_outage.c - Redis dies, and Redis stands still: what the buyers are told meanwhile, and that
 * selling goes on afterwards.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

/* A request has 10 s: what is answered within this did not wait for them to pass. */
enum { PROMPT_MS = 8000, BACK_MS = 60000 };

static int buy(int at, const char *query, int timeout_ms, fx_reply *ret)
{
    char url[256];
    snprintf(url, sizeof(url), "%s/buy?item=P0001&user=u1%s", fx_server_url(fx.server[at]), query);
    return fx_http("POST", url, NULL, NULL, timeout_ms, ret);
}

static bool sells(void *at)
{
    fx_reply reply;
    int status = buy(*(int *)at, "", PROMPT_MS, &reply);
    fx_reply_free(&reply);
    return status == 201;
}

static void a_dead_redis_is_said_at_once_and_forgotten_when_it_is_back(void **state)
{
    (void)state;
    fx_only_single("it kills Redis");
    for (int at = 0; at < FX_INSTANCES; at++)
        assert_true(sells(&at));
    fx_redis_kill(fx.redis);
    for (int at = 0; at < FX_INSTANCES; at++) {
        char retry[32];
        fx_reply reply;
        buy(at, "", PROMPT_MS, &reply);
        fx_assert_problem("POST /buy", &reply, 503, "store_unavailable");
        fx_reply_header(&reply, "Retry-After", retry, sizeof(retry));
        assert_true(strlen(retry) > 0);
        fx_reply_free(&reply);
    }
    fx_redis_restart(fx.redis);
    for (int at = 0; at < FX_INSTANCES; at++)
        assert_true(fx_wait_until(sells, &at, BACK_MS));
    assert_int_equal(fx_stock("oversold"), 0);
    assert_int_equal(fx_stock("lost_updates"), 0);
}

typedef struct lookup {
    char path[128];
    int status;
    bool final;
} lookup;

/* True once GET /orders knows for good whether there is such an order. */
static bool is_resolved(void *arg)
{
    lookup *l = arg;
    fx_reply reply;
    l->status = fx_ask(fx.server[0], &reply, "GET %s", l->path);
    l->final = l->status == 200;
    if (l->status == 404) {
        cJSON *body = fx_reply_json(&reply);
        l->final = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(body, "final"));
        cJSON_Delete(body);
    }
    fx_reply_free(&reply);
    return l->final;
}

static void what_was_sent_to_a_redis_that_stands_still_is_unknown(void **state)
{
    (void)state;
    fx_only_single("it stops Redis");
    int at = 1;
    assert_true(sells(&at)); /* so that there is a connection to send on */
    int orders = fx_stock("orders");

    fx_redis_signal(fx.redis, SIGSTOP);
    fx_reply reply;
    buy(at, "&request=r-unknown", 60000, &reply);
    fx_redis_signal(fx.redis, SIGCONT);
    fx_assert_problem("POST /buy", &reply, 504, "unknown");
    assert_non_null(strstr(reply.body, "\"sale\":\"")); /* for the retry to name */
    fx_reply_free(&reply);

    /* Now it can be resolved, and the ledger agrees with the answer. */
    lookup l = {.path = "/orders/r-unknown?item=P0001"};
    assert_true(fx_wait_until(is_resolved, &l, BACK_MS));
    assert_int_equal(fx_stock("orders"), orders + (l.status == 200));
    assert_int_equal(fx_stock("lost_updates"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_redis_is_said_at_once_and_forgotten_when_it_is_back),
        cmocka_unit_test(what_was_sent_to_a_redis_that_stands_still_is_unknown),
    };
    return fx_run(tests, .instances = 3, .redis_args = FX_ARGS("--appendonly", "yes"),
                  .args = FX_ARGS(FX_P0001, "--strategy", "atomic"));
}
