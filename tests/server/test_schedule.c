/*
 * test_schedule.c - the interleaving that random pauses almost never hit, by script:
 *
 *     A reads (or takes the lock), A's lease ends, B reads, A writes, B writes
 *
 * with one unit in stock. Whoever reads, checks and writes in steps sells two, whatever the lock;
 * whoever checks at the moment of the write sells one. A is stopped with SIGSTOP, so that its
 * watchdog can not save it; both stop at the fail point "in-section" (server/base/fail_point.h).
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/support/sale/fail_point.h"
#include "tests/support/service.h"

#define ROUNDS 20
#define POINT  "in-section"

/* A request has 10 s: what is answered within this did not wait for them to pass. */
enum { PROMPT_MS = 8000 };

static char dir_a[256], dir_b[256];
static char item[16];                 /* of the round */
static const char *asked = "user=u1"; /* by the buyers of the round */

enum { A, B }; /* the two instances */

/* ---- instances that stop --------------------------------------------------------------------- */

static int setup(void **state)
{
    (void)state;
    fx_dir_make(dir_a, sizeof(dir_a));
    fx_dir_make(dir_b, sizeof(dir_b));
    fx.redis = fx_redis_start(NULL);
    fx.server[A] = fx_point_server(fx_redis_url(fx.redis), dir_a, NULL);
    fx.server[B] = fx_point_server(fx_redis_url(fx.redis), dir_b, NULL);
    return 0;
}

static int teardown(void **state)
{
    fx_service_stop(state);
    fx_dir_remove(dir_a);
    fx_dir_remove(dir_b);
    return 0;
}

static void go_on(const char *dir)
{
    fx_point_go_on(dir, POINT);
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
    mine->status = fx_status(mine->server, "POST /buy?item=%s&%s", item, asked);
    atomic_store(&mine->done, true);
    return NULL;
}

static void start_buyer(buyer *mine, fx_server *server, const char *dir)
{
    fx_point_arm(dir, POINT);
    mine->server = server;
    mine->status = 0;
    atomic_init(&mine->done, false);
    assert_int_equal(pthread_create(&mine->thread, NULL, buy, mine), 0);
    assert_true(fx_point_reached(dir, POINT, 10000));
}

static bool is_done(void *arg)
{
    return atomic_load(&((buyer *)arg)->done);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static bool no_lock_is_held(void *arg)
{
    (void)arg;
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS fs:*:lock");
    assert_non_null(keys);
    size_t held = keys->elements;
    freeReplyObject(keys);
    return held == 0;
}

/* Starts a sale of an item of its own, so that B finds it at once; its id, as fx_start_sale(). */
static const char *start_sale(const char *strategy, const char *terms)
{
    static int count;
    snprintf(item, sizeof(item), "P%04d", ++count);
    return fx_start_sale(fx.server[A], item, "'strategy':'%s',%s", strategy, terms);
}

#define ONE_UNIT "'stock':1,'lease_ms':100,'wait_ms':8000"
#define ONE_EACH "'stock':9,'lease_ms':100,'wait_ms':8000,'per_user_limit':1"

/* How many of the two were sold one. */
static int run_schedule(const char *strategy, const char *terms)
{
    buyer buyer_a, buyer_b;
    start_sale(strategy, terms);

    start_buyer(&buyer_a, fx.server[A], dir_a); /* A reads, */
    fx_server_signal(fx.server[A], SIGSTOP);
    assert_true(fx_wait_until(no_lock_is_held, NULL, 10000)); /* A's lease ends, */
    start_buyer(&buyer_b, fx.server[B], dir_b);               /* B reads, */
    go_on(dir_a);
    fx_server_signal(fx.server[A], SIGCONT);
    fx_wait_until(is_done, &buyer_a, 300); /* A writes (or is refused, and waits for B), */
    go_on(dir_b);                          /* B writes */
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
        if (s->guarded)
            continue;
        int sold = run_schedule(s->name, ONE_UNIT);
        if (sold != 2)
            fail_msg("%s sold %d", s->name, sold);
    }
}

static void checking_at_the_write_sells_one_every_time(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        for (int round = 0; s->guarded && round < ROUNDS; round++) {
            int sold = run_schedule(s->name, ONE_UNIT);
            if (sold != 1)
                fail_msg("%s sold %d in round %d", s->name, sold, round + 1);
        }
    }
}

/* Both were within the limit when they were looked at. The stock may be wrong, as above, but nobody
 * has more orders than the limit allows. */
static void the_limit_holds_at_the_write(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (s->sharded || strcmp(s->name, "getset") == 0)
            continue;
        int sold = run_schedule(s->name, ONE_EACH);
        if (sold != 1)
            fail_msg("%s sold %d to one user", s->name, sold);
        const char *stock = fx_expect(fx.server[B], 200, "GET /stock?item=%s", item);
        if (!strstr(stock, "\"orders\":1,"))
            fail_msg("%s: %s", s->name, stock);
    }
}

/* ---- the lock is held ------------------------------------------------------------------------ */

/* Asks B for what another has the lock of; it must wait for so long, and not for the lock. */
static void assert_busy(const char *strategy, const char *query, int wait_ms)
{
    fx_reply reply;
    dlock_time from = dlock_now();
    fx_ask(fx.server[B], &reply, "POST /buy?item=%s&%s", item, query);
    int64_t took_ms = (dlock_now().us - from.us) / 1000;
    fx_assert_problem(strategy, &reply, 503, "busy");
    fx_reply_free(&reply);
    if (took_ms < wait_ms || took_ms > wait_ms + PROMPT_MS)
        fail_msg("%s: busy after %d ms of %d", strategy, (int)took_ms, wait_ms);
}

static void who_can_not_have_the_lock_is_told_so_in_time(void **state)
{
    (void)state;
    static const int waits_ms[] = {0, 300};
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        for (int i = 0; s->locked && i < 2; i++) {
            buyer holder;
            char terms[128];
            snprintf(terms, sizeof(terms), "'stock':8,'lease_ms':60000,'wait_ms':%d,'hold_ms':1",
                     waits_ms[i]);
            start_sale(s->name, terms);
            asked = "user=u1&request=k1";
            start_buyer(&holder, fx.server[A], dir_a);
            assert_busy(s->name, asked, waits_ms[i]);
            if (!s->sharded) /* another segment has another lock */
                assert_busy(s->name, "user=u2&request=k2", waits_ms[i]);
            go_on(dir_a);
            pthread_join(holder.thread, NULL);
            assert_int_equal(holder.status, 201);
            fx_expect(fx.server[B], 201, "POST /buy?item=%s&%s", item, asked);
            const char *stock = fx_expect(fx.server[B], 200, "GET /stock?item=%s", item);
            if (!strstr(stock, "\"orders\":1,")) /* so of none who was told "busy" */
                fail_msg("%s: %s", s->name, stock);
        }
    }
    asked = "user=u1";
}

/* ---- late writes ----------------------------------------------------------------------------- */

/* What Redis answers to `command` about a sale's stock, as a number. */
static long long ask_stock(const char *sale, const char *command)
{
    return fx_redis_number(fx.redis, "%s fs:{%s}:%s:stock", command, item, sale);
}

/* Who was inside the old sale buys in the new one. */
static void a_sale_that_ends_meanwhile_sells_nothing_more(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char old[64];
        buyer late;
        snprintf(old, sizeof(old), "%s",
                 start_sale(s->name, "'stock':8,'lease_ms':60000,'wait_ms':8000,'hold_ms':1"));
        start_buyer(&late, fx.server[A], dir_a);
        fx_start_sale(fx.server[B], item, "'stock':5,'strategy':'%s'", s->name);
        go_on(dir_a);
        pthread_join(late.thread, NULL);
        const char *stock = fx_expect(fx.server[B], 200, "GET /stock?item=%s", item);
        if (late.status != 201 || !strstr(stock, "\"initial\":5,\"remaining\":4,"))
            fail_msg("%s: %d, then %s", s->name, late.status, stock);
        if (s->sharded)
            continue;
        assert_true(ask_stock(old, "TTL") > 0);
        assert_int_equal(ask_stock(old, "GET"), 8); /* nothing taken, or put back */
    }
}

static void a_late_write_does_not_bring_back_stock(void **state)
{
    (void)state;
    buyer late;
    const char *old = start_sale("setnx", ONE_UNIT);
    start_buyer(&late, fx.server[A], dir_a);
    assert_int_equal(ask_stock(old, "DEL"), 1);
    go_on(dir_a);
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
    start_sale("combined", ONE_UNIT ",'hold_ms':1"); /* a lone buyer without has no leader */
    start_buyer(&stuck, fx.server[A], dir_a);        /* its leader stays in the section, */
    pthread_join(stuck.thread, NULL);
    assert_int_equal(stuck.status, 504);
    fx_start_sale(fx.server[A], item, "'stock':1"); /* so that this sale can not be closed */

    bool in_force = true;
    for (int stock = 2; stock <= 4 && in_force; stock++) { /* at the first, it had not begun to */
        fx_start_sale(fx.server[B], "other", "'stock':%d", stock);
        in_force = fx_wait_until(a_has_stock, &stock, 10000);
    }
    go_on(dir_a);
    assert_true(in_force);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_then_writing_sells_two_of_one),
        cmocka_unit_test(checking_at_the_write_sells_one_every_time),
        cmocka_unit_test(the_limit_holds_at_the_write),
        cmocka_unit_test(who_can_not_have_the_lock_is_told_so_in_time),
        cmocka_unit_test(a_sale_that_ends_meanwhile_sells_nothing_more),
        cmocka_unit_test(a_late_write_does_not_bring_back_stock),
        cmocka_unit_test(closing_a_sale_keeps_no_other_waiting),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
