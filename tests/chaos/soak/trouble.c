/* trouble.c - the kinds of trouble, and the bag that they are drawn from. */
#include "tests/chaos/soak/trouble.h"

#include <signal.h>

#include "tests/chaos/redis.h"

enum {
    MET_MS = 3000,   /* deadline for something to meet the trouble */
    LASTS_MS = 700,  /* and so much longer it lasts */
    BEYOND_MS = 300, /* a stopped instance is away for so much longer than the lease */
    AWAY_MS = 1000,  /* Redis is stopped for so long */
    STORM = 5,       /* times that all clients are cut off */
    EXIT_MS = 30000, /* an instance that was told to go is gone by then */
    ENDED_INSTANCE = 2
};

/* ---- on the way to Redis --------------------------------------------------------------------- */

typedef struct meeting {
    fx_proxy *proxy;
    const char *counter;
    int64_t more_than;
} meeting;

static bool is_met(void *arg)
{
    meeting *m = arg;
    return fx_proxy_count(m->proxy, m->counter) > m->more_than;
}

/* Until it was met, and a little longer. */
static bool on_the_way(cell *c, const char *order, const char *counter)
{
    meeting m = {c->proxy, counter, fx_proxy_count(c->proxy, counter)};
    fx_proxy_say(c->proxy, "%s", order);
    bool met = fx_wait_until(is_met, &m, MET_MS);
    fx_let_pass(LASTS_MS);
    fx_proxy_say(c->proxy, "heal");
    return met;
}

static bool lose_replies(cell *c)
{
    return on_the_way(c, "drop reply 3%", "dropped");
}

static bool lose_requests(cell *c)
{
    return on_the_way(c, "drop request 3%", "dropped");
}

static bool deliver_late(cell *c)
{
    return on_the_way(c, "delay request 1500ms 3%", "delayed");
}

static bool be_slow(cell *c)
{
    return on_the_way(c, "delay 20ms jitter 20ms", "delayed");
}

static bool reset_behind(cell *c)
{
    return on_the_way(c, "reset after 5%", "resets");
}

static bool reset_before(cell *c)
{
    return on_the_way(c, "reset before 5%", "resets");
}

static bool cut_reply(cell *c)
{
    return on_the_way(c, "truncate 3 3%", "truncated");
}

static bool be_silent(cell *c)
{
    return on_the_way(c, "blackhole", "stalled");
}

static bool be_down(cell *c)
{
    return on_the_way(c, "down", "resets");
}

/* ---- Redis ----------------------------------------------------------------------------------- */

static bool stop_redis(cell *c)
{
    (void)c;
    fx_redis_signal(fx.redis, SIGSTOP);
    fx_let_pass(AWAY_MS);
    fx_redis_signal(fx.redis, SIGCONT);
    return true;
}

static bool restart_redis(cell *c)
{
    redis_kill(c);
    bool met = crew_more(&crew.busy, 1, MET_MS);
    redis_start(c);
    return met;
}

static bool cut_clients_off(cell *c)
{
    long long cut = 0;
    (void)c;
    for (int i = 0; i < STORM; i++) {
        fx_redis_do(fx.redis, "SCRIPT FLUSH");
        cut += fx_redis_number(fx.redis, "CLIENT KILL TYPE normal");
        fx_let_pass(LASTS_MS / STORM);
    }
    return cut > 0;
}

static bool is_taken_away(void *arg)
{
    (void)arg;
    return fx_redis_number(fx.redis, "DEL %s", cell_key("lock")) == 1;
}

static bool take_lock_away(cell *c)
{
    return fx_wait_until(is_taken_away, c, MET_MS);
}

/* ---- instances ------------------------------------------------------------------------------- */

static bool stop_instance(const cell *c, int i)
{
    fx_server_signal(fx.server[i], SIGSTOP);
    fx_let_pass(c->lease_ms + BEYOND_MS);
    fx_server_signal(fx.server[i], SIGCONT);
    return true;
}

static bool stop_first(cell *c)
{
    return stop_instance(c, 0);
}

static bool stop_second(cell *c)
{
    return stop_instance(c, 1);
}

static bool stop_third(cell *c)
{
    return stop_instance(c, 2);
}

static bool kill_instance(cell *c)
{
    cell_kill_instance(c, ENDED_INSTANCE);
    cell_start_instance(c, ENDED_INSTANCE);
    return true;
}

static bool end_instance(cell *c)
{
    fx_process *process = fx_server_process(fx.server[ENDED_INSTANCE]);
    fx_server_signal(fx.server[ENDED_INSTANCE], SIGTERM);
    crew_avoid(ENDED_INSTANCE);
    int code = fx_process_wait(process, EXIT_MS);
    if (code != 0)
        fail_msg("an instance that was told to go exits with %d: %s", code,
                 fx_process_stderr(process));
    cell_start_instance(c, ENDED_INSTANCE);
    return true;
}

/* ---- the bag --------------------------------------------------------------------------------- */

static const struct trouble {
    const char *name;
    bool (*make)(cell *c); /* true: it took effect */
    bool lock;             /* only where there is one */
} troubles[] = {
    {"replies-lost", lose_replies, false},
    {"requests-lost", lose_requests, false},
    {"late-delivery", deliver_late, false},
    {"slow-network", be_slow, false},
    {"reset-behind", reset_behind, false},
    {"reset-before", reset_before, false},
    {"replies-cut", cut_reply, false},
    {"silence", be_silent, false},
    {"no-network", be_down, false},
    {"redis-stopped", stop_redis, false},
    {"redis-killed", restart_redis, false},
    {"clients-killed", cut_clients_off, false},
    {"lock-deleted", take_lock_away, true},
    {"instance-0-stopped", stop_first, false},
    {"instance-1-stopped", stop_second, false},
    {"instance-2-stopped", stop_third, false},
    {"instance-2-killed", kill_instance, false},
    {"instance-2-ended", end_instance, false},
};

enum { TROUBLES = COUNT(troubles) };

static const struct trouble *draw(cell *c)
{
    static const struct trouble *bag[TROUBLES];
    static int left;
    if (left == 0) {
        bool locked = row_is_locked(&c->row);
        for (int i = 0; i < TROUBLES; i++) {
            if (locked || !troubles[i].lock)
                bag[left++] = &troubles[i];
        }
    }
    int at = (int)cell_random(c, (unsigned)left);
    const struct trouble *drawn = bag[at];
    bag[at] = bag[--left];
    return drawn;
}

const char *trouble_make(cell *c)
{
    const struct trouble *t = draw(c);
    crew_write("fault at=%lld name=%s", (long long)journal_now_us(), t->name);
    cell_landed(c, t->make(c));
    cell_healed(c);
    return t->name;
}
