/* test_sales.c - sales as an operator meets them: how long sections last, starts, and what goes
 * wrong with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_want_to_wait_may_hold_for_long),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
