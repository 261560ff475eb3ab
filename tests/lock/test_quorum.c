/*
 * Kind QUORUM when servers do not answer, answer late, or hear a question late: the others must be
 * enough, and in time; what comes late neither holds a lock nor lengthens a hold.
 */
#include "tests/lock/rig.h"

#include <signal.h>

#include "tests/support/proxy.h"

enum { SERVERS = 3 };

static fx_redis *servers[SERVERS];
static dlock_redis *quorum[SERVERS];

/* A name: a new connection then needs a reply before it is of use, as with a password. */
static int setup(void **state)
{
    (void)state;
    char err[256];
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = fx_redis_start_single(NULL);
        dlock_redis_options o = {.url = fx_redis_url(servers[i]), .name = "test"};
        if (dlock_redis_open(&o, &quorum[i], err, sizeof(err)) != 0)
            return -1;
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

/* One whose servers have the time that they need on a crowded machine. */
static dlock_client *patient_client(dlock_redis *const *of, int len)
{
    return rig_client(
        &(dlock_client_options){.quorum = of, .quorum_len = len, .io_ms = fx_patient_ms(1000)});
}

static void one_silent_server_costs_little(void **state)
{
    (void)state;
    dlock_client *client =
        rig_client(&(dlock_client_options){.quorum = quorum, .quorum_len = SERVERS});
    dlock_lock *lock = rig_lock(client, "silent", (dlock_options){.kind = DLOCK_QUORUM});
    fx_redis_signal(servers[0], SIGSTOP);
    dlock_time start = dlock_now();
    for (int i = 0; i < 5; i++) {
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_true(dlock_held(hold));
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    int64_t took_us = dlock_now().us - start.us;
    fx_redis_signal(servers[0], SIGCONT);
    assert_true(took_us < fx_patient_ms(3000) * 1000LL);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

/* On the first server. */
static bool is_free_there(void *name)
{
    return fx_redis_number(servers[0], "EXISTS %s", (const char *)name) == 0;
}

/* A server that gave its vote and fell silent, at a try that the others refused. Its lease would
 * keep the vote from everybody. */
static void a_refused_try_leaves_nothing_behind(void **state)
{
    (void)state;
    char name[] = "refused";
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(servers[0]));
    dlock_redis *line = rig_redis(fx_proxy_url(proxy));
    dlock_redis *const all[SERVERS] = {line, quorum[1], quorum[2]};
    dlock_client *client = patient_client(all, SERVERS);
    dlock_options longer = {.kind = DLOCK_QUORUM, .lease_ms = 60000};
    dlock_lock *lock = rig_lock(client, name, longer);
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK); /* all know the scripts now */
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_true(fx_wait_until(is_free_there, name, 20000)); /* for two of three are enough */
    for (int i = 1; i < SERVERS; i++)
        fx_redis_do(servers[i], "SET refused stranger PX 60000");
    fx_proxy_say(proxy,
                 "drop reply 1 match refused"); /* the vote; then what takes it back, twice */
    fx_proxy_say(proxy, "drop request 2 match refused");
    fx_proxy_say(proxy, "drop request 3 match refused");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_BUSY);
    assert_true(fx_wait_until(is_free_there, name, 20000));
    assert_int_equal(fx_proxy_count(proxy, "dropped"), 3);
    for (int i = 1; i < SERVERS; i++)
        fx_redis_do(servers[i], "DEL refused");
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(line);
    fx_proxy_stop(proxy);
}

/* As of a server where the command for scripts is another one, and answers with a number. */
static void an_answer_of_another_shape_is_no_vote(void **state)
{
    (void)state;
    const char *words[] = {"--rename-command", "EVALSHA", "", "--rename-command", "HDEL",
                           "EVALSHA",          NULL};
    fx_redis *server = fx_redis_start_single(words);
    dlock_redis *redis = rig_redis(fx_redis_url(server));
    dlock_client *client = patient_client(&redis, 1);
    dlock_lock *lock = rig_lock(client, "shape", (dlock_options){.kind = DLOCK_QUORUM});
    dlock_hold *none;
    assert_int_equal(dlock_acquire(lock, NULL, &none), DLOCK_UNAVAILABLE);
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
    fx_redis_stop(server);
}

/* ---- what comes late ------------------------------------------------------------------------- */

/* A client whose servers are reached through a proxy each. */
typedef struct line_up {
    fx_proxy *proxy[SERVERS];
    dlock_redis *redis[SERVERS];
    dlock_client *client;
} line_up;

static void line_up_start(line_up *l, int64_t io_ms)
{
    for (int i = 0; i < SERVERS; i++) {
        l->proxy[i] = fx_proxy_start(fx_redis_url(servers[i]));
        l->redis[i] = rig_redis(fx_proxy_url(l->proxy[i]));
    }
    l->client = rig_client(
        &(dlock_client_options){.quorum = l->redis, .quorum_len = SERVERS, .io_ms = io_ms});
}

static void line_up_stop(line_up *l)
{
    dlock_client_free(l->client);
    for (int i = 0; i < SERVERS; i++) {
        dlock_redis_close(l->redis[i]);
        fx_proxy_stop(l->proxy[i]);
    }
}

/* How often a server was asked for its vote so far: that script alone looks at the clock. */
static long long asked(fx_redis *server)
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
    return asked(a->server) > a->before;
}

/* The acquire of the first `late` servers comes when the sender has given it up and has released
 * everywhere. `known`: they have been asked before. */
static void come_late(int late, bool known)
{
    const int io_ms = fx_lease_ms(1000), way_ms = 2 * io_ms;
    char name[64];
    dlock_hold *hold;
    line_up l;
    line_up_start(&l, io_ms);
    snprintf(name, sizeof(name), "late %d %d", late, known);
    dlock_options longer = {.kind = DLOCK_QUORUM, .lease_ms = 60000};
    dlock_lock *lock = rig_lock(l.client, name, longer);
    if (known) {
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    awaited all[SERVERS];
    for (int i = 0; i < late; i++) {
        fx_proxy_say(l.proxy[i], "delay request %dms 1 match %s", way_ms, name);
        all[i] = (awaited){servers[i], asked(servers[i])};
    }
    dlock_status status = dlock_acquire(lock, NULL, &hold);
    if (late > SERVERS / 2) {
        assert_int_equal(status, DLOCK_UNKNOWN);
    } else {
        assert_int_equal(status, DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    for (int i = 0; i < late; i++) {
        assert_true(fx_wait_until(was_asked, &all[i], 30000));
        assert_int_equal(fx_proxy_count(l.proxy[i], "delayed"), 1);
    }
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(fx_redis_number(servers[i], "EXISTS %s", name), 0);
    dlock_lock_free(lock);
    line_up_stop(&l);
}

static void an_acquire_that_comes_late_locks_no_server(void **state)
{
    (void)state;
    for (int late = 1; late <= 2; late++) {
        come_late(late, true);
        come_late(late, false);
    }
}

/* The majority's votes are on their way for longer than the lease: they count no more. */
static void votes_that_come_after_the_lease_are_none(void **state)
{
    (void)state;
    enum { LEASE_MS = 400, WAY_MS = 1500 };
    line_up l;
    line_up_start(&l, 10000);
    dlock_options brief = {.kind = DLOCK_QUORUM, .lease_ms = LEASE_MS, .renew_ms = DLOCK_NEVER};
    dlock_lock *lock = rig_lock(l.client, "slow", brief);
    dlock_hold *hold;
    for (int i = 0; i < 2; i++)
        fx_proxy_say(l.proxy[i], "delay reply %dms match slow", WAY_MS);
    dlock_time start = dlock_now();
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_UNKNOWN);
    assert_true(dlock_now().us - start.us < WAY_MS * 1000); /* and nobody waits for them */
    for (int i = 0; i < 2; i++)
        fx_proxy_say(l.proxy[i], "heal");
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = fx_patient_ms(20000)}, &hold),
                     DLOCK_OK);
    assert_true(dlock_release(hold) != DLOCK_NOT_OWNER);
    dlock_lock_free(lock);
    line_up_stop(&l);
}

/* The hold is valid for a lease from before the first server was asked, however late the vote came
 * that made the majority; and the last vote, which comes after it, adds nothing. */
static void a_late_vote_lengthens_no_hold(void **state)
{
    (void)state;
    enum { LEASE_MS = 20000, WAY_MS = 300 };
    line_up l;
    line_up_start(&l, 10000);
    dlock_options once = {.kind = DLOCK_QUORUM, .lease_ms = LEASE_MS, .renew_ms = DLOCK_NEVER};
    dlock_lock *lock = rig_lock(l.client, "drawn out", once);
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK); /* the clocks are known now */
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    fx_proxy_say(l.proxy[1], "delay reply %dms 1 match drawn", WAY_MS);
    fx_proxy_say(l.proxy[2], "delay reply %dms 1 match drawn", WAY_MS + 100);
    dlock_time start = dlock_now();
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    int64_t spent_ms = (dlock_now().us - start.us) / 1000, left_ms = dlock_validity_ms(hold);
    assert_true(spent_ms >= WAY_MS);
    assert_true(left_ms <= LEASE_MS - LEASE_MS / 100 - 2 - spent_ms + 1);
    while (fx_proxy_count(l.proxy[2], "delayed") == 0)
        fx_let_pass(5);
    for (dlock_time end = dlock_in_ms(2 * WAY_MS); !dlock_passed(end); fx_let_pass(20))
        assert_true(dlock_validity_ms(hold) <= left_ms);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    line_up_stop(&l);
}

/* ---- what the algorithm can not do, and how to live with it ---------------------------------- */

static void a_server_that_comes_back_empty_within_the_lease_gives_the_lock_twice(void **state)
{
    (void)state;
    line_up l;
    line_up_start(&l, fx_lease_ms(500));
    dlock_client *other = patient_client(quorum, SERVERS);
    dlock_options options = {
        .kind = DLOCK_QUORUM, .lease_ms = fx_lease_ms(3000), .renew_ms = DLOCK_NEVER};
    dlock_lock *mine = rig_lock(l.client, "forgotten", options);
    dlock_lock *theirs = rig_lock(other, "forgotten", options);
    dlock_hold *hold, *second;
    fx_proxy_say(l.proxy[2], "down"); /* so that 0 and 1 are the majority */

    assert_int_equal(dlock_acquire(mine, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_acquire(theirs, NULL, &second), DLOCK_BUSY);
    fx_redis_restart(servers[1]);
    bool held = dlock_held(hold);
    dlock_status status = dlock_acquire(theirs, &(dlock_wait){.wait_ms = 500}, &second);
    if (held && dlock_held(hold)) /* or the machine was too busy for the weakness to show */
        assert_int_equal(status, DLOCK_OK);
    if (status == DLOCK_OK)
        assert_int_equal(dlock_release(second), DLOCK_OK);
    dlock_release(hold);

    /* Kept away for a lease, it gives nothing away. */
    assert_int_equal(dlock_acquire(mine, &(dlock_wait){.wait_ms = fx_patient_ms(5000)}, &hold),
                     DLOCK_OK);
    fx_redis_kill(servers[1]);
    assert_int_not_equal(dlock_acquire(theirs, NULL, &second), DLOCK_OK);
    while (dlock_held(hold))
        fx_let_pass(5);
    fx_redis_restart(servers[1]);
    assert_int_equal(dlock_acquire(theirs, &(dlock_wait){.wait_ms = fx_patient_ms(20000)}, &second),
                     DLOCK_OK);
    dlock_release(hold);
    dlock_release(second);
    dlock_lock_free(mine);
    dlock_lock_free(theirs);
    dlock_client_free(other);
    line_up_stop(&l);
}

/* One server never gave its vote, another has died since: what can be given back is. */
static void a_hold_outlives_a_server_and_is_released_from_the_rest(void **state)
{
    (void)state;
    dlock_client *client = patient_client(quorum, SERVERS);
    dlock_lock *lock = rig_lock(client, "outlived", (dlock_options){.kind = DLOCK_QUORUM});
    dlock_hold *hold;
    fx_redis_do(servers[2], "SET outlived stranger PX 60000");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    fx_redis_kill(servers[1]);
    assert_true(dlock_held(hold));
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_int_equal(fx_redis_number(servers[0], "EXISTS outlived"), 0);
    fx_redis_restart(servers[1]);
    fx_redis_do(servers[2], "DEL outlived");
    dlock_lock_free(lock);
    dlock_client_free(client);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_silent_server_costs_little),
        cmocka_unit_test(a_refused_try_leaves_nothing_behind),
        cmocka_unit_test(an_answer_of_another_shape_is_no_vote),
        cmocka_unit_test(an_acquire_that_comes_late_locks_no_server),
        cmocka_unit_test(votes_that_come_after_the_lease_are_none),
        cmocka_unit_test(a_late_vote_lengthens_no_hold),
        cmocka_unit_test(a_server_that_comes_back_empty_within_the_lease_gives_the_lock_twice),
        cmocka_unit_test(a_hold_outlives_a_server_and_is_released_from_the_rest),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
