/* The scripts of the fair kind: each by a table of what stands in Redis before and after. */
#include "tests/lock/kinds/script_cases.h"

#include "kinds/fair_acquire.lua.h"
#include "kinds/fair_beat.lua.h"
#include "kinds/fair_decline.lua.h"
#include "kinds/fair_leave.lua.h"
#include "kinds/fair_release.lua.h"
#include "kinds/fair_renew.lua.h"

#define KEYS    "L F Q B W:"

#define OTHERS  "SET L q:9 PX " LEASE "; SET F %77,s,q:9"
#define TAKE    "p:1 " LEASE " " CLAIM
#define BRIEFLY "p:1 " CLAIM /* what gives the lock away: a token, and the claim window */
#define WAITS   "RPUSH Q q:5; HSET B q @-10"
/* Its heartbeat is old, and another one's is not. */
#define DEAD "RPUSH Q q:5; HSET B q @-3000 r @-10"
/* All are old: Redis stood still. */
#define STOOD_STILL "RPUSH Q q:5; HSET B q @-3000 r @-2500"

/* ---- taking it ------------------------------------------------------------------------------- */

static void acquire(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", TAKE " 1 0", "1 # # 0",
         "GET L = p:1; PTTL L = ~" LEASE
         "; GET F = # s p:1; PTTL F = ~87400000; EXISTS Q B W:p = 0"},
        {"", TAKE " 0 0", "1 # # 0", "GET L = p:1; EXISTS Q B W:p = 0"},
        /* Too late, and in time. */
        {"", TAKE " 1 $-1000000", "2 #", "DBSIZE = 0"},
        {"", TAKE " 1 $60000000", "1 # # 0", "GET L = p:1"},
        {"", TAKE " 1 1", "2 #", "DBSIZE = 0"},
        /* It is ours: taken up, or asked for again. */
        {"SET L p:1 PX 5000; SET F %77,s,p:1; HSET B ! p:1", TAKE " 2 0", "1 77 # 0",
         "PTTL L = ~" LEASE "; HEXISTS B ! = 0; PTTL F = ~87400000; EXISTS Q = 0"},
        {"SET L p:1; SET F %77,s,p:1; RPUSH Q p:1 q:2 p:3", TAKE " 1 0", "1 77 # 2",
         "LRANGE Q 0 -1 = q:2 p:3"},
        {"SET L p:1; SET F %77,s,p:1; RPUSH Q p:1", TAKE " 2 0", "1 77 # 0", "EXISTS Q = 0"},
        {"SET L p:1; SET F %77,s,p:1; RPUSH Q q:2 p:3", TAKE " 0 0", "1 77 # 2",
         "LRANGE Q 0 -1 = q:2 p:3"},
        /* It is another's: left, queued, queued once. */
        {OTHERS, TAKE " 0 0", "0 ~" LEASE " 77 0", "GET L = q:9; EXISTS Q B = 0; GET F = 77 s q:9"},
        {OTHERS, TAKE " 1 0", "0 ~" LEASE " 77 0",
         "GET L = q:9; LRANGE Q 0 -1 = p:1; HLEN B = 1; HEXISTS B p = 1; PTTL Q = ~60000; PTTL B = "
         "~60000"},
        {OTHERS "; HSET B p:1 5", TAKE " 1 0", "0 ~" LEASE " 77 0", "EXISTS Q = 0; HGET B p:1 = 5"},
        {OTHERS "; RPUSH Q p:2", TAKE " 1 0", "0 ~" LEASE " 77 0",
         "LRANGE Q 0 -1 = p:2 p:1; PTTL B = ~60000"},
        {OTHERS, TAKE " 2 0", "0 ~" LEASE " 77 0",
         "LRANGE Q 0 -1 = p:1; HEXISTS B p:1 = 1; HEXISTS B p = 1; PTTL Q = ~60000"},
        {OTHERS "; RPUSH Q q:2 p:1; HSET B p 5", TAKE " 2 0", "0 ~" LEASE " 77 0",
         "LRANGE Q 0 -1 = q:2 p:1; HEXISTS B p:1 = 0; PTTL Q = ~60000; PTTL B = ~60000"},
        {"SET L q:9", TAKE " 0 0", "0 -1 0 1", "EXISTS F = 0"},
        /* It is free, but others were there before: who lives gets it. */
        {WAITS, TAKE " 1 0", "0 ~" CLAIM " # 0",
         "GET L = q:5; HGET B ! = q:5; LRANGE Q 0 -1 = p:1; LRANGE W:q 0 -1 = q:5 # " CLAIM
         "; PTTL F = ~87400000; EXISTS W:p = 0"},
        {WAITS, TAKE " 0 0", "0 ~" CLAIM " # 0",
         "GET L = q:5; EXISTS Q = 0; LRANGE W:q 0 -1 = q:5 # " CLAIM},
        {WAITS, TAKE " 2 0", "0 ~" CLAIM " # 0", "GET L = q:5; LRANGE Q 0 -1 = p:1"},
        {DEAD, TAKE " 1 0", "1 # # 0", "GET L = p:1; PTTL L = ~" LEASE "; EXISTS Q W:q W:p = 0"},
        {DEAD, TAKE " 0 0", "1 # # 0", "GET L = p:1; EXISTS Q W:q = 0; HEXISTS B ! = 0"},
        {STOOD_STILL, TAKE " 1 0", "0 ~" CLAIM " # 0", "GET L = q:5; LRANGE Q 0 -1 = p:1"},
        {"RPUSH Q q:5; HSET B q @-3000", TAKE " 1 0", "0 ~" CLAIM " # 0",
         "GET L = q:5; LRANGE Q 0 -1 = p:1"},
        {"RPUSH Q q:5", TAKE " 0 0", "1 # # 0", "GET L = p:1; EXISTS Q W:q = 0"},
        {"RPUSH Q p:1 q:5; HSET B q @-10", TAKE " 2 0", "1 # # 1",
         "GET L = p:1; LRANGE Q 0 -1 = q:5; EXISTS W:p W:q = 0"},
        {"RPUSH Q q:4 r:5; HSET B q @-3000 r @-10", TAKE " 1 0", "0 ~" CLAIM " # 0",
         "GET L = r:5; EXISTS W:q = 0; LRANGE Q 0 -1 = p:1"},
        /* A grant that nobody took up: its process is passed over, unless it asks itself. */
        {WAITS "; HSET B ! q:4", TAKE " 1 0", "1 # # 0",
         "GET L = p:1; HEXISTS B q = 0; HEXISTS B ! = 0; EXISTS Q W:q = 0"},
        {"HSET B ! q:4 q @-10", TAKE " 1 0", "1 # # 0",
         "GET L = p:1; HEXISTS B q = 0; HEXISTS B ! = 0; EXISTS Q = 0"},
        {"HSET B ! q:4 q @-10", TAKE " 0 0", "1 # # 0", "HEXISTS B q = 0; HEXISTS B ! = 0"},
        {"RPUSH Q p:5; HSET B ! p:4 p @-10", TAKE " 1 0", "0 ~" CLAIM " # 0",
         "GET L = p:5; HGET B ! = p:5; LRANGE Q 0 -1 = p:1"},
    };
    sc_try_all(server, &TABLE("fair_acquire", FAIR(FAIR_ACQUIRE_LUA), KEYS, cases));
}

/* What stands where a hint or a fence belongs is not trusted. */
static void acquire_among_damaged_keys(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"SET Q x; RPUSH B y", TAKE " 1 0", "1 # # 0", "GET L = p:1; EXISTS Q B = 0"},
        {OTHERS "; SET Q x; RPUSH B y", TAKE " 1 0", "0 ~" LEASE " 77 0",
         "LRANGE Q 0 -1 = p:1; HEXISTS B p = 1"},
        {"LPUSH L x", TAKE " 1 0", "0 -1 0 1", "LRANGE L 0 -1 = x; LRANGE Q 0 -1 = p:1"},
        {"SET F junk", TAKE " 1 0", "1 # # 0", "GET F = # s p:1"},
        {"SET F %007,s,-", TAKE " 1 0", "1 # # 0", "GET F = # s p:1"},
        {"RPUSH F 7", TAKE " 1 0", "1 # # 0", "GET F = # s p:1"},
        {"SET F %8000000000000000,s,-", TAKE " 1 0", "1 8000000000000001 # 0",
         "GET F = 8000000000000001 s p:1"},
        {"SET F %9000000000000000,s,-", TAKE " 1 0", "1 # # 0", "GET F = # s p:1"},
        {"SET F %5,s,-", TAKE " 1 0", "1 # # 0", "GET F = # s p:1"},
        {"SET L p:1; SET F junk", TAKE " 1 0", "1 # # 0", "GET F = # s p:1"},
        {"SET L q:1; SET F junk", TAKE " 0 0", "0 -1 0 1", "GET F = junk"},
    };
    sc_try_all(server, &TABLE("fair_acquire", FAIR(FAIR_ACQUIRE_LUA), KEYS, cases));
}

#define DENIED "ACL SETUSER default -pexpire"
#define NOPERM "NOPERM this user may not PEXPIRE"

/* Nothing is written that would stay forever without the right to give it an end. */
static void nothing_is_written_without_an_end(void **state)
{
    (void)state;
    static const script_case take[] = {
        {DENIED, TAKE " 1 0", NOPERM, "DBSIZE = 0"},
        {OTHERS "; " DENIED, TAKE " 1 0", NOPERM, "DBSIZE = 2"},
        {DENIED, TAKE " 1 $-1000000", "2 #", "DBSIZE = 0"},
    };
    static const script_case live[] = {{DENIED, "p " CLAIM " p:1", NOPERM, "DBSIZE = 0"}};
    sc_try_all(server, &TABLE("fair_acquire", FAIR(FAIR_ACQUIRE_LUA), KEYS, take));
    sc_try_all(server, &TABLE("fair_beat", FAIR(FAIR_BEAT_LUA), KEYS, live));
    fx_redis_do(server, "ACL SETUSER default +@all");
}

/* ---- signs of life --------------------------------------------------------------------------- */

static void beat(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", "p " CLAIM, "'' 0 -2 0",
         "HLEN B = 1; HEXISTS B p = 1; PTTL B = ~60000; EXISTS L Q = 0; GET F = 0 s -"},
        {OTHERS, "p " CLAIM, "q:9 77 ~" LEASE " 0", "EXISTS Q = 0"},
        {OTHERS "; RPUSH Q p:2; HSET B p 5", "p " CLAIM " p:1 p:2 p:3", "q:9 77 ~" LEASE " 0",
         "LRANGE Q 0 -1 = p:2 p:1 p:3; HEXISTS B p:1 = 1; HEXISTS B p:2 = 0; HEXISTS B p:3 = 1; "
         "PTTL Q = ~60000; PTTL B = ~60000"},
        {"SET L p:1 PX " LEASE "; SET F %77,s,p:1", "p " CLAIM " p:1", "p:1 77 ~" LEASE " 0",
         "EXISTS Q = 0"},
        /* It is free: handed on, to one of ours too, who hears of it as the others do. */
        {"RPUSH Q p:1", "p " CLAIM " p:1", "p:1 # ~" CLAIM " 0",
         "GET L = p:1; HGET B ! = p:1; LRANGE W:p 0 -1 = p:1 # " CLAIM},
        {WAITS, "p " CLAIM " p:1", "q:5 # ~" CLAIM " 0", "GET L = q:5; LRANGE Q 0 -1 = p:1"},
        {DEAD, "p " CLAIM " p:1", "p:1 # ~" CLAIM " 0", "GET L = p:1; EXISTS Q W:q = 0"},
        {DEAD, "p " CLAIM, "'' 0 -2 0", "EXISTS L Q W:q = 0"},
        {WAITS "; HSET B ! q:4", "p " CLAIM " p:1", "p:1 # ~" CLAIM " 0",
         "GET L = p:1; HEXISTS B q = 0"},
        {"RPUSH Q p:2; HSET B ! p:4", "p " CLAIM, "p:2 # ~" CLAIM " 0", "HEXISTS B p = 1"},
        {"LPUSH L x", "p " CLAIM, "'' 0 -1 1", "LRANGE L 0 -1 = x"},
    };
    sc_try_all(server, &TABLE("fair_beat", FAIR(FAIR_BEAT_LUA), KEYS, cases));
}

/* Each sign of life looks at one other, at random: in time all that are gone are forgotten. */
static void those_that_are_gone_are_forgotten(void **state)
{
    (void)state;
    static const script_table table = {
        .name = "fair_beat", .script = FAIR(FAIR_BEAT_LUA), .keys = KEYS};
    enum { ENOUGH = 400 };
    char line[LINE_LEN];
    fx_redis_do(server, "FLUSHALL");
    int64_t now_us = sc_clock_us(server);
    sc_prepare(server, OTHERS "; HSET B gone @-3600000 gone:7 @-3600000 here @30000 ! q:9", now_us);
    for (int i = 0; i < ENOUGH; i++)
        sc_run(server, &table, "p " CLAIM, now_us, line);
    fx_redis_do(server, "SET done 1");
    assert_int_equal(fx_redis_number(server, "HLEN {s}:beats"), 3);
    assert_int_equal(fx_redis_number(server, "HEXISTS {s}:beats here"), 1);
    assert_int_equal(fx_redis_number(server, "HEXISTS {s}:beats !"), 1);
}

/* ---- going ----------------------------------------------------------------------------------- */

static void leave(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {OTHERS "; RPUSH Q p:1 q:2 p:1", BRIEFLY, "-1", "GET L = q:9; LRANGE Q 0 -1 = q:2"},
        {"", BRIEFLY, "0", "DBSIZE = 0"},
        {"RPUSH Q p:1", BRIEFLY, "0", "EXISTS L Q = 0"},
        {"SET L p:1", BRIEFLY, "1", "EXISTS L = 0"},
        /* The lock was granted to it meanwhile: to the next who lives. */
        {"SET L p:1; HSET B ! p:1; " STOOD_STILL, BRIEFLY, "1",
         "GET L = q:5; PTTL L = ~" CLAIM "; HGET B ! = q:5; LRANGE W:q 0 -1 = q:5 # " CLAIM},
        {"SET L p:1; HSET B ! p:1; " DEAD, BRIEFLY, "1", "EXISTS L Q W:q = 0; HEXISTS B ! = 0"},
        /* It lapsed without a word. */
        {"RPUSH Q p:1; " WAITS, BRIEFLY, "0", "GET L = q:5; EXISTS Q = 0"},
        {"RPUSH Q p:1; " DEAD, BRIEFLY, "0", "EXISTS L Q W:q = 0"},
        {WAITS "; HSET B ! q:4", BRIEFLY, "0", "EXISTS L Q W:q = 0; HEXISTS B q = 0"},
        {"RPUSH Q p:5; HSET B ! p:1 p @-10", BRIEFLY, "0", "GET L = p:5; HEXISTS B p = 1"},
    };
    sc_try_all(server, &TABLE("fair_leave", FAIR(FAIR_LEAVE_LUA), KEYS, cases));
}

static void decline(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"SET L p:1; HSET B ! p:1; " STOOD_STILL, BRIEFLY, "1", "GET L = q:5; HGET B ! = q:5"},
        {"SET L p:1; HSET B ! p:1", BRIEFLY, "1", "EXISTS L = 0; HEXISTS B ! = 0"},
        {"SET L p:1; " WAITS, BRIEFLY, "0", "GET L = p:1; LLEN Q = 1"}, /* it was taken up */
        {"SET L q:9; HSET B ! p:1; " WAITS, BRIEFLY, "0", "GET L = q:9; LLEN Q = 1"},
        {"SET L q:9; HSET B ! q:9; " WAITS, BRIEFLY, "0", "GET L = q:9; LLEN Q = 1"},
        {"HSET B ! p:1; " WAITS, BRIEFLY, "0", "EXISTS L = 0; LLEN Q = 1"},
    };
    sc_try_all(server, &TABLE("fair_decline", FAIR(FAIR_DECLINE_LUA), KEYS, cases));
}

static void release(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"SET L p:1", BRIEFLY, "1", "EXISTS L = 0"},
        {"", BRIEFLY, "0", "DBSIZE = 0"},
        {WAITS, BRIEFLY, "0", "EXISTS L = 0; LLEN Q = 1"},
        {"SET L q:9; " WAITS, BRIEFLY, "-1", "GET L = q:9; LLEN Q = 1"},
        {"SET L p:1; SET F %8000000000000000,s,p:1; " STOOD_STILL "; RPUSH Q r:6 r:7", BRIEFLY, "1",
         "GET L = q:5; PTTL L = ~" CLAIM "; HGET B ! = q:5; LRANGE Q 0 -1 = r:6 r:7; "
         "LRANGE W:q 0 -1 = q:5 8000000000000001 " CLAIM "; GET F = 8000000000000001 s q:5"},
        {"SET L p:1; " DEAD "; RPUSH Q r:6", BRIEFLY, "1", "GET L = r:6; EXISTS Q W:q = 0"},
        {"SET L p:1; HSET B ! p:1; " DEAD, BRIEFLY, "1", "EXISTS L Q W:q = 0; HEXISTS B ! = 0"},
        {"SET L p:1; RPUSH Q odd; HSET B odd @0", BRIEFLY, "1", "EXISTS L Q = 0"},
        {"SET L p:1; RPUSH Q q:a:5; HSET B q:a @0", BRIEFLY, "1", "GET L = q:a:5; LLEN W:q:a = 1"},
    };
    sc_try_all(server, &TABLE("fair_release", FAIR(FAIR_RELEASE_LUA), KEYS, cases));
}

static void renew(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"SET L p:1 PX 5000; SET F %77,s,p:1 PX 5000; HSET B ! p:1", "p:1 " LEASE, "1",
         "GET L = p:1; PTTL L = ~" LEASE "; PTTL F = ~87400000; HEXISTS B ! = 0"},
        {"SET L p:1", "p:1 " LEASE, "1", "PTTL L = ~" LEASE "; EXISTS F = 0"},
        {"SET L q:9; SET F %77,s,-; HSET B ! q:9", "p:1 " LEASE, "0",
         "PTTL L = -1; PTTL F = -1; HGET B ! = q:9"},
        {"SET F %77,s,-", "p:1 " LEASE, "0", "EXISTS L = 0; PTTL F = -1"},
    };
    sc_try_all(server, &TABLE("fair_renew", FAIR(FAIR_RENEW_LUA), KEYS, cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acquire),
        cmocka_unit_test(acquire_among_damaged_keys),
        cmocka_unit_test(nothing_is_written_without_an_end),
        cmocka_unit_test(beat),
        cmocka_unit_test(those_that_are_gone_are_forgotten),
        cmocka_unit_test(leave),
        cmocka_unit_test(decline),
        cmocka_unit_test(release),
        cmocka_unit_test(renew),
    };
    return cmocka_run_group_tests_name("fair_scripts", tests, sc_setup, sc_teardown);
}
