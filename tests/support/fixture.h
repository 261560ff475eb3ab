/*
 * fixture.h - real servers for tests: a private redis-server, real flashsale instances.
 *
 * Every server is this test program's own: its directory is fresh, its ports were free, and only
 * its own pid is ever signalled. So any number of test programs can run at once. All of it ends
 * with the test program, however that ends; directories are removed on every regular exit, also
 * after a failed test that never reached its teardown. (tests/run gives each program a TMPDIR of
 * its own and removes that too.)
 *
 * What can not be started fails the running test, with the program's own words. Call everything
 * from the main thread; the accessors may be called from any.
 *
 *     static int setup(void **state)
 *     {
 *         *state = fx_redis_start(NULL);
 *         return 0;
 *     }
 *
 * The header brings cmocka along, with the four headers that cmocka needs before it.
 */
#ifndef TESTS_SUPPORT_FIXTURE_H
#define TESTS_SUPPORT_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "tests/support/process.h"

/* Words that end with NULL, for a command line or a call. */
#define FX_ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* How many elements a table has. */
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Ends the running case as skipped; the reason is shown beside its name. Takes printf's arguments.
 */
#define fx_skip(...)                                                                               \
    do {                                                                                           \
        print_message(__VA_ARGS__);                                                                \
        print_message("\n");                                                                       \
        skip();                                                                                    \
    } while (0)

/* ---- Redis ----------------------------------------------------------------------------------- */

typedef struct fx_redis fx_redis;

/* What tests run on: FX_REDIS=single|replicas|sentinel|cluster in the environment; `make test
 * REDIS=cluster` sets it. "single" where it is not set. $REDIS_SERVER is the program. With
 * FX_FAILOVER set, sentinels and clusters replace a silent primary after two seconds, else after a
 * minute: a test that kills none must not lose orders because the machine is busy. */
const char *fx_redis_kind(void);
bool fx_is_single(void);

/* Skips the case, with the reason, unless Redis is one server: for a case that kills or stops it,
 * has a fault proxy before it or looks into its files. */
#define fx_only_single(why)                                                                        \
    do {                                                                                           \
        if (!fx_is_single())                                                                       \
            fx_skip("not on %s: %s", fx_redis_kind(), why);                                        \
    } while (0)

/* Starts a Redis of that kind, without persistence unless the arguments say otherwise
 * ("--appendonly", "yes", NULL), and waits until it answers. extra_args ends with NULL, or is NULL.
 *
 * One server is on a Unix socket and on a TCP port of 127.0.0.1. Another kind is a topology
 * (topology.h): what has an asterisk below fails the test there. */
fx_redis *fx_redis_start(const char *const *extra_args);
fx_redis *fx_redis_start_single(const char *const *extra_args); /* one server, whatever the kind */
void fx_redis_stop(fx_redis *redis); /* kills it, removes its directory. NULL is allowed */

/* The topology, for who kills a member of it; NULL where it is one server. */
struct fx_topology *fx_redis_topology(const fx_redis *redis);

void fx_redis_kill(fx_redis *redis);    /* * SIGKILL; the addresses stay reserved */
void fx_redis_restart(fx_redis *redis); /* * kills it if it runs; the same addresses, arguments and
                                           directory: its data is what was persisted */
void fx_redis_signal(fx_redis *redis, int signo); /* SIGSTOP, SIGCONT; to all but sentinels */

const char *fx_redis_url(const fx_redis *redis);     /* "unix:///.../redis.sock"; the topology's */
const char *fx_redis_tcp_url(const fx_redis *redis); /* * "redis://127.0.0.1:PORT" */

/* The URL (by TCP) with "user:password", in buf; returns buf. */
char *fx_redis_url_as(const fx_redis *redis, const char *credentials, char *buf, size_t len);
int fx_redis_port(const fx_redis *redis);        /* * */
const char *fx_redis_dir(const fx_redis *redis); /* * */

/* A plain connection for checks (owned by the fixture), with a limit of 5 s for each command
 * (patience.h). It is renewed after a restart or an error, so ask for it again rather than keep it.
 * In a topology it leads to the primary; * in a cluster no one connection leads to all keys. */
redisContext *fx_redis_ctx(fx_redis *redis);

/* Runs a command, written as for redisCommand(), where it belongs (fx_topology_command() says
 * where that is). The answer, which may be an error; free it with freeReplyObject(). The test
 * fails when there is none. */
redisReply *fx_redis_reply(fx_redis *redis, const char *command, ...);
redisReply *fx_redis_vreply(fx_redis *redis, const char *command, va_list args);

/* Likewise, and fails the test when Redis answers an error.
 *   _do      is not interested in the answer
 *   _number  the integer that it answers, or the string, read as one; 0 for nil
 *   _text    copies the string into buf; false for nil */
void fx_redis_do(fx_redis *redis, const char *command, ...);
long long fx_redis_number(fx_redis *redis, const char *command, ...);
bool fx_redis_text(fx_redis *redis, char *buf, size_t len, const char *command, ...);

/* ---- flashsale ------------------------------------------------------------------------------- */

typedef struct fx_server fx_server;

/* Starts one instance on a free port of 127.0.0.1 and waits until it says that it listens: of this
 * build, or of the program $FLASHSALE_PROGRAM, which may be one with fail points or with a defect.
 * It has 64 threads, so it answers 64 connections. Later options win: extra_args may replace
 * --threads, or --listen by 0.0.0.0:0. */
fx_server *fx_server_start(const char *redis_url, const char *const *extra_args);

/* SIGTERM; the exit code, 128 + signal, or 137 when it had to be killed after a minute. Frees it.
 */
int fx_server_stop(fx_server *server);

/* Kills and frees it, for teardown. NULL is allowed. */
void fx_server_kill(fx_server *server);

void fx_server_signal(fx_server *server, int signo);
int fx_server_port(const fx_server *server);
const char *fx_server_url(const fx_server *server); /* "http://127.0.0.1:PORT" */
fx_process *fx_server_process(fx_server *server);   /* (borrowed) its logs are its stderr */

/* ---- ports and directories ------------------------------------------------------------------- */

/* A port of 127.0.0.1 that was free a moment ago, below the range that the kernel gives to
 * outgoing connections: so a server can be restarted on it while clients come and go. */
int fx_free_port(void);

/* Makes a fresh directory under $TMPDIR (or /tmp), its path in buf; and removes one with all that
 * is in it, as every regular exit does. */
void fx_dir_make(char *buf, size_t len);
void fx_dir_remove(const char *dir);

#endif
