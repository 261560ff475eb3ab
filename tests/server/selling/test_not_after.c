/*
 * test_not_after.c - a write that comes too late: whoever was told 504 hears a time behind which no
 * write of that try can follow, so a command that was held up on its way until then does nothing.
 * Likewise behind the time that the client has set, although the instance still has time: so "no
 * such order" stays true, which others were told meanwhile.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/support/patience.h"
#include "tests/support/proxy.h"
#include "tests/support/service.h"

enum {
    STOCK = 5,
    BUYERS_MAX = 32,
    PATIENCE_MS = 60000,
    COMING_MS = 10000,
    SOON_US = 2000000,
    MARGIN_US = 1000000
};

static fx_proxy *proxy;

typedef struct buyer {
    int number;
    char tag[24], sale[64]; /* of the keys */
    long long wanted_by_us; /* 0: the buyer sets no time */
    long long not_after_us; /* 0: the answer was another one */
    int status;
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
    fx.server[1] = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--drain-delay", "0"));
    return 0;
}

static int stop(void **state)
{
    fx_service_stop(state);
    fx_proxy_stop(proxy);
    return 0;
}

/* A sale of each strategy, and a buyer for it. */
static void start_sales(const char *terms)
{
    count = 0;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        buyer *b = &buyers[count];
        assert_in_range(count, 0, BUYERS_MAX - 1);
        *b = (buyer){.number = count++};
        char item[16];
        snprintf(item, sizeof(item), "N%d", b->number);
        snprintf(b->tag, sizeof(b->tag), s->sharded ? "{%s#0}" : "{%s}", item);
        snprintf(b->sale, sizeof(b->sale), "%s",
                 fx_start_sale(fx.server[0], item, "'stock':%d,'strategy':'%s'%s%s", STOCK, s->name,
                               s->sharded ? ",'segments':1" : "", terms));
    }
}

static void *buy(void *arg)
{
    buyer *b = arg;
    fx_reply reply;
    char more[48] = "";
    if (b->wanted_by_us != 0)
        snprintf(more, sizeof(more), "&not_after=%lld", b->wanted_by_us);
    int status = fx_ask(fx.server[0], &reply, "POST /buy?item=N%d&user=u&request=late-%d%s",
                        b->number, b->number, more);
    b->status = status;
    const char *at = reply.body ? strstr(reply.body, "\"not_after\":") : NULL;
    snprintf(b->answer, sizeof(b->answer), "%d %s", status, reply.body ? reply.body : "");
    if (status == 504 && at)
        b->not_after_us = strtoll(strchr(at, ':') + 1, NULL, 10);
    fx_reply_free(&reply);
    return NULL;
}

static long long redis_us(void)
{
    redisReply *time = fx_redis_reply(fx.redis, "TIME");
    long long now = strtoll(time->element[0]->str, NULL, 10) * 1000000 +
                    strtoll(time->element[1]->str, NULL, 10);
    freeReplyObject(time);
    return now;
}

static bool has_passed(void *arg)
{
    return redis_us() > *(long long *)arg;
}

/* The buyer whose purchase this line of MONITOR shows; BUYERS_MAX: no buyer's. */
static int buyer_of(const char *line)
{
    const char *at = strstr(line, "\"late-");
    return at ? (int)strtol(at + strlen("\"late-"), NULL, 10) : BUYERS_MAX;
}

/* What was held up goes on, and Redis executes it: nobody else names these requests by now. All
 * that their buyers know to be sent, as far as they come while the test is patient: what an
 * instance had sent when it gave the connection up can be lost. Where buyers still wait for their
 * answers, and in any case, one at least. */
static void let_it_come(void)
{
    int left = 0, came = 0;
    bool waited_for[BUYERS_MAX] = {false};
    for (int i = 0; i < count; i++) {
        waited_for[i] = buyers[i].not_after_us != 0;
        left += waited_for[i];
    }
    bool any = left == 0;
    left += any;
    redisContext *monitor = redisConnect("127.0.0.1", fx_redis_port(fx.redis));
    assert_true(monitor && !monitor->err);
    redisSetTimeout(monitor, (struct timeval){.tv_sec = PATIENCE_MS / 1000});
    freeReplyObject(redisCommand(monitor, "MONITOR"));
    fx_proxy_say(proxy, "heal");
    dlock_time until = dlock_in_ms(fx_patient_ms(COMING_MS));
    redisReply *line = NULL;
    while (left > 0 && !dlock_passed(until) && redisGetReply(monitor, (void **)&line) == REDIS_OK) {
        int number = buyer_of(line->str);
        if (number < count && (any || waited_for[number])) {
            waited_for[number] = false;
            left--;
            came++;
        }
        freeReplyObject(line);
    }
    redisFree(monitor);
    if (came == 0)
        fail_msg("none of %d commands came", left);
}

/* The instance's calls share a connection, so that some waited behind others that were held up. */
static bool was_not_sent(const buyer *b)
{
    return b->status == 503 && strstr(b->answer, "nothing was bought");
}

static void send_buyers(long long wanted_by_us)
{
    fx_proxy_say(proxy, "halfopen match write :orders");
    for (int i = 0; i < count; i++) {
        buyers[i].wanted_by_us = wanted_by_us;
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, buy, &buyers[i]), 0);
    }
}

static void nothing_was_written(void)
{
    for (int i = 0; i < count; i++) {
        const buyer *b = &buyers[i];
        long long late = fx_redis_number(fx.redis, "LLEN fs:%s:%s:ledger", b->tag, b->sale);
        if (late != 0)
            fail_msg("N%d: %lld orders written too late", i, late);
        assert_int_equal(fx_redis_number(fx.redis, "HLEN fs:%s:%s:orders", b->tag, b->sale), 0);
        assert_int_equal(fx_redis_number(fx.redis, "GET fs:%s:%s:stock", b->tag, b->sale), STOCK);
    }
}

static void what_comes_too_late_writes_nothing(void **state)
{
    (void)state;
    start_sales("");
    send_buyers(0);
    for (int i = 0; i < count; i++)
        pthread_join(buyers[i].thread, NULL);
    for (int i = 0; i < count; i++) {
        if (was_not_sent(&buyers[i]))
            continue;
        if (buyers[i].not_after_us == 0)
            fail_msg("N%d: expected 504, got %s", i, buyers[i].answer);
        assert_true(fx_wait_until(has_passed, &buyers[i].not_after_us, PATIENCE_MS));
    }
    let_it_come();
    nothing_was_written();
}

/* Told by an instance that reaches Redis, while the other has time left to wait for it. */
static void what_was_told_final_stays_so(void **state)
{
    (void)state;
    start_sales(",'wait_ms':30000");
    long long until = redis_us() + SOON_US, told = until + MARGIN_US;
    send_buyers(until);
    assert_true(fx_wait_until(has_passed, &told, PATIENCE_MS));
    for (int i = 0; i < count; i++)
        fx_has(fx_expect(fx.server[1], 404, "GET /orders/late-%d?item=N%d&not_after=%lld", i, i,
                         until),
               "\"final\":true");
    let_it_come();
    for (int i = 0; i < count; i++) {
        const buyer *b = &buyers[i];
        pthread_join(b->thread, NULL);
        bool told_so = b->status == 409 && strstr(b->answer, "\"too_late\"");
        if (!told_so && !was_not_sent(b) && b->not_after_us != until)
            fail_msg("N%d: neither too late, nor unknown until then: %s", i, b->answer);
    }
    nothing_was_written();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_comes_too_late_writes_nothing),
                                       cmocka_unit_test(what_was_told_final_stays_so)};
    return cmocka_run_group_tests(tests, start, stop);
}
