/* The dlock command on locks that several hold: run --shared and --exclusive, semaphore, status. */
#include "tests/support/fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#define SOON_MS 30000 /* limit for what should take a moment */

static fx_redis *redis;

/* ---- helpers --------------------------------------------------------------------------------- */

/* Starts "dlock WORDS" by the shell, its stdin not a terminal, its server the fixture's. */
static fx_process *start(const char *words)
{
    char line[1024], path[256];
    snprintf(line, sizeof(line), "exec %s %s </dev/null", fx_build_path("dlock", path, 256), words);
    return fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
}

/* Runs it to its end and returns the exit code; what it printed goes to `out`, if given. */
static int run(const char *words, char *out, size_t out_len)
{
    fx_process *process = start(words);
    int code = fx_process_wait(process, SOON_MS);
    if (out)
        snprintf(out, out_len, "%s", fx_process_stdout(process));
    fx_process_free(process);
    return code;
}

__attribute__((format(printf, 1, 2))) static long long ask(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    redisReply *reply = fx_redis_vreply(redis, format, ap);
    va_end(ap);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    long long number = reply->integer;
    freeReplyObject(reply);
    return number;
}

static int setup_group(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    return setenv("DLOCK_REDIS", fx_redis_url(redis), 1);
}

static int teardown_group(void **state)
{
    (void)state;
    fx_redis_stop(redis);
    return 0;
}

static int flush(void **state)
{
    (void)state;
    ask("FLUSHALL");
    return 0;
}

/* ---- status ---------------------------------------------------------------------------------- */

/* Shares of a lock, put there by hand. */
static void share(const char *name, const char *token)
{
    ask("EVAL %s 1 %s %s",
        "local t = redis.call('TIME') return redis.call('ZADD', KEYS[1], (t[1] + 900) * 1000, "
        "ARGV[1])",
        name, token);
}

#define ID "host-1/77/0123456789abcdef0123456789abcdef"

static const struct {
    const char *name, *says, *mode;
    int holders;
} shared[] = {
    {"readers", "readers is held by 2 readers\n  reader   ", "readers", 2},
    {"readers", "  reader   77 on host-1, expires in ", "readers", 2},
    {"readers", "  reader   stranger, expires in ", "readers", 2},
    {"reader", "reader is held by 1 reader\n", "readers", 1},
    {"writer", "writer is held by a writer\n  owner    " ID ":4*w\n  process  77 on host-1\n",
     "writer", 1},
    {"permits", "permits is held, 4 of 5 permits are taken\n", "semaphore", 2},
    {"permits", "  3 of them  77 on host-1, expires in ", "semaphore", 2},
    {"unused", "unused is free, 0 of 7 permits are taken\n", "semaphore", 0},
    {"nothing", "nothing is free\n", "free", 0},
    {"closed", "closed is a latch, 2 left\n  expires  in ", "latch", 0},
    {"open", "open is a latch, open\n  expires  in ", "latch", 0},
    {"list", "list is held\n  owner    a key of another kind\n", "other", 1},
    {"string", "string is held\n  owner    stranger\n", "exclusive", 1},
};

static void status_shows_all_who_share(void **state)
{
    (void)state;
    share("readers", ID ":1");
    share("readers", "stranger");
    share("reader", ID ":a2");
    share("writer", ID ":4*w");
    share("permits", ID ":5*3");
    share("permits", ID ":6");
    ask("SET {permits}:permits 5");
    ask("SET {unused}:permits 7");
    ask("HSET closed left 2 round 7 first 7 life 600000");
    ask("PEXPIRE closed 600000");
    ask("HSET open left 0 round 7 first 7 life 600000");
    ask("PEXPIRE open 600000");
    ask("LPUSH list x");
    ask("SET string stranger");
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        char words[64], out[4096];
        bool held = shared[i].holders > 0 || strcmp(shared[i].name, "closed") == 0;
        snprintf(words, sizeof(words), "status %s", shared[i].name);
        assert_int_equal(run(words, out, sizeof(out)), held ? 0 : 1);
        if (!strstr(out, shared[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", words, shared[i].says, out);
        snprintf(words, sizeof(words), "status --json %s", shared[i].name);
        assert_int_equal(run(words, out, sizeof(out)), held ? 0 : 1);
        cJSON *json = cJSON_Parse(out);
        assert_non_null(json);
        assert_string_equal(cJSON_GetObjectItem(json, "mode")->valuestring, shared[i].mode);
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "holders")),
                         shared[i].holders);
        assert_int_equal(cJSON_GetObjectItem(json, "left")->valueint,
                         strcmp(shared[i].name, "closed") == 0 ? 2 : 0);
        cJSON_Delete(json);
    }
}

static void status_as_json_tells_of_each_holder(void **state)
{
    (void)state;
    char out[4096];
    share("permits", ID ":5*3");
    ask("SET {permits}:permits 5");
    assert_int_equal(run("status --json permits", out, sizeof(out)), 0);
    cJSON *json = cJSON_Parse(out);
    assert_non_null(json);
    assert_int_equal(cJSON_GetObjectItem(json, "permits")->valueint, 5);
    assert_int_equal(cJSON_GetObjectItem(json, "taken")->valueint, 3);
    cJSON *holder = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "holders"), 0);
    assert_string_equal(cJSON_GetObjectItem(holder, "owner")->valuestring, ID ":5*3");
    assert_string_equal(cJSON_GetObjectItem(holder, "host")->valuestring, "host-1");
    assert_int_equal(cJSON_GetObjectItem(holder, "pid")->valueint, 77);
    assert_int_equal(cJSON_GetObjectItem(holder, "permits")->valueint, 3);
    assert_in_range(cJSON_GetObjectItem(holder, "ttl_ms")->valueint, 1, 900000);
    cJSON_Delete(json);
}

static void a_latch_is_not_released(void **state)
{
    (void)state;
    ask("HSET n left 2 round 7 first 7 life 600000");
    assert_int_equal(run("release --force n", NULL, 0), 64);
    assert_int_equal(ask("EXISTS n"), 1);
}

#define TEST(name) cmocka_unit_test_setup(name, flush)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(status_shows_all_who_share),
        TEST(a_latch_is_not_released),
        TEST(status_as_json_tells_of_each_holder),
    };
    return cmocka_run_group_tests_name("dlock on shares", tests, setup_group, teardown_group);
}
