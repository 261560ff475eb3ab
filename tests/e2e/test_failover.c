/*
 * test_failover.c - the primary is killed under a paced load, and sentinels promote a replica: of a
 * sale with durability=replicated no acknowledged order is lost; and when can be bought again. (A
 * replica that is behind, and a sale in memory: the matrix's failover, tests/chaos.)
 *
 * FAILOVER_RUNS=5 in the environment repeats it, on new servers. The figures of each run are
 * printed. No time decides but a generous deadline.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sale/rest.h"
#include "tests/support/topology.h"

enum {
    PACE_MS = 40, /* of each buyer: 300 buys a second */
    STOCK = 2000,
    BEFORE = 300, /* acknowledged before the kill */
    AFTER = 30,   /* ... and after it, by each instance */
    PRIMARY = 0,
    LIMIT_MS = 60000,
};

static char dir[256], history[300];

static void let_buyers_in(void)
{
    const fx_terms terms = {
        .item = "P0001", .strategy = "combined", .durability = "replicated", .stock = STOCK};
    rest_before(&terms);
    crew_begin(&(crew_habits){.several = true, .looks = true});
    crew_pace(PACE_MS);
    crew_come(fx_sale_start(&terms, history), CREW_BUYERS);
    assert_true(crew_until(&crew.bought, BEFORE, LIMIT_MS));
}

/* ---- the failover ---------------------------------------------------------------------------- */

static bool all_sold(void *so_far)
{
    bool all = true;
    for (int i = 0; i < FX_INSTANCES; i++)
        all = all && atomic_load(&crew.since[i]) >= *(int *)so_far;
    return all;
}

/* Each instance has sold so many since. */
static void until_all_sold(int so_far)
{
    assert_true(fx_wait_until(all_sold, &so_far, LIMIT_MS));
}

/* ---- the cases ------------------------------------------------------------------------------- */

static int runs(void)
{
    const char *text = getenv("FAILOVER_RUNS");
    return text ? (int)strtol(text, NULL, 10) : 1;
}

static int setup(void **state)
{
    fx_dir_make(dir, sizeof(dir));
    snprintf(history, sizeof(history), "%s/sale.history", dir);
    return fx_service_start(state);
}

static int teardown(void **state)
{
    crew_close();
    fx_service_stop(state);
    fx_dir_remove(dir);
    memset(fx.server, 0, sizeof(fx.server));
    fx.redis = NULL;
    return 0;
}

/* Each run but the first one on servers of its own. */
static void begin_run(int run, void **state)
{
    if (run > 0) {
        teardown(state);
        setup(state);
    }
}

static void replicated_run(int run)
{
    let_buyers_in();
    fx_topology_kill(fx_redis_topology(fx.redis), PRIMARY);
    crew_mark();
    int64_t killed_us = journal_now_us();
    until_all_sold(1);
    print_message("run %d: %d x 201, %d x 503, %d unknown; sold on all instances again %lld ms "
                  "after the kill\n",
                  run + 1, atomic_load(&crew.bought), atomic_load(&crew.busy),
                  atomic_load(&crew.unknown), (long long)(journal_now_us() - killed_us) / 1000);
    until_all_sold(AFTER);
    crew_pace(0);
    assert_true(crew_sell_out(0, LIMIT_MS));
    crew_end();
    fx_sale_resolve(crew_sale(0), 0, LIMIT_MS); /* it goes on: doubt ends after some time */
    assert_string_equal(fx_current_sale("P0001"), crew_sale(0)->id);
    rest_expect_undisturbed(history);
}

static void no_acknowledged_order_is_lost_with_the_primary(void **state)
{
    for (int run = 0; run < runs(); run++) {
        begin_run(run, state);
        replicated_run(run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_acknowledged_order_is_lost_with_the_primary, setup,
                                        teardown),
    };
    setenv("FX_REDIS", "sentinel", 1);
    setenv("FX_FAILOVER", "yes", 1);
    fx.plan = (fx_plan){.instances = FX_INSTANCES};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
