/*
 * line.c - what happens on the way to Redis and back: a reply is lost, a command comes late, the
 * server hangs up on everybody.
 */
#include <stdio.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/faults/victim.h"
#include "tests/chaos/redis.h"

enum {
    LOST = 5,       /* replies of a kind */
    LOST_ALONE = 3, /* of the only buyer there is */
    LATE = 3,       /* commands */
    MEANWHILE = 10, /* units that others buy */
    STORMS = 10,
    FLUSHES = 20,
    FLUSH_PACE_MS = 500
};

/* The lock's keys are where the proxy is: not those of redlock, which has servers of its own. */
static bool lock_is_behind_proxy(const cell *c)
{
    return row_is_locked(&c->row) && !c->lock_servers[0];
}

/* ---- lost-reply: executed, and nobody is told ------------------------------------------------ */

static int64_t count_lost(cell *c)
{
    return fx_proxy_count(c->proxy, "resets") + fx_proxy_count(c->proxy, "truncated");
}

typedef struct loss {
    cell *c;
    int64_t before;
} loss;

static bool is_lost(void *arg)
{
    loss *l = arg;
    return count_lost(l->c) > l->before;
}

static void lose(cell *c, const char *how, const char *match)
{
    for (int i = 0; i < LOST; i++) {
        loss l = {c, count_lost(c)};
        fx_proxy_say(c->proxy, "%s 1 %s", how, match);
        cell_met(c, fx_wait_until(is_lost, &l, CELL_PATIENCE_MS));
    }
}

/* The only buyer there is meets it. If it is refused, it believes that, and asks no more. */
static void lose_alone(cell *c, int number)
{
    crew_buyer only;
    char request[32];
    loss l = {c, count_lost(c)};
    cell_name_request(c, "only", number, request, sizeof(request));
    crew_pause();
    fx_proxy_say(c->proxy, "reset after 1 %s", write_of_stock(c));
    crew_send(&only, request, number, (int)cell_random(c, FX_INSTANCES));
    cell_met(c, fx_wait_until(is_lost, &l, CELL_PATIENCE_MS));
    if (fx_is_unknown(crew_answer(&only)))
        crew_settle(&only, 0, CELL_PATIENCE_MS);
    crew_go_on();
}

static void lost_reply(cell *c)
{
    char lock[256];
    snprintf(lock, sizeof(lock), "match %s", cell_key("lock"));
    cell_begin_fault(c);
    lose(c, "reset after", write_of_stock(c));
    lose(c, "truncate 2", WRITE_OF_ORDER);
    if (lock_is_behind_proxy(c))
        lose(c, "reset after", lock);
    for (int i = 0; i < LOST_ALONE; i++)
        lose_alone(c, i);
    fx_proxy_say(c->proxy, "heal");
    cell_healed(c);
}

const fault fault_lost_reply = {
    .name = "lost-reply",
    .says = "a write or a lock's command is executed, and the connection ends before its reply",
    .counts = "replies lost",
    .needs = NEEDS_PROXY,
    .reservations = RESERVED_TOO,
    .covered = EVERYWHERE,
    .inject = lost_reply,
};

/* ---- late-command: its sender is dead, others have sold, and then it arrives ------------------
 */

typedef struct delivery {
    cell *c;
    int64_t before;
} delivery;

static bool is_delivered(void *arg)
{
    delivery *d = arg;
    return fx_proxy_count(d->c->proxy, "late") > d->before;
}

static void deliver_late(cell *c, int at, const char *match)
{
    crew_buyer sender;
    delivery d = {c, fx_proxy_count(c->proxy, "late")};
    bool held = victim_hold(c, &sender, at, match);
    cell_kill_instance(c, at);
    bool unanswered = crew_answer(&sender) == 0;
    crew_go_on();
    bool sold = crew_more(&crew.bought, MEANWHILE, CELL_PATIENCE_MS);
    victim_let_go(c);
    bool delivered = fx_wait_until(is_delivered, &d, CELL_PATIENCE_MS);
    cell_met(c, held && unanswered && sold && delivered);
    crew_settle(&sender, (at + 1) % FX_INSTANCES, CELL_PATIENCE_MS);
    cell_start_instance(c, at);
}

static void late_command(cell *c)
{
    char lock[256];
    snprintf(lock, sizeof(lock), "match %s", cell_key("lock"));
    cell_begin_fault(c);
    for (int i = 0; i < LATE; i++) {
        bool is_lock = i == 1 && lock_is_behind_proxy(c);
        deliver_late(c, (int)cell_random(c, FX_INSTANCES), is_lock ? lock : write_of_stock(c));
    }
    cell_healed(c);
}

const fault fault_late_command = {
    .name = "late-command",
    .says = "a write or a lock's command arrives when its sender is dead and others have sold",
    .counts = "commands that came late",
    .needs = NEEDS_PROXY,
    .reservations = RESERVED_TOO,
    .covered = EVERYWHERE,
    .inject = late_command,
};

/* ---- client-kill: Redis hangs up on everybody and forgets all scripts, again and again --------
 */

static void storm(cell *c)
{
    long long killed = fx_redis_number(fx.redis, "CLIENT KILL TYPE normal SKIPME yes");
    fx_redis_do(fx.redis, "SCRIPT FLUSH");
    bool go_on = crew_more(&crew.ended, 2, CELL_PATIENCE_MS);
    cell_landed(c, go_on ? killed : 0);
}

static void client_kill(cell *c)
{
    crew_buyer victim;
    long long unknown_scripts = redis_errors("NOSCRIPT");
    cell_begin_fault(c);
    bool held = victim_hold(c, &victim, (int)cell_random(c, FX_INSTANCES), WRITE_OF_ORDER);
    cell_met(c, held && fx_redis_number(fx.redis, "CLIENT KILL TYPE normal SKIPME yes") > 0);
    victim_let_go(c);
    crew_answer(&victim);
    crew_go_on();
    for (int i = 0; i < STORMS; i++)
        storm(c);
    cell_met(c, redis_errors("NOSCRIPT") > unknown_scripts);
    cell_healed(c);
    crew_settle(&victim, 0, CELL_PATIENCE_MS);
}

const fault fault_client_kill = {
    .name = "client-kill",
    .says = "CLIENT KILL of everybody, also of one whose write is on its way, and SCRIPT FLUSH",
    .counts = "connections killed, and that scripts were not known any more",
    .needs = NEEDS_PROXY,
    .reservations = RESERVED_TOO,
    .covered = EVERYWHERE,
    .inject = client_kill,
};

/* ---- script-flush: Redis forgets all scripts, again and again ---------------------------------
 */

static void script_flush(cell *c)
{
    long long before = redis_errors("NOSCRIPT");
    bool met = true;
    crew_pace(FLUSH_PACE_MS);
    cell_begin_fault(c);
    for (int i = 0; i < FLUSHES && met; i++) {
        fx_redis_do(fx.redis, "SCRIPT FLUSH");
        met = crew_more(&crew.ended, 2, CELL_PATIENCE_MS);
    }
    cell_healed(c);
    cell_landed(c, redis_errors("NOSCRIPT") - before);
}

const fault fault_script_flush = {
    .name = "script-flush",
    .says = "SCRIPT FLUSH again and again under load",
    .counts = "calls of scripts that were not known any more",
    .covered = EVERYWHERE,
    .inject = script_flush,
};
