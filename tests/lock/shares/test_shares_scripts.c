/* The scripts of the kinds with several holders: each by a table of what stands in Redis before and
 * after. */
#include "tests/lock/kinds/script_cases.h"

#include "shares/rw_downgrade.lua.h"
#include "shares/semaphore_set.lua.h"
#include "shares/shares.lua.h"
#include "shares/shares_acquire.lua.h"
#include "shares/shares_beat.lua.h"
#include "shares/shares_decline.lua.h"
#include "shares/shares_leave.lua.h"
#include "shares/shares_release.lua.h"
#include "shares/shares_renew.lua.h"

#define SHARES(text) "#!lua\n" HEARD FENCE_LUA QUEUE_LUA SHARES_LUA text

#define RW           "L F Q B W:"
#define SEMAPHORE    "L F Q B W: P"
#define LEAVE_LUA    SHARES_LEAVE_LUA SHARES_RELEASE_LUA

/* Who asks: a reader, a writer, who takes one permit, two, three of five. Behind it comes how. */
#define READS   "p:1 " LEASE " " CLAIM
#define WRITES  "p:1*w " LEASE " " CLAIM
#define TWO     "p:1*2 " LEASE " " CLAIM
#define THREE   "p:1*3 " LEASE " " CLAIM

#define HELD    " PEXPIREAT L @950000; SET F %77,r,-"
#define READER  "ZADD L @950000 q:9;" HELD
#define WRITER  "ZADD L @950000 q:9*w;" HELD
#define HOLDERS "ZRANGE L 0 -1 = "
#define TAKEN   "ZCOUNT L @999000 @1001000 = " /* for a lease from now on */
#define HANDED  "ZCOUNT L @299000 @301000 = "  /* for the claim window */
#define Q_LIVES "HSET B q @-10"
/* Its heartbeat is old, and another one's is not; or all are, since Redis stood still. */
#define Q_DEAD  "HSET B q @-3000 z @-10"
#define Q_STILL "HSET B q @-3000 z @-2500"

/* ---- taking a share -------------------------------------------------------------------------- */

static void acquire_a_side(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", READS " 1 0 0", "1 0 # 0",
         HOLDERS "p:1; PTTL L = ~" LEASE "; " TAKEN "1; GET F = 0 r -; EXISTS Q B W:p = 0"},
        {"SET F %77,r,-", READS " 0 0 0", "1 77 # 0",
         HOLDERS "p:1; GET F = 77 r -; PTTL F = ~87400000"},
        {"", WRITES " 1 0 0", "1 # # 0",
         HOLDERS "p:1*w; PTTL L = ~" LEASE
                 "; GET F = # r p:1*w; PTTL F = ~87400000; EXISTS Q B = 0"},
        {"SET F %8000000000000000,r,-", WRITES " 0 0 0", "1 8000000000000001 # 0",
         HOLDERS "p:1*w; GET F = 8000000000000001 r p:1*w"},
        /* Too late, and in time. */
        {"", READS " 1 0 $-1000000", "2 #", "DBSIZE = 0"},
        {"", WRITES " 1 0 1", "2 #", "DBSIZE = 0"},
        {"", WRITES " 1 0 $60000000", "1 # # 0", HOLDERS "p:1*w"},
        /* Beside readers; the key ends with the last lease. */
        {READER, READS " 1 0 0", "1 77 # 0", HOLDERS "q:9 p:1; EXISTS Q = 0"},
        {"ZADD L @9000000 q:9; PEXPIREAT L @9000000", READS " 1 0 0", "1 0 # 0",
         HOLDERS "p:1 q:9; PTTL L = ~9000000"},
        {READER, WRITES " 0 0 0", "0 ~" LEASE " 77 0",
         HOLDERS "q:9; EXISTS Q B = 0; GET F = 77 r -"},
        {READER, WRITES " 1 0 0", "0 ~" LEASE " 77 0",
         HOLDERS "q:9; LRANGE Q 0 -1 = p:1*w; HEXISTS B p = 1; PTTL Q = ~60000; PTTL B = ~60000"},
        {WRITER, READS " 0 0 0", "0 ~" LEASE " 77 0", HOLDERS "q:9*w; EXISTS Q B = 0"},
        {WRITER, READS " 1 0 0", "0 ~" LEASE " 77 0", HOLDERS "q:9*w; LRANGE Q 0 -1 = p:1"},
        {WRITER, WRITES " 1 0 0", "0 ~" LEASE " 77 0", HOLDERS "q:9*w; LRANGE Q 0 -1 = p:1*w"},
        {"ZADD L @5000 q:8 @1000000 q:9", WRITES " 0 0 0", "0 ~5000 0 0", HOLDERS "q:8 q:9"},
        /* Behind a writer that waits, whether they wait too or not; unless that one is gone. */
        {READER "; RPUSH Q q:5*w; " Q_LIVES, READS " 0 0 0", "0 ~" LEASE " 77 0",
         HOLDERS "q:9; LRANGE Q 0 -1 = q:5*w"},
        {READER "; RPUSH Q q:5*w; " Q_STILL, READS " 1 0 0", "0 ~" LEASE " 77 0",
         HOLDERS "q:9; LRANGE Q 0 -1 = q:5*w p:1"},
        {READER "; RPUSH Q q:5*w; " Q_DEAD, READS " 1 0 0", "1 77 # 0",
         HOLDERS "q:9 p:1; EXISTS Q = 0; " TAKEN "1; HEXISTS B !p:1 = 0; EXISTS W:p = 0"},
        {READER "; RPUSH Q q:5*w; HSET B q @3600000 z @-10", READS " 0 0 0", "1 77 # 0",
         HOLDERS "q:9 p:1; EXISTS Q = 0"}, /* the clock was set back */
        {READER "; RPUSH Q q:5*w", READS " 0 0 0", "1 77 # 0", HOLDERS "q:9 p:1; EXISTS Q = 0"},
        /* A share was handed on to it: taken up, or asked for again. */
        {"ZADD L @5000 p:1; HSET B !p:1 1; SET F %77,r,-", READS " 2 0 0", "1 77 # 0",
         HOLDERS "p:1; " TAKEN "1; HEXISTS B !p:1 = 0; PTTL L = ~" LEASE "; PTTL F = ~87400000"},
        {"ZADD L @5000 p:1*w; HSET B !p:1*w 1; SET F %77,r,-", WRITES " 2 0 0", "1 # # 0",
         TAKEN "1; HEXISTS B !p:1*w = 0; GET F = # r p:1*w"},
        {"ZADD L @5000 p:1*w; SET F %77,r,p:1*w; RPUSH Q p:1*w q:2 p:3 p:1*w", WRITES " 1 0 0",
         "1 77 # 2", TAKEN "1; GET F = 77 r p:1*w; LRANGE Q 0 -1 = q:2 p:3"},
        {"ZADD L @5000 p:1*w; SET F junk", WRITES " 2 0 0", "1 # # 0", "GET F = # r p:1*w"},
        /* Queued once. */
        {WRITER "; HSET B p:1 5", READS " 1 0 0", "0 ~" LEASE " 77 0", "EXISTS Q = 0"},
        {WRITER "; RPUSH Q q:2 p:1; HSET B p @-10 q @-10", READS " 2 0 0", "0 ~" LEASE " 77 0",
         "LRANGE Q 0 -1 = q:2 p:1; HEXISTS B p:1 = 0; PTTL Q = ~60000; PTTL B = ~60000"},
        {WRITER, READS " 2 0 0", "0 ~" LEASE " 77 0", "LRANGE Q 0 -1 = p:1; HEXISTS B p:1 = 1"},
    };
    sc_try_all(server, &TABLE("shares_acquire", SHARES(SHARES_ACQUIRE_LUA), RW, cases));
}

/* Leases that ended, with or without the key, and who is in the queue then. */
static void acquire_after_a_lapse(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"ZADD L @-1 q:9*w", READS " 0 0 0", "1 0 # 0", HOLDERS "p:1"},
        {"ZADD L @-1 q:8 @5000 q:9", WRITES " 0 0 0", "0 ~5000 0 0", HOLDERS "q:9"},
        {"ZADD L @-1 p:1*w; SET F %77,r,-", WRITES " 2 0 0", "1 # # 0",
         "GET F = # r p:1*w; " TAKEN "1"},
        {"ZADD L @-1 q:9*w; RPUSH Q q:5 r:6; HSET B q @-10 r @-10", READS " 1 0 0", "1 0 # 0",
         HOLDERS "q:5 r:6 p:1; " HANDED "2; " TAKEN "1; LRANGE W:q 0 -1 = q:5; LRANGE W:r 0 -1 = "
                 "r:6; HEXISTS B !q:5 = 1; HEXISTS B !r:6 = 1; EXISTS Q W:p = 0; PTTL L = ~" LEASE},
        {"ZADD L @-1 q:9*w; RPUSH Q q:5 r:6*w; HSET B q @-10 r @-10", READS " 1 0 0",
         "0 ~" CLAIM " 0 0", HOLDERS "q:5; LRANGE Q 0 -1 = r:6*w p:1; EXISTS W:r = 0"},
        {"ZADD L @-1 q:9*w; RPUSH Q q:5*w; " Q_LIVES, READS " 0 0 0", "0 ~" CLAIM " 0 0",
         HOLDERS "q:5*w; HEXISTS B !q:5*w = 1; EXISTS Q F = 0; LRANGE W:q 0 -1 = q:5*w"},
        {"ZADD L @-1 q:9*w; RPUSH Q q:5*w; " Q_DEAD, READS " 0 0 0", "1 0 # 0",
         HOLDERS "p:1; EXISTS Q W:q = 0"},
        {"RPUSH Q q:5*w; " Q_DEAD, READS " 1 0 0", "1 0 # 0", HOLDERS "p:1; EXISTS Q W:q = 0"},
        {"RPUSH Q p:1 q:5; " Q_LIVES, READS " 2 0 0", "1 0 # 0",
         HOLDERS "q:5 p:1; EXISTS Q W:p = 0; LLEN W:q = 1"},
        /* What nobody took up shows a process that is gone, unless it asks itself. */
        {"ZADD L @-1 q:4*w; HSET B !q:4*w 1 q @-10; RPUSH Q q:5", READS " 1 0 0", "1 0 # 0",
         HOLDERS "p:1; HEXISTS B q = 0; HEXISTS B !q:4*w = 0; EXISTS Q W:q = 0"},
        {"HSET B !q:4*w 1 q @-10; RPUSH Q q:5", READS " 1 0 0", "1 0 # 0",
         HOLDERS "p:1; HEXISTS B q = 0; HEXISTS B !q:4*w = 0; EXISTS Q W:q = 0"},
        {"ZADD L @-1 p:4*w; HSET B !p:4*w 1 p @-10; RPUSH Q p:5", READS " 1 0 0", "1 0 # 0",
         HOLDERS "p:5 p:1; HEXISTS B p = 1; LLEN W:p = 1"},
        {"ZADD L @-1 p:4*w; HSET B !p:4*w 1 p @-10; RPUSH Q p:5", READS " 0 0 0", "1 0 # 0",
         HOLDERS "p:5 p:1; HEXISTS B p = 1"},
        {"ZADD L @-1 p:1 @5000 q:9; HSET B !p:1 1 p @-10; RPUSH Q q:5*w; HSET B q @-10",
         READS " 2 0 0", "0 ~5000 0 0",
         HOLDERS "q:9; LRANGE Q 0 -1 = q:5*w p:1; HEXISTS B !p:1 = 0"},
    };
    sc_try_all(server, &TABLE("shares_acquire", SHARES(SHARES_ACQUIRE_LUA), RW, cases));
}

#define FIVE "SET P 5 PX 5000"

static void acquire_permits(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", READS " 1 5 0", "1 # # 0",
         HOLDERS "p:1; GET F = # p p:1; GET P = 5; PTTL P = ~87400000; EXISTS Q B = 0"},
        {FIVE, THREE " 0 9 0", "1 # # 0", HOLDERS "p:1*3; GET P = 5; PTTL P = ~87400000"},
        {FIVE "; ZADD L @5000 q:8*2 @6000 q:9", TWO " 0 5 0", "1 # # 0", HOLDERS "q:8*2 q:9 p:1*2"},
        {FIVE "; ZADD L @5000 q:8*2 @6000 q:9", THREE " 1 5 0", "0 ~5000 0 0",
         HOLDERS "q:8*2 q:9; LRANGE Q 0 -1 = p:1*3"},
        {FIVE "; ZADD L @5000 q:8*2 @6000 q:9*2", TWO " 0 5 0", "0 ~5000 0 0",
         HOLDERS "q:8*2 q:9*2; EXISTS Q = 0"},
        {FIVE "; ZADD L @-1 q:8*2 @6000 q:9*2", THREE " 0 5 0", "1 # # 0", HOLDERS "q:9*2 p:1*3"},
        /* Who wants few does not overtake who wants many. */
        {FIVE "; ZADD L @5000 q:9*4; RPUSH Q q:5*2; " Q_LIVES, READS " 1 5 0", "0 ~5000 0 0",
         HOLDERS "q:9*4; LRANGE Q 0 -1 = q:5*2 p:1"},
        {FIVE "; ZADD L @5000 q:9*4; RPUSH Q q:5*2; " Q_LIVES, READS " 0 5 0", "0 ~5000 0 0",
         HOLDERS "q:9*4; LRANGE Q 0 -1 = q:5*2"},
        /* Who wants more than there are is passed over, and keeps its place. */
        {FIVE, "p:1*6 " LEASE " " CLAIM " 1 5 0", "0 -1 0 0",
         "LRANGE Q 0 -1 = p:1*6; EXISTS L = 0"},
        {FIVE, "p:1*6 " LEASE " " CLAIM " 0 5 0", "0 -1 0 0", "EXISTS Q L = 0"},
        {FIVE "; RPUSH Q q:5*6; " Q_LIVES, READS " 0 5 0", "1 # # 1",
         HOLDERS "p:1; LRANGE Q 0 -1 = q:5*6"},
        {FIVE "; RPUSH Q q:5*6; " Q_LIVES, READS " 1 5 0", "1 # # 1",
         HOLDERS "p:1; LRANGE Q 0 -1 = q:5*6; " TAKEN "1; HEXISTS B !p:1 = 0"},
        {FIVE "; RPUSH Q q:5*6 q:6*5; " Q_LIVES, READS " 1 5 0", "0 ~" CLAIM " 0 0",
         HOLDERS "q:6*5; LRANGE Q 0 -1 = q:5*6 p:1; LRANGE W:q 0 -1 = q:6*5"},
        {FIVE "; RPUSH Q q:5*6; " Q_DEAD, READS " 1 5 0", "1 # # 0", "EXISTS Q = 0"},
        /* Lowered below what is held. */
        {"SET P 2; ZADD L @5000 q:9*3", READS " 1 5 0", "0 ~5000 0 0", "LRANGE Q 0 -1 = p:1"},
        {"SET P 0", READS " 1 5 0", "0 -1 0 0", "LRANGE Q 0 -1 = p:1; EXISTS L = 0"},
        /* Asked again: a number of its own, since the last one may be another's. */
        {FIVE "; ZADD L @5000 p:1*2; SET F %8000000000000000,p,-", TWO " 2 5 0",
         "1 8000000000000001 # 0", TAKEN "1"},
        /* The number outlives a longer lease than this one, the fence too. */
        {"SET P 5 PX 900000000", READS " 1 5 0", "1 # # 0", "PTTL P = ~900000000"},
        {FIVE "; SET F %77,p,q:9 PX 900000000", READS " 1 5 0", "1 # # 0", "PTTL F = ~900000000"},
        /* No number. */
        {"SET P junk", TWO " 1 5 0", "1 # # 0", "GET P = 5"},
        {"SET P -1", TWO " 1 5 0", "1 # # 0", "GET P = 5"},
        {"RPUSH P 1", TWO " 1 5 0", "1 # # 0", "GET P = 5; PTTL P = ~87400000"},
    };
    sc_try_all(server, &TABLE("shares_acquire", SHARES(SHARES_ACQUIRE_LUA), SEMAPHORE, cases));
}

/* What stands where a hint or a fence belongs is not trusted; at the lock's own key it is a
 * stranger's. */
static void acquire_among_damaged_keys(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"SET Q x; RPUSH B y", READS " 1 0 0", "1 0 # 0", HOLDERS "p:1; EXISTS Q B = 0"},
        {WRITER "; SET Q x; RPUSH B y", READS " 1 0 0", "0 ~" LEASE " 77 0",
         "LRANGE Q 0 -1 = p:1; HEXISTS B p = 1"},
        {"SET L q:9 PX " LEASE, READS " 0 0 0", "0 ~" LEASE " 0 0", "GET L = q:9; EXISTS Q = 0"},
        {"SET L p:1", READS " 1 0 0", "0 -1 0 0", "GET L = p:1; LRANGE Q 0 -1 = p:1"},
        {"HSET L left 1; RPUSH Q q:5; " Q_LIVES, WRITES " 1 0 0", "0 -1 0 0",
         "HGET L left = 1; LRANGE Q 0 -1 = q:5 p:1*w; EXISTS W:q = 0"},
        {"HSET L left 1; RPUSH Q q:5; " Q_DEAD, READS " 2 0 0", "0 -1 0 0", "LRANGE Q 0 -1 = p:1"},
        {"RPUSH F 7", WRITES " 1 0 0", "1 # # 0", "GET F = # r p:1*w"},
        {"RPUSH F 7", READS " 1 0 0", "1 0 # 0", "GET F = 0 r -"},
        /* A share without an end ends with the key, in a year. */
        {"ZADD L inf q:9", READS " 1 0 0", "1 0 # 0", "PTTL L = ~31536000000"},
        {"ZADD L inf q:9", WRITES " 0 0 0", "0 31536000000 0 0", HOLDERS "q:9"},
        {"ZADD L -inf q:9", WRITES " 0 0 0", "1 # # 0", HOLDERS "p:1*w"},
    };
    sc_try_all(server, &TABLE("shares_acquire", SHARES(SHARES_ACQUIRE_LUA), RW, cases));
}

#define NOPERM(command) "NOPERM this user may not " command

/* Nothing is written that would stay forever without the right to give it an end. */
static void nothing_is_written_without_an_end(void **state)
{
    (void)state;
    static const script_case take[] = {
        {"ACL SETUSER default -pexpire", READS " 1 5 0", NOPERM("PEXPIRE"), "DBSIZE = 0"},
        {"ACL SETUSER default -pexpireat", READS " 1 5 0", NOPERM("PEXPIREAT"), "DBSIZE = 0"},
        {"ACL SETUSER default -pexpireat", READS " 1 5 $-1000000", "2 #", "DBSIZE = 0"},
    };
    static const script_case live[] = {
        {"ACL SETUSER default -pexpire", "p " CLAIM " p:1", NOPERM("PEXPIRE"), "DBSIZE = 0"},
        {"ACL SETUSER default -pexpireat", "p " CLAIM " p:1", NOPERM("PEXPIREAT"), "DBSIZE = 0"}};
    static const script_case set[] = {
        {"ACL SETUSER default -pexpire", "5 " LEASE " " CLAIM, NOPERM("PEXPIRE"), "DBSIZE = 0"}};
    static const script_case exchange[] = {{"ZADD L @5000 p:1*w; ACL SETUSER default -pexpireat",
                                            "p:1*w p:2 " LEASE " " CLAIM " 0", NOPERM("PEXPIREAT"),
                                            HOLDERS "p:1*w"}};
    sc_try_all(server, &TABLE("shares_acquire", SHARES(SHARES_ACQUIRE_LUA), SEMAPHORE, take));
    sc_try_all(server, &TABLE("shares_beat", SHARES(SHARES_BEAT_LUA), SEMAPHORE, live));
    sc_try_all(server, &TABLE("semaphore_set", SHARES(SEMAPHORE_SET_LUA), SEMAPHORE, set));
    sc_try_all(server, &TABLE("rw_downgrade", SHARES(RW_DOWNGRADE_LUA), RW, exchange));
    fx_redis_do(server, "ACL SETUSER default +@all");
}

/* ---- signs of life --------------------------------------------------------------------------- */

static void beat(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", "p " CLAIM, "-1",
         "HLEN B = 1; HEXISTS B p = 1; PTTL B = ~60000; EXISTS L Q = 0; GET F = 0 r -"},
        {READER, "p " CLAIM, "~" LEASE, "EXISTS Q = 0; " HOLDERS "q:9"},
        {WRITER "; RPUSH Q p:2; HSET B p 5", "p " CLAIM " p:1 p:2 p:3", "~" LEASE,
         "LRANGE Q 0 -1 = p:2 p:1 p:3; HEXISTS B p:1 = 1; HEXISTS B p:2 = 0; HEXISTS B p:3 = 1; "
         "PTTL Q = ~60000; PTTL B = ~60000"},
        /* Ours that hold a share are told, and not queued again. */
        {"ZADD L @5000 p:1 @6000 q:9 @7000 p:3; HSET B !p:1 1", "p " CLAIM " p:1 p:2 p:3",
         "~5000 p:1 p:3", HOLDERS "p:1 q:9 p:3 p:2; HEXISTS B !p:2 = 1; LRANGE W:p 0 -1 = p:2"},
        {"ZADD L @5000 q:9; RPUSH Q p:4*w", "p " CLAIM " p:2 p:4*w", "~5000",
         HOLDERS "q:9; LRANGE Q 0 -1 = p:4*w p:2"},
        /* What is free is handed on, to ours too, who hear of it as the others do. */
        {"RPUSH Q p:1*w", "p " CLAIM " p:1*w", "~" CLAIM,
         HOLDERS "p:1*w; " HANDED
                 "1; HEXISTS B !p:1*w = 1; LRANGE W:p 0 -1 = p:1*w; GET F = 0 r -"},
        {"ZADD L @-1 q:9*w; RPUSH Q q:5 q:6; " Q_LIVES, "p " CLAIM " p:1", "~" CLAIM,
         "ZCARD L = 3; " HANDED "3; EXISTS Q = 0; LRANGE W:q 0 -1 = q:5 q:6; LRANGE W:p 0 -1 = "
         "p:1"},
        {"RPUSH Q q:5; " Q_DEAD, "p " CLAIM " p:1", "~" CLAIM, HOLDERS "p:1; EXISTS Q W:q = 0"},
        {"ZADD L @-1 q:4; HSET B !q:4 1 q @-10; RPUSH Q q:5", "p " CLAIM " p:1", "~" CLAIM,
         HOLDERS "p:1; HEXISTS B q = 0; HEXISTS B !q:4 = 0"},
        {"ZADD L @-1 p:4; HSET B !p:4 1; RPUSH Q p:5", "p " CLAIM, "~" CLAIM,
         HOLDERS "p:5; HEXISTS B p = 1"},
        {READER "; RPUSH Q q:5*w r:6; HSET B q @-3000 r @-10", "p " CLAIM, "~" CLAIM,
         HOLDERS "r:6 q:9; EXISTS Q W:q = 0; LRANGE W:r 0 -1 = r:6"},
        /* Waiters without a thread hear of it on a channel. */
        {"RPUSH Q p:1 p:2; HSET B p @-10", "q " CLAIM, "~" CLAIM,
         "ZCARD L = 2; LRANGE W:p 0 -1 = p:1 p:2; HEXISTS B !p:1 = 1"},
        {"LPUSH L x", "p " CLAIM " p:1", "-1", "LRANGE L 0 -1 = x; LRANGE Q 0 -1 = p:1"},
    };
    sc_try_all(server, &TABLE("shares_beat", SHARES(SHARES_BEAT_LUA), RW, cases));
}

/* Each sign of life looks at one other, at random: in time all that are gone are forgotten. */
static void those_that_are_gone_are_forgotten(void **state)
{
    (void)state;
    static const script_table table = {
        .name = "shares_beat", .script = SHARES(SHARES_BEAT_LUA), .keys = RW};
    enum { ENOUGH = 400 };
    char line[LINE_LEN];
    fx_redis_do(server, "FLUSHALL");
    int64_t now_us = sc_clock_us(server);
    sc_prepare(server,
               WRITER "; HSET B gone @-3600000 gone:7 @-3600000 here @30000 !q:9*w 1 !gone:8 1",
               now_us);
    for (int i = 0; i < ENOUGH; i++)
        sc_run(server, &table, "p " CLAIM, now_us, line);
    fx_redis_do(server, "SET done 1");
    assert_int_equal(fx_redis_number(server, "HLEN {s}:beats"), 3);
    assert_int_equal(fx_redis_number(server, "HEXISTS {s}:beats here"), 1);
    assert_int_equal(fx_redis_number(server, "HEXISTS {s}:beats !q:9*w"), 1);
}

/* ---- going ----------------------------------------------------------------------------------- */

#define BRIEFLY  "p:1 " CLAIM
#define W_BRIEF  "p:1*w " CLAIM
#define OURS     "ZADD L @5000 p:1"
#define W_OURS   "ZADD L @5000 p:1*w"
#define OUR_MARK "; HSET B !p:1 1"

static void leave(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {READER "; RPUSH Q p:1*w q:2*w p:1*w; " Q_LIVES, W_BRIEF, "-1",
         HOLDERS "q:9; LRANGE Q 0 -1 = q:2*w"},
        {WRITER "; RPUSH Q p:1", BRIEFLY, "0", HOLDERS "q:9*w; EXISTS Q = 0"},
        {"", BRIEFLY, "0", "DBSIZE = 0"},
        {"RPUSH Q p:1", BRIEFLY, "0", "DBSIZE = 0"},
        {OURS OUR_MARK, BRIEFLY, "1", "EXISTS L = 0; HEXISTS B !p:1 = 0"},
        /* A writer that waits no more lets in those behind it. */
        {READER "; RPUSH Q p:1*w q:2 q:3; " Q_STILL, W_BRIEF, "-1",
         "ZCARD L = 3; EXISTS Q = 0; LRANGE W:q 0 -1 = q:2 q:3"},
        /* It was handed a share meanwhile. */
        {OURS OUR_MARK "; RPUSH Q q:5*w; " Q_STILL, BRIEFLY, "1",
         HOLDERS "q:5*w; " HANDED "1; HEXISTS B !q:5*w = 1; LRANGE W:q 0 -1 = q:5*w; EXISTS Q = 0"},
        {OURS OUR_MARK "; RPUSH Q q:5*w; " Q_DEAD, BRIEFLY, "1", "EXISTS L Q W:q = 0"},
        /* It lapsed without a word, and that blames nobody. */
        {"ZADD L @-1 p:1; RPUSH Q p:1 q:5; HSET B !p:1 1 p @-10 q @-10", BRIEFLY, "0",
         HOLDERS "q:5; HEXISTS B p = 1; EXISTS Q = 0"},
        {"ZADD L @-1 p:1; RPUSH Q q:5; " Q_DEAD, BRIEFLY, "0", "EXISTS L Q W:q = 0"},
        {"SET L p:1; RPUSH Q p:1", BRIEFLY, "-1", "GET L = p:1; EXISTS Q = 0"},
    };
    sc_try_all(server, &TABLE("shares_leave", SHARES(LEAVE_LUA), RW, cases));
}

static void decline(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {OURS OUR_MARK "; RPUSH Q q:5*w; " Q_STILL, BRIEFLY, "1",
         HOLDERS "q:5*w; HEXISTS B !p:1 = 0; HEXISTS B !q:5*w = 1"},
        {OURS OUR_MARK, BRIEFLY, "1", "EXISTS L = 0; HEXISTS B !p:1 = 0"},
        {OURS "; RPUSH Q q:5*w; " Q_LIVES, BRIEFLY, "0", HOLDERS "p:1; LLEN Q = 1"}, /* taken up */
        {WRITER "; HSET B !q:9*w 1; RPUSH Q q:5; " Q_LIVES, BRIEFLY, "0",
         HOLDERS "q:9*w; LLEN Q = 1; HEXISTS B !q:9*w = 1"},
        {"ZADD L @-1 p:1; HSET B !p:1 1 p @-10; RPUSH Q q:5; HSET B q @-10", BRIEFLY, "0",
         HOLDERS "q:5; HEXISTS B p = 1; HEXISTS B !p:1 = 0"},
        {"SET L x" OUR_MARK, BRIEFLY, "0", "GET L = x"},
    };
    sc_try_all(server, &TABLE("shares_decline", SHARES(SHARES_DECLINE_LUA), RW, cases));
}

static void release(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {OURS, BRIEFLY, "1", "DBSIZE = 0"},
        {"", BRIEFLY, "0", "DBSIZE = 0"},
        {"", W_BRIEF, "0", "DBSIZE = 0"},
        {READER, BRIEFLY, "0", HOLDERS "q:9"},
        {READER, W_BRIEF, "-1", HOLDERS "q:9"},
        {WRITER, W_BRIEF, "-1", HOLDERS "q:9*w"},
        {"SET L p:1", BRIEFLY, "-1", "GET L = p:1"},
        {"ZADD L @-1 p:1", BRIEFLY, "0", "EXISTS L = 0"},
        {"ZADD L @-1 p:1*w @5000 q:9*w", W_BRIEF, "-1", HOLDERS "q:9*w"},
        /* One reader of several; the last one lets the writer in, and nobody behind it. */
        {"ZADD L @5000 p:1 @6000 q:9; RPUSH Q q:5*w r:6; HSET B q @-10 r @-10", BRIEFLY, "1",
         HOLDERS "q:9; LRANGE Q 0 -1 = q:5*w r:6"},
        {OURS "; SET F %77,r,-; RPUSH Q q:5*w r:6; HSET B q @-1000 r @-10", BRIEFLY, "1",
         HOLDERS "q:5*w; " HANDED "1; PTTL L = ~" CLAIM "; LRANGE Q 0 -1 = r:6; LRANGE W:q 0 -1 = "
                 "q:5*w; EXISTS W:r = 0; GET F = 77 r -"},
        /* A writer lets in the readers up to the next writer. */
        {W_OURS "; RPUSH Q q:5 r:6 q:7*w r:8; HSET B q @-1000 r @-1000", W_BRIEF, "1",
         HOLDERS "q:5 r:6; LRANGE Q 0 -1 = q:7*w r:8; LRANGE W:q 0 -1 = q:5; LRANGE W:r 0 -1 = "
                 "r:6; HEXISTS B !q:5 = 1; HEXISTS B !r:6 = 1"},
        {W_OURS "; RPUSH Q q:5 r:6 q:7; HSET B q @-3000 r @-10", W_BRIEF, "1",
         HOLDERS "r:6; EXISTS Q W:q = 0"},
        /* One that is queued twice does not get twice, nor anything else than it has. */
        {W_OURS "; RPUSH Q q:5 q:5; " Q_LIVES, W_BRIEF, "1",
         HOLDERS "q:5; EXISTS Q = 0; LLEN W:q = 1"},
        {"ZADD L @5000 p:1 @1000000 q:9; RPUSH Q q:9 q:5; " Q_LIVES, BRIEFLY, "1",
         HOLDERS "q:5 q:9; " TAKEN "1; EXISTS Q = 0; LRANGE W:q 0 -1 = q:5"},
        {OURS "; RPUSH Q odd q:a:5; HSET B odd @0 q:a @0", BRIEFLY, "1",
         HOLDERS "q:a:5; LLEN W:q:a = 1; EXISTS Q = 0"},
        {W_OURS "; RPUSH Q q:5; " Q_LIVES "; ACL SETUSER default -publish", W_BRIEF, "1",
         HOLDERS "q:5; HEXISTS B !q:5 = 1"},
    };
    static const script_case permits[] = {
        {FIVE "; ZADD L @5000 p:1*3 @6000 q:8; RPUSH Q q:5*5 q:6; " Q_LIVES, "p:1*3 " CLAIM, "1",
         HOLDERS "q:8; LRANGE Q 0 -1 = q:5*5 q:6; GET P = 5"},
        {FIVE "; ZADD L @5000 p:1*3 @6000 q:8; RPUSH Q q:5*2 q:6 q:7*2 q:4; " Q_LIVES,
         "p:1*3 " CLAIM, "1",
         "ZCARD L = 3; LRANGE Q 0 -1 = q:7*2 q:4; LRANGE W:q 0 -1 = q:5*2 "
         "q:6"},
        {FIVE "; ZADD L @5000 p:1*5; RPUSH Q q:3*9 q:5*2 q:4*9 q:6*3; " Q_LIVES, "p:1*5 " CLAIM,
         "1", "ZCARD L = 2; LRANGE Q 0 -1 = q:3*9 q:4*9; LRANGE W:q 0 -1 = q:5*2 q:6*3"},
        {"SET P 2; ZADD L @5000 p:1*2 @6000 q:9*2; RPUSH Q q:5; " Q_LIVES, "p:1*2 " CLAIM, "1",
         HOLDERS "q:9*2; LLEN Q = 1"},
        /* Where nobody gets any, not even one is passed over. */
        {"SET P 0; RPUSH Q q:5 r:6; HSET B q @-10 r @-3000", BRIEFLY, "0",
         "LRANGE Q 0 -1 = q:5 r:6"},
        /* Without a number nobody gets any, until somebody asks who knows one. */
        {"ZADD L @5000 p:1*2; RPUSH Q q:5; " Q_LIVES, "p:1*2 " CLAIM, "1",
         "EXISTS L P = 0; LRANGE Q 0 -1 = q:5"},
    };
    sc_try_all(server, &TABLE("shares_release", SHARES(SHARES_RELEASE_LUA), RW, cases));
    sc_try_all(server, &TABLE("shares_release", SHARES(SHARES_RELEASE_LUA), SEMAPHORE, permits));
}

static void renew(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {OURS " @2000000 q:9; SET F %77,r,- PX 5000; SET P 5 PX 5000", "p:1 " LEASE, "1",
         TAKEN "1; PTTL L = ~2000000; PTTL F = ~87400000; PTTL P = ~87400000"},
        {OURS, "p:1 " LEASE, "1", TAKEN "1; PTTL L = ~" LEASE "; EXISTS F P = 0"},
        {OURS "; SET P 5 PX 900000000", "p:1 " LEASE, "1", "PTTL P = ~900000000"},
        {"ZADD L @-1 p:1 @5000 q:9; SET F %77,r,-", "p:1 " LEASE, "0", TAKEN "0; PTTL F = -1"},
        {READER, "p:1 " LEASE, "0", HOLDERS "q:9"},
        {"SET L p:1", "p:1 " LEASE, "0", "GET L = p:1; PTTL L = -1"},
        {"SET F %77,r,-", "p:1 " LEASE, "0", "EXISTS L = 0; PTTL F = -1"},
    };
    sc_try_all(server, &TABLE("shares_renew", SHARES(SHARES_RENEW_LUA), SEMAPHORE, cases));
}

/* ---- what only one of the kinds does --------------------------------------------------------- */

#define PERMITS(n) n " " LEASE " " CLAIM

static void set_permits(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", PERMITS("7"), "1", "GET P = 7; PTTL P = ~87400000; DBSIZE = 1"},
        {"SET P 2; ZADD L @5000 q:9*2; RPUSH Q q:5*2 q:6; " Q_STILL, PERMITS("4"), "1",
         HOLDERS "q:9*2 q:5*2; GET P = 4; LRANGE Q 0 -1 = q:6; LRANGE W:q 0 -1 = q:5*2"},
        {"SET P 5; ZADD L @5000 q:9*2; RPUSH Q q:5*9; " Q_STILL, PERMITS("11"), "1",
         HOLDERS "q:9*2 q:5*9; EXISTS Q = 0"},
        {"SET P 1; RPUSH Q q:5*2; " Q_STILL, PERMITS("2"), "1", HOLDERS "q:5*2; EXISTS Q = 0"},
        {"SET P 5; ZADD L @5000 q:9*5", PERMITS("0"), "1", HOLDERS "q:9*5; GET P = 0"},
        {"SET P 2 PX 900000000", PERMITS("7"), "1", "GET P = 7; PTTL P = ~900000000"},
        {"HSET P f 1; SET L x", PERMITS("3"), "1", "GET P = 3; GET L = x"},
        {"SET P 5; ZADD L @-1 q:9*5", PERMITS("3"), "1", "EXISTS L = 0"},
    };
    sc_try_all(server, &TABLE("semaphore_set", SHARES(SEMAPHORE_SET_LUA), SEMAPHORE, cases));
}

#define EXCHANGE "p:1*w p:2 " LEASE " " CLAIM

static void downgrade(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {W_OURS "; SET F %77,r,-", EXCHANGE " 0", "1 77 # 0",
         HOLDERS "p:2; " TAKEN "1; PTTL L = ~" LEASE "; PTTL F = ~87400000; GET F = 77 r -"},
        /* The readers that wait come in, up to the next writer. */
        {W_OURS "; SET F %77,r,-; RPUSH Q q:5 q:6*w q:7; " Q_STILL, EXCHANGE " 0", "1 77 # 2",
         HOLDERS "q:5 p:2; " HANDED "1; LRANGE Q 0 -1 = q:6*w q:7; LRANGE W:q 0 -1 = q:5"},
        {W_OURS "; RPUSH Q q:6*w q:7; " Q_STILL, EXCHANGE " 0", "1 0 # 2",
         HOLDERS "p:2; LRANGE Q 0 -1 = q:6*w q:7"},
        {W_OURS, EXCHANGE " $-1000000", "2 #", HOLDERS "p:1*w"},
        /* Asked again. */
        {"ZADD L @5000 p:2; SET F %77,r,-", EXCHANGE " 0", "1 77 # 0", HOLDERS "p:2; " TAKEN "1"},
        /* Over before: free, or others'. */
        {"", EXCHANGE " 0", "0 0", "DBSIZE = 0"},
        {"ZADD L @-1 p:1*w", EXCHANGE " 0", "0 0", "EXISTS L = 0"},
        {"ZADD L @-1 p:1*w; RPUSH Q q:5*w; " Q_LIVES, EXCHANGE " 0", "0 1", HOLDERS "q:5*w"},
        {WRITER, EXCHANGE " 0", "0 1", HOLDERS "q:9*w"},
        {READER, EXCHANGE " 0", "0 1", HOLDERS "q:9"},
        {"SET L p:1*w", EXCHANGE " 0", "0 1", "GET L = p:1*w"},
    };
    sc_try_all(server, &TABLE("rw_downgrade", SHARES(RW_DOWNGRADE_LUA), RW, cases));
}

/* As many as can be expected to ask in time; who takes a share up lets in one more. */
static void a_crowd_is_let_in_bit_by_bit(void **state)
{
    (void)state;
    static const script_table release_table = {
        .name = "shares_release", .script = SHARES(SHARES_RELEASE_LUA), .keys = RW};
    static const script_table acquire_table = {
        .name = "shares_acquire", .script = SHARES(SHARES_ACQUIRE_LUA), .keys = RW};
    static const script_table beat_table = {
        .name = "shares_beat", .script = SHARES(SHARES_BEAT_LUA), .keys = RW};
    enum { AT_ONCE = 32, CROWD = 3 * AT_ONCE };
    char line[LINE_LEN];
    fx_redis_do(server, "FLUSHALL");
    int64_t now_us = sc_clock_us(server);
    sc_prepare(server, "ZADD L @500000 p:1*w; HSET B q @0", now_us);
    for (int i = 1; i <= CROWD; i++) {
        snprintf(line, sizeof(line), "RPUSH {s}:queue q:%d", i);
        fx_redis_do(server, line);
    }
    sc_run(server, &release_table, "p:1*w " CLAIM, now_us, line);
    assert_string_equal(line, "1");
    assert_int_equal(fx_redis_number(server, "ZCARD {s}"), AT_ONCE);
    sc_run(server, &acquire_table, "q:1 " LEASE " " CLAIM " 2 0 0", now_us, line);
    assert_int_equal(fx_redis_number(server, "ZCARD {s}"), AT_ONCE + 1);
    sc_run(server, &acquire_table, "q:1 " LEASE " " CLAIM " 2 0 0", now_us, line);
    assert_int_equal(fx_redis_number(server, "ZCARD {s}"), AT_ONCE + 1);
    assert_int_equal(fx_redis_number(server, "ZSCORE {s} q:33") > 0, 1);
    sc_run(server, &beat_table, "q " CLAIM, now_us, line);
    assert_int_equal(fx_redis_number(server, "ZCARD {s}"), 2 * AT_ONCE + 1);
    sc_run(server, &beat_table, "q " CLAIM, now_us, line);
    assert_int_equal(fx_redis_number(server, "ZCARD {s}"), CROWD);
    assert_int_equal(fx_redis_number(server, "EXISTS {s}:queue"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acquire_a_side),
        cmocka_unit_test(acquire_after_a_lapse),
        cmocka_unit_test(acquire_permits),
        cmocka_unit_test(acquire_among_damaged_keys),
        cmocka_unit_test(nothing_is_written_without_an_end),
        cmocka_unit_test(beat),
        cmocka_unit_test(those_that_are_gone_are_forgotten),
        cmocka_unit_test(leave),
        cmocka_unit_test(decline),
        cmocka_unit_test(release),
        cmocka_unit_test(renew),
        cmocka_unit_test(set_permits),
        cmocka_unit_test(downgrade),
        cmocka_unit_test(a_crowd_is_let_in_bit_by_bit),
    };
    return cmocka_run_group_tests_name("shares_scripts", tests, sc_setup, sc_teardown);
}
