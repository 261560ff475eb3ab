/*
 * test_schedule.c - the interleaving that random pauses almost never hit, by script:
 *
 *     A reads (or takes the lock), A's lease ends, B reads, A writes, B writes
 *
 * with one unit in stock. Whoever reads, checks and writes in steps sells two, whatever the lock;
 * whoever checks at the moment of the write sells one. A is stopped with SIGSTOP, so that its
 * watchdog can not save it; both stop at the fail point "in-section" (server/fail.h).
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/site.h"

#define LEASE_MS 100
#define ROUNDS   20

static fx_redis *redis;
static fx_server *a, *b;
static char dir_a[256], dir_b[256];
static char item[16]; /* of the round */

/* ---- instances that stop --------------------------------------------------------------------- */

static fx_server *start_stoppable(const char *dir)
{
    setenv("FLASHSALE_FAIL_DIR", dir, 1);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    unsetenv("FLASHSALE_FAIL_DIR");
    return server;
}

static int setup(void **state)
{
    char build[512];
    (void)state;
    const char *plain = getenv("FLASHSALE_BUILD");
    snprintf(build, sizeof(build), "%s/failpoints", plain != NULL ? plain : "build");
    setenv("FLASHSALE_BUILD", build, 1);
    fx_dir_make(dir_a, sizeof(dir_a));
    fx_dir_make(dir_b, sizeof(dir_b));
    redis = fx_redis_start(NULL);
    a = start_stoppable(dir_a);
    b = start_stoppable(dir_b);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_server_kill(a);
    fx_server_kill(b);
    fx_redis_stop(redis);
    fx_dir_remove(dir_a);
    fx_dir_remove(dir_b);
    return 0;
}

static void put_file(const char *dir, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void clear_files(const char *dir)
{
    static const char *const names[] = {"in-section", "in-section.reached", "in-section.go"};
    for (int i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
}

static bool reached(void *dir)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/in-section.reached", (const char *)dir);
    return access(path, F_OK) == 0;
}

/* ---- buyers ---------------------------------------------------------------------------------- */

typedef struct buyer {
    fx_server *server;
    atomic_bool done;
    int status;
    pthread_t thread;
} buyer;

static void *buy(void *arg)
{
    buyer *mine = arg;
    char url[256];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/buy?item=%s&user=u1", fx_server_url(mine->server), item);
    mine->status = fx_http("POST", url, NULL, NULL, 20000, &reply);
    fx_reply_free(&reply);
    atomic_store(&mine->done, true);
    return NULL;
}

static void start_buyer(buyer *mine, fx_server *server, const char *dir)
{
    put_file(dir, "in-section");
    mine->server = server;
    mine->status = 0;
    atomic_init(&mine->done, false);
    assert_int_equal(pthread_create(&mine->thread, NULL, buy, mine), 0);
    assert_true(fx_wait_until(reached, (void *)dir, 10000));
}

static bool is_done(void *arg)
{
    return atomic_load(&((buyer *)arg)->done);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static bool no_lock_is_held(void *arg)
{
    (void)arg;
    redisReply *keys = redisCommand(fx_redis_ctx(redis), "KEYS *:lock");
    assert_non_null(keys);
    size_t held = keys->elements;
    freeReplyObject(keys);
    return held == 0;
}

/* Starts a sale of an item of its own, so that B finds it at once. */
static void open_sale(const char *strategy)
{
    static int count;
    char url[256], sale[256];
    fx_reply reply;
    snprintf(item, sizeof(item), "P%04d", ++count);
    snprintf(url, sizeof(url), "%s/sales", fx_server_url(a));
    snprintf(sale, sizeof(sale),
             "{\"item\":\"%s\",\"stock\":1,\"strategy\":\"%s\",\"lease_ms\":%d,"
             "\"wait_ms\":8000}",
             item, strategy, LEASE_MS);
    assert_int_equal(fx_http("POST", url, NULL, sale, 20000, &reply), 201);
    fx_reply_free(&reply);
}

/* How many of the two were sold one. */
static int run_schedule(const char *strategy)
{
    buyer buyer_a, buyer_b;
    open_sale(strategy);
    clear_files(dir_a);
    clear_files(dir_b);

    start_buyer(&buyer_a, a, dir_a); /* A reads, */
    fx_server_signal(a, SIGSTOP);
    assert_true(fx_wait_until(no_lock_is_held, NULL, 10000)); /* A's lease ends, */
    start_buyer(&buyer_b, b, dir_b);                          /* B reads, */
    put_file(dir_a, "in-section.go");
    fx_server_signal(a, SIGCONT);
    fx_wait_until(is_done, &buyer_a, 300); /* A writes (or is refused, and waits for B), */
    put_file(dir_b, "in-section.go");      /* B writes */
    pthread_join(buyer_a.thread, NULL);
    pthread_join(buyer_b.thread, NULL);

    if ((buyer_a.status != 201 && buyer_a.status != 409) ||
        (buyer_b.status != 201 && buyer_b.status != 409))
        fail_msg("%s: A got %d, B got %d", strategy, buyer_a.status, buyer_b.status);
    return (buyer_a.status == 201) + (buyer_b.status == 201);
}

/* Without getset: its timer may cancel A's sale before A writes. */
static void reading_then_writing_sells_two_of_one(void **state)
{
    (void)state;
    static const char *const strategies[] = {"none",   "setnx",  "watchdog", "reentrant",
                                             "nested", "pubsub", "redlock",  "fair"};
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        int sold = run_schedule(strategies[i]);
        if (sold != 2)
            fail_msg("%s sold %d", strategies[i], sold);
    }
}

static void checking_at_the_write_sells_one_every_time(void **state)
{
    (void)state;
    static const char *const strategies[] = {"fenced", "combined", "atomic", "batched", "sharded"};
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        for (int round = 0; round < ROUNDS; round++) {
            int sold = run_schedule(strategies[i]);
            if (sold != 1)
                fail_msg("%s sold %d in round %d", strategies[i], sold, round + 1);
        }
    }
}

/* ---- late writes ----------------------------------------------------------------------------- */

/* What Redis answers to `command` about a sale's stock, as a number. */
static long long ask_stock(const char *sale, const char *command)
{
    char key[128], whole[256];
    snprintf(key, sizeof(key), "fs:{%s}:%s:stock", item, sale);
    snprintf(whole, sizeof(whole), "%s %s", command, key);
    redisReply *reply = redisCommand(fx_redis_ctx(redis), whole);
    assert_non_null(reply);
    long long answer =
        reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : reply->integer;
    freeReplyObject(reply);
    return answer;
}

static void read_current_sale(char sale[64])
{
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "GET fs:{%s}:sale", item);
    assert_true(reply != NULL && reply->type == REDIS_REPLY_STRING);
    snprintf(sale, 64, "%s", reply->str);
    freeReplyObject(reply);
}

static void a_late_write_spares_the_stock_of_an_old_sale(void **state)
{
    (void)state;
    char url[256], body[128], old[64];
    buyer late;
    fx_reply reply;
    open_sale("none");
    read_current_sale(old);
    clear_files(dir_a);
    start_buyer(&late, a, dir_a);
    snprintf(url, sizeof(url), "%s/sales", fx_server_url(b));
    snprintf(body, sizeof(body), "{\"item\":\"%s\",\"stock\":5,\"strategy\":\"none\"}", item);
    assert_int_equal(fx_http("POST", url, NULL, body, 5000, &reply), 201);
    fx_reply_free(&reply);
    put_file(dir_a, "in-section.go");
    pthread_join(late.thread, NULL);
    assert_int_equal(late.status, 201); /* in the new sale */
    assert_true(ask_stock(old, "TTL") > 0);
    assert_int_equal(ask_stock(old, "GET"), 1); /* put back */
}

static void a_late_write_does_not_bring_back_stock(void **state)
{
    (void)state;
    char old[64];
    buyer late;
    open_sale("setnx");
    read_current_sale(old);
    clear_files(dir_a);
    start_buyer(&late, a, dir_a);
    assert_int_equal(ask_stock(old, "DEL"), 1);
    put_file(dir_a, "in-section.go");
    pthread_join(late.thread, NULL);
    assert_int_equal(late.status, 503);
    assert_int_equal(ask_stock(old, "EXISTS"), 0);
}

/* ---- a sale that is slow to close ------------------------------------------------------------ */

static void start_sale(fx_server *server, const char *of, int stock)
{
    char url[256], sale[128];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/sales", fx_server_url(server));
    snprintf(sale, sizeof(sale), "{\"item\":\"%s\",\"stock\":%d}", of, stock);
    assert_int_equal(fx_http("POST", url, NULL, sale, 20000, &reply), 201);
    fx_reply_free(&reply);
}

static bool a_has_stock(void *stock)
{
    char url[256], member[32];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/stock?item=other", fx_server_url(a));
    snprintf(member, sizeof(member), "\"initial\":%d,", *(int *)stock);
    bool has =
        fx_http("GET", url, NULL, NULL, 20000, &reply) == 200 && strstr(reply.body, member) != NULL;
    fx_reply_free(&reply);
    return has;
}

static void closing_a_sale_keeps_no_other_waiting(void **state)
{
    (void)state;
    buyer stuck;
    start_sale(a, "other", 1);
    open_sale("combined");
    clear_files(dir_a);
    start_buyer(&stuck, a, dir_a); /* its leader stays in the section, */
    pthread_join(stuck.thread, NULL);
    assert_int_equal(stuck.status, 504);
    start_sale(a, item, 1); /* so that this sale can not be closed */

    bool in_force = true;
    for (int stock = 2; stock <= 4 && in_force; stock++) { /* at the first, it had not begun to */
        start_sale(b, "other", stock);
        in_force = fx_wait_until(a_has_stock, &stock, 10000);
    }
    put_file(dir_a, "in-section.go");
    assert_true(in_force);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_then_writing_sells_two_of_one),
        cmocka_unit_test(checking_at_the_write_sells_one_every_time),
        cmocka_unit_test(a_late_write_spares_the_stock_of_an_old_sale),
        cmocka_unit_test(a_late_write_does_not_bring_back_stock),
        cmocka_unit_test(closing_a_sale_keeps_no_other_waiting),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
