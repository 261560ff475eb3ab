/* test_defaults.c - what is shipped defends: instances with the settings of the package, its unit
 * and the stack. */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

/* What prints NAME=VALUE lines. systemd takes those of the file before those of the unit. */
#define UNIT    "sed -n 's/^Environment=//p' docker/flashsale@.service"
#define PACKAGE UNIT "; grep '^FLASHSALE' scripts/debian/env"
#define SALE    PACKAGE "; grep -A 9 'ITEM=' scripts/debian/env | sed -n 's/^#FLASHSALE/FLASHSALE/p'"
#define STACK                                                                                      \
    "sed -n '/^x-instance-environment:/,/^$/s/^  \\(FLASHSALE_[A-Z_]*\\): "                        \
    "*\"\\{0,1\\}\\([A-Za-z0-9]*\\).*/"                                                            \
    "\\1=\\2/p' docker/compose.yaml"

static fx_process *process;
static char url[64];

/* On an empty Redis that nobody remembers, starts an instance with what this prints as its
 * environment. */
static void start(const char *settings)
{
    char program[512], script[1536], line[128];
    fx_redis_do(fx.redis, "FLUSHALL");
    snprintf(script, sizeof(script),
             "settings=$(%s) && exec env $settings %s --listen 127.0.0.1:0 --redis %s", settings,
             fx_build_path("flashsale", program, sizeof(program)), fx_redis_url(fx.redis));
    process = fx_spawn(FX_ARGS("sh", "-c", script), true);
    if (!fx_process_first_line(process, line, sizeof(line), 20000))
        fail_msg("%s: %s", script, fx_process_stderr(process));
    snprintf(url, sizeof(url), "http://127.0.0.1%s", strrchr(line, ':'));
}

/* Another instance's admin does. */
static void start_own_sale(void)
{
    fx_server *open = fx_server_start(fx_redis_url(fx.redis), NULL);
    fx_start_sale(open, "Own", "'stock':1000");
    fx_server_kill(open);
}

static int stop(void **state)
{
    (void)state;
    fx_process_free(process);
    process = NULL;
    return 0;
}

static void expect(int status, const char *text, const char *path, const char *body)
{
    char whole[256];
    fx_reply reply;
    snprintf(whole, sizeof(whole), "%s%s", url, path);
    fx_http("POST", whole, NULL, body, 15000, &reply);
    if (reply.status != status || !strstr(reply.body, text))
        fail_msg("%s: %d %s, not %d %s", path, reply.status, reply.body, status, text);
    fx_reply_free(&reply);
}

/* The one request that bought the rest of a sale. */
static void one_request_buys_ten_at_most(const char *item)
{
    static const char *const too_many[] = {"11", "857", "1000", "1001", "0"};
    char path[128];
    for (size_t i = 0; i < COUNT(too_many); i++) {
        snprintf(path, sizeof(path), "/buy?item=%s&user=u1&quantity=%s", item, too_many[i]);
        expect(400, "\"bad_quantity\"", path, NULL);
        expect(400, "a number from 1 to 10\"", path, NULL);
    }
}

static void a_user_has_ten_at_most(const char *item)
{
    char path[128];
    snprintf(path, sizeof(path), "/buy?item=%s&user=u1&quantity=6", item);
    expect(201, "\"quantity\":6", path, NULL);
    expect(409, "\"limit_reached\"", path, NULL);
    snprintf(path, sizeof(path), "/buy?item=%s&user=u1&quantity=4", item);
    expect(201, "\"quantity\":4", path, NULL);
    snprintf(path, sizeof(path), "/buy?item=%s&user=u1", item);
    expect(409, "\"limit_reached\"", path, NULL);
}

static void the_package_has_no_admin_before_its_token(void **state)
{
    (void)state;
    start(PACKAGE);
    expect(403, "\"admin_disabled\"", "/sales", "{\"item\":\"Own\",\"stock\":5}");
    start_own_sale();
    one_request_buys_ten_at_most("Own");
}

static void the_package_slows_a_user_down(void **state)
{
    (void)state;
    bool slowed = false;
    start(PACKAGE);
    start_own_sale();
    for (int i = 0; i < 1000 && !slowed; i++) {
        char whole[128];
        fx_reply reply;
        snprintf(whole, sizeof(whole), "%s/buy?item=Own&user=hurry", url);
        slowed = fx_http("POST", whole, NULL, NULL, 15000, &reply) == 429;
        fx_reply_free(&reply);
    }
    assert_true(slowed);
}

static void the_package_s_sale_limits_its_users(void **state)
{
    (void)state;
    start(SALE);
    one_request_buys_ten_at_most("P0001");
    a_user_has_ten_at_most("P0001");
}

static void the_stack_s_sale_limits_its_users(void **state)
{
    (void)state;
    start(STACK);
    one_request_buys_ten_at_most("P0001");
    a_user_has_ten_at_most("P0001");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_package_has_no_admin_before_its_token, stop),
        cmocka_unit_test_teardown(the_package_slows_a_user_down, stop),
        cmocka_unit_test_teardown(the_package_s_sale_limits_its_users, stop),
        cmocka_unit_test_teardown(the_stack_s_sale_limits_its_users, stop),
    };
    return fx_run(tests, .instances = 0);
}
