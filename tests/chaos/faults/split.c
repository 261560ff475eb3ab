/*
 * split.c - split brain: sentinels promote a replica that cannot see that the primary is well.
 *
 *     its own network               the cell's network
 *     primary, instance 1 --------- replicas, sentinels, instances 0 and 2, buyers
 *           10.98.0.1    Redis's line     10.98.0.2
 *           10.97.0.1   the buyers' line  10.97.0.2
 *
 * The two lines are one pair of virtual Ethernet devices. Redis's is cut by wrong Ethernet
 * addresses: what is sent is lost without a word, on both sides. Buyers reach both sides meanwhile,
 * and both sell.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/faults/network.h"
#include "tests/chaos/redis.h"

enum {
    APART = 1, /* the instance; not the last, so that the cell stays in its own network */
    DOWN_AFTER_MS = 2000, /* scripts/redis-topology */
    EACH = 3,             /* buys of ours */
    SLOW_PACE_MS = 1000,
    LEASE_MS = 2000
};

#define THERE "nsenter -t \"$1\" -n "

static const char lay_line[] =
    "PATH=$PATH:/usr/sbin:/sbin; set -e\n"
    "ip link add here type veth peer name there netns \"$1\"\n"
    "ip address add 10.98.0.2/24 dev here\n"
    "ip address add 10.97.0.2/24 dev here\n"
    "ip link set here up\n" THERE "ip address add 10.98.0.1/24 dev there\n" THERE
    "ip address add 10.97.0.1/24 dev there\n" THERE "ip link set there up\n" THERE
    "ip link set lo up\n";

static const char cut_line[] =
    "PATH=$PATH:/usr/sbin:/sbin; set -e\n"
    "ip neighbour replace 10.98.0.1 lladdr 02:00:00:00:00:01 dev here nud permanent\n" THERE
    "ip neighbour replace 10.98.0.2 lladdr 02:00:00:00:00:02 dev there nud permanent\n";

static const char mend_line[] =
    "PATH=$PATH:/usr/sbin:/sbin; set -e\n"
    "ip neighbour del 10.98.0.1 dev here\n" THERE "ip neighbour del 10.98.0.2 dev there\n";

static const char *forbidden;      /* why there can be no such network; NULL = there is one */
static fx_process *holder;         /* of the primary's network */
static char there[16];             /* its pid */
static int networks[2] = {-1, -1}; /* ours, and the primary's */

/* ---- the network ----------------------------------------------------------------------------- */

static bool is_in_its_own(void *pid)
{
    char path[64], ours[64] = "", its[64] = "";
    snprintf(path, sizeof(path), "/proc/%s/ns/net", (const char *)pid);
    return readlink("/proc/self/ns/net", ours, sizeof(ours) - 1) > 0 &&
           readlink(path, its, sizeof(its) - 1) > 0 && strcmp(ours, its) != 0;
}

static bool lay(void)
{
    char path[64];
    if (!network_leave())
        return false;
    holder = fx_spawn(FX_ARGS("unshare", "--net", "sleep", "infinity"), false);
    snprintf(there, sizeof(there), "%d", (int)fx_process_pid(holder));
    if (!fx_wait_until(is_in_its_own, there, NETWORK_MS) ||
        fx_shell(lay_line, there, NETWORK_MS) != 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%s/ns/net", there);
    networks[0] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    networks[1] = open(path, O_RDONLY | O_CLOEXEC);
    return networks[0] >= 0 && networks[1] >= 0;
}

static void prepare(cell *c)
{
    (void)c;
    if (lay())
        setenv("FX_APART", there, 1);
    else
        forbidden = "networks of its own, with a line between them, are not permitted here";
}

static void clean_up(cell *c)
{
    (void)c;
    fx_process_free(holder);
}

static const char *unfit(const cell *c)
{
    (void)c;
    return forbidden;
}

/* Is called before the instance is started, which is where this thread is then. */
static const char *listen_at(const cell *c, int instance)
{
    (void)c;
    bool apart = !forbidden && instance == APART;
    if (!forbidden && setns(networks[apart], CLONE_NEWNET) != 0)
        fail_msg("the cell can not change its network");
    return apart ? "10.97.0.1:0" : "127.0.0.1:0";
}

/* ---- the fault ------------------------------------------------------------------------------- */

/* How many of ours an instance sells to. */
static int sell_at(cell *c, int at)
{
    static int number;
    int sold = 0;
    for (int i = 0; i < EACH; i++) {
        char request[32];
        cell_name_request(c, "side", ++number, request, sizeof(request));
        sold += crew_ask(request, number, 1, at) == 201;
    }
    return sold;
}

/* On the other side, once it has a primary. */
static bool sells(cell *c, int at)
{
    crew_buyer buyer = {.user = at};
    cell_name_request(c, "other", at, buyer.request, sizeof(buyer.request));
    return crew_settle(&buyer, at, CELL_PATIENCE_MS);
}

static void split_brain(cell *c)
{
    fx_topology *t = fx_redis_topology(fx.redis);
    int old = fx_topology_primary(t, NULL);
    bool acknowledges = c->row.durability != ON_REPLICAS;
    crew_pace(SLOW_PACE_MS);
    cell_begin_fault(c);
    if (fx_shell(cut_line, there, NETWORK_MS) != 0)
        fail_msg("the line can not be cut");
    fx_let_pass(2 * DOWN_AFTER_MS);
    fx_topology_next_primary(t, NULL, old, CELL_PATIENCE_MS);
    bool both = sells(c, 0) && sells(c, 2);
    int apart = sell_at(c, APART);
    if (fx_shell(mend_line, there, NETWORK_MS) != 0)
        fail_msg("the line can not be mended");
    fx_topology_settle(t, CELL_PATIENCE_MS);
    cell_healed(c);
    redis_after_failover(c);
    cell_met(c, both && (apart > 0) == acknowledges);
    cell_landed(c, apart);
}

const fault fault_split_brain = {
    .name = "split-brain",
    .says = "the primary and an instance are cut off from the rest, which promotes a replica; both "
            "sides sell, and the line is mended",
    .counts = "primaries replaced, and buys from the old one after that",
    .needs = NEEDS_SENTINEL,
    .lease_ms = LEASE_MS,
    .covered = ON_REPLICAS,
    .cover = "durability=replicated",
    .redis_args = FX_ARGS("--protected-mode", "no"),
    .unfit = unfit,
    .listen = listen_at,
    .prepare = prepare,
    .inject = split_brain,
    .clean_up = clean_up,
};
