/* The scripts of the other kinds, and of the extras: each by a table of what stands in Redis before
 * and after. */
#include "tests/lock/kinds/script_cases.h"

#include "extras/force.lua.h"
#include "extras/guard.lua.h"
#include "extras/guard_write.lua.h"
#include "extras/inspect.lua.h"
#include "extras/tail.lua.h"
#include "kinds/hash_acquire.lua.h"
#include "kinds/hash_release.lua.h"
#include "kinds/hash_renew.lua.h"
#include "kinds/quorum_acquire.lua.h"
#include "kinds/string_acquire.lua.h"
#include "kinds/string_release.lua.h"
#include "kinds/string_renew.lua.h"
#include "shares/shares.lua.h"

#define FENCED(text) "#!lua\n" OWNER_LUA FENCE_LUA text
#define LATE         "$-1000000"
#define IN_TIME      "$60000000"

/* ---- string ---------------------------------------------------------------------------------- */

static void string_of_one_name(void **state)
{
    (void)state;
    static const script_case acquire[] = {
        {"", "p:1 " LEASE " 1 0", "1 # # 0",
         "GET L = p:1; PTTL L = ~" LEASE "; GET F = # s p:1; PTTL F = ~87400000"},
        {"", "p:1 " LEASE " 1 " LATE, "2 #", "DBSIZE = 0"},
        {"", "p:1 " LEASE " 1 " IN_TIME, "1 # # 0", "GET L = p:1"},
        {"SET L p:1; SET F %77,s,p:1", "p:1 " LEASE " 1 0", "1 77 # 0",
         "PTTL L = ~" LEASE "; PTTL F = ~87400000"},
        {"SET L q:1 PX " LEASE "; SET F %77,s,q:1", "p:1 " LEASE " 1 0", "0 ~" LEASE " 77 0",
         "GET L = q:1; GET F = 77 s q:1"},
        {"SET L q:1", "p:1 " LEASE " 1 0", "0 -1 0 1", "EXISTS F = 0"},
        {"ZADD L @5000 q:1; SET F %0,r,-", "p:1 " LEASE " 1 0",
         "WRONGKIND this name is in use as a read/write lock", "ZCARD L = 1; GET F = 0 r -"},
        {"HSET L q:1 1; SET F %77,h,q:1", "p:1 " LEASE " 1 0",
         "WRONGKIND this name is in use as a lock of kind HASH", "HLEN L = 1"},
        {"SET F %77,r,q:1", "p:1 " LEASE " 1 0", "1 # # 0", "GET L = p:1; GET F = # s p:1"},
        {"SET F %77,r,q:1; RPUSH Q q:2*w; HSET B q @-10", "p:1 " LEASE " 1 0",
         "WRONGKIND this name is in use as a read/write lock", "EXISTS L = 0; GET F = 77 r q:1"},
        {"SET F %77,s,q:1; RPUSH Q q:2", "p:1 " LEASE " 1 0", "1 # # 0", "GET L = p:1; LLEN Q = 1"},
        {"RPUSH L x", "p:1 " LEASE " 1 0", "0 -1 0 1", "EXISTS F = 0"},
        {"SET F %8000000000000000,s,-", "p:1 " LEASE " 1 0", "1 8000000000000001 # 0",
         "GET L = p:1"},
    };
    static const script_case renew[] = {
        {"SET L p:1 PX 5000; SET F %77,s,-", "p:1 " LEASE " 1", "1",
         "PTTL L = ~" LEASE "; PTTL F = ~87400000"},
        {"SET L q:1; SET F %77,s,-", "p:1 " LEASE " 1", "0", "PTTL L = -1; PTTL F = -1"},
        {"SET F %77,s,-", "p:1 " LEASE " 1", "0", "EXISTS L = 0; PTTL F = -1"},
    };
    static const script_case release[] = {
        {"SET L p:1", "p:1", "1", "EXISTS L = 0"},
        {"", "p:1", "0", "EXISTS L = 0"},
        {"SET L q:1", "p:1", "-1", "GET L = q:1"},
        {"RPUSH L x", "p:1", "-1", "EXISTS L = 1"},
    };
    sc_try_all(server, &TABLE("string_acquire", FENCED(STRING_ACQUIRE_LUA), "L F Q B", acquire));
    sc_try_all(server, &TABLE("string_renew", FENCED(STRING_RENEW_LUA), "L F", renew));
    sc_try_all(server,
               &TABLE("string_release", "#!lua\n" OWNER_LUA STRING_RELEASE_LUA, "L", release));
}

/* All or none; one fence for all. */
static void string_of_two_names(void **state)
{
    (void)state;
    static const script_case acquire[] = {
        {"", "p:1 " LEASE " 2 0", "1 # # 0",
         "MGET L L2 = p:1 p:1; PTTL L = ~" LEASE "; PTTL L2 = ~" LEASE "; PTTL F = ~87400000; "
         "PTTL F2 = ~87400000; MGET F F2 = # s p:1 # s p:1"},
        {"SET L2 q:1 PX " LEASE, "p:1 " LEASE " 2 0", "0 ~" LEASE " 0 1",
         "MGET L L2 F F2 = nil q:1 nil nil"},
        {"SET L q:1", "p:1 " LEASE " 2 0", "0 -1 0 1", "MGET L L2 F F2 = q:1 nil nil nil"},
        {"SET F2 %8000000000000000,s,-; SET F %7,s,-", "p:1 " LEASE " 2 0",
         "1 8000000000000001 # 0", "MGET F F2 = 8000000000000001 s p:1 8000000000000001 s p:1"},
        {"SET F %8000000000000000,s,-; SET F2 %7,s,-", "p:1 " LEASE " 2 0",
         "1 8000000000000001 # 0", "MGET F F2 = 8000000000000001 s p:1 8000000000000001 s p:1"},
        {"MSET L p:1 L2 p:1 F %77,s,p:1 F2 %77,s,p:1", "p:1 " LEASE " 2 0", "1 77 # 0",
         "MGET F F2 = 77 s p:1 77 s p:1"},
        {"MSET L p:1 L2 p:1 F %77,s,q:1 F2 %77,s,q:1", "p:1 " LEASE " 2 0", "1 # # 0",
         "MGET F F2 = # s p:1 # s p:1"},
        {"MSET L p:1 F %77,s,- F2 %77,s,-", "p:1 " LEASE " 2 0", "1 # # 0",
         "MGET F F2 = # s p:1 # s p:1"},
        {"MSET L2 p:1 F %77,s,- F2 %77,s,-", "p:1 " LEASE " 2 0", "1 # # 0",
         "MGET F F2 = # s p:1 # s p:1"},
    };
    static const script_case renew[] = {
        {"MSET L p:1 L2 p:1 F %77,s,- F2 %77,s,-", "p:1 " LEASE " 2", "1",
         "PTTL L = ~" LEASE "; PTTL L2 = ~" LEASE "; PTTL F = ~87400000; PTTL F2 = ~87400000"},
        {"MSET L p:1 L2 q:1 F %77,s,-", "p:1 " LEASE " 2", "0",
         "PTTL L = -1; PTTL L2 = -1; PTTL F = -1"},
        {"MSET L p:1 F %77,s,-", "p:1 " LEASE " 2", "0", "PTTL L = -1; PTTL F = -1"},
    };
    static const script_case release[] = {
        {"MSET L p:1 L2 p:1", "p:1", "1", "EXISTS L L2 = 0"},
        {"MSET L p:1", "p:1", "1", "EXISTS L L2 = 0"},
        {"MSET L2 p:1", "p:1", "1", "EXISTS L L2 = 0"},
        {"MSET L q:1 L2 p:1", "p:1", "-1", "MGET L L2 = q:1 nil"},
        {"MSET L p:1 L2 q:1", "p:1", "-1", "MGET L L2 = nil q:1"},
        {"", "p:1", "0", "EXISTS L L2 = 0"},
    };
    sc_try_all(server,
               &TABLE("string_acquire", FENCED(STRING_ACQUIRE_LUA), "L L2 F F2 Q Q B B", acquire));
    sc_try_all(server, &TABLE("string_renew", FENCED(STRING_RENEW_LUA), "L L2 F F2", renew));
    sc_try_all(server,
               &TABLE("string_release", "#!lua\n" OWNER_LUA STRING_RELEASE_LUA, "L L2", release));
}

/* A member of a quorum issues none. */
static void names_without_a_fence(void **state)
{
    (void)state;
    static const script_case renew[] = {
        {"SET L p:1", "p:1 " LEASE " 1", "1", "PTTL L = ~" LEASE "; DBSIZE = 1"},
        {"SET L q:1", "p:1 " LEASE " 1", "0", "PTTL L = -1"},
    };
    static const script_case vote[] = {
        {"", "p:1 " LEASE " 0", "1 #", "GET L = p:1; PTTL L = ~" LEASE "; DBSIZE = 1"},
        {"", "p:1 " LEASE " " LATE, "2 #", "DBSIZE = 0"},
        {"", "p:1 " LEASE " " IN_TIME, "1 #", "GET L = p:1"},
        {"SET L p:1", "p:1 " LEASE " 0", "1 #", "PTTL L = ~" LEASE},
        {"SET L q:1", "p:1 " LEASE " 0", "0 #", "GET L = q:1; PTTL L = -1"},
        {"RPUSH L x", "p:1 " LEASE " 0", "0 #", "LLEN L = 1"},
    };
    sc_try_all(server, &TABLE("string_renew", FENCED(STRING_RENEW_LUA), "L", renew));
    sc_try_all(server, &TABLE("quorum_acquire", FENCED(QUORUM_ACQUIRE_LUA), "L", vote));
}

/* ---- hash ------------------------------------------------------------------------------------ */

static void hash(void **state)
{
    (void)state;
    static const script_case acquire[] = {
        {"", "p:1 " LEASE " 0", "1 # # 0",
         "HGETALL L = p:1 1; PTTL L = ~" LEASE "; GET F = # h p:1; PTTL F = ~87400000"},
        {"", "p:1 " LEASE " " LATE, "2 #", "DBSIZE = 0"},
        {"", "p:1 " LEASE " " IN_TIME, "1 # # 0", "HLEN L = 1"},
        {"HSET L p:1 1; SET F %77,h,p:1", "p:1 " LEASE " 0", "1 77 # 0", "PTTL L = ~" LEASE},
        {"HSET L q:1 1; PEXPIRE L " LEASE, "p:1 " LEASE " 0", "0 ~" LEASE " 0 0",
         "HGETALL L = q:1 1; EXISTS F = 0"},
        {"SET L p:1", "p:1 " LEASE " 0", "0 -1 0 0", "GET L = p:1; EXISTS F = 0"},
        {"SET L q:1; SET F %77,s,q:1", "p:1 " LEASE " 0",
         "WRONGKIND this name is in use as a lock of kind STRING or FAIR", "GET L = q:1"},
        {"SET F %77,s,q:1; RPUSH Q q:2; HSET B q @-3000", "p:1 " LEASE " 0", "1 # # 0",
         "HGET L p:1 = 1"}, /* who waits is dead */
        {"SET F %77,s,q:1; RPUSH Q q:2; HSET B q @-10", "p:1 " LEASE " 0",
         "WRONGKIND this name is in use as a lock of kind STRING or FAIR", "EXISTS L = 0"},
    };
    static const script_case denied[] = {
        {"ACL SETUSER default -pexpire", "p:1 " LEASE " 0", "NOPERM this user may not PEXPIRE",
         "DBSIZE = 0"},
    };
    static const script_case renew[] = {
        {"HSET L p:1 1; SET F %77,h,-", "p:1 " LEASE, "1",
         "PTTL L = ~" LEASE "; PTTL F = ~87400000"},
        {"HSET L q:1 1; SET F %77,h,-", "p:1 " LEASE, "0", "PTTL L = -1; PTTL F = -1"},
        {"SET L p:1; SET F %77,h,-", "p:1 " LEASE, "0", "PTTL L = -1; PTTL F = -1"},
        {"SET F %77,h,-", "p:1 " LEASE, "0", "EXISTS L = 0; PTTL F = -1"},
    };
    static const script_case release[] = {
        {"HSET L p:1 1", "p:1", "1", "EXISTS L = 0"},
        {"HSET L p:1 3", "p:1", "1", "EXISTS L = 0"},
        {"", "p:1", "0", "EXISTS L = 0"},
        {"HSET L q:1 1", "p:1", "-1", "HGETALL L = q:1 1"},
        {"SET L p:1", "p:1", "-1", "GET L = p:1"},
    };
    sc_try_all(server, &TABLE("hash_acquire", FENCED(HASH_ACQUIRE_LUA), "L F Q B", acquire));
    sc_try_all(server, &TABLE("hash_acquire", FENCED(HASH_ACQUIRE_LUA), "L F Q B", denied));
    sc_try_all(server, &TABLE("hash_renew", FENCED(HASH_RENEW_LUA), "L F", renew));
    sc_try_all(server, &TABLE("hash_release", "#!lua\n" HASH_RELEASE_LUA, "L W:channel", release));
}

/* ---- extras ---------------------------------------------------------------------------------- */

static void force(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"SET L q:1; SET F %8000000000000000,s,-", CLAIM " 0", "1",
         "EXISTS L = 0; GET F = 8000000000000001 s -"},
        {"", CLAIM " 0", "0", "EXISTS L = 0; GET F = # s -; PTTL F = ~86400000"},
        {"RPUSH L x", CLAIM " 0", "1", "EXISTS L = 0"},
        {"SET L q:1; RPUSH Q r:1; HSET B r @0", CLAIM " 1", "1",
         "GET L = r:1; PTTL L = ~" CLAIM "; EXISTS Q = 0; LLEN W:r = 1"},
        {"SET L q:1; RPUSH Q r:1; HSET B r @0", CLAIM " 0", "1", "EXISTS L = 0; LLEN Q = 1"},
        {"RPUSH Q r:1; HSET B r @0", CLAIM " 1", "0", "EXISTS L = 0; LLEN Q = 1"},
        {"ZADD L @900000 q:1 @900000 r:1; HSET B r @0 !r:1 1; SET F %8000000000000000,s,-; RPUSH Q "
         "r:2",
         CLAIM " 1", "1", "EXISTS L = 0; GET F = 8000000000000001 s -; LLEN Q = 1; HLEN B = 1"},
        {"ZADD L @-1 q:1; RPUSH Q r:2", CLAIM " 0", "0", "EXISTS L = 0; LLEN Q = 1"},
    };
    sc_try_all(server, &TABLE("force", FAIR(FORCE_LUA), "L F Q B W: W:channel", cases));
}

static void inspect(void **state)
{
    (void)state;
    static const script_case cases[] = {
        {"", "9", "0 0 -1 0 0", "DBSIZE = 0"},
        {"SET L p:1 PX " LEASE "; SET F %77,s,-; RPUSH Q a b", "1", "77 2 -1 0 1 p:1 ~" LEASE " 0",
         "DBSIZE = 3"},
        {"SET L p:1", "0", "0 0 -1 0 1", "DBSIZE = 1"},
        {"HSET L p:1 1; SET F %77,s,-", "9", "77 0 -1 0 1 p:1 -1 0", "DBSIZE = 2"},
        {"HSET L left 2 round 7", "9", "0 0 -1 0 1 '' -1 0", "DBSIZE = 1"},
        {"RPUSH L x; RPUSH F 7; SET Q x; RPUSH P 5", "9", "0 0 -1 0 1 '' -1 0", "DBSIZE = 4"},
        {"ZADD L @1000000 p:1 @900000 q:1 @-1 r:1; SET F %77,s,-; RPUSH Q a", "9",
         "77 1 -1 0 2 q:1 ~900000 1 p:1 ~1000000 1", "ZCARD L = 3"},
        {"ZADD L @1000000 p:1 @900000 q:1", "1", "0 0 -1 0 2 q:1 ~900000 1", "ZCARD L = 2"},
        {"ZADD L @900000 p:1*w; SET P 5", "9", "0 0 -1 0 1 p:1*w ~900000 0", "ZCARD L = 1"},
        {"ZADD L @1000000 p:1*12 @900000 q:1; SET P 15", "9",
         "0 0 15 13 2 q:1 ~900000 1 p:1*12 ~1000000 12", "ZCARD L = 2"},
        {"SET P 5", "9", "0 0 5 0 0", "DBSIZE = 1"},
        {"SET P 5x; ZADD L @900000 p:1", "9", "0 0 -1 0 1 p:1 ~900000 1", "DBSIZE = 2"},
        {"SET L p:1; SET P 5", "9", "0 0 -1 0 1 p:1 -1 0", "DBSIZE = 2"},
        {"ZADD L @-1 p:1", "9", "0 0 -1 0 0", "ZCARD L = 1"},
    };
    sc_try_all(server, &TABLE("inspect", "#!lua flags=no-writes\n" INSPECT_LUA, "L F Q P", cases));
}

/* The caller's script writes one key and replies with what it was given. */
#define GUARD(body) FAIR("") "local function body(KEYS, ARGV)\n" body "\nend\n" TAIL_LUA GUARD_LUA
#define WRITES      "redis.call('SET', KEYS[1], ARGV[1]) return {#KEYS, #ARGV, KEYS[1]}"

static void guard(void **state)
{
    (void)state;
    static const script_case writes[] = {
        {"SET L p:1; SET F %77,s,p:1", "p:1 77 " CLAIM " s 0 v w", "1 1 2 {s}2",
         "GET L2 = v; GET L = p:1"},
        {"SET L p:1; SET F %77,s,p:1", "p:1 77 " CLAIM " s 1 v", "1 1 1 {s}2",
         "GET L2 = v; EXISTS L = 0; GET F = 77 s p:1"},
        {"SET L q:1; SET F %77,s,p:1", "p:1 77 " CLAIM " s 1 v", "0", "EXISTS L2 = 0; GET L = q:1"},
        {"SET L p:1; SET F %78,s,p:1", "p:1 77 " CLAIM " s 1 v", "0", "EXISTS L2 = 0; GET L = p:1"},
        {"SET L p:1; SET F %77,s,q:1", "p:1 77 " CLAIM " s 1 v", "0", "EXISTS L2 = 0; GET L = p:1"},
        {"SET L q:1; SET F %78,s,p:1", "p:1 77 " CLAIM " s 1 v", "0", "EXISTS L2 = 0"},
        {"SET F %77,s,p:1", "p:1 77 " CLAIM " s 1 v", "0", "EXISTS L2 = 0"},
        {"SET L p:1", "p:1 77 " CLAIM " s 1 v", "0", "EXISTS L2 = 0"},
        {"RPUSH L p:1; RPUSH F 77", "p:1 77 " CLAIM " s 1 v", "0", "EXISTS L2 = 0"},
        {"HSET L p:1 1; SET F %77,s,p:1", "p:1 77 " CLAIM " s 1 v", "0",
         "EXISTS L2 = 0; HLEN L = 1"},
        {"HSET L p:1 1; SET F %77,h,p:1", "p:1 77 " CLAIM " h 0 v", "1 1 1 {s}2",
         "GET L2 = v; HLEN L = 1"},
        {"HSET L p:1 1; SET F %77,h,p:1", "p:1 77 " CLAIM " h 1 v", "1 1 1 {s}2",
         "GET L2 = v; EXISTS L = 0"},
        {"HSET L q:1 1; SET F %77,h,p:1", "p:1 77 " CLAIM " h 1 v", "0",
         "EXISTS L2 = 0; HLEN L = 1"},
        {"SET L p:1; SET F %77,h,p:1", "p:1 77 " CLAIM " h 1 v", "0", "EXISTS L2 = 0; GET L = p:1"},
        {"SET L p:1; SET F %77,s,p:1; RPUSH Q r:1; HSET B r @0", "p:1 77 " CLAIM " f 1 v",
         "1 1 1 {s}2", "GET L2 = v; GET L = r:1; PTTL L = ~" CLAIM},
        {"SET L p:1; SET F %77,s,p:1; RPUSH Q r:1; HSET B r @0", "p:1 77 " CLAIM " f 0 v",
         "1 1 1 {s}2", "GET L2 = v; GET L = p:1; LLEN Q = 1"},
        {"SET L p:1; SET F %77,s,p:1; RPUSH Q r:1; HSET B r @0", "p:1 77 " CLAIM " s 1 v",
         "1 1 1 {s}2", "EXISTS L = 0; LLEN Q = 1"},
        {"SET L p:1; SET F %77,s,p:1; RPUSH Q r:1; HSET B r @0", "p:1 77 " CLAIM " f 2 v",
         "1 1 1 {s}2", "GET L2 = v; GET L = r:1; PTTL L = ~" CLAIM},
        {"SET L q:1; SET F %77,s,p:1", "p:1 77 " CLAIM " f 2 v", "3 1 1 {s}2",
         "GET L2 = v; GET L = q:1"},
        {"SET L p:1; SET F %78,s,p:1", "p:1 77 " CLAIM " s 2 v", "3 1 1 {s}2",
         "GET L2 = v; GET L = p:1"},
        {"", "p:1 77 " CLAIM " f 2 v", "3 1 1 {s}2", "GET L2 = v; EXISTS L = 0"},
        {"HSET L p:1 1; SET F %77,h,p:1", "p:1 77 " CLAIM " h 2 v", "1 1 1 {s}2",
         "GET L2 = v; EXISTS L = 0"},
    };
    static const script_case nothing[] = {
        {"SET L p:1; SET F %77,s,p:1", "p:1 77 " CLAIM " s 1", "1 nil", "EXISTS L = 0"},
    };
    static const script_case error[] = {
        {"SET L p:1; SET F %77,s,p:1", "p:1 77 " CLAIM " s 1", "ERR no", "GET L = p:1"},
    };
    static const char keys[] = "L F Q B W: L2";
    sc_try_all(server, &TABLE("guard", GUARD(WRITES), keys, writes));
    sc_try_all(server, &TABLE("guard", GUARD("return nil"), keys, nothing));
    sc_try_all(server, &TABLE("guard", GUARD("return redis.error_reply('ERR no')"), keys, error));
}

#define GUARD_WRITE(body)                                                                          \
    "#!lua\nlocal function body(KEYS, ARGV)\n" body "\nend\n" TAIL_LUA                             \
    "local KEYS, body_keys = {unpack(KEYS, 1, 5)}, tail(KEYS, 6)\n" FENCE_LUA QUEUE_LUA HEARD      \
        SHARES_LUA GUARD_WRITE_LUA

/* The body's key, here a number, is not the one for permits. */
static void guard_of_a_writer(void **state)
{
    (void)state;
    static const script_case writes[] = {
        {"ZADD L @900000 p:1*w; SET F %77,r,p:1*w; SET L2 0", "p:1*w 77 " CLAIM " w 0 v w",
         "1 1 2 {s}2", "GET L2 = v; ZCARD L = 1"},
        {"ZADD L @900000 p:1*w; SET F %77,r,p:1*w", "p:1*w 77 " CLAIM " w 1 v", "1 1 1 {s}2",
         "GET L2 = v; EXISTS L = 0; GET F = 77 r p:1*w"},
        {"ZADD L @900000 p:1*w; SET F %77,r,p:1*w; SET L2 0; RPUSH Q r:1 r:2; HSET B r @0",
         "p:1*w 77 " CLAIM " w 1 v", "1 1 1 {s}2",
         "ZRANGE L 0 -1 = r:1 r:2; PTTL L = ~" CLAIM "; EXISTS Q = 0; LLEN W:r = 2"},
        {"ZADD L @900000 p:1*w; SET F %77,r,p:1*w; RPUSH Q r:1; HSET B r @0",
         "p:1*w 77 " CLAIM " w 0 v", "1 1 1 {s}2", "ZRANGE L 0 -1 = p:1*w; LLEN Q = 1"},
        {"ZADD L @-1 p:1*w; SET F %77,r,p:1*w", "p:1*w 77 " CLAIM " w 1 v", "0", "EXISTS L2 = 0"},
        {"ZADD L @900000 p:2*w; SET F %77,r,p:1*w", "p:1*w 77 " CLAIM " w 1 v", "0",
         "EXISTS L2 = 0"},
        {"ZADD L @900000 p:1*w; SET F %78,r,p:1*w", "p:1*w 77 " CLAIM " w 1 v", "0",
         "EXISTS L2 = 0; ZCARD L = 1"},
        {"ZADD L @900000 p:1*w; RPUSH F 77", "p:1*w 77 " CLAIM " w 1 v", "0", "EXISTS L2 = 0"},
        {"SET L p:1*w; SET F %77,r,p:1*w", "p:1*w 77 " CLAIM " w 1 v", "0", "EXISTS L2 = 0"},
        {"SET F %77,r,p:1*w", "p:1*w 77 " CLAIM " w 1 v", "0", "EXISTS L2 = 0"},
        {"ZADD L @900000 p:1*w; SET F %77,r,p:1*w", "p:1*w 77 " CLAIM " w 2 v", "1 1 1 {s}2",
         "GET L2 = v; EXISTS L = 0"},
        {"ZADD L @900000 p:2*w; SET F %78,r,p:1*w", "p:1*w 77 " CLAIM " w 2 v", "3 1 1 {s}2",
         "GET L2 = v; ZCARD L = 1"},
    };
    static const script_case error[] = {
        {"ZADD L @900000 p:1*w; SET F %77,r,p:1*w", "p:1*w 77 " CLAIM " w 1", "ERR no",
         "ZCARD L = 1"},
    };
    static const script_case nothing[] = {
        {"ZADD L @900000 p:1*w; SET F %77,r,p:1*w", "p:1*w 77 " CLAIM " w 1", "1 nil",
         "EXISTS L = 0"},
    };
    static const char keys[] = "L F Q B W: L2";
    sc_try_all(server, &TABLE("guard_write", GUARD_WRITE(WRITES), keys, writes));
    sc_try_all(server, &TABLE("guard_write", GUARD_WRITE("return nil"), keys, nothing));
    sc_try_all(server, &TABLE("guard_write", GUARD_WRITE("return redis.error_reply('ERR no')"),
                              keys, error));
}

/* ---- who waits is told ----------------------------------------------------------------------- */

static void is_told(redisContext *listener, const char *kind)
{
    redisReply *message = NULL;
    assert_int_equal(redisGetReply(listener, (void **)&message), REDIS_OK);
    assert_string_equal(message->element[0]->str, kind);
    assert_string_equal(message->element[2]->str, "0");
    freeReplyObject(message);
}

/* By both ways of publishing: at the end of a release, of a forced one, and of a guarded one. */
static void a_hash_that_is_freed_is_published(void **state)
{
    (void)state;
    static const struct {
        script_table table;
        const char *argv;
    } cases[] = {
        {{"release", "#!lua\n" HASH_RELEASE_LUA, "L W:c", NULL, 0}, "p:1"},
        {{"force", FAIR(FORCE_LUA), "L F Q B W: W:c", NULL, 0}, CLAIM " 0"},
        {{"guard", GUARD("return 1"), "L F Q B W:c", NULL, 0}, "p:1 77 " CLAIM " h 1"},
    };
    char line[LINE_LEN];
    redisContext *listener = redisConnect("127.0.0.1", fx_redis_port(server));
    assert_true(listener && !listener->err);
    redisSetTimeout(listener, (struct timeval){.tv_sec = 20});
    freeReplyObject(redisCommand(listener, "SUBSCRIBE {s}:wake:c"));
    freeReplyObject(redisCommand(listener, "SSUBSCRIBE {s}:wake:c"));
    for (size_t i = 0; i < COUNT(cases); i++) {
        fx_redis_do(server, "FLUSHALL");
        sc_prepare(server, "HSET L p:1 1; SET F %77,h,p:1", 0);
        sc_run(server, &cases[i].table, cases[i].argv, 0, line);
        is_told(listener, "message");
        is_told(listener, "smessage");
    }
    redisFree(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(string_of_one_name),
        cmocka_unit_test(string_of_two_names),
        cmocka_unit_test(names_without_a_fence),
        cmocka_unit_test(hash),
        cmocka_unit_test(force),
        cmocka_unit_test(inspect),
        cmocka_unit_test(guard),
        cmocka_unit_test(guard_of_a_writer),
        cmocka_unit_test(a_hash_that_is_freed_is_published),
    };
    return cmocka_run_group_tests_name("scripts", tests, sc_setup, sc_teardown);
}
