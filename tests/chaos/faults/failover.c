/*
 * failover.c - the primary dies and sentinels promote a replica that is behind; or they are told to
 * promote one while all are well.
 *
 * It is made sure of that they are behind: the replicas are stopped and their links closed, so that
 * what is sold from then on is on the primary alone. They go on once it is dead. (How soon it can
 * be sold again after a plain failover is measured by tests/e2e/test_failover.c.)
 */
#include <signal.h>

#include "tests/chaos/faults/failover.h"
#include "tests/chaos/faults/fault.h"
#include "tests/chaos/redis.h"

enum {
    PRIMARY,
    REPLICAS = 2,
    A_SENTINEL,
    SURELY = CREW_BUYERS + 1,
    LEASE_MS = 2000,
    PLANNED = 2,
    TRIES = 2,
    PLANNED_PACE_MS = 1000,
    LET_GO_MS = 25000 /* wait for the dead primary: 10 x down-after, and 5 s */
};

/* Orders that the primary of now has. */
static long long count_orders(void)
{
    char key[192];
    long long count = 0;
    for (int k = 0; k < fx_sale_key_sets(crew_sale(0)); k++)
        count += fx_redis_number(fx.redis, "LLEN %s",
                                 fx_sale_key(crew_sale(0), k, "ledger", key, sizeof(key)));
    return count;
}

static bool are_there(void *orders)
{
    return count_orders() >= *(long long *)orders;
}

void failover_cut_replicas_off(fx_topology *t)
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
    failover_cut_replicas_off(fx_redis_topology(fx.redis));
    long long orders = count_orders() + 1;
    cell_let_go(c, 0, "in-section");
    return inside && fx_wait_until(are_there, &orders, CELL_PATIENCE_MS) &&
           (!acknowledges || crew_more(&crew.bought, SURELY, CELL_PATIENCE_MS));
}

long long failover_kill_primary(fx_topology *t)
{
    long long sold = count_orders();
    fx_topology_kill(t, PRIMARY);
    for (int i = 1; i <= REPLICAS; i++)
        fx_topology_signal(t, i, SIGCONT);
    fx_topology_next_primary(t, NULL, PRIMARY, CELL_PATIENCE_MS);
    return sold - count_orders();
}

static void failover(cell *c)
{
    fx_topology *t = fx_redis_topology(fx.redis);
    cell_begin_fault(c);
    if (!sells_alone(c))
        fail_msg("nothing is sold on a primary alone");
    long long behind = failover_kill_primary(t);
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
    .recovery_ms = LET_GO_MS,
    .reservations = RESERVED_TOO,
    .covered = ON_REPLICAS,
    .cover = "durability=replicated",
    .inject = failover,
};

/* ---- planned-failover ------------------------------------------------------------------------ */

/* A sentinel refuses while it has not seen the end of the failover before. */
static bool begins_failover(void *topology)
{
    redisReply *reply = fx_topology_ask(topology, A_SENTINEL, "SENTINEL FAILOVER mymaster");
    bool begun = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return begun;
}

/* A sentinel may give up what it has begun, on a busy machine. */
static bool is_replaced(fx_topology *t)
{
    int old = fx_topology_primary(t, NULL);
    bool replaced = false;
    for (int i = 0; i < TRIES && !replaced; i++)
        replaced = fx_wait_until(begins_failover, t, CELL_PATIENCE_MS) &&
                   redis_is_replaced(t, NULL, old, CELL_PATIENCE_MS);
    return replaced;
}

/* A sentinel promotes a replica first and tells the old primary last, which goes on selling. */
static void planned_failover(cell *c)
{
    fx_topology *t = fx_redis_topology(fx.redis);
    crew_pace(PLANNED_PACE_MS);
    cell_begin_fault(c);
    for (int i = 0; i < PLANNED && !c->over; i++) {
        cell_met(c, is_replaced(t));
        fx_topology_settle(t, CELL_PATIENCE_MS);
        cell_healed(c);
        redis_after_failover(c);
    }
}

const fault fault_planned_failover = {
    .name = "planned-failover",
    .says = "SENTINEL FAILOVER under load, twice",
    .counts = "primaries replaced",
    .needs = NEEDS_SENTINEL | NEEDS_STEADY,
    .lease_ms = LEASE_MS,
    .reservations = RESERVED_TOO,
    .covered = ON_REPLICAS,
    .cover = "durability=replicated",
    .inject = planned_failover,
};
