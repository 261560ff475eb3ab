/*
 * test_long_section.c - a critical section that lasts for two leases, so for two renewals. Who
 * renews keeps its lock meanwhile; who does not sells all the same, as nobody else comes.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_may_outlast_the_lease),
    };
    return fx_run(tests, .instances = 1);
}
