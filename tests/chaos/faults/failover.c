/*
 * failover.c - the primary dies and sentinels promote a replica that is behind.
 *
 * It is made sure of that they are behind: the replicas are stopped and their links closed, so that
 * what is sold from then on is on the primary alone. They go on once it is dead. (How soon it can
 * be sold again after a plain failover is measured by tests/e2e/test_failover.c.)
 */
#include <signal.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/redis.h"

enum { PRIMARY, REPLICAS = 2, SURELY = CREW_BUYERS + 1, LEASE_MS = 2000 };

/* Orders that the primary of now has. */
static long long count_orders(const cell *c)
{
    if (!row_is_sharded(&c->row))
        return fx_redis_number(fx.redis, "LLEN %s", cell_key(c, "ledger"));
    long long count = 0;
    for (int k = 0; k < CELL_SEGMENTS; k++)
        count += fx_redis_number(fx.redis, "LLEN fs:{%s#%d}:%s:ledger", c->item, k, c->sale);
    return count;
}

typedef struct goal {
    const cell *c;
    long long orders;
} goal;

static bool are_there(void *arg)
{
    goal *g = arg;
    return count_orders(g->c) >= g->orders;
}

/* From now on the replicas hear of nothing. */
static void cut_replicas_off(fx_topology *t)
{
    for (int i = 1; i <= REPLICAS; i++)
        fx_topology_signal(t, i, SIGSTOP);
    redisReply *closed = fx_topology_ask(t, PRIMARY, "CLIENT KILL TYPE replica");
    assert_true(closed && closed->type == REDIS_REPLY_INTEGER && closed->integer == REPLICAS);
    freeReplyObject(closed);
}

/* Waits until something is sold that the replicas do not have. Where that is not to be told to the
 * buyers, the instances soon see that there are no replicas, and sell nothing: so one of them is
 * about to write when they are cut off. */
static bool sells_alone(cell *c)
{
    bool acknowledges = c->row.durability != ON_REPLICAS;
    cell_arm(c, 0, "in-section");
    bool inside = cell_reached(c, 0, "in-section", CELL_PATIENCE_MS);
    cut_replicas_off(fx_redis_topology(fx.redis));
    goal g = {c, count_orders(c) + 1};
    cell_let_go(c, 0, "in-section");
    return inside && fx_wait_until(are_there, &g, CELL_PATIENCE_MS) &&
           (!acknowledges || crew_more(&crew.bought, SURELY, CELL_PATIENCE_MS));
}

/* How many orders the new primary does not have. */
static long long fail_over(const cell *c, fx_topology *t)
{
    long long sold = count_orders(c);
    fx_topology_kill(t, PRIMARY);
    for (int i = 1; i <= REPLICAS; i++)
        fx_topology_signal(t, i, SIGCONT);
    fx_topology_next_primary(t, NULL, PRIMARY, CELL_PATIENCE_MS);
    return sold - count_orders(c);
}

static void failover(cell *c)
{
    fx_topology *t = fx_redis_topology(fx.redis);
    cell_begin_fault(c);
    if (!sells_alone(c))
        fail_msg("nothing is sold on a primary alone");
    long long behind = fail_over(c, t);
    if (c->row.durability == ON_REPLICAS) {
        fx_topology_settle(t, CELL_PATIENCE_MS);
        cell_healed(c);
        cell_note(c, "%lld orders were undone, of which no buyer had been told", behind);
    } else {
        redis_has_forgotten(c);
    }
    cell_landed(c, behind);
}

const fault fault_failover = {
    .name = "failover",
    .says = "the primary dies, and sentinels promote a replica that is behind",
    .counts =
        "orders that the new primary does not have, and refusals where they were acknowledged",
    .needs = NEEDS_SENTINEL | NEEDS_FAIL_POINTS,
    .lease_ms = LEASE_MS,
    .covered = ON_REPLICAS,
    .cover = "durability=replicated",
    .inject = failover,
};
