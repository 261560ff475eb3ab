/*
 * test_write_pause.c - CLIENT PAUSE ... WRITE, as failover tools use it: Redis answers whatever
 * only reads, and nothing that writes. The instances say so, sell nothing meanwhile, keep to the
 * time that they promise, and go on when it is over.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/support/service.h"

/* PROMISE_MS is what an answer takes at most; a busy machine may add LATE_MS. */
enum { PAUSE_MS = 60000, NOTICED_MS = 30000, PROMISE_MS = 10000, LATE_MS = 2000, BACK_MS = 60000 };

static const char *const pauses[] = {"CLIENT PAUSE 60000 WRITE", "CLIENT PAUSE 60000 ALL"};

/* ---- waiting for an answer ------------------------------------------------------------------- */

static void await(const char *request, int status, const char *part)
{
    fx_await(fx.server[0], request, status, part, NOTICED_MS);
}

/* Lines of the first instance's log with this event. */
static int logged(const char *event)
{
    char text[64];
    int count = 0;
    snprintf(text, sizeof(text), "\"event\":\"%s\"", event);
    for (const char *at = fx_process_stderr(fx_server_process(fx.server[0]));
         (at = strstr(at, text)); at += strlen(text))
        count++;
    return count;
}

/* ---- one buyer in the background ------------------------------------------------------------- */

typedef struct buyer {
    pthread_t thread;
    fx_server *server;
    char request[128];
    fx_reply reply;
    int64_t took_ms;
} buyer;

static void *buy(void *arg)
{
    buyer *b = arg;
    dlock_time begin = dlock_now();
    fx_ask(b->server, &b->reply, "%s", b->request);
    b->took_ms = (dlock_now().us - begin.us) / 1000;
    return NULL;
}

static void send_buyer(buyer *b, fx_server *server, const char *item, const char *query)
{
    b->server = server;
    snprintf(b->request, sizeof(b->request), "POST /buy?item=%s&user=u1%s", item, query);
    assert_int_equal(pthread_create(&b->thread, NULL, buy, b), 0);
}

static void await_buyer(buyer *b)
{
    pthread_join(b->thread, NULL);
    if (b->reply.status == 0 || b->took_ms > PROMISE_MS + LATE_MS)
        fail_msg("%s: %d after %lld ms, and %d are promised", b->request, b->reply.status,
                 (long long)b->took_ms, PROMISE_MS);
}

static void check_numbers(const char *item)
{
    const char *stock = fx_expect(fx.server[0], 200, "GET /stock?item=%s", item);
    fx_has(stock, "\"oversold\":0,");
    fx_has(stock, "\"lost_updates\":0");
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void all_say_and_none_sells(void)
{
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        dlock_time begin = dlock_now();
        fx_refused(fx.server[0], 503, "writes_paused", "POST /buy?item=%s&user=u1", s->name);
        assert_true(dlock_now().us - begin.us < PROMISE_MS * 1000); /* nobody waited it out */
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=early", s->name);
        fx_expect(fx.server[0], 200, "GET /orders/early?item=%s", s->name);
    }
    fx_refused(fx.server[0], 503, "writes_paused", "POST /sales {'item':'other','stock':5}");
    const char *metrics = fx_expect(fx.server[0], 200, "GET /metrics");
    fx_has(metrics, "\nflashsale_ready 0\n");
    fx_has(metrics, "\nflashsale_redis_up 1\n");
    fx_has(metrics, "\nflashsale_redis_writes_paused 1\n");
}

static void paused_writes_are_said_and_nothing_is_sold_until_they_are_over(void **state)
{
    (void)state;
    fx_only_single("one pause is to stop all strategies");
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        fx_start_sale(fx.server[0], s->name, "'stock':1000,'strategy':'%s'", s->name);
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=early", s->name);
    }
    int begun = logged("writes_paused"), ended = logged("writes_resumed");
    fx_redis_do(fx.redis, "CLIENT PAUSE %d WRITE", PAUSE_MS);
    await("GET /readyz", 503, "\"code\":\"writes_paused\"");
    all_say_and_none_sells();
    assert_int_equal(logged("writes_paused"), begun + 1);
    assert_int_equal(logged("redis_lost"), 0);

    fx_redis_do(fx.redis, "CLIENT UNPAUSE");
    await("GET /readyz", 200, "ready\n");
    assert_int_equal(logged("writes_resumed"), ended + 1);
    fx_has(fx_expect(fx.server[0], 200, "GET /metrics"), "\nflashsale_redis_writes_paused 0\n");
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1", s->name);
        check_numbers(s->name);
    }
}

/* What the ledger says of the buyer's order: 200, 404 once that is final, 0 = not known yet. */
static int look_up(const char *item)
{
    fx_reply reply;
    int status = fx_ask(fx.server[0], &reply, "GET /orders/mine?item=%s", item);
    bool final = status == 200 || (status == 404 && strstr(reply.body, "\"final\":true"));
    fx_reply_free(&reply);
    return final ? status : 0;
}

/* Asks for all of them, so that all become final at the same time. */
static bool are_resolved(void *arg)
{
    int *found = arg, open = 0;
    for (int i = 0; fx_strategies()[i].name[0] != '\0'; i++) {
        found[i] = found[i] > 0 ? found[i] : look_up(fx_strategies()[i].name);
        open += found[i] == 0;
    }
    return open == 0;
}

/* Whatever the buyer was told is what the ledger says, by the key, when the pause is over. */
static void check_told(const buyer *b, const char *item, int found)
{
    char part[64];
    if (b->reply.status == 201 && found != 200)
        fail_msg("%s: sold, and there is no order", item);
    if (b->reply.status == 503 && found != 404)
        fail_msg("%s: not bought, and there is an order", item);
    if (b->reply.status != 201 && b->reply.status != 503)
        fx_assert_problem(item, &b->reply, 504, "unknown");
    snprintf(part, sizeof(part), "\"orders\":%d,", found == 200);
    fx_has(fx_expect(fx.server[0], 200, "GET /stock?item=%s", item), part);
    check_numbers(item);
}

/* A buyer of each strategy, sent before anybody can know of the pause, which outlasts them all. */
static void what_was_sent_into_a_pause_is_unknown_and_resolved_by_its_key(void **state)
{
    (void)state;
    enum { STRATEGIES = 32 };
    int count = 0, found[STRATEGIES] = {0};
    buyer buyers[STRATEGIES];
    fx_only_single("one pause is to stop all strategies");
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++, count++)
        fx_start_sale(fx.server[0], s->name, "'stock':1000,'strategy':'%s'", s->name);
    assert_true(count <= STRATEGIES);
    fx_redis_do(fx.redis, "CLIENT PAUSE %d WRITE", PAUSE_MS);
    for (int i = 0; i < count; i++)
        send_buyer(&buyers[i], fx.server[0], fx_strategies()[i].name, "&request=mine");
    for (int i = 0; i < count; i++)
        await_buyer(&buyers[i]);
    fx_redis_do(fx.redis, "CLIENT UNPAUSE");
    await("GET /readyz", 200, "ready\n");
    if (!fx_wait_until(are_resolved, found, BACK_MS))
        fail_msg("not all orders are resolved");
    for (int i = 0; i < count; i++) {
        check_told(&buyers[i], fx_strategies()[i].name, found[i]);
        fx_reply_free(&buyers[i].reply);
    }
}

/* Where limits are set, Redis is asked before the sale is: that is part of the request's time. */
static void limits_take_their_time_out_of_the_promised(void **state)
{
    (void)state;
    fx_only_single("its servers are not paused one by one");
    for (size_t i = 0; i < COUNT(pauses); i++) {
        buyer b;
        fx_redis *redis = fx_redis_start_single(NULL);
        fx_server *server = fx_server_start(
            fx_redis_url(redis), FX_ARGS(FX_P0001, "--strategy", "atomic", "--rate-user", "1000",
                                         "--rate-address", "1000", "--rate-burst", "1000"));
        fx_expect(server, 201, "POST /buy?item=P0001&user=u1");
        long long begin_us = fx_redis_number(
            redis, "EVAL %s 0", "local t = redis.call('TIME') return t[1]*1000000+t[2]");
        fx_redis_do(redis, pauses[i]);
        send_buyer(&b, server, "P0001", "");
        await_buyer(&b);
        if (b.reply.status == 504) { /* by then everything that the request does has ended */
            cJSON *body = fx_reply_json(&b.reply);
            double spare_us = fx_json_number(body, "not_after") - (double)begin_us;
            cJSON_Delete(body);
            assert_true(spare_us <= (PROMISE_MS + LATE_MS) * 1000.0);
        } else {
            assert_int_equal(b.reply.status, 503);
        }
        fx_reply_free(&b.reply);
        fx_server_kill(server);
        fx_redis_stop(redis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paused_writes_are_said_and_nothing_is_sold_until_they_are_over),
        cmocka_unit_test(what_was_sent_into_a_pause_is_unknown_and_resolved_by_its_key),
        cmocka_unit_test(limits_take_their_time_out_of_the_promised),
    };
    return fx_run(tests, .instances = 1);
}
