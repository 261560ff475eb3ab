/* test_sales.c - sales as an operator meets them: how long sections last, starts, and what goes
 * wrong with them. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_want_to_wait_may_hold_for_long),
        cmocka_unit_test(a_start_without_an_answer_is_unknown),
        cmocka_unit_test(a_start_that_comes_late_does_nothing),
        cmocka_unit_test(who_takes_up_a_sale_starts_what_its_starter_left),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
