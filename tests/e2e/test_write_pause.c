/*
 * test_write_pause.c - CLIENT PAUSE ... WRITE, as failover tools use it: Redis answers whatever
 * only reads, and nothing that writes. The instances say so, sell nothing meanwhile, keep to the
 * time that they promise, and go on when it is over.
 */
#include <pthread.h>
#include <stdio.h>

#include "lock/dlock_redis.h"
#include "tests/support/service.h"

/* PROMISE_MS is what an answer takes at most; a busy machine may add LATE_MS. */
enum { PROMISE_MS = 10000, LATE_MS = 2000 };

static const char *const pauses[] = {"CLIENT PAUSE 60000 WRITE", "CLIENT PAUSE 60000 ALL"};

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

/* Where limits are set, Redis is asked before the sale is: that is part of the request's time. */
static void limits_take_their_time_out_of_the_promised(void **state)
{
    (void)state;
    fx_only_single("its servers are not paused one by one");
    for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
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
        cmocka_unit_test(limits_take_their_time_out_of_the_promised),
    };
    return fx_run(tests, .instances = 0);
}
