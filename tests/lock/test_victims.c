/* Processes that are killed or stopped while they hold a lock or wait for it, and how long the
 * others are kept by that; servers that refuse, and what they get to hear from waiters. */
#include "tests/lock/rig.h"
#include "tests/support/patience.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "tests/support/campaign.h"
#include "tests/support/proxy.h"

enum {
    LEASE_MS = 400,
    CLAIM_MS = 250,   /* the library's own: what one dead waiter costs, ... */
    RECHECK_MS = 100, /* ... and until somebody looks */
    SLACK_MS = 100,
    TRIES = 5, /* the best one counts: the machine has other work too */
    LIMIT_MS = 10000,
};

static int64_t now_ms(void)
{
    return dlock_now().us / 1000;
}

/* What the victim has, and what we want then. */
static const struct pair {
    const char *name, *victim; /* the victim's kind, as lockload knows it */
    dlock_options options;     /* ours */
    bool queues;
} pairs[] = {
    {"string", "string", {.kind = DLOCK_STRING}, false},
    {"hash", "hash", {.kind = DLOCK_HASH}, false},
    {"fair", "fair", {.kind = DLOCK_FAIR}, true},
    {"a writer after a writer", "write", {.kind = DLOCK_WRITE}, true},
    {"a reader after a writer", "write", {.kind = DLOCK_READ}, true},
    {"a writer after a reader", "read", {.kind = DLOCK_WRITE}, true},
    {"a permit", "semaphore", {.kind = DLOCK_SEMAPHORE, .permits = 1}, true},
};
enum { PAIRS = COUNT(pairs) };

/* ---- victims --------------------------------------------------------------------------------- */

/* A process whose first thread to get the lock keeps it for a minute, renewed. */
static fx_process *victim_new(rig *r, const char *name, const char *kind, const char *threads,
                              pid_t *ret_pid)
{
    char program[256], line[256], lease[16];
    snprintf(lease, sizeof(lease), "%d", LEASE_MS);
    const char *const argv[] = {fx_build_path("tests/lockload", program, sizeof(program)),
                                "--redis",
                                fx_redis_url(r->server),
                                "--lock",
                                name,
                                "--kind",
                                kind,
                                "--permits",
                                strcmp(kind, "semaphore") == 0 ? "1" : "0",
                                "--threads",
                                threads,
                                "--processes",
                                "1",
                                "--duration-ms",
                                "60000",
                                "--hold-ms",
                                "60000",
                                "--fixed",
                                "1",
                                "--wait-ms",
                                "60000",
                                "--lease-ms",
                                lease,
                                NULL};
    int pid;
    fx_process *victim = fx_spawn(argv, true);
    if (!fx_process_first_line(victim, line, sizeof(line), LIMIT_MS) ||
        sscanf(line, "lockload pids %d", &pid) != 1)
        fail_msg("no lockload: %s", fx_process_stderr(victim));
    *ret_pid = pid;
    return victim;
}

/* What dlock_inspect() has to tell. */
struct sight {
    dlock_lock *lock;
    pid_t holder;    /* 0: anybody or nobody */
    int64_t waiters; /* at least */
};

static bool is_seen(void *arg)
{
    struct sight *sight = arg;
    dlock_info info;
    return dlock_inspect(sight->lock, &info) == DLOCK_OK &&
           (sight->holder == 0 || (info.held && info.pid == sight->holder)) &&
           info.waiters >= sight->waiters;
}

static void wait_for_sight(dlock_lock *lock, pid_t holder, int64_t waiters)
{
    struct sight sight = {lock, holder, waiters};
    assert_true(fx_wait_until(is_seen, &sight, LIMIT_MS));
}

/* ---- a holder -------------------------------------------------------------------------------- */

/* Milliseconds from the signal to a waiter's success. */
static int64_t takeover_ms(rig *r, const struct pair *pair, int signo)
{
    pid_t pid;
    dlock_hold *hold;
    dlock_options options = pair->options;
    options.lease_ms = LIMIT_MS;
    options.renew_ms = 20;
    dlock_lock *lock = rig_lock(r->client, "victim", options);
    fx_process *victim = victim_new(r, "victim", pair->victim, "1", &pid);
    wait_for_sight(lock, pid, 0);
    int64_t start = now_ms();
    kill(pid, signo);
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = fx_patient_ms(LIMIT_MS)}, &hold),
                     DLOCK_OK);
    int64_t took = now_ms() - start;
    if (signo == SIGSTOP) { /* it comes back and believes in its lock: ours must stay */
        dlock_stats before, now;
        dlock_client_stats(r->client, &before);
        kill(pid, SIGCONT);
        do {
            if (!dlock_held(hold))
                fail_msg("%s: lost to one that was stopped", pair->name);
            fx_let_pass(5);
            dlock_client_stats(r->client, &now);
        } while (now.renewals < before.renewals + 3);
    }
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    kill(pid, SIGKILL);
    fx_process_free(victim);
    rig_ask(r, "FLUSHALL%s", "");
    dlock_lock_free(lock);
    return took;
}

static void a_dead_holders_lock_is_taken_over_in_time(void **state)
{
    rig *r = *state;
    static const int signals[] = {SIGKILL, SIGSTOP};
    for (int k = 0; k < PAIRS; k++) {
        for (int s = 0; s < 2; s++) {
            int64_t best = INT64_MAX;
            for (int i = 0; i < TRIES && best > LEASE_MS + SLACK_MS; i++) {
                int64_t took = takeover_ms(r, &pairs[k], signals[s]);
                best = took < best ? took : best;
            }
            if (best > LEASE_MS + SLACK_MS)
                fail_msg("%s, signal %d: taken over after %d ms", pairs[k].name, signals[s],
                         (int)best);
        }
    }
}

/* ---- waiters --------------------------------------------------------------------------------- */

/* A thread that waits for the lock, and notes when it gets it. */
struct heir {
    dlock_lock *lock;
    pthread_t thread;
    int64_t got_ms;
};

static void *inherit(void *arg)
{
    struct heir *heir = arg;
    dlock_hold *hold;
    if (dlock_acquire(heir->lock, &(dlock_wait){.wait_ms = LIMIT_MS}, &hold) == DLOCK_OK) {
        heir->got_ms = now_ms();
        dlock_release(hold);
    }
    return NULL;
}

/* We hold the lock; 16 threads of a victim and one heir queue in the order given; the victim gets
 * the signal, we release. Milliseconds until the heir has it. A reader is kept from what another
 * reader has by a writer only: then we are one. */
static int64_t inheritance_ms(rig *r, const struct pair *pair, int signo, bool heir_first)
{
    enum { QUEUED = 16 };
    pid_t pid;
    dlock_hold *hold;
    dlock_options wanted = pair->options, held;
    wanted.lease_ms = LIMIT_MS;
    held = wanted;
    held.kind = held.kind == DLOCK_READ ? DLOCK_WRITE : held.kind;
    dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
    dlock_lock *ours = rig_lock(r->client, "queue", held);
    struct heir heir = {.lock = rig_lock(other, "queue", wanted)};
    assert_int_equal(dlock_acquire(ours, NULL, &hold), DLOCK_OK);
    if (heir_first) {
        pthread_create(&heir.thread, NULL, inherit, &heir);
        wait_for_sight(ours, 0, 1);
    }
    fx_process *victim = victim_new(r, "queue", pair->victim, "16", &pid);
    wait_for_sight(ours, 0, QUEUED + heir_first);
    if (!heir_first) {
        pthread_create(&heir.thread, NULL, inherit, &heir);
        wait_for_sight(ours, 0, QUEUED + 1);
    }
    kill(pid, signo);
    int64_t start = now_ms();
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    pthread_join(heir.thread, NULL);
    assert_true(heir.got_ms > 0);
    kill(pid, SIGKILL);
    fx_process_free(victim);
    rig_ask(r, "FLUSHALL%s", "");
    dlock_lock_free(heir.lock);
    dlock_lock_free(ours);
    dlock_client_free(other);
    return heir.got_ms - start;
}

static void dead_waiters_cost_one_claim_window_in_all(void **state)
{
    rig *r = *state;
    static const struct {
        int signo;
        bool heir_first;
        int limit_ms;
    } cases[] = {
        {SIGKILL, false, CLAIM_MS + RECHECK_MS},
        {SIGSTOP, false, CLAIM_MS + RECHECK_MS},
        {SIGKILL, true, 0},
        {SIGSTOP, true, 0},
    };
    enum { CASES = COUNT(cases) };
    for (int c = 0; c < CASES * PAIRS; c++) {
        const struct pair *pair = &pairs[c / CASES];
        int limit_ms = cases[c % CASES].limit_ms + (int)(SLACK_MS * fx_crowding());
        int64_t best = INT64_MAX;
        for (int i = 0; pair->queues && i < TRIES && best > limit_ms; i++) {
            int64_t took =
                inheritance_ms(r, pair, cases[c % CASES].signo, cases[c % CASES].heir_first);
            best = took < best ? took : best;
        }
        if (pair->queues && best > limit_ms)
            fail_msg("%s, case %d: the heir waited %d ms", pair->name, c % CASES, (int)best);
    }
}

/* ---- servers that refuse --------------------------------------------------------------------- */

static int64_t commands_so_far(rig *r)
{
    redisReply *reply = fx_redis_reply(r->server, "INFO stats");
    assert_non_null(reply);
    const char *found = strstr(reply->str, "total_commands_processed:");
    const char *errors = strstr(reply->str, "total_error_replies:");
    assert_true(found && errors);
    int64_t count =
        strtoll(strchr(found, ':') + 1, NULL, 10) + strtoll(strchr(errors, ':') + 1, NULL, 10);
    freeReplyObject(reply);
    return count;
}

/* A server that refuses everything hears from a waiter no more often than from a polling one. */
static void a_refusing_server_is_not_flooded(void **state)
{
    fx_only_single("it demotes the server");
    rig *r = *state;
    enum { LOOK_MS = 400, QUESTION_MS = 4 };
    for (int k = 0; k < PAIRS; k++) {
        if (pairs[k].options.kind == DLOCK_READ)
            continue; /* it does not wait for another reader */
        dlock_hold *hold;
        dlock_options options = pairs[k].options;
        options.lease_ms = 60000;
        dlock_client *other = rig_client(&(dlock_client_options){.redis = r->redis});
        dlock_lock *ours = rig_lock(r->client, "refused", options);
        struct heir heir = {.lock = rig_lock(other, "refused", options)};
        assert_int_equal(dlock_acquire(ours, NULL, &hold), DLOCK_OK);
        pthread_create(&heir.thread, NULL, inherit, &heir);
        if (pairs[k].queues)
            wait_for_sight(ours, 0, 1);
        rig_ask(r, "REPLICAOF 127.0.0.1 1%s", "");
        int64_t start = now_ms(), before = commands_so_far(r);
        fx_let_pass(LOOK_MS);
        int64_t questions = commands_so_far(r) - before, took = now_ms() - start;
        rig_ask(r, "REPLICAOF NO ONE%s", "");
        dlock_release(hold);
        pthread_join(heir.thread, NULL);
        if (questions > took / QUESTION_MS || heir.got_ms == 0)
            fail_msg("%s: %d questions in %d ms", pairs[k].name, (int)questions, (int)took);
        dlock_lock_free(heir.lock);
        dlock_lock_free(ours);
        dlock_client_free(other);
    }
}

/* One that resets every connection, neither. */
static void a_broken_server_is_not_flooded(void **state)
{
    (void)state;
    enum { LOOK_MS = 400, CONNECTION_MS = 4 };
    fx_redis *server = fx_redis_start_single(NULL);
    for (int k = 0; k < PAIRS; k++) {
        if (pairs[k].options.kind == DLOCK_READ)
            continue; /* it does not wait for another reader */
        fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(server));
        dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
        dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
        dlock_options options = pairs[k].options;
        options.lease_ms = 60000;
        dlock_hold *hold;
        dlock_lock *ours = rig_lock(client, "reset", options);
        struct heir heir = {.lock = rig_lock(client, "reset", options)};
        assert_int_equal(dlock_acquire(ours, NULL, &hold), DLOCK_OK);
        pthread_create(&heir.thread, NULL, inherit, &heir);
        if (pairs[k].queues)
            wait_for_sight(ours, 0, 1);
        fx_proxy_say(proxy, "down");
        int64_t start = now_ms(), before = fx_proxy_count(proxy, "connections");
        fx_let_pass(LOOK_MS);
        int64_t connections = fx_proxy_count(proxy, "connections") - before;
        int64_t took = now_ms() - start;
        fx_proxy_say(proxy, "heal");
        dlock_release(hold);
        pthread_join(heir.thread, NULL);
        if (connections > took / CONNECTION_MS || heir.got_ms == 0)
            fail_msg("%s: %d connections in %d ms", pairs[k].name, (int)connections, (int)took);
        dlock_lock_free(heir.lock);
        dlock_lock_free(ours);
        dlock_client_free(client);
        dlock_redis_close(redis);
        fx_proxy_stop(proxy);
    }
    fx_redis_stop(server);
}

/* ---- a quorum that loses a server ------------------------------------------------------------ */

static void a_quorum_bears_the_loss_of_one_server(void **state)
{
    (void)state;
    enum { SERVERS = 3 };
    fx_redis *servers[SERVERS];
    const char *args[32];
    int argc = 0;
    campaign c;
    campaign_begin(&c);
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = fx_redis_start_single(NULL);
        args[argc++] = "--redis";
        args[argc++] = fx_redis_url(servers[i]);
    }
    static const char *const rest[] = {
        "--kind",    "quorum",        "--processes", "2",          "--threads", "2",       "--lock",
        "majority",  "--duration-ms", "1500",        "--lease-ms", "1000",      "--io-ms", "100",
        "--wait-ms", "4000",          "--think-ms",  "10",         NULL};
    for (int i = 0; rest[i]; i++)
        args[argc++] = rest[i];
    args[argc] = NULL;
    campaign_load(&c, NULL, args);
    campaign_pass(&c, 300);
    fx_redis_signal(servers[0], SIGSTOP);
    campaign_pass(&c, 400);
    fx_redis_signal(servers[0], SIGCONT);
    campaign_pass(&c, 200);
    fx_redis_kill(servers[1]);
    const char *const options[] = {"--lease-ms", "1000", "--idle-ms", "3000", NULL};
    if (campaign_judge(&c, options) != 0)
        fail_msg("%s", c.answer);
    campaign_end(&c);
    for (int i = 0; i < SERVERS; i++)
        fx_redis_stop(servers[i]);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as programs that use the library must */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_holders_lock_is_taken_over_in_time),
        cmocka_unit_test(dead_waiters_cost_one_claim_window_in_all),
        cmocka_unit_test(a_refusing_server_is_not_flooded),
        cmocka_unit_test(a_broken_server_is_not_flooded),
        cmocka_unit_test(a_quorum_bears_the_loss_of_one_server),
    };
    return cmocka_run_group_tests_name("victims", tests, rig_setup, rig_teardown);
}
