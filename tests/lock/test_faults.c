/*
 * Six loads, of all kinds on one server, fight over their locks through the fault proxy, while one
 * fault after the other is made; then the history is judged.
 */
#include "tests/lock/rig.h"

#include <signal.h>
#include <stdlib.h>

#include "tests/support/campaign.h"
#include "tests/support/proxy.h"

enum {
    TICKS = 20, /* of a fault */
    TICK_MS = 50,
    DURATION_MS = TICKS * TICK_MS + 300,
    LEASE_MS = 3000,
    SHORT_LEASE_MS = 400, /* where leases have to run out */
    IO_MS = 150,
    WAIT_MS = 4000,
    TRIES = 3,
    IDLE_MS = 1500, /* half a lease: a lock that waits for its lease's end is found out */
};

/* Each has a lock of its own, called as it is. */
static const struct load {
    const char *name, *kind;
    const char *more[6]; /* of lockload's options */
} loads[] = {
    {"string", "string", {0}},
    {"hash", "hash", {0}},
    {"fair", "fair", {0}},
    {"cohort", "fair", {"--cohort", "4"}},
    {"sides", "write", {"--readers", "60"}},
    {"permits", "semaphore", {"--permits", "3", "--take", "2"}},
};
enum { LOADS = COUNT(loads), PROCESSES = 2 };

struct ground {
    fx_redis *redis;
    fx_proxy *proxy;
    campaign campaign;
};

struct fault {
    const char *name;
    const char *orders[2];                         /* to the proxy, from the start */
    void (*tick)(struct ground *ground, int tick); /* from 0 to TICKS - 1 */
    const char *counter;                           /* of the proxy: shows that the fault landed */
    int lease_ms;                                  /* 0: LEASE_MS */
    int fifo_ms;                                   /* tolerance of fair locks; 0: no order */
    bool may_idle;
};

/* ---- the faults ------------------------------------------------------------------------------ */

static void ask(struct ground *ground, const char *command)
{
    redisReply *reply = fx_redis_reply(ground->redis, command);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply ? reply->str : "no reply");
    freeReplyObject(reply);
}

static void outage(bool begins)
{
    campaign_note(begins ? EVENT_OUTAGE_BEGIN : EVENT_OUTAGE_END, NULL);
}

static void half_open(struct ground *ground, int tick)
{
    if (tick % 6 == 3)
        fx_proxy_say(ground->proxy, "halfopen");
}

static void silence(struct ground *ground, int tick)
{
    if (tick == 5) {
        outage(true);
        fx_proxy_say(ground->proxy, "blackhole");
    } else if (tick == 13) {
        fx_proxy_say(ground->proxy, "heal");
        outage(false);
    }
}

static void down(struct ground *ground, int tick)
{
    if (tick == 5) {
        outage(true);
        fx_proxy_say(ground->proxy, "down");
    } else if (tick == 13) {
        fx_proxy_say(ground->proxy, "heal");
        outage(false);
    }
}

static void script_flush(struct ground *ground, int tick)
{
    (void)tick;
    ask(ground, "SCRIPT FLUSH SYNC");
}

static void client_kill(struct ground *ground, int tick)
{
    if (tick % 3 == 0) {
        ask(ground, "CLIENT KILL TYPE normal SKIPME yes");
        ask(ground, "CLIENT KILL TYPE pubsub SKIPME yes");
    }
}

static void delete_locks(struct ground *ground, int tick)
{
    if (tick % 3 != 0)
        return;
    for (int i = 0; i < LOADS; i++) {
        char command[64];
        snprintf(command, sizeof(command), "DEL %s", loads[i].name);
        campaign_note(EVENT_VOID_INVOKE, loads[i].name);
        ask(ground, command);
        campaign_note(EVENT_VOID_OK, loads[i].name);
    }
}

/* Without persistence: all locks are gone, queues and fences too. */
static void restart(struct ground *ground, int tick)
{
    if (tick != 5 && tick != 12)
        return;
    outage(true);
    campaign_note(EVENT_VOID_INVOKE, NULL);
    fx_redis_restart(ground->redis);
    campaign_note(EVENT_VOID_OK, NULL);
    outage(false);
}

static void stop_and_continue(struct ground *ground, int tick)
{
    for (int i = 0; i < LOADS; i++) {
        if (tick == 3)
            campaign_stop(&ground->campaign, i * PROCESSES);
        else if (tick == 3 + 2 * SHORT_LEASE_MS / TICK_MS)
            campaign_continue(&ground->campaign, i * PROCESSES);
    }
}

static void kill_processes(struct ground *ground, int tick)
{
    for (int i = 0; i < LOADS; i++) {
        if (tick == 4 + i)
            campaign_kill(&ground->campaign, i * PROCESSES);
    }
}

/* A replica of nobody: it refuses writes. */
static void read_only(struct ground *ground, int tick)
{
    if (tick == 5) {
        outage(true);
        ask(ground, "REPLICAOF 127.0.0.1 1");
    } else if (tick == 12) {
        ask(ground, "REPLICAOF NO ONE");
        outage(false);
    }
}

static void out_of_memory(struct ground *ground, int tick)
{
    if (tick == 5) {
        outage(true);
        ask(ground, "CONFIG SET maxmemory 1");
    } else if (tick == 12) {
        ask(ground, "CONFIG SET maxmemory 0");
        outage(false);
    }
}

static void stop_redis(struct ground *ground, int tick)
{
    if (tick == 5) {
        outage(true);
        fx_redis_signal(ground->redis, SIGSTOP);
    } else if (tick == 12) {
        fx_redis_signal(ground->redis, SIGCONT);
        outage(false);
    }
}

static const struct fault faults[] = {
    {.name = "none", .fifo_ms = 300},
    {.name = "delays", .orders = {"delay 1ms jitter 4ms"}, .counter = "delayed", .fifo_ms = 500},
    {.name = "lost replies", .orders = {"drop reply 2%"}, .counter = "dropped"},
    {.name = "late replies", .orders = {"delay reply 300ms 2%"}, .counter = "delayed"},
    {.name = "lost and late requests",
     .orders = {"drop request 1%", "delay request 300ms 2%"},
     .counter = "dropped",
     .may_idle = true}, /* what is executed late takes the lock for a lease */
    {.name = "resets", .orders = {"reset before 2%", "reset after 2%"}, .counter = "resets"},
    {.name = "cut replies", .orders = {"truncate 2 2%"}, .counter = "truncated"},
    {.name = "lost messages", .orders = {"drop push 50%"}, .counter = "dropped"},
    {.name = "half-open connections", .tick = half_open, .counter = "stalled"},
    {.name = "silence", .tick = silence, .counter = "stalled"},
    {.name = "server down", .tick = down, .counter = "resets"},
    {.name = "SCRIPT FLUSH", .tick = script_flush},
    {.name = "CLIENT KILL", .tick = client_kill},
    {.name = "deleted locks", .tick = delete_locks},
    {.name = "Redis restarts", .tick = restart},
    {.name = "Redis stopped", .tick = stop_redis},
    {.name = "read-only", .tick = read_only},
    {.name = "out of memory", .tick = out_of_memory},
    {.name = "SIGSTOP", .tick = stop_and_continue, .lease_ms = SHORT_LEASE_MS},
    {.name = "SIGKILL", .tick = kill_processes, .lease_ms = SHORT_LEASE_MS},
};

/* ---- one campaign ---------------------------------------------------------------------------- */

/* Who downgrades reads on at once, whoever waits: there is no order then. */
static void start_load(struct ground *ground, const struct load *load, const struct fault *fault,
                       int lease_ms)
{
    char lease[16], io[16], wait[16], duration[16], processes[16];
    snprintf(lease, sizeof(lease), "%d", lease_ms);
    snprintf(io, sizeof(io), "%d", IO_MS);
    snprintf(wait, sizeof(wait), "%d", WAIT_MS);
    snprintf(duration, sizeof(duration), "%d", DURATION_MS);
    snprintf(processes, sizeof(processes), "%d", PROCESSES);
    const char *args[40] = {"--redis",       fx_proxy_url(ground->proxy),
                            "--lock",        load->name,
                            "--kind",        load->kind,
                            "--downgrade",   fault->fifo_ms ? "0" : "20",
                            "--processes",   processes,
                            "--threads",     "3",
                            "--duration-ms", duration,
                            "--hold-ms",     "6",
                            "--think-ms",    "6",
                            "--wait-ms",     wait,
                            "--reenter",     "10",
                            "--guard",       "30",
                            "--lease-ms",    lease,
                            "--io-ms",       io};
    int argc = 0;
    while (args[argc])
        argc++;
    for (int i = 0; load->more[i]; i++)
        args[argc++] = load->more[i];
    campaign_load(&ground->campaign, NULL, args);
}

static void make_fault(struct ground *ground, const struct fault *fault)
{
    for (int i = 0; i < 2 && fault->orders[i]; i++)
        fx_proxy_say(ground->proxy, "%s", fault->orders[i]);
    for (int tick = 0; tick < TICKS; tick++) {
        if (fault->tick)
            fault->tick(ground, tick);
        campaign_pass(&ground->campaign, TICK_MS);
    }
    if (fault->counter && fx_proxy_count(ground->proxy, fault->counter) == 0)
        fail_msg("%s: the fault did not land", fault->name);
    fx_proxy_say(ground->proxy, "%s", fault->tick == half_open ? "reset" : "heal");
}

static int judge(struct ground *ground, const struct fault *fault, int lease_ms)
{
    char lease[16], idle[16], fifo[16];
    snprintf(lease, sizeof(lease), "%d", lease_ms);
    snprintf(idle, sizeof(idle), "%d", fault->may_idle ? 0 : IDLE_MS);
    snprintf(fifo, sizeof(fifo), "%d", fault->fifo_ms);
    const char *const options[] = {"--lease-ms", lease,     "--idle-ms", idle,     "--fifo-ms",
                                   fifo,         "--fair",  "fair",      "--fair", "sides",
                                   "--fair",     "permits", "--cohort",  "cohort", NULL};
    int status = campaign_judge(&ground->campaign, options);
    if (getenv("FAULTS_VERBOSE"))
        print_message("%s: %d stalls; %s", fault->name, ground->campaign.stalls,
                      ground->campaign.answer);
    return status;
}

/* One campaign; true when it held. */
static bool try_once(const struct fault *fault, struct ground *ground)
{
    int lease_ms = fault->lease_ms ? fault->lease_ms : LEASE_MS;
    ground->redis = fx_redis_start_single(NULL);
    ground->proxy = fx_proxy_start(fx_redis_tcp_url(ground->redis));
    campaign_begin(&ground->campaign);
    snprintf(ground->campaign.name, sizeof(ground->campaign.name), "faults/%s", fault->name);
    for (int i = 0; i < LOADS; i++)
        start_load(ground, &loads[i], fault, lease_ms);
    make_fault(ground, fault);
    int status = judge(ground, fault, lease_ms);
    campaign_end(&ground->campaign);
    fx_proxy_stop(ground->proxy);
    fx_redis_stop(ground->redis);
    return status == 0;
}

/* A machine that stood still for about as long as a question may take makes late questions, which
 * is a fault of its own: then nothing is proven, and the campaign is made again. */
static void holds_under(void **state)
{
    const struct fault *fault = *state;
    struct ground ground;
    for (int i = 0; i < TRIES; i++) {
        if (try_once(fault, &ground))
            return;
        if (ground.campaign.stalls == 0)
            break;
    }
    fail_msg("%s: %s", fault->name, ground.campaign.answer);
}

int main(void)
{
    enum { FAULTS = COUNT(faults) };
    struct CMUnitTest tests[FAULTS];
    for (int i = 0; i < FAULTS; i++)
        tests[i] = (struct CMUnitTest){.name = faults[i].name,
                                       .test_func = holds_under,
                                       .initial_state = (void *)(uintptr_t)&faults[i]};
    if (getenv("FAULTS_ONLY"))
        cmocka_set_test_filter(getenv("FAULTS_ONLY"));
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
