/*
 * holders.c - what happens to whoever holds the lock: stopped at each point of its section, killed
 * there, robbed; and the schedule in which two have read before either writes.
 *
 * By script, with a buyer A at one instance and a buyer B at another: random pauses
 * almost never hit the interesting moment.
 */
#include <signal.h>
#include <stdio.h>

#include "tests/chaos/faults/fault.h"

enum {
    A,
    B,
    SCHEDULES = 5,
    PAUSES = 2,
    KILLED_BUYS = 3,
    KILLED_PACE_MS = 300,
    WRITES_MS = 400,
};

/* A new buyer at instance `at`, whose request no other has. */
static void come(crew_buyer *ret, const cell *c, int at)
{
    static int number;
    char request[32];
    cell_name_request(c, "holder", ++number, request, sizeof(request));
    crew_send(ret, request, number, at);
}

/* Lets one come and buy as far as `point`. */
static bool stops_at(crew_buyer *ret, cell *c, int at, const char *point)
{
    cell_arm(c, at, point);
    come(ret, c, at);
    return cell_reached(c, at, point, CELL_PATIENCE_MS);
}

/* B buys, from the first step to the last. */
static bool b_buys(const cell *c)
{
    crew_buyer b;
    come(&b, c, B);
    return crew_answer(&b) == 201;
}

static bool is_done(void *buyer)
{
    return atomic_load(&((crew_buyer *)buyer)->done);
}

static bool lease_has_ended(void *arg)
{
    return !cell_lock_is_held(arg);
}

/* The third field of /proc/PID/stat, behind the name. */
static bool is_stopped(void *instance)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)fx_process_pid(fx_server_process(instance)));
    FILE *file = fopen(path, "re");
    if (file && !fgets(text, sizeof(text), file))
        text[0] = '\0';
    if (file)
        fclose(file);
    const char *state = strrchr(text, ')');
    return state && strncmp(state, ") T", 3) == 0;
}

/* Instance A is stopped, and its lease ends. */
static bool sleeps_through_its_lease(cell *c)
{
    fx_server_signal(fx.server[A], SIGSTOP);
    bool ended = fx_wait_until(lease_has_ended, c, CELL_PATIENCE_MS);
    return fx_wait_until(is_stopped, fx.server[A], CELL_PATIENCE_MS) && ended;
}

/* ---- stale-write: A reads, its lease ends, B reads, A writes, B writes ------------------------
 */

static void schedule(cell *c)
{
    crew_buyer a, b;
    bool both = stops_at(&a, c, A, "in-section");
    both = sleeps_through_its_lease(c) && both;
    both = stops_at(&b, c, B, "in-section") && both;
    cell_let_go(c, A, "in-section");
    fx_server_signal(fx.server[A], SIGCONT);
    fx_wait_until(is_done, &a, WRITES_MS); /* or A is refused, and waits for B */
    cell_let_go(c, B, "in-section");
    crew_answer(&a);
    crew_answer(&b);
    cell_met(c, both);
}

static void stale_write(cell *c)
{
    cell_begin_fault(c);
    for (int i = 0; i < SCHEDULES; i++)
        schedule(c);
    cell_healed(c);
    crew_ask("after", 1, 1, B);
}

const fault fault_stale_write = {
    .name = "stale-write",
    .says = "A reads, its lease ends, B reads, A writes, B writes",
    .counts = "times that both had read before either wrote",
    .needs = NEEDS_FAIL_POINTS,
    .alone = true,
    .same_run = true,
    .covered = EVERYWHERE,
    .inject = stale_write,
};

/* ---- pause: A is stopped for longer than its lease, and B buys meanwhile ----------------------
 */

static bool is_overtaken_at(cell *c, const char *point)
{
    crew_buyer a;
    bool stopped = stops_at(&a, c, A, point);
    stopped = sleeps_through_its_lease(c) && stopped;
    bool bought = b_buys(c);
    cell_let_go(c, A, point);
    fx_server_signal(fx.server[A], SIGCONT);
    crew_answer(&a);
    return stopped && bought;
}

static void pause_at_each_point(cell *c)
{
    static const char *const points[] = {"locked", "in-section", "written"};
    cell_begin_fault(c);
    for (int i = row_is_locked(&c->row) ? 0 : 1; i < 3; i++) {
        for (int k = 0; k < PAUSES; k++)
            cell_met(c, is_overtaken_at(c, points[i]));
    }
    cell_healed(c);
    crew_ask("after", 1, 1, B);
}

const fault fault_pause = {
    .name = "pause",
    .says = "SIGSTOP for longer than the lease: with the lock, before the write, after the write",
    .counts = "stopped holders overtaken by another buyer",
    .needs = NEEDS_FAIL_POINTS,
    .alone = true,
    .same_run = true,
    .covered = EVERYWHERE,
    .inject = pause_at_each_point,
};

/* ---- kill: the holder's process dies in the section, and comes back ---------------------------
 */

/* Whoever comes to `point` first dies there. */
static bool dies_at(cell *c, int at, const char *point)
{
    cell_arm(c, at, point);
    bool reached = cell_reached(c, at, point, CELL_PATIENCE_MS);
    if (!reached)
        return false;
    cell_kill_instance(c, at);
    bool others_buy = crew_more(&crew.bought, KILLED_BUYS, CELL_PATIENCE_MS);
    cell_start_instance(c, at);
    return others_buy;
}

static void kill_at_each_point(cell *c)
{
    static const char *const points[] = {"locked", "in-section", "half-written", "written"};
    crew_pace(KILLED_PACE_MS);
    cell_begin_fault(c);
    for (int i = row_is_locked(&c->row) ? 0 : 1; i < 4; i++) {
        if (strcmp(points[i], "half-written") != 0 || !row_is_guarded(&c->row))
            cell_met(c, dies_at(c, (int)cell_random(c, FX_INSTANCES), points[i]));
    }
    cell_healed(c);
}

const fault fault_kill = {
    .name = "kill",
    .says = "SIGKILL of an instance at each point of its section, under load",
    .counts = "instances killed in their section, after which the others sold on",
    .needs = NEEDS_FAIL_POINTS,
    .same_run = true,
    .reservations = RESERVED_TOO,
    .covered = EVERYWHERE,
    .inject = kill_at_each_point,
};

/* ---- foreign-release: the lock is taken from A and given away twice ---------------------------
 */

static bool lock_is_hash(const cell *c)
{
    redisReply *type = fx_redis_reply(cell_lock_server(c, 0), "TYPE %s", cell_key("lock"));
    bool hash = strcmp(type->str, "hash") == 0;
    freeReplyObject(type);
    return hash;
}

static bool delete_lock(const cell *c)
{
    long long deleted = 0;
    for (int k = 0; cell_lock_server(c, k); k++)
        deleted += fx_redis_number(cell_lock_server(c, k), "DEL %s", cell_key("lock"));
    return deleted > 0;
}

/* A lock of its kind that somebody else has. As a time it is far away, for `getset`. */
static void put_strangers_lock(const cell *c, bool hash)
{
    for (int k = 0; cell_lock_server(c, k); k++) {
        if (hash)
            fx_redis_do(cell_lock_server(c, k), "HSET %s " CELL_STRANGER " 1", cell_key("lock"));
        else
            fx_redis_do(cell_lock_server(c, k), "SET %s " CELL_STRANGER, cell_key("lock"));
        fx_redis_do(cell_lock_server(c, k), "PEXPIRE %s %d", cell_key("lock"), CELL_PATIENCE_MS);
    }
}

static bool strangers_lock_is_there(const cell *c, bool hash)
{
    bool there = true;
    for (int k = 0; cell_lock_server(c, k); k++) {
        char value[64] = "";
        fx_redis_text(cell_lock_server(c, k), value, sizeof(value),
                      hash ? "HGET %s " CELL_STRANGER : "GET %s", cell_key("lock"));
        there = there && strcmp(value, hash ? "1" : CELL_STRANGER) == 0;
    }
    return there;
}

static void rob(cell *c)
{
    crew_buyer a;
    bool robbed = stops_at(&a, c, A, "in-section");
    bool hash = lock_is_hash(c);
    robbed = delete_lock(c) && robbed && b_buys(c);
    long long from = (long long)journal_now_us();
    put_strangers_lock(c, hash);
    cell_let_go(c, A, "in-section");
    fx_wait_until(is_done, &a, WRITES_MS); /* or A is refused, and waits for the stranger */
    bool kept = strangers_lock_is_there(c, hash);
    journal_write(crew_sale(0)->history, "stranger from=%lld to=%lld kept=%d", from,
                  (long long)journal_now_us(), kept);
    delete_lock(c);
    crew_answer(&a);
    cell_met(c, robbed);
}

static void release_by_others(cell *c)
{
    cell_begin_fault(c);
    for (int i = 0; i < SCHEDULES; i++)
        rob(c);
    cell_healed(c);
    crew_ask("after", 1, 1, B);
}

const fault fault_foreign_release = {
    .name = "foreign-release",
    .says =
        "the holder's lock is deleted, B buys, a stranger locks; the holder writes and releases",
    .counts = "holders robbed of their lock and overtaken",
    .needs = NEEDS_FAIL_POINTS | NEEDS_LOCK,
    .alone = true,
    .same_run = true,
    .covered = EVERYWHERE,
    .inject = release_by_others,
};
