/*
 * test_resets.c - a bad line to Redis: connections reset before a request or after its execution.
 *
 * Buyers retry with the same key, as a client should, until they get an answer that is definite.
 * Whatever happens: no order twice, every 201 has its order, every refusal has none, and what stays
 * unknown is resolved by GET /orders/{request}.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/support/proxy.h"
#include "tests/support/service.h"

/* In one sale; with FLASHSALE_TEST_BUYS in the environment as many as it says, up to the limit. */
#define BUYS    1000
#define MOST    10000
#define CLIENTS 8
#define RETRIES 4

static fx_proxy *proxy; /* between all instances and Redis */

static int setup(void **state)
{
    fx.plan.one_server = true; /* a proxy is before it */
    fx_service_start(state);
    proxy = fx_proxy_start(fx_redis_tcp_url(fx.redis));
    for (int i = 0; i < FX_INSTANCES; i++)
        fx.server[i] = fx_server_start(fx_proxy_url(proxy), NULL);
    return 0;
}

static int teardown(void **state)
{
    fx_service_stop(state);
    fx_proxy_stop(proxy);
    return 0;
}

/* ---- the crowd ------------------------------------------------------------------------------- */

static int buys, stock; /* of this sale */
static atomic_int next_buy;
static int outcome[MOST]; /* 201, 409, or 504 when it stayed unknown */
static const char *item;

/* One buyer: asks until the answer is definite, a few times. A 503 is definite too ("nothing was
 * bought by this try"), but after an unknown try it says nothing about that one. */
static int buy(int number)
{
    bool doubt = false;
    for (int try = 0; try < RETRIES || !doubt; try++) {
        int status =
            fx_status(fx.server[(number + try) % FX_INSTANCES],
                      "POST /buy?item=%s&user=u%d&request=r-%d", item, number % 100, number);
        if (status == 201 || status == 409)
            return status;
        doubt = doubt || status != 503;
    }
    return 504;
}

static void *crowd(void *arg)
{
    (void)arg;
    for (int number; (number = atomic_fetch_add(&next_buy, 1)) < buys;)
        outcome[number] = buy(number);
    return NULL;
}

static void let_crowd_in(void)
{
    pthread_t threads[CLIENTS];
    atomic_store(&next_buy, 0);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd, NULL), 0);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static bool has_order(const char *sale, int number)
{
    char record[256];
    return fx_redis_text(fx.redis, record, sizeof(record), "HGET fs:{%s}:%s:orders r-%d", item,
                         sale, number) &&
           record[0] != '-';
}

static bool is_resolved(void *arg)
{
    fx_reply reply;
    int status = fx_ask(fx.server[0], &reply, "GET /orders/r-%d?item=%s", *(int *)arg, item);
    bool resolved = status == 200 || (status == 404 && strstr(reply.body, "\"final\":true"));
    outcome[*(int *)arg] = status == 200 ? 201 : 409;
    fx_reply_free(&reply);
    return resolved;
}

static void check_ledger(const char *sale)
{
    int sold = 0, unknown[MOST], unknowns = 0;
    for (int i = 0; i < buys; i++)
        if (outcome[i] == 504)
            unknown[unknowns++] = i;
    for (int i = 0; i < unknowns; i++) /* the first question about each */
        is_resolved(&unknown[i]);
    for (int i = 0; i < unknowns; i++)
        assert_true(fx_wait_until(is_resolved, &unknown[i], 30000));
    for (int i = 0; i < buys; i++) {
        sold += outcome[i] == 201;
        if (has_order(sale, i) != (outcome[i] == 201))
            fail_msg("%s: r-%d was told %d", item, i, outcome[i]);
    }
    assert_int_equal(fx_redis_number(fx.redis, "LLEN fs:{%s}:%s:ledger", item, sale), sold);
    assert_int_equal(fx_redis_number(fx.redis, "GET fs:{%s}:%s:stock", item, sale), stock - sold);
    assert_int_equal(sold, stock); /* nobody is refused while there is stock */
}

static void sell_through_resets(const char *strategy, int how_many)
{
    item = strategy;
    buys = how_many;
    stock = how_many * 7 / 8;
    const char *sale = fx_start_sale(fx.server[0], item,
                                     "'stock':%d,'strategy':'%s','wait_ms':10000", stock, strategy);

    fx_proxy_say(proxy, "reset before 2.5%%");
    fx_proxy_say(proxy, "reset after 2.5%%");
    dlock_time begin = dlock_now();
    let_crowd_in();
    print_message("%s: %d buys in %lld ms\n", item, buys,
                  (long long)((dlock_now().us - begin.us) / 1000));
    fx_proxy_say(proxy, "heal");
    check_ledger(sale);
    assert_true(fx_proxy_count(proxy, "resets") > 20);
}

static void resets_make_no_duplicate_and_lose_no_order(void **state)
{
    (void)state;
    const char *said = getenv("FLASHSALE_TEST_BUYS");
    int how_many = said != NULL ? (int)strtol(said, NULL, 10) : BUYS;
    assert_in_range(how_many, 100, MOST);
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++)
        if (s->replayable && !s->sharded) /* its keys have other names */
            sell_through_resets(s->name, how_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resets_make_no_duplicate_and_lose_no_order),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
