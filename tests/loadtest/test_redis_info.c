/*
 * The command count of a real Redis, and what is said when it can not be had.
 */
#include "tests/support/fixture.h"

#include "loadtest/service/redis_info.h"

#include <string.h>

static fx_redis *redis;

static int start_redis(void **unused)
{
    (void)unused;
    redis = fx_redis_start_single(NULL);
    return 0;
}

static int stop_redis(void **unused)
{
    (void)unused;
    fx_redis_stop(redis);
    return 0;
}

static void commands_are_counted_over_both_kinds_of_socket(void **unused)
{
    (void)unused;
    enum { PINGS = 25 };
    char tcp[64], err[256] = "";
    snprintf(tcp, sizeof(tcp), "127.0.0.1:%d", fx_redis_port(redis));
    const char *const addresses[] = {fx_redis_url(redis), tcp};
    for (int i = 0; i < 2; i++) {
        int64_t before, after;
        assert_true(redis_info_commands(addresses[i], &before, err, sizeof(err)));
        for (int j = 0; j < PINGS; j++)
            freeReplyObject(fx_redis_reply(redis, "PING"));
        assert_true(redis_info_commands(addresses[i], &after, err, sizeof(err)));
        assert_in_range(after - before, PINGS, PINGS + 2); /* and the questions themselves */
    }
}

static void a_redis_that_is_not_there_is_named(void **unused)
{
    (void)unused;
    static const char *const addresses[] = {"127.0.0.1:1", "unix:///nowhere/redis.sock", "nohost"};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
        int64_t commands;
        char err[256] = "";
        assert_false(redis_info_commands(addresses[i], &commands, err, sizeof(err)));
        assert_non_null(strstr(err, addresses[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_counted_over_both_kinds_of_socket),
        cmocka_unit_test(a_redis_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, start_redis, stop_redis);
}
