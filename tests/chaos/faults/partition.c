/*
 * partition.c - a network of the cell's own, whose lines to Redis can be cut.
 *
 *     the cell: buyers, instances          Redis
 *     cell0 10.99.0.2 ------------ 10.99.0.1 redis0       instance 0 knows only this one
 *     cell1 10.99.1.2 ------------ 10.99.1.1 redis1
 *     cell2 10.99.2.2 ------------ 10.99.2.1 redis2
 *
 * Two network namespaces and three pairs of virtual Ethernet devices. A line is cut at Redis' end:
 * what is sent into it is lost without a word, and once it is whole again TCP sends it again. All
 * of it belongs to the cell's processes and is gone with them. The test itself asks Redis through
 * its Unix socket, which no network reaches.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/faults/network.h"

enum { CUTS = 2, MEANWHILE = 10 };

static const char lay_lines[] =
    "PATH=$PATH:/usr/sbin:/sbin; set -e\n"
    "for i in 0 1 2; do\n"
    "    ip link add cell$i type veth peer name redis$i netns \"$1\"\n"
    "    ip address add 10.99.$i.2/24 dev cell$i\n"
    "    ip link set cell$i up\n"
    "    nsenter -t \"$1\" -n ip address add 10.99.$i.1/24 dev redis$i\n"
    "    nsenter -t \"$1\" -n ip link set redis$i up\n"
    "done\n";

static const char *forbidden; /* why there can be no such network; NULL = there is one */
static bool laid;
static char redis_pid[16];

/* ---- the network ----------------------------------------------------------------------------- */

/* Redis is started behind this, the instances behind lay(). */
static void prepare(cell *c)
{
    (void)c;
    if (!network_leave())
        forbidden = "network namespaces are not permitted here";
}

static void lay(void)
{
    laid = true;
    if (forbidden)
        return;
    redisReply *info = fx_redis_reply(fx.redis, "INFO server");
    const char *at = strstr(info->str, "process_id:");
    snprintf(redis_pid, sizeof(redis_pid), "%ld", at ? strtol(at + 11, NULL, 10) : 0);
    freeReplyObject(info);
    if (!network_leave() || fx_shell(lay_lines, redis_pid, NETWORK_MS) != 0)
        forbidden = "no virtual Ethernet devices can be made here";
}

static const char *redis_url(const cell *c, int instance)
{
    static char url[64];
    (void)c;
    if (!laid)
        lay();
    snprintf(url, sizeof(url), "redis://10.99.%d.1:%d", instance, fx_redis_port(fx.redis));
    return forbidden ? fx_redis_url(fx.redis) : url;
}

static const char *unfit(const cell *c)
{
    (void)c;
    return forbidden;
}

static void set_line(int instance, const char *state)
{
    char script[160];
    snprintf(script, sizeof(script),
             "PATH=$PATH:/usr/sbin:/sbin; nsenter -t \"$1\" -n ip link set redis%d %s", instance,
             state);
    if (fx_shell(script, redis_pid, NETWORK_MS) != 0)
        fail_msg("the line of instance %d can not be set %s", instance, state);
}

/* ---- the fault ------------------------------------------------------------------------------- */

static bool others_sell(cell *c)
{
    if (!c->lock_servers[0])
        return crew_more(&crew.bought, MEANWHILE, CELL_PATIENCE_MS);
    fx_let_pass(2 * CELL_LEASE_MS); /* who is cut off renews its lock, elsewhere */
    return true;
}

/* A buyer at `at` has read, or is about to sell, when the line is cut. */
static void cut(cell *c, int at, int number)
{
    crew_buyer cut_off;
    char request[32];
    cell_name_request(c, "cut", number, request, sizeof(request));
    crew_pause();
    cell_arm(c, at, "in-section");
    crew_send(&cut_off, request, number, at);
    bool inside = cell_reached(c, at, "in-section", CELL_PATIENCE_MS);
    set_line(at, "down");
    cell_let_go(c, at, "in-section");
    crew_avoid(at);
    crew_go_on();
    bool sold = others_sell(c);
    cell_met(c, inside && sold && !atomic_load(&cut_off.done));
    set_line(at, "up");
    crew_answer(&cut_off);
    crew_avoid(-1);
    crew_settle(&cut_off, at, CELL_PATIENCE_MS);
}

static void partition(cell *c)
{
    int first = (int)cell_random(c, FX_INSTANCES);
    if (c->lock_servers[0])
        cell_note(c, "its locks are on servers that are not cut off");
    cell_begin_fault(c);
    for (int i = 0; i < CUTS; i++)
        cut(c, (first + i) % FX_INSTANCES, i);
    cell_healed(c);
}

const fault fault_partition = {
    .name = "partition",
    .says = "an instance inside its section is cut off from Redis, others sell, the line is mended",
    .counts = "instances cut off while others sold",
    .needs = NEEDS_FAIL_POINTS,
    .covered = EVERYWHERE,
    .redis_args = FX_ARGS("--bind", "0.0.0.0", "--protected-mode", "no"),
    .redis_url = redis_url,
    .unfit = unfit,
    .prepare = prepare,
    .inject = partition,
};
