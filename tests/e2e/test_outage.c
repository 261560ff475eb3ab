/*
 * test_outage.c - Redis dies, and Redis stands still: what the buyers are told meanwhile, under
 * every strategy, and that selling goes on afterwards and nothing is left of the failures.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

/* A request has 10 s: what is answered within this did not wait for them to pass. */
enum { PROMPT_MS = 8000, BACK_MS = 60000 };

/* Failed buys of each strategy at each instance, and what an instance may have more of afterwards:
 * connections come and go with its threads. */
enum { FAILURES = 4, SPARE_DESCRIPTORS = 20 };

static int buy(int at, const char *item, const char *query, int timeout_ms, fx_reply *ret)
{
    char url[256];
    snprintf(url, sizeof(url), "%s/buy?item=%s&user=u1%s", fx_server_url(fx.server[at]), item,
             query);
    return fx_http("POST", url, NULL, NULL, timeout_ms, ret);
}

typedef struct counter {
    int at;
    const char *item;
} counter;

static bool sells(void *arg)
{
    counter *there = arg;
    fx_reply reply;
    int status = buy(there->at, there->item, "", PROMPT_MS, &reply);
    fx_reply_free(&reply);
    return status == 201;
}

/* Each strategy has an item of its own, named like it. */
static void all_sell(const char *when)
{
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        for (int at = 0; at < FX_INSTANCES; at++) {
            counter there = {at, s->name};
            if (!fx_wait_until(sells, &there, BACK_MS))
                fail_msg("%s does not sell at instance %d %s: %s; %s", s->name, at, when,
                         fx_expect(fx.server[at], 503, "POST /buy?item=%s&user=u1", s->name),
                         fx_process_stderr(fx_server_process(fx.server[at])));
        }
    }
}

static void all_refuse_at_once(void)
{
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        for (int i = 0; i < FAILURES * FX_INSTANCES; i++) {
            fx_reply reply;
            buy(i % FX_INSTANCES, s->name, "", PROMPT_MS, &reply);
            fx_assert_problem(s->name, &reply, 503, "store_unavailable");
            fx_reply_free(&reply);
        }
    }
}

static int descriptors(int at)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", fx_process_pid(fx_server_process(fx.server[at])));
    int count = fx_entries(path);
    assert_true(count >= 0);
    return count;
}

static void check_numbers(const char *item)
{
    const char *stock = fx_expect(fx.server[0], 200, "GET /stock?item=%s", item);
    if (!strstr(stock, "\"oversold\":0,") || !strstr(stock, "\"lost_updates\":0"))
        fail_msg("%s: %s", item, stock);
}

static void a_dead_redis_is_said_at_once_and_forgotten_when_it_is_back(void **state)
{
    (void)state;
    int before[FX_INSTANCES];
    fx_only_single("it kills Redis");
    fx_redis_do(fx.redis, "CONFIG SET appendfsync always"); /* else a slow disk loses orders */
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++)
        fx_start_sale(fx.server[0], s->name, "'stock':1000,'strategy':'%s'", s->name);
    all_sell("at first");
    for (int at = 0; at < FX_INSTANCES; at++)
        before[at] = descriptors(at);
    fx_redis_kill(fx.redis);
    all_refuse_at_once();
    fx_redis_restart(fx.redis);
    all_sell("after the outage");
    for (int at = 0; at < FX_INSTANCES; at++)
        assert_in_range(descriptors(at), 1, before[at] + SPARE_DESCRIPTORS);
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++)
        check_numbers(s->name);
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
    assert_true(sells(&(counter){1, "P0001"})); /* so that there is a connection to send on */
    int orders = fx_stock("orders");

    fx_redis_signal(fx.redis, SIGSTOP);
    fx_reply reply;
    buy(1, "P0001", "&request=r-unknown", 60000, &reply);
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
