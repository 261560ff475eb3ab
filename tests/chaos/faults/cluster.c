/*
 * cluster.c - what goes wrong in a cluster: its members are told to change their parts, a slot's
 * servers are away, slots move. By Redis's default no slot is served then but by all servers.
 *
 * The item is on one server, the segments of a sharded sale on all three.
 */
#include <signal.h>
#include <stdio.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/redis.h"
#include "tests/lock/cluster.h"

enum { TIMES = 2, TRIES = 4, MEANWHILE = 10, LEASE_MS = 2000, SLOW_PACE_MS = 2000, KEYS_MAX = 64 };

/* So often, at the same server or at each that has a segment. */
static int times(const cell *c)
{
    return row_is_sharded(&c->row) ? CELL_SEGMENTS : TIMES;
}

/* A key of the item, of its k-th segment where it has some. */
static const char *key_of(int k)
{
    static char key[96];
    return fx_sale_key(crew_sale(0), k % fx_sale_key_sets(crew_sale(0)), "sale", key, sizeof(key));
}

/* The member that replicates this one. */
static int replica_of(fx_topology *t, int primary)
{
    for (int i = 0; i < fx_topology_size(t); i++) {
        redisReply *role = fx_topology_ask(t, i, "ROLE");
        bool found = role && role->elements == 5 && strcmp(role->element[0]->str, "slave") == 0 &&
                     role->element[2]->integer == fx_topology_port(t, primary);
        freeReplyObject(role);
        if (found)
            return i;
    }
    fail_msg("the member %d has no replica", primary);
    return -1;
}

/* ---- cluster-failover: a manual one, which waits until the replica has everything -------------
 */

/* A replica gives up after five seconds, which may not be enough on a busy machine. */
static bool is_replaced(cluster_rig *cluster, const char *key)
{
    int old = fx_topology_primary(cluster->topology, key);
    int replica = replica_of(cluster->topology, old);
    for (int i = 0; i < TRIES; i++) {
        cluster_tell(cluster, replica, "CLUSTER FAILOVER");
        if (redis_is_replaced(cluster->topology, key, old, CELL_PATIENCE_MS / TRIES))
            return true;
    }
    return false;
}

static void cluster_failover(cell *c)
{
    cluster_rig cluster = {.topology = fx_redis_topology(fx.redis)};
    crew_pace(SLOW_PACE_MS);
    cell_begin_fault(c);
    for (int i = 0; i < times(c); i++) {
        cell_met(c, is_replaced(&cluster, key_of(i)));
        fx_topology_settle(cluster.topology, CELL_PATIENCE_MS);
        cell_healed(c);
        redis_after_failover(c);
    }
}

const fault fault_cluster_failover = {
    .name = "cluster-failover",
    .says = "CLUSTER FAILOVER under load, of the item's primary or of each segment's",
    .counts = "primaries replaced",
    .needs = NEEDS_CLUSTER | NEEDS_STEADY,
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = cluster_failover,
};

/* ---- clusterdown: slots that nobody serves ----------------------------------------------------
 */

/* A primary that does not serve the item, unless all do. */
static int another_primary(cell *c, cluster_rig *cluster)
{
    int own = fx_topology_primary(cluster->topology, key_of(0));
    int at = (int)cell_random(c, fx_topology_size(cluster->topology));
    while (at == own || !cluster_is_primary(cluster, at))
        at = (at + 1) % fx_topology_size(cluster->topology);
    return at;
}

static bool is_down(void *before)
{
    return redis_errors("CLUSTERDOWN") > *(long long *)before;
}

/* Nothing is sold when the two are stopped, so it makes no difference which of them is the primary
 * afterwards. */
static void clusterdown(cell *c)
{
    cluster_rig cluster = {.topology = fx_redis_topology(fx.redis)};
    int primary = another_primary(c, &cluster), replica = replica_of(cluster.topology, primary);
    long long before = redis_errors("CLUSTERDOWN");
    cell_begin_fault(c);
    crew_pause();
    fx_topology_signal(cluster.topology, primary, SIGSTOP);
    fx_topology_signal(cluster.topology, replica, SIGSTOP);
    crew_go_on();
    crew_pace(SLOW_PACE_MS);
    bool refused = fx_wait_until(is_down, &before, CELL_PATIENCE_MS) &&
                   crew_more(&crew.busy, MEANWHILE, CELL_PATIENCE_MS);
    long long refusals = redis_errors("CLUSTERDOWN") - before;
    fx_topology_signal(cluster.topology, primary, SIGCONT);
    fx_topology_signal(cluster.topology, replica, SIGCONT);
    fx_topology_settle(cluster.topology, CELL_PATIENCE_MS);
    cell_healed(c);
    cell_landed(c, refused ? refusals : 0);
    redis_after_failover(c);
}

const fault fault_clusterdown = {
    .name = "clusterdown",
    .says = "other slots have no server for a moment, so all of the cluster refuses",
    .counts = "commands refused with CLUSTERDOWN",
    .needs = NEEDS_CLUSTER,
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = clusterdown,
};

/* ---- resharding -------------------------------------------------------------------------------
 */

static long long redirections(void)
{
    return redis_errors("MOVED") + redis_errors("ASK") + redis_errors("TRYAGAIN");
}

static bool has_traffic(void *until)
{
    return atomic_load(&crew.ended) + redirections() >= *(long long *)until;
}

/* Buyers come by, or are sent on. */
static bool comes_by(void)
{
    long long until = atomic_load(&crew.ended) + redirections() + 5;
    return fx_wait_until(has_traffic, &until, CELL_PATIENCE_MS);
}

/* Key by key, with buyers between any two. */
static bool move_slot(cluster_rig *cluster, const char *key)
{
    char keys[KEYS_MAX][160];
    bool traffic = true;
    cluster_move move = cluster_begin_move(cluster, key);
    long long before = redirections(); /* to look for the key's server makes some, too */
    redisReply *all = fx_topology_ask(cluster->topology, move.from, "CLUSTER GETKEYSINSLOT %d %d",
                                      move.slot, KEYS_MAX);
    assert_true(all && all->type == REDIS_REPLY_ARRAY && all->elements > 0);
    size_t count = all->elements;
    for (size_t i = 0; i < count; i++)
        snprintf(keys[i], sizeof(keys[i]), "%s", all->element[i]->str);
    freeReplyObject(all);
    for (size_t i = 0; i < count && traffic; i++) {
        cluster_move_key(cluster, move, keys[i]);
        traffic = comes_by();
    }
    cluster_end_move(cluster, move);
    return traffic && redirections() > before;
}

static void resharding(cell *c)
{
    cluster_rig cluster = {.topology = fx_redis_topology(fx.redis)};
    cell_begin_fault(c);
    for (int i = 0; i < times(c); i++)
        cell_met(c, move_slot(&cluster, key_of(i)));
    cell_healed(c);
}

const fault fault_resharding = {
    .name = "resharding",
    .says = "the item's slot, or each segment's, moves to another server key by key under load",
    .counts = "slots moved, with buyers redirected meanwhile",
    .needs = NEEDS_CLUSTER | NEEDS_STEADY,
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .also = ON_REPLICAS,
    .inject = resharding,
};
