/*
 * stopped.c - Redis stands still for a while and goes on: all of it, its writes alone, a primary
 * that is replaced meanwhile, or the replicas, which are as good as behind a line that is cut.
 */
#include <signal.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/redis.h"

enum {
    STILL_MS = 1500,
    STILLS = 2,
    DOWN_AFTER_MS = 2000, /* scripts/redis-topology */
    REPLICAS = 2,
    MEANWHILE = 10,
    SLOW_PACE_MS = 1000,
    LEASE_MS = 2000
};

/* ---- all of it, or its writes ---------------------------------------------------------------- */

static bool half_are_waiting(void *arg)
{
    (void)arg;
    return atomic_load(&crew.begun) - atomic_load(&crew.ended) >= CREW_BUYERS / 2;
}

/* A buyer is inside its section, for longer than its lease, when Redis stands still. */
static void stand_still(cell *c, void (*begin)(void), void (*end)(void))
{
    int first = (int)cell_random(c, FX_INSTANCES);
    cell_begin_fault(c);
    for (int i = 0; i < STILLS; i++) {
        int at = (first + i) % FX_INSTANCES;
        cell_arm(c, at, "in-section");
        bool inside = cell_reached(c, at, "in-section", CELL_PATIENCE_MS);
        begin();
        cell_let_go(c, at, "in-section");
        bool waiting = fx_wait_until(half_are_waiting, NULL, STILL_MS);
        fx_let_pass(STILL_MS);
        end();
        cell_met(c, inside && waiting);
        crew_more(&crew.bought, MEANWHILE, CELL_PATIENCE_MS);
    }
    cell_healed(c);
}

static void stop(void)
{
    fx_redis_signal(fx.redis, SIGSTOP);
}

static void go_on(void)
{
    fx_redis_signal(fx.redis, SIGCONT);
}

static void redis_stopped(cell *c)
{
    stand_still(c, stop, go_on);
}

const fault fault_redis_stopped = {
    .name = "redis-stopped",
    .says = "Redis is stopped for a second and a half, while a buyer is inside its section",
    .counts = "stops at which half of the buyers were waiting",
    .needs = NEEDS_FAIL_POINTS,
    .covered = EVERYWHERE,
    .inject = redis_stopped,
};

static void pause_writes(void)
{
    fx_redis_do(fx.redis, "CLIENT PAUSE %d WRITE", STILL_MS);
}

static void await_write(void)
{
    fx_redis_do(fx.redis, "SET chaos written");
}

static void writes_paused(cell *c)
{
    stand_still(c, pause_writes, await_write);
}

const fault fault_pause_writes = {
    .name = "pause-writes",
    .says = "CLIENT PAUSE 1500 WRITE, while a buyer is inside its section",
    .counts = "pauses at which half of the buyers were waiting",
    .needs = NEEDS_FAIL_POINTS,
    .covered = EVERYWHERE,
    .inject = writes_paused,
};

/* ---- primary-stopped: it comes back as an old one -------------------------------------------- */

static void primary_stopped(cell *c)
{
    fx_topology *t = fx_redis_topology(fx.redis);
    int old = fx_topology_primary(t, NULL);
    crew_pace(SLOW_PACE_MS);
    cell_begin_fault(c);
    fx_topology_signal(t, old, SIGSTOP);
    fx_let_pass(2 * DOWN_AFTER_MS);
    fx_topology_next_primary(t, NULL, old, CELL_PATIENCE_MS);
    redis_after_failover(c);
    cell_met(c, c->over || crew_more(&crew.bought, MEANWHILE, CELL_PATIENCE_MS));
    fx_topology_signal(t, old, SIGCONT);
    fx_topology_settle(t, CELL_PATIENCE_MS);
    cell_healed(c);
    if (!c->over)
        redis_after_failover(c);
}

const fault fault_primary_stopped = {
    .name = "primary-stopped",
    .says = "the primary stands still until another one has been promoted, and goes on",
    .counts = "primaries replaced while they stood still",
    .needs = NEEDS_SENTINEL,
    .lease_ms = LEASE_MS,
    .covered = ON_REPLICAS,
    .cover = "durability=replicated",
    .inject = primary_stopped,
};

/* ---- replicas-cut ---------------------------------------------------------------------------- */

/* Either of them could be promoted, so a replicated sale stops without one; one in memory does not
 * care. */
static void replicas_cut(cell *c)
{
    fx_topology *t = fx_redis_topology(fx.redis);
    bool goes_on = c->row.durability != ON_REPLICAS;
    int refusals = redis_refusals();
    crew_pace(SLOW_PACE_MS);
    cell_begin_fault(c);
    for (int i = 1; i <= REPLICAS; i++) {
        fx_topology_signal(t, i, SIGSTOP);
        cell_met(c, crew_more(goes_on ? &crew.bought : &crew.busy, MEANWHILE, CELL_PATIENCE_MS));
    }
    for (int i = 1; i <= REPLICAS; i++)
        fx_topology_signal(t, i, SIGCONT);
    fx_topology_settle(t, CELL_PATIENCE_MS);
    cell_healed(c);
    cell_note(c, "%d attempts were refused or not answered", redis_refusals() - refusals);
}

const fault fault_replicas_cut = {
    .name = "replicas-cut",
    .says = "one replica is out of reach, then both, and they are back",
    .counts = "replicas that were out of reach while buyers went on, or were refused",
    .needs = NEEDS_SENTINEL | NEEDS_STEADY,
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .also = ON_REPLICAS,
    .inject = replicas_cut,
};
