/*
 * Kind QUORUM while its servers restart empty, one after another: a hold takes each vote again and
 * lasts, and a client of another library, which asks all the time, never gets the lock beside it.
 */
#include "tests/lock/rig.h"

#include <pthread.h>
#include <signal.h>

#include "tests/support/proxy.h"

enum { SERVERS = 5, MAJORITY = 3, LEASE_MS = 1500, GIVE_UP_MS = 30000 };
static const char NAME[] = "healed";

static fx_redis *servers[SERVERS];
static dlock_redis *quorum[SERVERS];

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = fx_redis_start_single(NULL);
        quorum[i] = rig_redis(fx_redis_url(servers[i]));
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < SERVERS; i++) {
        dlock_redis_close(quorum[i]);
        fx_redis_stop(servers[i]);
    }
    return 0;
}

/* ---- a client of another library ------------------------------------------------------------- */

/* As redsync does it: SET NX PX on all, valid for the lease less 1 % and 2 ms from before the first
 * when a majority has said OK; and taken back everywhere where it is the value. */
typedef struct stranger {
    pthread_t thread;
    dlock_hold *hold; /* NULL, or not to be held while the stranger's lock is valid */
    atomic_int rounds, grants, overlaps;
    atomic_bool stop;
    redisContext *to[SERVERS];
} stranger;

/* Whether the server says OK. */
__attribute__((format(printf, 3, 4))) static bool ask(stranger *s, int i, const char *format, ...)
{
    const struct timeval limit = {.tv_usec = 100000};
    if (s->to[i] && s->to[i]->err) {
        redisFree(s->to[i]);
        s->to[i] = NULL;
    }
    if (!s->to[i])
        s->to[i] = redisConnectWithTimeout("127.0.0.1", fx_redis_port(servers[i]), limit);
    if (!s->to[i] || s->to[i]->err)
        return false;
    redisSetTimeout(s->to[i], limit);
    va_list args;
    va_start(args, format);
    redisReply *reply = redisvCommand(s->to[i], format, args);
    va_end(args);
    bool ok = reply && reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    return ok;
}

static const char take_back[] =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end";

static void *contend(void *arg)
{
    stranger *s = arg;
    while (!atomic_load(&s->stop)) {
        char value[32];
        int votes = 0, round = atomic_fetch_add(&s->rounds, 1);
        snprintf(value, sizeof(value), "stranger-%d", round);
        dlock_time until = {dlock_now().us + LEASE_MS * 990 - 2000};
        for (int i = 0; i < SERVERS; i++)
            votes += ask(s, i, "SET %s %s NX PX %d", NAME, value, LEASE_MS);
        if (votes >= MAJORITY) {
            bool held = s->hold && dlock_held(s->hold);
            if (!dlock_passed(until))
                atomic_fetch_add(held ? &s->overlaps : &s->grants, 1);
        }
        for (int i = 0; i < SERVERS; i++)
            ask(s, i, "EVAL %s 1 %s %s", take_back, NAME, value);
        fx_let_pass(5);
    }
    for (int i = 0; i < SERVERS; i++)
        if (s->to[i])
            redisFree(s->to[i]);
    memset(s->to, 0, sizeof(s->to));
    return NULL;
}

static void start(stranger *s)
{
    atomic_store(&s->stop, false);
    assert_int_equal(pthread_create(&s->thread, NULL, contend, s), 0);
}

static void stop(stranger *s)
{
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
}

/* ---- one restart after another --------------------------------------------------------------- */

typedef struct vote {
    dlock_hold *hold;
    int server;
} vote;

static bool is_ours(void *arg)
{
    const vote *v = arg;
    char owner[160];
    return !dlock_held(v->hold) ||
           (fx_redis_text(servers[v->server], owner, sizeof(owner), "GET %s", NAME) &&
            strcmp(owner, dlock_owner(v->hold)) == 0);
}

static bool contends(void *arg)
{
    return atomic_load(&((stranger *)arg)->rounds) > 2;
}

static bool has_got_it(void *arg)
{
    return atomic_load(&((stranger *)arg)->grants) > 0;
}

/* DLOCK_TEST_LEASES says for how many; 100 take four minutes. */
static void a_hold_outlives_every_server_in_turn(void **state)
{
    (void)state;
    const char *leases = getenv("DLOCK_TEST_LEASES");
    dlock_client *client =
        rig_client(&(dlock_client_options){.quorum = quorum, .quorum_len = SERVERS});
    dlock_options options = {.kind = DLOCK_QUORUM, .lease_ms = LEASE_MS};
    dlock_lock *lock = rig_lock(client, NAME, options);
    stranger s = {0};
    assert_int_equal(dlock_acquire(lock, NULL, &s.hold), DLOCK_OK);
    start(&s);
    assert_true(fx_wait_until(contends, &s, GIVE_UP_MS));
    int rounds = leases ? (int)strtol(leases, NULL, 10) : 6;
    int64_t longest_us = 0;
    for (int i = 0; i < rounds; i++) {
        vote v = {s.hold, i % SERVERS};
        fx_redis_kill(servers[v.server]);
        dlock_sleep(dlock_in_ms(LEASE_MS));
        fx_redis_restart(servers[v.server]);
        dlock_time back = dlock_now();
        fx_wait_until(is_ours, &v, 2 * LEASE_MS); /* if not, the hold is lost soon */
        int64_t took_us = dlock_now().us - back.us;
        longest_us = took_us > longest_us ? took_us : longest_us;
        if (!dlock_held(s.hold))
            fail_msg("lost after %d restarts", i + 1);
    }
    stop(&s);
    assert_int_equal(atomic_load(&s.overlaps), 0);
    assert_int_equal(atomic_load(&s.grants), 0);
    print_message("%d restarts, %d tries of a stranger; a vote came back after at most %lld ms\n",
                  rounds, atomic_load(&s.rounds), (long long)longest_us / 1000);
    assert_int_equal(dlock_release(s.hold), DLOCK_OK);
    s.hold = NULL;
    start(&s); /* it does get a lock that is free */
    assert_true(fx_wait_until(has_got_it, &s, GIVE_UP_MS));
    stop(&s);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

/* ---- renewals that come late ----------------------------------------------------------------- */

typedef struct renewals {
    dlock_client *client;
    uint64_t enough;
} renewals;

static bool has_renewed(void *arg)
{
    const renewals *r = arg;
    dlock_stats stats;
    dlock_client_stats(r->client, &stats);
    return stats.renewals >= r->enough;
}

static void let_renew(dlock_client *client, int times)
{
    dlock_stats stats;
    dlock_client_stats(client, &stats);
    renewals r = {client, stats.renewals + (uint64_t)times};
    assert_true(fx_wait_until(has_renewed, &r, GIVE_UP_MS));
}

/* Scripts that have looked at the clock: the votes. */
static long long votes_asked(fx_redis *server)
{
    static const char calls[] = "cmdstat_time:calls=";
    char info[8192];
    assert_true(fx_redis_text(server, info, sizeof(info), "INFO commandstats"));
    const char *at = strstr(info, calls);
    return at ? strtoll(at + strlen(calls), NULL, 10) : 0;
}

typedef struct awaited {
    fx_redis *server;
    long long before;
} awaited;

static bool was_asked(void *arg)
{
    const awaited *a = arg;
    return votes_asked(a->server) > a->before;
}

/* A renewal asks for a vote that the hold lacks, and arrives after its moment and the release. */
static void a_renewal_that_comes_late_takes_no_vote(void **state)
{
    (void)state;
    enum { IO_MS = 300, WAY_MS = 3000 };
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(servers[0]));
    dlock_redis *line = rig_redis(fx_proxy_url(proxy));
    dlock_redis *const all[3] = {line, quorum[1], quorum[2]};
    dlock_client *client =
        rig_client(&(dlock_client_options){.quorum = all, .quorum_len = 3, .io_ms = IO_MS});
    dlock_options options = {.kind = DLOCK_QUORUM, .lease_ms = 60000, .renew_ms = 50};
    dlock_lock *lock = rig_lock(client, "late", options);
    vote v = {.server = 0};
    assert_int_equal(dlock_acquire(lock, NULL, &v.hold), DLOCK_OK);
    fx_redis_do(servers[0], "SET late stranger");
    let_renew(client, 2);
    fx_proxy_say(proxy, "delay request %dms 1 match late", WAY_MS);
    let_renew(client, 2);   /* one of them is on the way */
    fx_let_pass(2 * IO_MS); /* its connection is given up, so that the release overtakes it */
    assert_int_equal(dlock_release(v.hold), DLOCK_OK);
    fx_let_pass(2 * IO_MS); /* a stranger's until the others have come, or are too old to be sent */
    awaited late = {servers[0], votes_asked(servers[0])};
    fx_redis_do(servers[0], "DEL late");
    assert_true(fx_wait_until(was_asked, &late, GIVE_UP_MS));
    assert_int_equal(fx_proxy_count(proxy, "delayed"), 1);
    assert_int_equal(fx_redis_number(servers[0], "EXISTS late"), 0);
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(line);
    fx_proxy_stop(proxy);
}

/* Of a server that never gave this hold its vote, too. */
static void only_a_free_vote_is_taken(void **state)
{
    (void)state;
    dlock_redis *const all[3] = {quorum[0], quorum[1], quorum[2]};
    dlock_client *client = rig_client(&(dlock_client_options){.quorum = all, .quorum_len = 3});
    dlock_options options = {.kind = DLOCK_QUORUM, .lease_ms = 60000, .renew_ms = 50};
    dlock_lock *lock = rig_lock(client, NAME, options);
    vote v = {.server = 0};
    fx_redis_do(servers[0], "SET %s stranger", NAME);
    assert_int_equal(dlock_acquire(lock, NULL, &v.hold), DLOCK_OK);
    let_renew(client, 4);
    char owner[64];
    assert_true(fx_redis_text(servers[0], owner, sizeof(owner), "GET %s", NAME));
    assert_string_equal(owner, "stranger");
    fx_redis_do(servers[0], "DEL %s", NAME);
    assert_true(fx_wait_until(is_ours, &v, GIVE_UP_MS));
    assert_true(dlock_held(v.hold));
    assert_int_equal(dlock_release(v.hold), DLOCK_OK);
    assert_int_equal(fx_redis_number(servers[0], "EXISTS %s", NAME), 0);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

/* A lock that somebody has deleted everywhere is lost, and not made again. */
static void a_deleted_lock_stays_deleted(void **state)
{
    (void)state;
    dlock_client *client =
        rig_client(&(dlock_client_options){.quorum = quorum, .quorum_len = SERVERS});
    dlock_options options = {.kind = DLOCK_QUORUM, .lease_ms = 60000, .renew_ms = 50};
    dlock_lock *lock = rig_lock(client, NAME, options);
    vote v = {.server = 0};
    assert_int_equal(dlock_acquire(lock, NULL, &v.hold), DLOCK_OK);
    assert_int_equal(dlock_force_release(lock), DLOCK_OK);
    while (dlock_held(v.hold))
        fx_let_pass(5);
    assert_int_equal(dlock_release(v.hold), DLOCK_NOT_OWNER);
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(fx_redis_number(servers[i], "EXISTS %s", NAME), 0);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_free_vote_is_taken),
        cmocka_unit_test(a_renewal_that_comes_late_takes_no_vote),
        cmocka_unit_test(a_deleted_lock_stays_deleted),
        cmocka_unit_test(a_hold_outlives_every_server_in_turn),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
