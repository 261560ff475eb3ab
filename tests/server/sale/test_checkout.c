/*
 * test_checkout.c - a buyer asks again after the sale that it bought in is over, with the sale's
 * id, at an instance that may not have heard yet. It gets the order that it has.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

static char item[24]; /* of the case */

/* Starts the case's next sale at the first instance. */
static void start_sale(const char *strategy, char id[64])
{
    snprintf(id, 64, "%s",
             fx_start_sale(fx.server[0], item, "'stock':50,'strategy':'%s'", strategy));
}

/* Buys as u1; `sale` "" = in the current one, `request` "" = without a key. */
static const char *buy(int at, const char *request, const char *sale, int status)
{
    return fx_expect(fx.server[at], status, "POST /buy?item=%s&user=u1%s%s%s%s", item,
                     request[0] != '\0' ? "&request=" : "", request,
                     sale[0] != '\0' ? "&sale=" : "", sale);
}

static int sold_in(const char *sale)
{
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS fs:*:%s:ledger", sale);
    assert_non_null(keys);
    int sold = 0;
    for (size_t i = 0; i < keys->elements; i++)
        sold += (int)fx_redis_number(fx.redis, "LLEN %s", keys->element[i]->str);
    freeReplyObject(keys);
    return sold;
}

static void has(const char *body, const char *code)
{
    if (strstr(body, code) == NULL)
        fail_msg("expected %s in %s", code, body);
}

static const char *const pairs[][2] = {
    {"atomic", "combined"}, {"sharded", "atomic"}, {"combined", "sharded"}, {"setnx", "none"},
    {"sharded", "sharded"}, {"none", "fenced"},    {"fenced", "batched"},
};

/* The instances are asked at once after the switch: instance 1 may know the new sale or not. */
static void a_retry_gets_its_order_across_a_switch(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char first[1024], old[64], now[64];
        snprintf(item, sizeof(item), "A%zu", i);
        start_sale(pairs[i][0], old);
        snprintf(first, sizeof(first), "%s", buy(1, "k1", "", 201));
        start_sale(pairs[i][1], now);
        for (int at = 1; at >= 0; at--)
            assert_string_equal(buy(at, "k1", old, 201), first);
        assert_int_equal(sold_in(now), 0);
        fx_expect(fx.server[0], 422, "POST /buy?item=%s&user=u2&request=k1&sale=%s", item, old);
        has(buy(0, "k2", old, 409), "sale_closed");
        has(buy(0, "", old, 409), "sale_closed");
        buy(1, "k2", "", 201);
        buy(0, "", "", 201);
        assert_int_equal(sold_in(old), 1);
        assert_int_equal(sold_in(now), 2);
    }
}

static void with_the_sale_a_retry_gets_its_order_for_as_long_as_it_is_kept(void **state)
{
    (void)state;
    char first[1024], old[64], id[64];
    snprintf(item, sizeof(item), "B1");
    start_sale("sharded", old);
    snprintf(first, sizeof(first), "%s", buy(0, "k1", "", 201));
    start_sale("atomic", id);
    start_sale("none", id);
    start_sale("combined", id);
    assert_string_equal(buy(0, "k1", old, 201), first);
    has(buy(0, "k1", "nonsense", 404), "no_such_sale");
    assert_int_equal(sold_in(id), 0);
}

static void the_newest_sale_is_found_by_its_id_at_every_instance(void **state)
{
    (void)state;
    char id[64];
    snprintf(item, sizeof(item), "C1");
    start_sale("atomic", id);
    buy(1, "", id, 201);
    start_sale("atomic", id);
    buy(1, "k1", id, 201);
    assert_int_equal(sold_in(id), 1);
}

static void what_was_declared_void_stays_so_when_the_sale_is_over(void **state)
{
    (void)state;
    char old[64], now[64];
    snprintf(item, sizeof(item), "E1");
    start_sale("atomic", old);
    assert_int_equal(fx_redis_number(fx.redis, "HSET fs:{%s}:%s:orders k1 -", item, old), 1);
    start_sale("combined", now);
    const char *body = buy(0, "k1", old, 409);
    has(body, "request_void");
    has(body, old);
    assert_int_equal(sold_in(now), 0);
}

/* A Redis that is full, or a replica, sells nothing; but who has an order hears of it. */
/* A server that was promoted is another run. */
static bool all_have_admitted(void *promotions)
{
    for (int i = 0; i < FX_INSTANCES && fx.server[i]; i++) {
        int count = 0;
        const char *at = fx_process_stderr(fx_server_process(fx.server[i]));
        while ((at = strstr(at, "\"redis_admitted\"")) != NULL)
            count++, at++;
        if (count < *(int *)promotions)
            return false;
    }
    return true;
}

/* A server that was found to be another run is compared first, and the refusal says that. */
static bool refuses_for_it(void *trouble)
{
    return strstr(fx_refused(fx.server[0], 503, "store_unavailable",
                             "POST /buy?item=%s&user=u1&request=other", item),
                  trouble) != NULL;
}

static void who_has_an_order_gets_it_from_a_redis_that_takes_no_writes(void **state)
{
    (void)state;
    static const char *const troubles[][3] = {
        {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
        {"READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
    };
    int promotions = 0;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char id[64], first[1024];
        snprintf(item, sizeof(item), "G-%s", s->name);
        snprintf(id, sizeof(id), "%s",
                 fx_start_sale(fx.server[0], item, "'stock':50,'strategy':'%s','wait_ms':3000",
                               s->name));
        snprintf(first, sizeof(first), "%s", buy(0, "mine", "", 201));
        for (int i = 0; i < 2; i++) {
            if (strstr(troubles[i][1], "REPLICAOF") && !fx_is_single())
                continue; /* who is the primary is the topology's affair */
            print_message("%s, %s\n", s->name, troubles[i][0]);
            fx_redis_do(fx.redis, troubles[i][1]);
            fx_expect(fx.server[0], 200, "GET /orders/mine?item=%s", item);
            fx_expect(fx.server[0], 200, "GET /orders/mine?item=%s&sale=%s", item, id);
            assert_string_equal(buy(0, "mine", "", 201), first);
            if (!fx_wait_until(refuses_for_it, (void *)troubles[i][0], 20000))
                fail_msg("never refused for %s", troubles[i][0]);
            fx_redis_do(fx.redis, troubles[i][2]);
            promotions += i == 1;
            assert_true(fx_wait_until(all_have_admitted, &promotions, 20000));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_retry_gets_its_order_across_a_switch),
        cmocka_unit_test(with_the_sale_a_retry_gets_its_order_for_as_long_as_it_is_kept),
        cmocka_unit_test(the_newest_sale_is_found_by_its_id_at_every_instance),
        cmocka_unit_test(what_was_declared_void_stays_so_when_the_sale_is_over),
        cmocka_unit_test(who_has_an_order_gets_it_from_a_redis_that_takes_no_writes),
    };
    return fx_run(tests, .instances = 2);
}
