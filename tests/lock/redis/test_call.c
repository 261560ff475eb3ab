/* Scripts by their hash: it is asked for once, and where there is none the text goes instead. */
#include "tests/lock/rig.h"

enum { SOON_MS = 20000, TIMES = 5 };

static long long calls(fx_redis *server, const char *command)
{
    char stats[16384], word[64];
    assert_true(fx_redis_text(server, stats, sizeof(stats), "INFO commandstats"));
    snprintf(word, sizeof(word), "cmdstat_%s:calls=", command);
    const char *at = strstr(stats, word);
    return at ? strtoll(at + strlen(word), NULL, 10) : 0;
}

static void run_often(fx_redis *server, dlock_script *script)
{
    dlock_redis *redis = rig_redis(fx_redis_url(server));
    dlock_args none;
    dlock_args_init(&none);
    for (int i = 0; i < TIMES; i++) {
        redisReply *reply;
        assert_int_equal(dlock_redis_eval(redis, script, 0, &none, dlock_in_ms(SOON_MS), &reply),
                         DLOCK_REDIS_OK);
        assert_int_equal(reply->integer, 7);
        freeReplyObject(reply);
    }
    dlock_args_free(&none);
    dlock_redis_close(redis);
}

static void a_script_is_sent_once_and_then_called_by_its_hash(void **state)
{
    (void)state;
    static dlock_script script = DLOCK_SCRIPT("seven", "return 7");
    fx_redis *server = fx_redis_start_single(NULL);
    run_often(server, &script);
    assert_int_equal(calls(server, "script|load"), 1);
    assert_int_equal(calls(server, "evalsha"), TIMES);
    assert_int_equal(calls(server, "eval"), 0);
    fx_redis_stop(server);
}

/* Here SCRIPT LOAD TEXT is answered with a number. */
static void a_server_that_tells_no_hash_gets_the_text(void **state)
{
    (void)state;
    static dlock_script script = DLOCK_SCRIPT("seven", "return 7");
    const char *words[] = {"--rename-command", "SCRIPT", "", "--rename-command", "HDEL",
                           "SCRIPT",           NULL};
    fx_redis *server = fx_redis_start_single(words);
    run_often(server, &script);
    assert_int_equal(calls(server, "evalsha"), 0);
    assert_int_equal(calls(server, "eval"), TIMES);
    fx_redis_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_is_sent_once_and_then_called_by_its_hash),
        cmocka_unit_test(a_server_that_tells_no_hash_gets_the_text),
    };
    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
