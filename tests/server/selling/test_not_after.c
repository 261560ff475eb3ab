/*
 * test_not_after.c - a write that comes too late: whoever was told 504 hears a time behind which no
 * write of that try can follow, so a command that was held up on its way until then does nothing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/proxy.h"
#include "tests/support/service.h"

enum { STOCK = 5, BUYERS_MAX = 32, PATIENCE_MS = 60000 };

static fx_proxy *proxy;

typedef struct buyer {
    int number;
    char tag[24], sale[64]; /* of the keys */
    long long not_after_us; /* 0: the answer was another one */
    char answer[512];
    pthread_t thread;
} buyer;

static buyer buyers[BUYERS_MAX];
static int count;

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

/* A sale of each strategy, and a buyer for it. */
static void start_sales(void)
{
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        buyer *b = &buyers[count];
        assert_in_range(count, 0, BUYERS_MAX - 1);
        b->number = count++;
        char item[16];
        snprintf(item, sizeof(item), "N%d", b->number);
        snprintf(b->tag, sizeof(b->tag), s->sharded ? "{%s#0}" : "{%s}", item);
        snprintf(b->sale, sizeof(b->sale), "%s",
                 fx_start_sale(fx.server[0], item, "'stock':%d,'strategy':'%s'%s", STOCK, s->name,
                               s->sharded ? ",'segments':1" : ""));
    }
}

static void *buy(void *arg)
{
    buyer *b = arg;
    fx_reply reply;
    int status = fx_ask(fx.server[0], &reply, "POST /buy?item=N%d&user=u&request=late-%d",
                        b->number, b->number);
    const char *at = reply.body ? strstr(reply.body, "\"not_after\":") : NULL;
    snprintf(b->answer, sizeof(b->answer), "%d %s", status, reply.body ? reply.body : "");
    if (status == 504 && at)
        b->not_after_us = strtoll(strchr(at, ':') + 1, NULL, 10);
    fx_reply_free(&reply);
    return NULL;
}

static bool has_passed(void *arg)
{
    redisReply *time = fx_redis_reply(fx.redis, "TIME");
    long long now = strtoll(time->element[0]->str, NULL, 10) * 1000000 +
                    strtoll(time->element[1]->str, NULL, 10);
    freeReplyObject(time);
    return now > *(long long *)arg;
}

/* What was held up goes on, and Redis executes it: nobody else names these requests by now. */
static void let_it_come(void)
{
    redisContext *monitor = redisConnect("127.0.0.1", fx_redis_port(fx.redis));
    assert_true(monitor && !monitor->err);
    redisSetTimeout(monitor, (struct timeval){.tv_sec = PATIENCE_MS / 1000});
    freeReplyObject(redisCommand(monitor, "MONITOR"));
    fx_proxy_say(proxy, "heal");
    bool seen[BUYERS_MAX] = {false};
    for (int left = count; left > 0;) {
        redisReply *line = NULL;
        if (redisGetReply(monitor, (void **)&line) != REDIS_OK)
            fail_msg("%d commands never came", left);
        const char *at = strstr(line->str, "\"late-");
        int number = at ? (int)strtol(at + strlen("\"late-"), NULL, 10) : BUYERS_MAX;
        if (number < count && !seen[number]) {
            seen[number] = true;
            left--;
        }
        freeReplyObject(line);
    }
    redisFree(monitor);
}

static void what_comes_too_late_writes_nothing(void **state)
{
    (void)state;
    start_sales();
    fx_proxy_say(proxy, "halfopen match script redis.call('RPUSH', KEYS[5]");
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, buy, &buyers[i]), 0);
    for (int i = 0; i < count; i++)
        pthread_join(buyers[i].thread, NULL);
    for (int i = 0; i < count; i++) {
        if (buyers[i].not_after_us == 0)
            fail_msg("N%d: expected 504, got %s", i, buyers[i].answer);
        assert_true(fx_wait_until(has_passed, &buyers[i].not_after_us, PATIENCE_MS));
    }
    let_it_come();
    for (int i = 0; i < count; i++) {
        const buyer *b = &buyers[i];
        long long late = fx_redis_number(fx.redis, "LLEN fs:%s:%s:ledger", b->tag, b->sale);
        if (late != 0)
            fail_msg("N%d: %lld orders written too late", i, late);
        assert_int_equal(fx_redis_number(fx.redis, "HLEN fs:%s:%s:orders", b->tag, b->sale), 0);
        assert_int_equal(fx_redis_number(fx.redis, "GET fs:%s:%s:stock", b->tag, b->sale), STOCK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_comes_too_late_writes_nothing)};
    return cmocka_run_group_tests(tests, start, stop);
}
