/*
 * test_acl.c - docker/users.acl: the service's Redis user may do what the service needs, and
 * nothing else. Only durability 'disk' needs one right more, which reads Redis's passwords, too.
 *
 *   enough       every strategy and every page works, and Redis has logged no denial
 *   necessary    every command that is granted was called meanwhile: one that is not fails the
 * test, but for those of selling/transaction.h, which are granted to whoever uses it closed keys of
 * others and the dangerous commands are refused unseen       the password is in no log line, answer
 * or command line
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

#define SECRET "3c9f1d7e5b8a2640"

static char acl_dir[256], acl_line[2048];
static int acl_line_number; /* of that line in docker/users.acl */

/* Fills in the password, as docker/redis-start does, and adds a user for this test's own checks. */
static void write_acl(char *path, size_t len)
{
    char line[2048];
    FILE *from = fopen("docker/users.acl", "r");
    assert_non_null(from);
    snprintf(path, len, "%s/users.acl", acl_dir);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    for (int number = 1; fgets(line, sizeof(line), from); number++) {
        char *at = strstr(line, "@PASSWORD@");
        if (at == NULL) {
            fputs(line, to);
            continue;
        }
        acl_line_number = number;
        snprintf(acl_line, sizeof(acl_line), "%s", at);
        fprintf(to, "%.*s>%s%s", (int)(at - line), line, SECRET, at + strlen("@PASSWORD@"));
    }
    fputs("user checker on >checker allkeys allchannels +@all\n", to);
    fclose(from);
    fclose(to);
}

static char asked[64][16]; /* the commands that this test itself has called */
static int asked_count;

static redisReply *ask(const char *command)
{
    assert_in_range(asked_count, 0, 63);
    snprintf(asked[asked_count], sizeof(asked[0]), "%.*s", (int)strcspn(command, " "), command);
    asked_count++;
    redisReply *reply = fx_redis_reply(fx.redis, command);
    assert_non_null(reply);
    return reply;
}

static int setup(void **state)
{
    (void)state;
    char acl[300], url[256];
    fx_dir_make(acl_dir, sizeof(acl_dir));
    write_acl(acl, sizeof(acl));
    fx.redis =
        fx_redis_start_single(FX_ARGS("--aclfile", acl, "--appendonly", "yes", "--appendfsync",
                                      "always", "--repl-diskless-sync-delay", "0"));
    freeReplyObject(ask("AUTH checker checker"));
    snprintf(url, sizeof(url), "redis://flashsale:%s@127.0.0.1:%d", SECRET,
             fx_redis_port(fx.redis));
    for (int i = 0; i < FX_INSTANCES; i++) /* log in as the service's user */
        fx.server[i] = fx_server_start(url, FX_ARGS(FX_P0001));
    return 0;
}

static int teardown(void **state)
{
    fx_service_stop(state);
    fx_dir_remove(acl_dir);
    return 0;
}

/* Starts a sale of 40; `more` are further terms. */
static void start_sale(const char *strategy, const char *more)
{
    fx_start_sale(fx.server[0], "P0001", "'stock':40,'strategy':'%s'%s", strategy, more);
}

typedef struct page_look {
    fx_server *server;
    const char *page;
    int status; /* of the last answer ... */
    char body[512];
} page_look;

/* On a busy machine Redis may not have answered an instance in time. */
static bool is_answered(void *arg)
{
    page_look *look = arg;
    fx_reply reply;
    look->status = fx_ask(look->server, &reply, "GET %s", look->page);
    snprintf(look->body, sizeof(look->body), "%s", reply.body);
    fx_reply_free(&reply);
    return look->status != 503;
}

static void look_around(void)
{
    static const char *const pages[] = {"/stock?item=P0001",
                                        "/orders?item=P0001",
                                        "/orders/none?item=P0001",
                                        "/locks",
                                        "/items",
                                        "/metrics",
                                        "/readyz"};
    for (size_t i = 0; i < COUNT(pages); i++) {
        page_look look = {.server = fx.server[i % FX_INSTANCES], .page = pages[i]};
        fx_wait_until(is_answered, &look, 20000);
        if (look.status != 200 && look.status != 404)
            fail_msg("GET %s: %d %s", look.page, look.status, look.body);
    }
    fx_expect(fx.server[0], 404, "GET /orders/none?item=P0001&sale=%s", fx_current_sale("P0001"));
}

static void *buyer(void *arg)
{
    int number = (int)(intptr_t)arg;
    return (void *)(intptr_t)fx_status(fx.server[number % FX_INSTANCES],
                                       "POST /buy?item=P0001&user=u%d", number);
}

/* Buyers at once on three instances; so there are waiters, and with a short wait_ms also some that
 * give up. Returns how many bought. */
static int buy_in_a_crowd(void)
{
    enum { BUYERS = 24 };
    pthread_t threads[BUYERS];
    int bought = 0;
    for (intptr_t i = 0; i < BUYERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, buyer, (void *)i), 0);
    for (int i = 0; i < BUYERS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        bought += (intptr_t)status == 201;
    }
    return bought;
}

/* What an entry of ACL LOG says under this name; "" = nothing. */
static const char *field(const redisReply *entry, const char *name)
{
    for (size_t i = 0; i + 1 < entry->elements; i += 2)
        if (strcmp(entry->element[i]->str, name) == 0 && entry->element[i + 1]->str)
            return entry->element[i + 1]->str;
    return "";
}

static void assert_nothing_was_denied_to(const char *who)
{
    redisReply *log = ask("ACL LOG");
    if (log->elements > 0) {
        const redisReply *last = log->element[0];
        const char *sign = strcmp(field(last, "reason"), "command") == 0 ? "+" : "the right to ";
        fail_msg("%s needs %s%s: add it to docker/users.acl, line %d", who, sign,
                 field(last, "object"), acl_line_number);
    }
    freeReplyObject(log);
}

static void assert_nothing_was_denied(void)
{
    assert_nothing_was_denied_to("the service");
}

/* Runs a command on the current sale's lock. */
static void plant(const char *command, const char *rest)
{
    char name[256], whole[512];
    redisReply *sale = ask("GET fs:{P0001}:sale");
    assert_int_equal(sale->type, REDIS_REPLY_STRING);
    snprintf(name, sizeof(name), "fs:{P0001}:%s:lock", sale->str);
    freeReplyObject(sale);
    snprintf(whole, sizeof(whole), "%s %s %s", command, name, rest);
    freeReplyObject(ask(whole));
}

/* What only happens when somebody dies or gives up: locks left behind, waiters that leave. */
static void meet_the_rare_cases(void)
{
    start_sale("getset", "");
    plant("SET", "1"); /* a lock that expired in 1970 */
    assert_true(buy_in_a_crowd() > 0);
    start_sale("reentrant", "");
    plant("HSET", "somebody 1");
    look_around();
    plant("DEL", "");
    start_sale("fair", ",'wait_ms':60,'hold_ms':50,'lease_ms':100"); /* some give up */
    buy_in_a_crowd();
    redisReply *filled =
        fx_redis_reply(fx.redis, "EVAL %s 1 fs:{P0001}:%s:asked",
                       "local t = redis.call('TIME') for i = 1, 30000 do "
                       "redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2] - i, i) end",
                       fx_current_sale("P0001"));
    assert_int_not_equal(filled->type, REDIS_REPLY_ERROR);
    freeReplyObject(filled);
    look_around(); /* one more question than are noted */
}

static bool is_started(void *item)
{
    return fx_status(fx.server[0],
                     "POST /sales {'item':'%s','stock':5,'strategy':'combined',"
                     "'durability':'replicated'}",
                     (const char *)item) == 201;
}

/* By an instance that may not have seen the replica as yet. */
static bool is_told_again(void *arg)
{
    (void)arg;
    return fx_status(fx.server[1], "POST /buy?item=R1&user=u1&request=r1") == 201;
}

/* WAIT has an answer only where there is a replica. */
static void sell_with_a_replica(void)
{
    char port[16];
    snprintf(port, sizeof(port), "%d", fx_redis_port(fx.redis));
    fx_redis *replica = fx_redis_start_single(FX_ARGS(
        "--replicaof", "127.0.0.1", port, "--masteruser", "checker", "--masterauth", "checker"));
    assert_true(fx_wait_until(is_started, (void *)"R1", 20000));
    fx_expect(fx.server[0], 201, "POST /buy?item=R1&user=u1&request=r1");
    assert_true(fx_wait_until(is_told_again, NULL, 20000));
    fx_redis_stop(replica);
}

#define DISK_SALE "POST /sales {'item':'D1','stock':40,'durability':'disk'}"

static bool is_on_disk(void *arg)
{
    (void)arg;
    return fx_status(fx.server[0], DISK_SALE) == 201;
}

static bool is_lost(void *arg)
{
    (void)arg;
    return fx_status(fx.server[1], "POST /buy?item=D1&user=u2") == 503;
}

static bool is_refused(void *policy)
{
    fx_reply reply;
    int status = fx_ask(fx.server[0], &reply, "POST /sales {'item':'E1','stock':5}");
    bool refused = status == 409 && strstr(reply.body, "\"code\":\"store_may_evict\"") &&
                   strstr(reply.body, policy);
    fx_reply_free(&reply);
    return refused;
}

static bool is_sold_again(void *arg)
{
    (void)arg;
    return fx_status(fx.server[1], "POST /sales {'item':'E1','stock':5}") == 201;
}

static bool sells(void *item)
{
    return fx_status(fx.server[1], "POST /buy?item=%s&user=u1", (const char *)item) == 201;
}

/* What may evict is found without the right to CONFIG GET, and sold from again afterwards. */
static void find_what_evicts(void)
{
    freeReplyObject(ask("CONFIG SET maxmemory-policy volatile-ttl"));
    assert_true(fx_wait_until(is_refused, (void *)"volatile-ttl", 20000));
    freeReplyObject(ask("CONFIG SET maxmemory-policy noeviction"));
    assert_true(fx_wait_until(is_sold_again, NULL, 20000));
}

/* Without the right it is refused, and says which; with it, it sells at every instance at once. */
static void sell_on_disk_with_one_right_more(void)
{
    fx_has(fx_expect(fx.server[0], 409, DISK_SALE), "\"code\":\"durability_unavailable\"");
    fx_has(fx_expect(fx.server[0], 409, DISK_SALE), "grant it +config|get");
    freeReplyObject(ask("ACL SETUSER flashsale +config|get"));
    assert_true(fx_wait_until(is_on_disk, NULL, 20000));
    assert_true(fx_wait_until(sells, (void *)"D1", 20000));
    assert_nothing_was_denied();
    freeReplyObject(ask("ACL SETUSER flashsale -config|get"));
    assert_true(fx_wait_until(is_lost, NULL, 20000));
    freeReplyObject(ask("ACL LOG RESET")); /* of who had been told just before that it may */
}

/* Reserves, and ends reservations in each way. */
static void reserve_with(const char *strategy)
{
    start_sale(strategy, ",'per_user_limit':1,'reserve_max_s':60");
    for (int i = 0; i < 3; i++)
        fx_expect(fx.server[i], 201, "POST /buy?item=P0001&user=r%d&request=r%d&reserve_s=%d", i, i,
                  i < 2 ? 60 : 1);
    fx_expect(fx.server[1], 200, "POST /orders/r0/confirm?item=P0001");
    fx_expect(fx.server[2], 200, "POST /orders/r1/cancel?item=P0001");
    fx_await(fx.server[0], "GET /stock?item=P0001", 200, "\"reserved\":0", 20000);
}

/* A script that asks for a right before it writes is denied nothing, and says so to the buyer. */
static void every_strategy_has_the_rights_it_needs(void **state)
{
    (void)state;
    for (const fx_strategy *each = fx_strategies(); each->name[0] != '\0'; each++) {
        char who[64];
        fx_reply reply;
        snprintf(who, sizeof(who), "strategy %s", each->name);
        start_sale(each->name, each->sharded ? ",'segments':4" : "");
        int bought = buy_in_a_crowd();
        assert_nothing_was_denied_to(who);
        if (bought == 0 && fx_ask(fx.server[0], &reply, "POST /buy?item=P0001&user=u") != 201)
            fail_msg("%s sold nothing: %s", who, reply.body);
        if (each->reserves)
            reserve_with(each->name);
        assert_nothing_was_denied_to(who);
    }
}

static void what_else_the_service_does_is_granted(void **state)
{
    (void)state;
    meet_the_rare_cases();
    start_sale("fenced", ",'per_user_limit':1");
    freeReplyObject(ask("SCRIPT FLUSH"));
    buy_in_a_crowd();
    look_around();
    sell_with_a_replica();
    find_what_evicts();
    sell_on_disk_with_one_right_more();
    assert_nothing_was_denied();
}

/* The number of the service's calls of a command, "client|setname" for one: those in INFO
 * commandstats, less our own. */
static long calls_of(const char *stats, const char *command)
{
    char line[128];
    snprintf(line, sizeof(line), "cmdstat_%s:calls=", command);
    const char *at = strstr(stats, line);
    long calls = at ? strtol(at + strlen(line), NULL, 10) : 0;
    for (int i = 0; i < asked_count; i++)
        calls -= strcasecmp(asked[i], command) == 0;
    return calls;
}

/* Those that only a cluster or sentinels need: test_acl_topologies.c counts them. Those of
 * selling/transaction.h, which no strategy here uses: so that one more is one file. And PING, which
 * asks whether a subscriber's connection still lives when it was silent for five seconds. */
static bool is_for_others(const char *right)
{
    static const char *const rights[] = {"+role",          "+asking",        "+cluster|info",
                                         "+cluster|nodes", "+cluster|slots", "+ssubscribe",
                                         "+sunsubscribe",  "+watch",         "+multi",
                                         "+exec",          "+discard",       "+ping"};
    for (size_t i = 0; i < COUNT(rights); i++)
        if (strcmp(right, rights[i]) == 0)
            return true;
    return false;
}

static void every_right_is_used(void **state)
{
    (void)state;
    redisReply *stats = ask("INFO commandstats");
    char *save = NULL, unused[512] = "";
    int granted = 0;
    for (char *word = strtok_r(acl_line, " \n", &save); word; word = strtok_r(NULL, " \n", &save)) {
        if (*word != '+' || is_for_others(word))
            continue;
        assert_int_not_equal(word[1], '@'); /* a category grants what nobody has counted */
        granted++;
        size_t len = strlen(unused);
        if (calls_of(stats->str, word + 1) == 0)
            snprintf(unused + len, sizeof(unused) - len, " %s", word);
    }
    freeReplyObject(stats);
    assert_true(granted > 0);
    if (unused[0] != '\0')
        fail_msg("granted, but not needed:%s", unused);
}

/* DEBUG is refused by Redis's own default before the ACL is asked. */
static bool is_refusal(const char *text)
{
    return strncmp(text, "NOPERM", 6) == 0 || strstr(text, "DEBUG command not allowed") != NULL;
}

static void what_is_not_the_service_s_is_refused(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "GET other",
        "SET other 1",
        "DEL other:fs:{P0001}:stock",
        "CONFIG GET masterauth",
        "CONFIG SET maxmemory 1",
        "KEYS *",
        "SCAN 0",
        "FLUSHALL",
        "FLUSHDB",
        "DEBUG SLEEP 0",
        "SHUTDOWN NOSAVE",
        "ACL LIST",
        "ACL SETUSER flashsale +@all",
        "CLIENT LIST",
        "CLIENT KILL TYPE normal",
        "MONITOR",
        "REPLICAOF no one",
        "SAVE",
        "BGREWRITEAOF",
        "MODULE LIST",
        "SCRIPT FLUSH",
        "SCRIPT KILL",
        "FUNCTION LIST",
        "SWAPDB 0 1",
        "MIGRATE 127.0.0.1 1 fs:x 0 1",
        "RENAME fs:a fs:b",
        "PUBLISH other hello",
        "SUBSCRIBE other",
        "EVAL \"\" 1 other",
    };
    redisContext *ctx = redisConnect("127.0.0.1", fx_redis_port(fx.redis));
    freeReplyObject(redisCommand(ctx, "AUTH flashsale " SECRET));
    for (size_t i = 0; i < COUNT(commands); i++) {
        redisReply *reply = redisCommand(ctx, commands[i]);
        assert_non_null(reply);
        if (reply->type != REDIS_REPLY_ERROR || !is_refusal(reply->str))
            fail_msg("%s was not refused: %s", commands[i], reply->str ? reply->str : "(no text)");
        freeReplyObject(reply);
    }
    redisFree(ctx);

    ctx = redisConnect("127.0.0.1", fx_redis_port(fx.redis));
    redisReply *reply = redisCommand(ctx, "GET fs:{P0001}:sale"); /* nobody without a name */
    assert_int_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    redisFree(ctx);
}

/* The instance's logs, an answer, and its command line. */
static void assert_unseen(fx_process *flashsale, const char *secret, const char *answer)
{
    char path[64], line[4096] = "";
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)fx_process_pid(flashsale));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t len = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    assert_true(len > 0);
    assert_null(memmem(line, len, secret, strlen(secret)));
    assert_null(strstr(fx_process_stderr(flashsale), secret));
    assert_null(strstr(answer, secret));
}

/* As the unit and the containers start it: the address comes by the environment. Once with the
 * right password, once with a wrong one, which Redis refuses and the instance complains about. */
static void the_password_is_nowhere_to_be_seen(void **state)
{
    (void)state;
    static const char *const secrets[] = {SECRET, "wrong-" SECRET};
    for (int i = 0; i < 2; i++) {
        char program[512], redis[256], line[256], url[512];
        int port = 0;
        fx_reply reply;
        snprintf(redis, sizeof(redis), "redis://flashsale:%s@127.0.0.1:%d", secrets[i],
                 fx_redis_port(fx.redis));
        setenv("FLASHSALE_REDIS", redis, 1);
        fx_build_path("flashsale", program, sizeof(program));
        fx_process *p =
            fx_spawn((const char *const[]){program, "--listen", "127.0.0.1:0", NULL}, true);
        unsetenv("FLASHSALE_REDIS");
        assert_true(fx_process_first_line(p, line, sizeof(line), 10000));
        assert_int_equal(sscanf(line, "flashsale listening on 127.0.0.1:%d", &port), 1);

        snprintf(url, sizeof(url), "http://127.0.0.1:%d/buy?item=P0001&user=u1", port);
        int status = fx_http("POST", url, NULL, NULL, 15000, &reply);
        assert_true(i == 0 ? status < 500 : status == 503);
        assert_unseen(p, secrets[i], reply.body);
        fx_reply_free(&reply);
        fx_process_free(p);
    }
}

static bool is_back(void *arg)
{
    (void)arg;
    return fx_status(fx.server[0], "GET /stock?item=P0001") != 503;
}

/* Redis loads its append-only file as the user "default". Where that user may do nothing, every
 * transaction in the file is refused with one line in the log, and Redis comes up empty. */
static void the_ledger_survives_a_restart_with_these_rights(void **state)
{
    (void)state;
    start_sale("atomic", "");
    int bought = buy_in_a_crowd();
    assert_true(bought > 0);
    fx_redis_restart(fx.redis);
    freeReplyObject(ask("AUTH checker checker"));
    assert_true(fx_wait_until(is_back, NULL, 5000));
    assert_int_equal(fx_stock("orders"), bought);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_strategy_has_the_rights_it_needs),
        cmocka_unit_test(what_else_the_service_does_is_granted),
        cmocka_unit_test(every_right_is_used),
        cmocka_unit_test(what_is_not_the_service_s_is_refused),
        cmocka_unit_test(the_password_is_nowhere_to_be_seen),
        cmocka_unit_test(the_ledger_survives_a_restart_with_these_rights),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
