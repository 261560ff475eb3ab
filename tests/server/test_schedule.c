/*
 * test_schedule.c - the interleaving that random pauses almost never hit, by script:
 *
 *     A reads (or takes the lock), A's lease ends, B reads, A writes, B writes
 *
 * with one unit in stock. Whoever reads, checks and writes in steps sells two, whatever the lock;
 * whoever checks at the moment of the write sells one. A is stopped with SIGSTOP, so that its
 * watchdog can not save it; both stop at the fail point "in-section" (server/base/fail_point.h).
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/service.h"

#define LEASE_MS 100
#define ROUNDS   20

static char dir_a[256], dir_b[256];
static char item[16]; /* of the round */

enum { A, B }; /* the two instances */

/* ---- instances that stop --------------------------------------------------------------------- */

static fx_server *start_stoppable(const char *dir)
{
    setenv("FLASHSALE_FAIL_DIR", dir, 1);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), NULL);
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
    fx.redis = fx_redis_start(NULL);
    fx.server[A] = start_stoppable(dir_a);
    fx.server[B] = start_stoppable(dir_b);
    return 0;
}

static int teardown(void **state)
{
    fx_service_stop(state);
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
    mine->status = fx_status(mine->server, "POST /buy?item=%s&user=u1", item);
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
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS *:lock");
    assert_non_null(keys);
    size_t held = keys->elements;
    freeReplyObject(keys);
    return held == 0;
}

/* Starts a sale of an item of its own, so that B finds it at once; its id, as fx_start_sale(). */
static const char *start_sale(const char *strategy)
{
    static int count;
    snprintf(item, sizeof(item), "P%04d", ++count);
    return fx_start_sale(fx.server[A], item,
                         "'stock':1,'strategy':'%s','lease_ms':%d,'wait_ms':8000", strategy,
                         LEASE_MS);
}

/* How many of the two were sold one. */
static int run_schedule(const char *strategy)
{
    buyer buyer_a, buyer_b;
    start_sale(strategy);
    clear_files(dir_a);
    clear_files(dir_b);

    start_buyer(&buyer_a, fx.server[A], dir_a); /* A reads, */
    fx_server_signal(fx.server[A], SIGSTOP);
    assert_true(fx_wait_until(no_lock_is_held, NULL, 10000)); /* A's lease ends, */
    start_buyer(&buyer_b, fx.server[B], dir_b);               /* B reads, */
    put_file(dir_a, "in-section.go");
    fx_server_signal(fx.server[A], SIGCONT);
    fx_wait_until(is_done, &buyer_a, 300); /* A writes (or is refused, and waits for B), */
    put_file(dir_b, "in-section.go");      /* B writes */
    pthread_join(buyer_a.thread, NULL);
    pthread_join(buyer_b.thread, NULL);

    if ((buyer_a.status != 201 && buyer_a.status != 409) ||
        (buyer_b.status != 201 && buyer_b.status != 409))
        fail_msg("%s: A got %d, B got %d", strategy, buyer_a.status, buyer_b.status);
    return (buyer_a.status == 201) + (buyer_b.status == 201);
}

static void reading_then_writing_sells_two_of_one(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        /* getset's timer may cancel A's sale before A writes */
        if (s->guarded || strcmp(s->name, "getset") == 0)
            continue;
        int sold = run_schedule(s->name);
        if (sold != 2)
            fail_msg("%s sold %d", s->name, sold);
    }
}

static void checking_at_the_write_sells_one_every_time(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        for (int round = 0; s->guarded && round < ROUNDS; round++) {
            int sold = run_schedule(s->name);
            if (sold != 1)
                fail_msg("%s sold %d in round %d", s->name, sold, round + 1);
        }
    }
}

/* ---- late writes ----------------------------------------------------------------------------- */

/* What Redis answers to `command` about a sale's stock, as a number. */
static long long ask_stock(const char *sale, const char *command)
{
    return fx_redis_number(fx.redis, "%s fs:{%s}:%s:stock", command, item, sale);
}

static void a_late_write_spares_the_stock_of_an_old_sale(void **state)
{
    (void)state;
    char old[64];
    buyer late;
    snprintf(old, sizeof(old), "%s", start_sale("none"));
    clear_files(dir_a);
    start_buyer(&late, fx.server[A], dir_a);
    fx_start_sale(fx.server[B], item, "'stock':5,'strategy':'none'");
    put_file(dir_a, "in-section.go");
    pthread_join(late.thread, NULL);
    assert_int_equal(late.status, 201); /* in the new sale */
    assert_true(ask_stock(old, "TTL") > 0);
    assert_int_equal(ask_stock(old, "GET"), 1); /* put back */
}

static void a_late_write_does_not_bring_back_stock(void **state)
{
    (void)state;
    buyer late;
    const char *old = start_sale("setnx");
    clear_files(dir_a);
    start_buyer(&late, fx.server[A], dir_a);
    assert_int_equal(ask_stock(old, "DEL"), 1);
    put_file(dir_a, "in-section.go");
    pthread_join(late.thread, NULL);
    assert_int_equal(late.status, 503);
    assert_int_equal(ask_stock(old, "EXISTS"), 0);
}

/* ---- a sale that is slow to close ------------------------------------------------------------ */

static bool a_has_stock(void *stock)
{
    char member[32];
    fx_reply reply;
    snprintf(member, sizeof(member), "\"initial\":%d,", *(int *)stock);
    bool has = fx_ask(fx.server[A], &reply, "GET /stock?item=other") == 200 &&
               strstr(reply.body, member) != NULL;
    fx_reply_free(&reply);
    return has;
}

static void closing_a_sale_keeps_no_other_waiting(void **state)
{
    (void)state;
    buyer stuck;
    fx_start_sale(fx.server[A], "other", "'stock':1");
    start_sale("combined");
    clear_files(dir_a);
    start_buyer(&stuck, fx.server[A], dir_a); /* its leader stays in the section, */
    pthread_join(stuck.thread, NULL);
    assert_int_equal(stuck.status, 504);
    fx_start_sale(fx.server[A], item, "'stock':1"); /* so that this sale can not be closed */

    bool in_force = true;
    for (int stock = 2; stock <= 4 && in_force; stock++) { /* at the first, it had not begun to */
        fx_start_sale(fx.server[B], "other", "'stock':%d", stock);
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
