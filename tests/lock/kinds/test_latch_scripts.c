/* The scripts of a latch: each by a table of what stands in Redis before and after. */
#include "tests/lock/kinds/script_cases.h"

#include "extras/latch.lua.h"
#include "extras/latch_count_down.lua.h"
#include "extras/latch_look.lua.h"
#include "extras/latch_set.lua.h"

#define LATCH(text) "#!lua\n" FENCE_LUA LATCH_LUA text

#define CLOSED      "HSET L left 2 round 77 first 70 life " LEASE
#define ALMOST      "HSET L left 1 round 77 first 70 life " LEASE
#define OPEN        "HSET L left 0 round 77 first 70 life " LEASE " by:a 1"

/* What is no latch, however much of it looks like one. */
#define STRANGERS(argv)                                                                            \
    {"SET L token", argv, "-2 0 0 0", "GET L = token"},                                            \
        {"RPUSH L x", argv, "-2 0 0 0", "LRANGE L 0 -1 = x"},                                      \
        {"HSET L uuid:1 1", argv, "-2 0 0 0", "HGETALL L = uuid:1 1"},                             \
        {CLOSED "; HDEL L left", argv, "-2 0 0 0", "HLEN L = 3"},                                  \
        {CLOSED "; HDEL L round", argv, "-2 0 0 0", "HLEN L = 3"},                                 \
        {CLOSED "; HDEL L first", argv, "-2 0 0 0", "HLEN L = 3"},                                 \
        {CLOSED "; HDEL L life", argv, "-2 0 0 0", "HLEN L = 3"},                                  \
        {CLOSED "; HSET L left two", argv, "-2 0 0 0", "HGET L left = two"},                       \
        {CLOSED "; HSET L left -1", argv, "-2 0 0 0", "HGET L left = -1"},                         \
        {CLOSED "; HSET L left 1.0", argv, "-2 0 0 0", "HGET L left = 1.0"},                       \
        {CLOSED "; HSET L left 0x2", argv, "-2 0 0 0", "HGET L left = 0x2"},                       \
        {CLOSED "; HSET L left 1000000001", argv, "-2 0 0 0", "HLEN L = 4"},                       \
        {CLOSED "; HSET L round 0", argv, "-2 0 0 0", "HLEN L = 4"},                               \
        {CLOSED "; HSET L round 9000000000000001", argv, "-2 0 0 0", "HLEN L = 4"},                \
        {CLOSED "; HSET L first 0", argv, "-2 0 0 0", "HLEN L = 4"},                               \
        {CLOSED "; HSET L life 0", argv, "-2 0 0 0", "HLEN L = 4"},                                \
        {CLOSED "; HSET L life 31536000001", argv, "-2 0 0 0", "HLEN L = 4"},                      \
    {                                                                                              \
        OPEN "; HSET L life 1e3", argv, "-2 0 0 0", "HLEN L = 5"                                   \
    }

static void look(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", "", "-1 0 0 0", "DBSIZE = 0"},
        {CLOSED, "", "1 2 77 70", "HLEN L = 4"},
        {OPEN, "", "1 0 77 70", "HLEN L = 5"},
        {"HSET L left 1000000000 round 9000000000000000 first 1 life 31536000000", "",
         "1 1000000000 9000000000000000 1", "HLEN L = 4"},
        STRANGERS(""),
    };
    sc_try_all(server, &TABLE("latch_look", "#!lua flags=no-writes\n" LATCH_LUA LATCH_LOOK_LUA, "L",
                              cases));
}

static void set(void **state)
{
    (void)state;
    static const script_case cases[] = {
        /* There is none. */
        {"", "3 " LEASE " 0", "1 3 # #",
         "HGET L left = 3; HGET L round = #; HGET L first = #; HGET L life = " LEASE
         "; HLEN L = 4; PTTL L = ~" LEASE},
        {"", "3 " LEASE " 77", "2 0 0 0", "DBSIZE = 0"},
        /* It has not opened. */
        {CLOSED, "3 " LEASE " 0", "0 2 77 70", "HGET L left = 2; PTTL L = -1"},
        {CLOSED, "3 " LEASE " 77", "0 2 77 70", "HGET L left = 2; HGET L round = 77"},
        /* It has: a later round, and who counted down in the last one may again. */
        {OPEN, "1000000000 31536000000 77", "1 1000000000 # 70",
         "HGET L left = 1000000000; HGET L round = #; HGET L first = 70; HLEN L = 4; HGET L life = "
         "31536000000"},
        {OPEN, "3 " LEASE " 0", "2 0 77 70", "HGET L left = 0; HGET L by:a = 1"},
        {OPEN, "3 " LEASE " 76", "2 0 77 70", "HGET L left = 0; HGET L by:a = 1"},
        {"HSET L left 0 round 8000000000000000 first 70 life 5", "3 " LEASE " 8000000000000000",
         "1 3 8000000000000001 70", "HGET L round = 8000000000000001"},
        STRANGERS("3 " LEASE " 0"),
    };
    static const script_case denied[] = {
        {"ACL SETUSER default -pexpire", "3 " LEASE " 0", "NOPERM this user may not PEXPIRE",
         "DBSIZE = 0"},
        {OPEN "; ACL SETUSER default -hset", "3 " LEASE " 77", "NOPERM this user may not HSET",
         "HGET L left = 0; HLEN L = 5"},
    };
    sc_try_all(server, &TABLE("latch_set", LATCH(LATCH_SET_LUA), "L", cases));
    sc_try_all(server, &TABLE("latch_set", LATCH(LATCH_SET_LUA), "L", denied));
    fx_redis_do(server, "ACL SETUSER default +@all");
}

static void count_down(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", "a 0 {s}:open", "-1 0 0 0", "DBSIZE = 0"},
        {"", "a 77 {s}:open", "-1 0 0 0", "DBSIZE = 0"},
        {CLOSED, "a 77 {s}:open", "1 1 77 70",
         "HGET L left = 1; HGET L by:a = 1; HLEN L = 5; PTTL L = ~" LEASE},
        {ALMOST, "a 77 {s}:open", "1 0 77 70",
         "HGET L left = 0; HGET L by:a = 1; PTTL L = ~" LEASE},
        /* Once. */
        {CLOSED " by:a 1", "a 77 {s}:open", "1 2 77 70", "HGET L left = 2; PTTL L = -1"},
        {ALMOST " by:a 1", "b 77 {s}:open", "1 0 77 70", "HGET L left = 0; HLEN L = 6"},
        /* Open already. */
        {OPEN, "b 77 {s}:open", "1 0 77 70", "HGET L left = 0; HEXISTS L by:b = 0; PTTL L = -1"},
        /* Meant for another round, or for none in particular. */
        {CLOSED, "a 0 {s}:open", "2 2 77 70", "HGET L left = 2; HLEN L = 4"},
        {CLOSED, "a 76 {s}:open", "2 2 77 70", "HGET L left = 2; HLEN L = 4"},
        {OPEN, "b 78 {s}:open", "2 0 77 70", "HLEN L = 5"},
        /* No name is taken for a field of the latch's own. */
        {CLOSED, "left 77 {s}:open", "1 1 77 70", "HGET L left = 1; HGET L by:left = 1"},
        {CLOSED, "life 77 {s}:open", "1 1 77 70", "HGET L life = " LEASE},
        {"HSET L left 1000000000 round 77 first 70 life 31536000000", "a 77 {s}:open",
         "1 999999999 77 70", "HGET L left = 999999999; HGET L life = 31536000000"},
        STRANGERS("a 77 {s}:open"),
    };
    static const script_case denied[] = {
        {ALMOST "; ACL SETUSER default -pexpire", "a 77 {s}:open",
         "NOPERM this user may not PEXPIRE", "HGET L left = 1; HLEN L = 4"},
        {ALMOST "; ACL SETUSER default -publish", "a 77 {s}:open", "1 0 77 70", "HGET L left = 0"},
    };
    sc_try_all(server, &TABLE("latch_count_down", LATCH(LATCH_COUNT_DOWN_LUA), "L", cases));
    sc_try_all(server, &TABLE("latch_count_down", LATCH(LATCH_COUNT_DOWN_LUA), "L", denied));
    fx_redis_do(server, "ACL SETUSER default +@all");
}

/* A listener hears of the opening, and of nothing else. */
static void only_the_opening_is_told(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"HSET L left 2 round 78 first 70 life " LEASE, "a 78 {s}:open", "1 1 78 70", "DBSIZE = 1"},
        {"HSET L left 0 round 78 first 70 life " LEASE, "b 78 {s}:open", "1 0 78 70", "DBSIZE = 1"},
        {"HSET L left 1 round 78 first 70 life " LEASE " by:a 1", "a 78 {s}:open", "1 1 78 70",
         "DBSIZE = 1"},
        {ALMOST, "a 77 {s}:open", "1 0 77 70", "DBSIZE = 1"},
    };
    script_table t = TABLE("latch_count_down", LATCH(LATCH_COUNT_DOWN_LUA), "L", cases);
    redisContext *listener =
        redisConnect("127.0.0.1", fx_redis_port(server)); /* one of its own, which only listens */
    assert_non_null(listener);
    assert_int_equal(redisSetTimeout(listener, (struct timeval){.tv_sec = 20}), REDIS_OK);
    freeReplyObject(redisCommand(listener, "SUBSCRIBE {s}:open"));
    sc_try_all(server, &t);
    fx_redis_do(server, "PUBLISH {s}:open end");
    int told = 0; /* more than once where the machine was so slow that a case was tried again */
    for (bool end = false; !end;) {
        redisReply *reply = NULL;
        assert_int_equal(redisGetReply(listener, (void **)&reply), REDIS_OK);
        end = strcmp(reply->element[2]->str, "end") == 0;
        assert_true(end || strcmp(reply->element[2]->str, "77") == 0);
        told += !end;
        freeReplyObject(reply);
    }
    assert_true(told > 0);
    redisFree(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look),
        cmocka_unit_test(set),
        cmocka_unit_test(count_down),
        cmocka_unit_test(only_the_opening_is_told),
    };
    return cmocka_run_group_tests_name("latch scripts", tests, sc_setup, sc_teardown);
}
