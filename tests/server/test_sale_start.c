/* test_sale_start.c - sales as an operator meets them: how long sections last, starts, and what
 * goes wrong with them. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/proxy.h"
#include "tests/support/site.h"

static fx_redis *redis;
static fx_server *server;

static int setup(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    server = fx_server_start(fx_redis_url(redis), NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_server_kill(server);
    fx_redis_stop(redis);
    return 0;
}

/* Asks, and checks status and, unless it is NULL, a part of the body. */
static void ask(fx_server *at, const char *method, const char *path, const char *sent, int status,
                const char *part)
{
    char url[512];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s%s", fx_server_url(at), path);
    fx_http(method, url, NULL, sent, 30000, &reply);
    if (reply.status != status || (part != NULL && strstr(reply.body, part) == NULL))
        fail_msg("%s %s: expected %d %s, got %d %s%s", method, path, status,
                 part != NULL ? part : "", reply.status, reply.body, reply.error);
    fx_reply_free(&reply);
}

static void open_sale(const char *item, const char *terms)
{
    char body[512];
    snprintf(body, sizeof(body), "{\"item\":\"%s\",%s}", item, terms);
    ask(server, "POST", "/sales", body, 201, NULL);
}

static void who_does_not_want_to_wait_may_hold_for_long(void **state)
{
    (void)state;
    static const char *const strategies[] = {"setnx", "fenced", "combined", "sharded"};
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        char terms[128];
        snprintf(terms, sizeof(terms),
                 "\"stock\":9,\"strategy\":\"%s\",\"wait_ms\":0,\"hold_ms\":400", strategies[i]);
        open_sale("H1", terms);
        ask(server, "POST", "/buy?item=H1&user=u1", NULL, 201, NULL);
    }
}

static void nobody_is_given_a_section_too_long_for_a_request(void **state)
{
    (void)state;
    static const struct {
        int wait_ms, hold_ms, status;
    } cases[] = {{0, 9500, 201},      {0, 9501, 400},      {5000, 14000, 400},
                 {20000, 20500, 201}, {20000, 21000, 400}, {60000, 60000, 201}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char body[256];
        snprintf(
            body, sizeof(body),
            "{\"item\":\"H2\",\"stock\":9,\"strategy\":\"fenced\",\"wait_ms\":%d,\"hold_ms\":%d}",
            cases[i].wait_ms, cases[i].hold_ms);
        bool good = cases[i].status == 201;
        ask(server, "POST", "/sales", body, cases[i].status, good ? NULL : "\"code\":\"bad_sale\"");
        if (!good)
            ask(server, "POST", "/sales", body, 400, "'hold_ms' must be an integer from 0 to ");
    }
}

/* The id of the item's current sale. */
static void read_current_sale(const char *item, char id[64])
{
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "GET fs:{%s}:sale", item);
    assert_true(reply != NULL && reply->type == REDIS_REPLY_STRING);
    snprintf(id, 64, "%s", reply->str);
    freeReplyObject(reply);
}

static void nobody_takes_a_lock_too_late_to_use_it(void **state)
{
    (void)state;
    char id[64];
    open_sale("H3", "\"stock\":9,\"strategy\":\"fenced\",\"wait_ms\":8000,\"hold_ms\":9000");
    read_current_sale("H3", id);
    freeReplyObject(
        redisCommand(fx_redis_ctx(redis), "SET fs:{H3}:%s:lock a-stranger PX 6000", id));
    ask(server, "POST", "/buy?item=H3&user=u1", NULL, 503, "\"code\":\"busy\"");
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "EXISTS fs:{H3}:%s:fence", id);
    assert_int_equal(reply->integer, 0); /* it was not granted */
    freeReplyObject(reply);
}

/* ---- starts that Redis does not answer ------------------------------------------------------- */

#define START "match script unpack(ARGV, 6)"

/* Starts an instance behind the proxy, which has started a sale before: its script is known. */
static fx_server *start_behind(fx_proxy *proxy)
{
    fx_server *behind = fx_server_start(fx_proxy_url(proxy), NULL);
    ask(behind, "POST", "/sales", "{\"item\":\"first\",\"stock\":1}", 201, NULL);
    return behind;
}

static void a_start_without_an_answer_is_unknown(void **state)
{
    (void)state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(redis));
    fx_server *behind = start_behind(proxy);
    fx_proxy_say(proxy, "drop reply 1 " START);
    ask(behind, "POST", "/sales", "{\"item\":\"U1\",\"stock\":3}", 504, "\"code\":\"unknown\"");
    ask(server, "GET", "/stock?item=U1", NULL, 200, "\"initial\":3,"); /* it was started */
    fx_server_kill(behind);
    fx_proxy_stop(proxy);
}

static bool a_script_has_run(void *arg)
{
    (void)arg;
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "INFO commandstats");
    bool has = reply != NULL && strstr(reply->str, "cmdstat_evalsha:") != NULL;
    freeReplyObject(reply);
    return has;
}

static void a_start_that_comes_late_does_nothing(void **state)
{
    (void)state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(redis)); /* TCP would be reset */
    fx_server *behind = start_behind(proxy);
    fx_proxy_say(proxy, "delay request 3s 1 " START);
    freeReplyObject(redisCommand(fx_redis_ctx(redis), "CONFIG RESETSTAT"));
    ask(behind, "POST", "/sales", "{\"item\":\"U2\",\"stock\":3}", 504, "\"sale\":\"");
    assert_true(fx_wait_until(a_script_has_run, NULL, 20000));
    ask(server, "GET", "/stock?item=U2", NULL, 404, NULL);
    fx_server_kill(behind);
    fx_proxy_stop(proxy);
}

static void who_takes_up_a_sale_starts_what_its_starter_left(void **state)
{
    (void)state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(redis));
    fx_server *behind = start_behind(proxy);
    open_sale("U3", "\"stock\":9,\"strategy\":\"sharded\",\"segments\":2");
    fx_proxy_say(proxy, "reset before match {U3#2}");
    ask(behind, "POST", "/sales",
        "{\"item\":\"U3\",\"stock\":8,\"strategy\":\"sharded\",\"segments\":4}", 201, NULL);
    fx_server_kill(behind);
    fx_proxy_stop(proxy);

    fx_server *other = fx_server_start(fx_redis_url(redis), NULL);
    ask(other, "GET", "/stock?item=U3", NULL, 200, "\"initial\":8,\"remaining\":8,");
    for (int i = 0; i < 8; i++)
        ask(other, "POST", "/buy?item=U3&user=u1", NULL, 201, NULL);
    ask(other, "POST", "/buy?item=U3&user=u1", NULL, 409, "sold_out");
    fx_server_kill(other);
}

/* ---- what an instance can not do ------------------------------------------------------------- */

static void a_sale_of_another_version_ends_the_one_before(void **state)
{
    (void)state;
    open_sale("V1", "\"stock\":9,\"strategy\":\"atomic\"");
    ask(server, "POST", "/buy?item=V1&user=u1", NULL, 201, NULL);
    freeReplyObject(redisCommand(fx_redis_ctx(redis), "HSET fs:{V1}:06ffffffffffff:cfg schema 99"));
    freeReplyObject(redisCommand(fx_redis_ctx(redis), "SET fs:{V1}:sale 06ffffffffffff"));
    ask(server, "POST", "/buy?item=V1&user=u1", NULL, 503, "\"code\":\"sale_unreadable\"");
    ask(server, "GET", "/stock?item=V1", NULL, 503, "\"code\":\"sale_unreadable\"");
    open_sale("V1", "\"stock\":9,\"strategy\":\"atomic\"");
    ask(server, "POST", "/buy?item=V1&user=u1", NULL, 201, NULL);
}

static bool is_alive(void *url)
{
    fx_reply reply;
    bool alive = fx_http("GET", url, NULL, NULL, 5000, &reply) == 200;
    fx_reply_free(&reply);
    return alive;
}

static void a_signal_ends_the_wait_for_the_first_redis(void **state)
{
    (void)state;
    char program[512], listen[64], dead[64], url[128];
    int port = fx_free_port();
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", port);
    snprintf(url, sizeof(url), "http://%s/livez", listen);
    snprintf(dead, sizeof(dead), "redis://127.0.0.1:%d", fx_free_port());
    const char *const argv[] = {fx_build_path("flashsale", program, sizeof(program)),
                                "--listen",
                                listen,
                                "--redis",
                                dead,
                                "--item=W1",
                                "--stock=1",
                                NULL};
    fx_process *process = fx_spawn(argv, true);
    assert_true(fx_wait_until(is_alive, url, 10000));
    fx_process_signal(process, SIGTERM);
    assert_int_equal(fx_process_wait(process, 20000), 0); /* by itself it gives up after 30 s */
    fx_process_free(process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_want_to_wait_may_hold_for_long),
        cmocka_unit_test(nobody_is_given_a_section_too_long_for_a_request),
        cmocka_unit_test(nobody_takes_a_lock_too_late_to_use_it),
        cmocka_unit_test(a_start_without_an_answer_is_unknown),
        cmocka_unit_test(a_start_that_comes_late_does_nothing),
        cmocka_unit_test(who_takes_up_a_sale_starts_what_its_starter_left),
        cmocka_unit_test(a_sale_of_another_version_ends_the_one_before),
        cmocka_unit_test(a_signal_ends_the_wait_for_the_first_redis),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
