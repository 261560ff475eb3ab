/*
 * restarts.c - Redis goes and comes back: with what it has written, with what had reached the disk,
 * or with nothing; and a disk that is slow.
 *
 * Where stock and order are two writes, one buyer stands between them when it goes.
 */
#include <signal.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/redis.h"

enum {
    LEASE_MS = 2000, /* a Redis that comes back is compared for a second before it is sold from */
    CATCH_MS = 20,   /* how long a sync takes when the power is to fail within one */
    STALL_MS = 2 * CELL_LEASE_MS,
    SYNC_MS = 10000,
    SLOW_MS = 300,
    SLOW_SYNCS = 6,
    RECOVERY_MS = 3000, /* those who waited meanwhile come first, and each of them needs syncs */
    SOME = 2 * CREW_BUYERS
};

static const char half_way[] = "half-written";

/* Waits until a buyer has written the stock but not the order. */
static void wait_for_half(cell *c)
{
    cell_arm(c, 0, half_way);
    if (!row_is_guarded(&c->row) && !cell_reached(c, 0, half_way, CELL_PATIENCE_MS))
        fail_msg("nobody has written the stock");
}

/* Everybody who was inside has his answer, and many have been refused, before it is back. */
static void stay_away(cell *c)
{
    cell_let_go(c, 0, half_way);
    crew_pause();
    crew_go_on();
    crew_more(&crew.busy, SOME, CELL_PATIENCE_MS);
}

static void restart(cell *c)
{
    char killed[REDIS_RUN_ID], now[REDIS_RUN_ID];
    cell_begin_fault(c);
    int before = redis_refusals();
    redis_run_id(killed);
    wait_for_half(c);
    redis_kill(c);
    stay_away(c);
    redis_start(c);
    cell_healed(c);
    redis_run_id(now);
    cell_landed(c, strcmp(now, killed) != 0 ? redis_refusals() - before : 0);
}

const fault fault_restart_everysec = {
    .name = "restart-everysec",
    .says =
        "Redis is killed and started on its append-only file, which is synced every second by a "
        "disk that keeps up",
    .counts = "attempts refused or unanswered",
    .needs = NEEDS_FAIL_POINTS,
    .lease_ms = LEASE_MS,
    .covered = IN_MEMORY | ON_DISK,
    .redis_args = (const char *const[]){"--appendonly", "yes", "--appendfsync", "everysec", NULL},
    .prepare = redis_disk_put,
    .inject = restart,
    .clean_up = redis_disk_remove,
};

const fault fault_restart_always = {
    .name = "restart-always",
    .says = "Redis is killed and started on its append-only file, which is synced at each write",
    .counts = "attempts refused or unanswered",
    .needs = NEEDS_FAIL_POINTS,
    .lease_ms = LEASE_MS,
    .covered = IN_MEMORY | ON_DISK,
    .redis_args = (const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL},
    .inject = restart,
};

/* ---- what had not reached the disk is lost --------------------------------------------------- */

static void comes_back(cell *c)
{
    redis_start(c);
    if (c->fault->covered & c->row.durability)
        cell_healed(c);
    else
        redis_has_forgotten(c);
}

static void restart_empty(cell *c)
{
    cell_begin_fault(c);
    int before = redis_refusals();
    redis_kill(c);
    crew_more(&crew.busy, SOME, CELL_PATIENCE_MS);
    cell_landed(c, redis_refusals() - before);
    comes_back(c);
}

const fault fault_restart_empty = {
    .name = "restart-empty",
    .says = "Redis is killed, and started again with nothing but what its sale asked it to keep",
    .counts = "attempts refused or unanswered",
    .lease_ms = LEASE_MS,
    .covered = ON_DISK,
    .cover = "durability=disk",
    .inject = restart_empty,
};

/* Where the file stands, and how many had been bought when it was first seen there. */
typedef struct progress {
    bool of_disk; /* what is synced; else what is written */
    int ahead;    /* so many must have been bought since, to be sure */
    long long at;
    int bought;
} progress;

static bool is_where_it_was(const progress *p, redis_file file)
{
    return p->of_disk ? file.synced == p->at && file.written > file.synced : file.written == p->at;
}

/* Stops Redis, and lets it go on unless there is something to be lost. */
static bool is_behind(void *arg)
{
    progress *p = arg;
    redis_file file = redis_disk_file();
    if (!is_where_it_was(p, file)) {
        p->at = p->of_disk ? file.synced : file.written;
        p->bought = atomic_load(&crew.bought);
    }
    if (atomic_load(&crew.bought) < p->bought + p->ahead)
        return false;
    fx_redis_signal(fx.redis, SIGSTOP);
    if (is_where_it_was(p, redis_disk_file()))
        return true;
    fx_redis_signal(fx.redis, SIGCONT);
    return false;
}

static void wait_until_behind(bool of_disk, int ahead)
{
    progress seen = {.of_disk = of_disk, .ahead = ahead, .at = -1};
    if (!fx_wait_until(is_behind, &seen, CELL_PATIENCE_MS))
        fail_msg("all that was told was in the file and on the disk at once");
}

static bool is_synced(void *arg)
{
    return redis_disk_file().synced >= *(long long *)arg;
}

static void power_loss(cell *c)
{
    long long begun = redis_disk_file().written;
    fx_wait_until(is_synced, &begun, CELL_PATIENCE_MS); /* not all is to be lost */
    cell_begin_fault(c);
    redis_disk_slow(CATCH_MS);
    wait_until_behind(true, c->row.durability == ON_DISK ? 0 : SOME);
    cell_landed(c, redis_lose_power(c));
    redis_disk_slow(0);
    crew_more(&crew.busy, SOME, CELL_PATIENCE_MS);
    comes_back(c);
}

const fault fault_power_loss = {
    .name = "power-loss",
    .says = "Redis loses its power, and what it had written but not synced",
    .counts = "bytes that were lost",
    .lease_ms = LEASE_MS,
    .covered = ON_DISK,
    .cover = "durability=disk",
    .redis_args = (const char *const[]){"--appendonly", "yes", "--appendfsync", "everysec", NULL},
    .prepare = redis_disk_put,
    .inject = power_loss,
    .clean_up = redis_disk_remove,
};

/* As long as a sync every second has not ended Redis holds back what is to be written next, for two
 * seconds at most, but not the answers. */
static void restart_in_sync(cell *c)
{
    bool always = c->row.durability == ON_DISK;
    cell_begin_fault(c);
    redis_disk_slow(always ? CATCH_MS : SYNC_MS);
    wait_until_behind(always, always ? 0 : SOME);
    redis_kill(c);
    redis_disk_slow(0);
    int before = redis_refusals();
    crew_more(&crew.busy, SOME, CELL_PATIENCE_MS);
    cell_landed(c, redis_refusals() - before);
    comes_back(c);
}

const fault fault_restart_in_sync = {
    .name = "restart-in-sync",
    .says =
        "Redis is killed while its disk is at a sync that takes seconds, and started on its file",
    .counts = "attempts refused or unanswered",
    .lease_ms = LEASE_MS,
    .covered = ON_DISK,
    .cover = "durability=disk",
    .redis_args = (const char *const[]){"--appendonly", "yes", "--appendfsync", "everysec", NULL},
    .prepare = redis_disk_put,
    .inject = restart_in_sync,
    .clean_up = redis_disk_remove,
};

/* ---- slow-fsync ------------------------------------------------------------------------------ */

static bool lock_is_free(void *arg)
{
    return !cell_lock_is_held(arg);
}

/* One is in his section when the disk stands still for longer than his lease, for nobody can renew
 * it then; another buys, and then he writes. */
static bool is_overtaken(cell *c)
{
    char slow[40], quick[40];
    crew_buyer sleeper;
    cell_name_request(c, "slow", 1, slow, sizeof(slow));
    cell_name_request(c, "quick", 1, quick, sizeof(quick));
    cell_arm(c, 0, "in-section");
    crew_send(&sleeper, slow, 1, 0);
    bool reached = cell_reached(c, 0, "in-section", CELL_PATIENCE_MS);
    long long before = redis_disk_delayed();
    redis_disk_slow(STALL_MS);
    fx_redis_do(fx.redis, "SET chaos stall");
    redis_disk_slow(0);
    bool stalled = redis_disk_delayed() > before;
    fx_wait_until(lock_is_free, c, CELL_PATIENCE_MS);
    bool bought = crew_ask(quick, 2, 1, 1) == 201;
    cell_let_go(c, 0, "in-section");
    crew_answer(&sleeper);
    return reached && stalled && bought;
}

static bool were_slow(void *arg)
{
    return redis_disk_delayed() >= *(long long *)arg;
}

static void slow_fsync(cell *c)
{
    crew_pause();
    cell_begin_fault(c);
    if (!c->lock_servers[0]) /* redlock's are on disks of their own */
        cell_met(c, is_overtaken(c));
    long long before = redis_disk_delayed(), enough = before + SLOW_SYNCS;
    redis_disk_slow(SLOW_MS);
    crew_go_on();
    fx_wait_until(were_slow, &enough, CELL_PATIENCE_MS);
    redis_disk_slow(0);
    cell_healed(c);
    cell_landed(c, redis_disk_delayed() - before);
}

const fault fault_slow_fsync = {
    .name = "slow-fsync",
    .says = "each write waits for a disk that is slow, and once for longer than a lease",
    .counts = "syncs that were slow, and holders overtaken",
    .needs = NEEDS_FAIL_POINTS,
    .recovery_ms = RECOVERY_MS,
    .covered = EVERYWHERE,
    .redis_args = (const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL},
    .prepare = redis_disk_put,
    .inject = slow_fsync,
    .clean_up = redis_disk_remove,
};
