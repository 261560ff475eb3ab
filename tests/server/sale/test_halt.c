/*
 * test_halt.c - halting a sale and letting it go on, where more goes wrong than that Redis is older
 * once: the same snapshot is restored again.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

enum { WAIT_MS = 30000, BUYS = 12 };

static bool is_halted_on_all(void *item)
{
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_reply reply;
        int status = fx_ask(fx.server[at], &reply, "POST /buy?item=%s&user=x", (char *)item);
        bool halted = status == 503 && strstr(reply.body, "\"sale_rolled_back\"");
        fx_reply_free(&reply);
        if (!halted)
            return false;
    }
    return true;
}

/* Another run of Redis is written to once it was compared. */
static bool is_admitted(void *arg)
{
    (void)arg;
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_reply reply;
        int status = fx_ask(fx.server[at], &reply, "GET /readyz");
        bool held = status == 0 || strstr(reply.body, "server_changed") ||
                    strstr(reply.body, "store_unavailable");
        fx_reply_free(&reply);
        if (held)
            return false;
    }
    return true;
}

static bool sells_on_all(void *item)
{
    for (int at = 0; at < FX_INSTANCES; at++)
        if (fx_status(fx.server[at], "POST /buy?item=%s&user=x", (char *)item) != 201)
            return false;
    return true;
}

/* Lets it go on, and waits until it does, on all instances; what was lost. */
static int resume(const char *item)
{
    char sale[64];
    const char *body =
        fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=%s&user=x", item);
    fx_copy_member(body, "sale", sale, sizeof(sale));
    cJSON *json = cJSON_Parse(body);
    int lost = (int)fx_json_number(json, "lost_orders");
    cJSON_Delete(json);
    fx_expect(fx.server[1], 200, "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%d}",
              item, sale, lost);
    assert_true(fx_wait_until(sells_on_all, (char *)item, WAIT_MS));
    return lost;
}

static void buy(const char *item, int count)
{
    for (int i = 0; i < count; i++)
        fx_expect(fx.server[i % FX_INSTANCES], 201, "POST /buy?item=%s&user=x", item);
}

/* ---- the same snapshot once more ------------------------------------------------------------- */

static void restore_and_expect_halt(const char *item)
{
    fx_redis_restart(fx.redis);
    if (!fx_wait_until(is_halted_on_all, (char *)item, WAIT_MS))
        fail_msg("%s: not halted", item);
    assert_true(fx_wait_until(is_admitted, NULL, WAIT_MS));
}

/* Between the two there are as many orders as were lost, or more: numbers do not tell. */
static void every_rollback_to_one_snapshot_is_noticed(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "again", "'stock':100000");
    buy("again", FX_INSTANCES);
    fx_redis_do(fx.redis, "SAVE");
    buy("again", BUYS);
    for (int i = 0; i < 3; i++) {
        restore_and_expect_halt("again");
        assert_true(resume("again") >= BUYS);
        buy("again", BUYS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rollback_to_one_snapshot_is_noticed),
    };
    return fx_run(tests, .instances = FX_INSTANCES);
}
