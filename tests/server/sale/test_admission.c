/*
 * test_admission.c - another run of Redis, and when it is written to: not while it loads its data,
 * not while an instance still compares, and when it is, the run before is left for good.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lock/dlock_redis.h"
#include "tests/support/proxy.h"
#include "tests/support/service.h"

enum { WAIT_MS = 30000, CROWD = 16 };

/* ---- waiting --------------------------------------------------------------------------------- */

static bool is_ready(void *server)
{
    return fx_status(server, "GET /readyz") == 200;
}

static void await_ready(fx_server *server)
{
    assert_true(fx_wait_until(is_ready, server, WAIT_MS));
}

static bool has_admitted(void *server)
{
    return strstr(fx_process_stderr(fx_server_process(server)), "\"redis_admitted\"");
}

static bool waits_for_others(void *server)
{
    return strstr(fx_process_stderr(fx_server_process(server)), "other instances compare");
}

static bool is_halted(void *server)
{
    fx_reply reply;
    int status = fx_ask(server, &reply, "POST /buy?item=P0001&user=late");
    bool halted = strstr(reply.body, "sale_rolled_back") != NULL;
    if (status == 201)
        fail_msg("sold in a sale that has lost orders: %s", reply.body);
    fx_reply_free(&reply);
    return halted;
}

/* ---- many at once ---------------------------------------------------------------------------- */

typedef struct crowd_buyer {
    fx_server *server;
    int number, bought;
    pthread_t thread;
} crowd_buyer;

static void *buy_ten(void *arg)
{
    crowd_buyer *me = arg;
    for (int i = 0; i < 10; i++)
        me->bought +=
            fx_status(me->server, "POST /buy?item=P0001&user=u%d-%d", me->number, i) == 201;
    return NULL;
}

/* So many that the pool has several connections. How many of them bought. */
static int buy_in_a_crowd(fx_server *server)
{
    crowd_buyer crowd[CROWD];
    int bought = 0;
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = (crowd_buyer){.server = server, .number = i};
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, buy_ten, &crowd[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        pthread_join(crowd[i].thread, NULL);
        bought += crowd[i].bought;
    }
    return bought;
}

/* ---- the run before -------------------------------------------------------------------------- */

static bool has_followed(void *replica)
{
    char sale[64];
    snprintf(sale, sizeof(sale), "%s", fx_current_sale("P0001"));
    return fx_redis_number(replica, "LLEN fs:{P0001}:%s:ledger", sale) == 10 * CROWD;
}

/* An address that leads from one server to another, as a name or a balancer does: a link. */
static void lead_to(const char *link, const fx_redis *redis)
{
    unlink(link);
    assert_int_equal(symlink(fx_redis_url(redis) + strlen("unix://"), link), 0);
}

static void a_stopped_master_that_comes_back_is_sent_nothing(void **state)
{
    (void)state;
    fx_only_single("it stops Redis");
    char dir[256], link[300], url[320], sale[64];
    fx_redis *next = fx_redis_start_single(NULL);
    fx_dir_make(dir, sizeof(dir));
    snprintf(link, sizeof(link), "%s/redis.sock", dir);
    snprintf(url, sizeof(url), "unix://%s", link);
    lead_to(link, fx.redis);
    fx_server *server = fx_server_start(url, FX_ARGS(FX_P0001, "--strategy", "atomic"));
    snprintf(sale, sizeof(sale), "%s", fx_current_sale("P0001"));
    assert_int_equal(buy_in_a_crowd(server), 10 * CROWD);
    fx_redis_do(next, "REPLICAOF 127.0.0.1 %d", fx_redis_port(fx.redis));
    assert_true(fx_wait_until(has_followed, next, WAIT_MS));

    fx_redis_signal(fx.redis, SIGSTOP);
    fx_redis_do(next, "REPLICAOF NO ONE");
    lead_to(link, next);
    assert_true(fx_wait_until(has_admitted, server, WAIT_MS));
    await_ready(server);
    fx_redis_signal(fx.redis, SIGCONT);
    assert_int_equal(buy_in_a_crowd(server), 10 * CROWD);
    assert_int_equal(fx_redis_number(fx.redis, "LLEN fs:{P0001}:%s:ledger", sale), 10 * CROWD);
    assert_int_equal(fx_redis_number(next, "LLEN fs:{P0001}:%s:ledger", sale), 20 * CROWD);
    fx_server_kill(server);
    fx_redis_stop(next);
    fx_dir_remove(dir);
}

/* ---- while it loads -------------------------------------------------------------------------- */

static atomic_bool loaded;
static _Atomic int64_t loading_us; /* dlock_now(), not after the moment it was last loading */

static void *watch_loading(void *socket)
{
    while (!atomic_load(&loaded)) {
        int64_t now_us = dlock_now().us;
        redisContext *c = redisConnectUnix(socket);
        redisReply *reply = c && !c->err ? redisCommand(c, "INFO persistence") : NULL;
        if (reply && reply->str && strstr(reply->str, "\nloading:1"))
            atomic_store(&loading_us, now_us);
        freeReplyObject(reply);
        redisFree(c);
    }
    return NULL;
}

/* An instance that remembers nothing leaves the others their second from when there is something to
 * compare, however long the server has been up. */
static void the_time_to_object_begins_when_the_data_is_there(void **state)
{
    (void)state;
    pthread_t watcher;
    fx_redis *slow = fx_redis_start_single(
        FX_ARGS("--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"));
    fx_redis_do(slow, "EVAL %s 0", "for i = 1, 3000 do redis.call('SET', 'k' .. i, i) end");
    fx_redis_do(slow, "SAVE");
    fx_redis_kill(slow);
    fx_server *fresh = fx_server_start(fx_redis_url(slow), NULL);
    atomic_store(&loaded, false);
    pthread_create(&watcher, NULL, watch_loading, (void *)(fx_redis_url(slow) + strlen("unix://")));
    fx_redis_restart(slow);
    await_ready(fresh);
    int64_t ready_us = dlock_now().us;
    atomic_store(&loaded, true);
    pthread_join(watcher, NULL);
    assert_true(atomic_load(&loading_us) > 0);
    assert_true(ready_us - atomic_load(&loading_us) >= 1000000);
    fx_server_kill(fresh);
    fx_redis_stop(slow);
}

/* ---- while somebody compares ----------------------------------------------------------------- */

static void nobody_sells_while_an_instance_compares(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(redis));
    fx_server *knows = fx_server_start(fx_proxy_url(proxy), FX_ARGS(FX_P0001));
    fx_expect(knows, 201, "POST /buy?item=P0001&user=before");
    fx_redis_do(redis, "SAVE");
    for (int i = 0; i < 5; i++)
        fx_expect(knows, 201, "POST /buy?item=P0001&user=u%d", i);
    fx_redis_kill(redis);
    fx_server *fresh = fx_server_start(fx_redis_url(redis), NULL);
    fx_proxy_say(proxy, "drop request match {P0001}"); /* so it can object, and does not get far */
    fx_redis_restart(redis);
    assert_true(fx_wait_until(waits_for_others, fresh, WAIT_MS));
    assert_false(is_halted(fresh));
    fx_proxy_say(proxy, "heal");
    assert_true(fx_wait_until(is_halted, fresh, WAIT_MS));
    fx_server_kill(fresh);
    fx_server_kill(knows);
    fx_proxy_stop(proxy);
    fx_redis_stop(redis);
}

static int64_t calls_of(fx_redis *redis, const char *name)
{
    char text[16384], field[64];
    assert_true(fx_redis_text(redis, text, sizeof(text), "INFO commandstats"));
    snprintf(field, sizeof(field), "cmdstat_%s:calls=", name);
    const char *at = strstr(text, field);
    return at ? strtoll(at + strlen(field), NULL, 10) : 0;
}

/* An objection stands for seconds: it is not said anew before every sale that is compared. */
static void an_instance_objects_less_often_than_it_compares(void **state)
{
    (void)state;
    enum { SALES = 60 };
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *knows = fx_server_start(fx_redis_url(redis), NULL);
    for (int i = 0; i < SALES; i++)
        fx_expect(knows, 201, "POST /sales {'item':'o%d','stock':1,'strategy':'atomic'}", i);
    fx_redis_do(redis, "SAVE");
    fx_redis_kill(redis);
    fx_redis_restart(redis);
    assert_true(fx_wait_until(has_admitted, knows, WAIT_MS));
    assert_in_range(calls_of(redis, "zadd"), 1, SALES - 1);
    fx_server_kill(knows);
    fx_redis_stop(redis);
}

/* One that has died objects until its time is over. */
static void an_objection_ends_by_itself(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(NULL); /* one run, and one key of its objections */
    fx_redis_do(redis, "EVAL %s 0",
                "local run = redis.call('INFO', 'server'):match('run_id:(%w+)')"
                " redis.call('ZADD', 'fs:{flashsale}:comparing:' .. run, redis.call('TIME')[1] * "
                "1000 + 5000,"
                " 'dead') redis.call('SET', 'until', redis.call('TIME')[1] + 5)");
    fx_server *fresh = fx_server_start(fx_redis_url(redis), NULL);
    await_ready(fresh);
    assert_true(fx_redis_number(redis, "EVAL %s 0", "return redis.call('TIME')[1]") >=
                fx_redis_number(redis, "GET until"));
    fx_server_kill(fresh);
    fx_redis_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_master_that_comes_back_is_sent_nothing),
        cmocka_unit_test(the_time_to_object_begins_when_the_data_is_there),
        cmocka_unit_test(nobody_sells_while_an_instance_compares),
        cmocka_unit_test(an_instance_objects_less_often_than_it_compares),
        cmocka_unit_test(an_objection_ends_by_itself),
    };
    return fx_run(tests, .instances = 0);
}
