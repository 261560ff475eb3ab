/*
 * clocks.c - the time of day steps, of Redis or of the instances, while a sale is on. Their clocks
 * are preloaded (tests/tools/shims/clock.c), so that nobody else's step.
 */
#include <stdlib.h>

#include "tests/chaos/faults/fault.h"
#include "tests/support/clocks.h"

enum { STEP_BUYS = 3, PACE_MS = 300, LEASE_MS = 5000 };

static void remove_clocks(cell *c)
{
    (void)c;
    fx_clocks_end();
}

/* ---- redis-clock: all servers step, while somebody is in his section --------------------------
 */

/* What is final of tries up to a time is so only as long as the clock does not go back. */
static void give_redis_clocks(cell *c)
{
    c->habits.dated = false;
    fx_clocks_give(NULL);
}

static long long redis_says(void)
{
    redisReply *now = fx_redis_reply(fx.redis, "TIME");
    long long s = strtoll(now->element[0]->str, NULL, 10);
    freeReplyObject(now);
    return s;
}

/* Steps to ahead_s. When it is forward, the holder's lease is over for Redis, and others buy before
 * it writes. */
static bool steps_under_a_holder(cell *c, int from_s, int to_s)
{
    int at = (int)cell_random(c, FX_INSTANCES);
    cell_arm(c, at, "in-section");
    bool met = cell_reached(c, at, "in-section", CELL_PATIENCE_MS);
    crew_avoid(at); /* or in the end all would wait there */
    long long before = redis_says();
    fx_clocks_set(-1, to_s);
    long long step = redis_says() - before;
    if (to_s > from_s)
        met = crew_more(&crew.bought, STEP_BUYS, CELL_PATIENCE_MS) && met;
    cell_let_go(c, at, "in-section");
    crew_avoid(-1);
    met = crew_more(&crew.bought, STEP_BUYS, CELL_PATIENCE_MS) && met;
    return met && llabs(step - (to_s - from_s)) < llabs(to_s - from_s) / 2;
}

static void step_redis(cell *c)
{
    static const int ahead_s[] = {0, 60, 0, -60, 0};
    crew_pace(PACE_MS);
    cell_begin_fault(c);
    for (int i = 1; i < 5; i++)
        cell_met(c, steps_under_a_holder(c, ahead_s[i - 1], ahead_s[i]));
    cell_healed(c);
}

const fault fault_redis_clock = {
    .name = "redis-clock",
    .says = "the clock of Redis steps by 60 s, forward and back, while somebody is in the section",
    .counts = "steps that Redis told, after which buyers bought on",
    .needs = NEEDS_FAIL_POINTS,
    .covered = EVERYWHERE,
    .moves_clocks = true,
    .prepare = give_redis_clocks,
    .inject = step_redis,
    .clean_up = remove_clocks,
};

/* ---- instance-clock: one instance is an hour ahead, another an hour behind ---------------------
 */

static void give_instances_clocks(cell *c)
{
    c->instances_preload = true;
    fx_clocks_give("flashsale");
}

static bool was_told(void *which)
{
    return fx_clocks_told(*(int *)which);
}

/* An instance asks for the time of day only for its log, where it says that a sale has begun. */
static bool steps(int i, int ahead_s)
{
    fx_clocks_set(i, ahead_s);
    fx_start_sale(fx.server[i], "P0009", "'stock':1,'strategy':'atomic'");
    return ahead_s == 0 || fx_wait_until(was_told, &i, CELL_PATIENCE_MS);
}

static void step_instances(cell *c)
{
    static const int ahead_s[][FX_INSTANCES] = {
        {3600, -3600, 0}, {-3600, 0, 3600}, {0, 3600, -3600}};
    crew_pace(PACE_MS);
    cell_begin_fault(c);
    for (int k = 0; k < 3; k++) {
        bool met = true;
        for (int i = 0; i < FX_INSTANCES; i++)
            met = steps(i, ahead_s[k][i]) && met;
        cell_met(c, crew_more(&crew.bought, 2 * CREW_BUYERS, CELL_PATIENCE_MS) && met);
    }
    for (int i = 0; i < FX_INSTANCES; i++)
        steps(i, 0);
    cell_healed(c);
}

const fault fault_instance_clock = {
    .name = "instance-clock",
    .says = "one instance's clock steps an hour ahead, another's an hour back, in turn",
    .counts = "pairs of steps that the instances were told, while buyers bought on",
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .moves_clocks = true,
    .prepare = give_instances_clocks,
    .inject = step_instances,
    .clean_up = remove_clocks,
};
