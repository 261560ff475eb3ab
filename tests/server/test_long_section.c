/*
 * test_long_section.c - a critical section that lasts for two leases, so for two renewals. Who
 * renews keeps its lock meanwhile; who does not sells all the same, as nobody else comes.
 */
#include <pthread.h>
#include <stdio.h>

#include "lock/dlock_redis.h"
#include "tests/support/service.h"

enum { STRATEGIES_MAX = 32, LEASE_MS = 1000, HOLD_MS = 2000, TRIES = 20 };

typedef struct buyer {
    const char *strategy; /* and the item's name */
    int status;
    pthread_t thread;
} buyer;

/* Again when the machine was too busy to renew in time, by which some give up. */
static void *buy(void *arg)
{
    buyer *mine = arg;
    for (int i = 0; i < TRIES && mine->status != 201; i++)
        mine->status = fx_status(fx.server[0], "POST /buy?item=%s&user=u1", mine->strategy);
    return NULL;
}

static void a_section_may_outlast_the_lease(void **state)
{
    (void)state;
    buyer buyers[STRATEGIES_MAX] = {{0}};
    int count = 0;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (!s->locked)
            continue;
        assert_true(count < STRATEGIES_MAX);
        fx_start_sale(fx.server[0], s->name, "'stock':9,'strategy':'%s','lease_ms':%d,'hold_ms':%d",
                      s->name, LEASE_MS, HOLD_MS);
        buyers[count++].strategy = s->name;
    }
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, buy, &buyers[i]), 0);
    for (int i = 0; i < count; i++)
        pthread_join(buyers[i].thread, NULL);
    for (int i = 0; i < count; i++)
        if (buyers[i].status != 201)
            fail_msg("%s: %d", buyers[i].strategy, buyers[i].status);
}

/* ---- the lock meanwhile ---------------------------------------------------------------------- */

/* Looks at the lock while the buyer has it. Whether it was there longer than a lease. */
static bool keeps_the_lock(buyer *mine, const char *segment)
{
    char key[160];
    dlock_time until = {0};
    bool kept = false;
    snprintf(key, sizeof(key), "fs:{%s%s}:%s:lock", mine->strategy, segment,
             fx_current_sale(mine->strategy));
    mine->status = 0;
    assert_int_equal(pthread_create(&mine->thread, NULL, buy, mine), 0);
    while (pthread_tryjoin_np(mine->thread, NULL) != 0) {
        bool there = fx_redis_number(fx.redis, "EXISTS %s", key) == 1;
        if (there && until.us == 0)
            until = dlock_in_ms(LEASE_MS * 3 / 2);
        kept = kept || (there && dlock_passed(until));
        fx_let_pass(10);
    }
    return kept;
}

/* ... in one of some tries, for a busy machine may renew too late. */
static void who_renews_has_its_lock_for_longer_than_a_lease(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        buyer one = {.strategy = s->name};
        bool kept = false;
        if (!s->renews)
            continue;
        fx_start_sale(fx.server[0], s->name,
                      "'stock':99,'strategy':'%s','lease_ms':%d,'hold_ms':%d%s", s->name, LEASE_MS,
                      HOLD_MS, s->sharded ? ",'segments':1" : "");
        for (int i = 0; i < TRIES && !kept; i++)
            kept = keeps_the_lock(&one, s->sharded ? "#0" : "");
        if (!kept)
            fail_msg("%s says that it renews, and its lock was gone after %d ms", s->name,
                     LEASE_MS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_may_outlast_the_lease),
        cmocka_unit_test(who_renews_has_its_lock_for_longer_than_a_lease),
    };
    return fx_run(tests, .instances = 1);
}
