/*
 * test_timed_section.c - the strategies that time their locks themselves: nobody sells beside
 * another's lock, one's own lasts until it is given back, and another's is left alone.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/support/service.h"

enum { STOCK = 5, WAIT_MS = 30000, SECTION_MS = 500 };

static const char *const strategies[] = {"getset", "watchdog"};
enum { STRATEGIES = COUNT(strategies) };

/* What another process's lock holds: for getset the moment of its end, far away. */
static const char other[] = "99999999999999999";

static char lock[128]; /* the key of the sale's lock */

/* Starts a sale, whose item has the name of the strategy. */
static void start_sale(const char *strategy, int lease_ms, int hold_ms, int wait_ms)
{
    const char *sale = fx_start_sale(fx.server[0], strategy,
                                     "'stock':%d,'strategy':'%s','lease_ms':%d,'hold_ms':%d,"
                                     "'wait_ms':%d",
                                     STOCK, strategy, lease_ms, hold_ms, wait_ms);
    snprintf(lock, sizeof(lock), "fs:{%s}:%s:lock", strategy, sale);
}

static bool is_locked(void *arg)
{
    (void)arg;
    return fx_redis_number(fx.redis, "EXISTS %s", lock) == 1;
}

static void assert_others(const char *strategy)
{
    char value[64] = "";
    if (!fx_redis_text(fx.redis, value, sizeof(value), "GET %s", lock) || strcmp(value, other) != 0)
        fail_msg("%s: the other's lock is '%s'", strategy, value);
}

static void assert_units_left(const char *strategy, int units)
{
    char left[32];
    snprintf(left, sizeof(left), "\"remaining\":%d,", units);
    const char *stock = fx_expect(fx.server[0], 200, "GET /stock?item=%s", strategy);
    if (!strstr(stock, left))
        fail_msg("%s: %s", strategy, stock);
}

typedef struct buyer {
    const char *strategy;
    int status;
    pthread_t thread;
} buyer;

static void *buy(void *arg)
{
    buyer *mine = arg;
    mine->status = fx_status(fx.server[0], "POST /buy?item=%s&user=u1", mine->strategy);
    return NULL;
}

static void start_buyer(buyer *mine, const char *strategy)
{
    *mine = (buyer){.strategy = strategy};
    assert_int_equal(pthread_create(&mine->thread, NULL, buy, mine), 0);
}

static void nobody_sells_beside_anothers_lock(void **state)
{
    (void)state;
    for (int i = 0; i < STRATEGIES; i++) {
        start_sale(strategies[i], 10000, 0, 0);
        fx_redis_do(fx.redis, "SET %s %s", lock, other);
        fx_refused(fx.server[0], 503, "busy", "POST /buy?item=%s&user=u1", strategies[i]);
        assert_units_left(strategies[i], STOCK);
        assert_others(strategies[i]);

        fx_redis_do(fx.redis, "DEL %s", lock);
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1", strategies[i]);
        assert_units_left(strategies[i], STOCK - 1);
        assert_false(is_locked(NULL)); /* it was given back */
    }
}

static long long commands_so_far(void)
{
    char info[8192];
    fx_redis_text(fx.redis, info, sizeof(info), "INFO stats");
    const char *at = strstr(info, "total_commands_processed:");
    assert_non_null(at);
    return strtoll(at + strlen("total_commands_processed:"), NULL, 10);
}

/* Who waits asks again, and pauses before. */
static void a_wait_is_asked_out_at_its_pace(void **state)
{
    (void)state;
    enum { HELD_MS = 400, PAUSE_MS = 10, WORDS_EACH = 4, OTHERS = 400 };
    fx_only_single("its commands are counted");
    for (int i = 0; i < STRATEGIES; i++) {
        start_sale(strategies[i], 10000, 0, HELD_MS);
        fx_redis_do(fx.redis, "SET %s %s", lock, other);
        long long before = commands_so_far();
        dlock_time began = dlock_now();
        fx_refused(fx.server[0], 503, "busy", "POST /buy?item=%s&user=u1", strategies[i]);
        int64_t took_ms = (dlock_now().us - began.us) / 1000;
        long long asked = commands_so_far() - before;
        assert_true(took_ms >= HELD_MS);
        assert_in_range(asked, 4, WORDS_EACH * (took_ms / PAUSE_MS + 1) + OTHERS);
        fx_redis_do(fx.redis, "DEL %s", lock);
    }
}

static bool takes_over(void *arg)
{
    (void)arg;
    char before[64];
    return fx_redis_text(fx.redis, before, sizeof(before), "SET %s %s XX GET", lock, other);
}

/* Somebody else has it by the time of the release: it stays that one's. */
static void anothers_lock_is_not_given_back(void **state)
{
    (void)state;
    for (int i = 0; i < STRATEGIES; i++) {
        buyer mine;
        start_sale(strategies[i], 10000, SECTION_MS, 0);
        start_buyer(&mine, strategies[i]);
        bool taken = fx_wait_until(takes_over, NULL, WAIT_MS);
        pthread_join(mine.thread, NULL);
        assert_true(taken);
        assert_others(strategies[i]);
    }
}

enum { LEASE_MS = 3000, LONG_SECTION_MS = 4000, LAST_RESORT_MS = 30000 };

static bool has_more_than_a_lease(void *left_ms)
{
    return (*(long long *)left_ms = fx_redis_number(fx.redis, "PTTL %s", lock)) > LEASE_MS;
}

/* The article's renewals add a lease to what is left; where they fail it is half a minute. */
static void a_renewal_of_watchdog_adds_a_lease(void **state)
{
    (void)state;
    long long left_ms = 0;
    buyer mine;
    start_sale("watchdog", LEASE_MS, LONG_SECTION_MS, 0);
    start_buyer(&mine, "watchdog");
    bool renewed = fx_wait_until(has_more_than_a_lease, &left_ms, WAIT_MS);
    pthread_join(mine.thread, NULL);
    assert_true(renewed);
    assert_in_range(left_ms, LEASE_MS + 1, LAST_RESORT_MS / 2);
    assert_int_equal(mine.status, 201);
    assert_false(is_locked(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_sells_beside_anothers_lock),
        cmocka_unit_test(a_wait_is_asked_out_at_its_pace),
        cmocka_unit_test(anothers_lock_is_not_given_back),
        cmocka_unit_test(a_renewal_of_watchdog_adds_a_lease),
    };
    return fx_run(tests, .instances = 1);
}
