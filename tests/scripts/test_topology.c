/*
 * test_topology.c - scripts/redis-topology, and tests/support/topology.h on top of it: every kind
 * is formed, writes get to where they must, a killed primary is succeeded, and nothing is left.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/topology.h"

enum { MS = 120000 }; /* of a busy machine */

static char tmp[256]; /* the script's TMPDIR */

static int setup(void **state)
{
    (void)state;
    fx_dir_make(tmp, sizeof(tmp));
    setenv("TMPDIR", tmp, 1);
    return 0;
}

/* No program is in a directory of ours; a server rewrites its command line. */
static bool nothing_runs(void *arg)
{
    (void)arg;
    return fx_shell("! ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -qF \" $TMPDIR/\"", NULL, 20000) ==
           0;
}

static bool no_file_is_left(void)
{
    return fx_shell("test -z \"$(ls -A \"$1\")\"", tmp, 5000) == 0;
}

static void assert_nothing_is_left(void)
{
    assert_true(fx_wait_until(nothing_runs, NULL, MS));
    assert_true(no_file_is_left());
}

static void expect(fx_topology *t, int member, const char *command, const char *answer)
{
    redisReply *reply = fx_topology_ask(t, member, command);
    if (!reply || !reply->str || strcmp(reply->str, answer) != 0)
        fail_msg("%s, member %d: %s: %s, not %s", fx_topology_kind(t), member, command,
                 reply && reply->str ? reply->str : "nothing", answer);
    freeReplyObject(reply);
}

/* A write at a primary that this many replicas have; WAIT's limit is in ms. */
static void expect_replicated(fx_topology *t, int primary, const char *key, int replicas)
{
    freeReplyObject(fx_topology_ask(t, primary, "SET %s v", key));
    redisReply *reply = fx_topology_ask(t, primary, "WAIT %d 4000", replicas);
    assert_non_null(reply);
    assert_int_equal(reply->integer, replicas);
    freeReplyObject(reply);
}

static redisReply *command(fx_topology *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = fx_topology_command(t, format, args);
    va_end(args);
    return reply;
}

static void one_server_alone(void **state)
{
    (void)state;
    fx_topology *t = fx_topology_start("single", NULL);
    assert_int_equal(fx_topology_size(t), 1);
    assert_ptr_equal(strstr(fx_topology_url(t), "unix://"), fx_topology_url(t));
    assert_int_equal(fx_topology_port(t, 0), 0); /* none */
    expect(t, 0, "SET k v", "OK");
    fx_topology_stop(t);
    assert_nothing_is_left();
}

static void replicas_have_what_the_primary_has(void **state)
{
    (void)state;
    fx_topology *t = fx_topology_start("replicas", NULL);
    assert_int_equal(fx_topology_primary(t, NULL), 0);
    expect_replicated(t, 0, "k", 2);
    expect(t, 1, "GET k", "v");
    expect(t, 2, "GET k", "v");
    fx_topology_settle(t, MS);
    fx_topology_stop(t);
    assert_nothing_is_left();
}

static void sentinels_make_another_the_primary(void **state)
{
    (void)state;
    fx_topology *t = fx_topology_start("sentinel", NULL);
    assert_int_equal(fx_topology_size(t), 6);
    assert_int_equal(fx_topology_primary(t, "k"), 0);
    expect_replicated(t, 0, "k", 2);
    fx_topology_kill(t, 0);
    int next = fx_topology_next_primary(t, "k", 0, MS);
    assert_in_range(next, 1, 2);
    expect(t, next, "GET k", "v");
    fx_topology_restart(t, 0);
    fx_topology_settle(t, MS);
    assert_int_equal(fx_topology_primary(t, "k"), next);
    fx_topology_stop(t);
    assert_nothing_is_left();
}

/* Keys of all three primaries: each is where the cluster says, and its replica has it. */
static void a_cluster_serves_every_slot(void **state)
{
    (void)state;
    static const char *const keys[] = {"{a}1", "{b}1", "{c}1"}; /* slots 15495, 3300, 7365 */
    static const int primaries[] = {2, 0, 1};
    fx_topology *t = fx_topology_start("cluster", NULL);
    for (size_t i = 0; i < 3; i++) {
        redisReply *reply = command(t, "SET %s v", keys[i]);
        assert_string_equal(reply->str, "OK");
        freeReplyObject(reply);
        assert_int_equal(fx_topology_primary(t, keys[i]), primaries[i]);
        expect_replicated(t, primaries[i], keys[i], 1);
    }
    redisReply *reply = command(t, "KEYS *");
    assert_int_equal(reply->elements, 3);
    freeReplyObject(reply);
    reply = command(t, "DBSIZE");
    assert_int_equal(reply->integer, 3);
    freeReplyObject(reply);
    freeReplyObject(command(t, "FLUSHALL"));
    reply = command(t, "EVAL %s 1 %s", "return redis.call('EXISTS', KEYS[1])", keys[0]);
    assert_int_equal(reply->integer, 0);
    freeReplyObject(reply);
    fx_topology_settle(t, MS);
    fx_topology_stop(t);
    assert_nothing_is_left();
}

static void a_cluster_goes_on_with_a_replica(void **state)
{
    (void)state;
    fx_topology *t = fx_topology_start("cluster", NULL);
    expect_replicated(t, 2, "{a}1", 1);
    fx_topology_kill(t, 2);
    assert_int_equal(fx_topology_next_primary(t, "{a}1", 2, MS), 5);
    redisReply *reply = command(t, "GET {a}1");
    assert_string_equal(reply->str, "v");
    freeReplyObject(reply);
    fx_topology_restart(t, 2);
    fx_topology_settle(t, MS);
    assert_int_equal(fx_topology_primary(t, "{a}1"), 5);
    expect_replicated(t, 5, "{a}1", 1);
    fx_topology_stop(t);
    assert_nothing_is_left();
}

static void expect_setting(fx_topology *t, int member, const char *name, const char *value)
{
    redisReply *reply = fx_topology_ask(t, member, "CONFIG GET %s", name);
    assert_non_null(reply);
    assert_string_equal(reply->element[1]->str, value);
    freeReplyObject(reply);
}

/* As the script forms it where nothing else is said: after a failover a replica is left, so that
 * writes are taken still. */
static void a_cluster_has_two_replicas_a_primary_and_serves_all_or_nothing(void **state)
{
    (void)state;
    setenv("FX_REPLICAS", "2", 1);
    fx_topology *t = fx_topology_start("cluster", NULL);
    unsetenv("FX_REPLICAS");
    assert_int_equal(fx_topology_size(t), 9);
    for (int i = 0; i < 9; i++) {
        expect_setting(t, i, "cluster-require-full-coverage", "yes");
        expect_setting(t, i, "min-replicas-to-write", "1");
        expect_setting(t, i, "min-replicas-max-lag", "3");
    }
    expect_replicated(t, 2, "{a}1", 2);
    fx_topology_kill(t, 2);
    int next = fx_topology_next_primary(t, "{a}1", 2, MS);
    assert_true(next == 5 || next == 8);
    fx_topology_settle(t, MS);
    expect_replicated(t, next, "{a}1", 1);
    fx_topology_stop(t);
    assert_nothing_is_left();
}

static void quorum_servers_are_strangers(void **state)
{
    (void)state;
    char url[64];
    fx_topology *t = fx_topology_start("quorum", NULL);
    assert_int_equal(fx_topology_size(t), 4);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d,", fx_topology_port(t, 1));
    assert_ptr_equal(strstr(fx_topology_quorum(t), url), fx_topology_quorum(t));
    snprintf(url, sizeof(url), ",redis://127.0.0.1:%d", fx_topology_port(t, 3));
    assert_non_null(strstr(fx_topology_quorum(t), url));
    expect(t, 1, "SET k v", "OK");
    for (int i = 0; i < 4; i++) {
        redisReply *reply = fx_topology_ask(t, i, "EXISTS k");
        assert_int_equal(reply->integer, i == 1);
        freeReplyObject(reply);
    }
    fx_topology_stop(t);
    assert_nothing_is_left();
}

static void settings_reach_every_server_and_a_restart_keeps_the_data(void **state)
{
    (void)state;
    fx_topology *t =
        fx_topology_start("replicas", (const char *const[]){"--appendonly", "yes", "--appendfsync",
                                                            "always", "--save", "", NULL});
    for (int i = 0; i < 3; i++) {
        redisReply *reply = fx_topology_ask(t, i, "CONFIG GET appendfsync");
        assert_string_equal(reply->element[1]->str, "always");
        freeReplyObject(reply);
    }
    expect_replicated(t, 0, "k", 2);
    fx_topology_kill(t, 0);
    assert_int_equal(fx_topology_primary(t, NULL), -1);
    fx_topology_restart(t, 0);
    expect(t, 0, "GET k", "v");
    fx_topology_settle(t, MS);
    fx_topology_stop(t);
    assert_nothing_is_left();
}

/* A stopped member does not keep the script from its end. */
static void two_run_at_once(void **state)
{
    (void)state;
    fx_topology *a = fx_topology_start("replicas", NULL), *b = fx_topology_start("replicas", NULL);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            assert_int_not_equal(fx_topology_port(a, i), fx_topology_port(b, j));
    expect(a, 0, "SET k a", "OK");
    expect(b, 0, "SET k b", "OK");
    expect(a, 0, "GET k", "a");
    fx_topology_signal(b, 1, SIGSTOP);
    fx_topology_stop(b);
    expect(a, 0, "GET k", "a");
    fx_topology_stop(a);
    assert_nothing_is_left();
}

/* Started as a program: it is killed, so nobody cleans up but the kernel. */
static bool is_ready(void *process)
{
    return strstr(fx_process_stdout(process), "\nREADY\n") != NULL;
}

static void nothing_runs_when_the_script_is_killed(void **state)
{
    (void)state;
    static const char *const kinds[] = {"replicas", "sentinel", "cluster", "quorum"};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        fx_process *script =
            fx_spawn((const char *const[]){"scripts/redis-topology", kinds[i], NULL}, true);
        assert_true(fx_wait_until(is_ready, script, MS));
        assert_false(nothing_runs(NULL));
        fx_process_signal(script, SIGKILL);
        assert_int_equal(fx_process_wait(script, MS), 128 + SIGKILL);
        fx_process_free(script);
        assert_true(fx_wait_until(nothing_runs, NULL, MS));
        assert_int_equal(fx_shell("rm -rf \"$1\"/*", tmp, 20000), 0);
    }
}

/* Right at the start, while it forms, and at the end of its input. */
static void it_leaves_nothing_however_it_ends(void **state)
{
    (void)state;
    fx_process *script =
        fx_spawn((const char *const[]){"scripts/redis-topology", "cluster", NULL}, true);
    fx_wait_until(nothing_runs, NULL, 0);
    fx_process_signal(script, SIGTERM);
    fx_process_wait(script, MS);
    fx_process_free(script);
    assert_nothing_is_left();

    script = fx_spawn((const char *const[]){"scripts/redis-topology", "sentinel", NULL}, true);
    fx_wait_until(is_ready, script, 300); /* it is at it, most likely */
    fx_process_signal(script, SIGTERM);
    assert_int_equal(fx_process_wait(script, MS), 0);
    fx_process_free(script);
    assert_nothing_is_left();

    assert_int_equal(fx_shell("true | scripts/redis-topology replicas | grep -qx READY", "", MS),
                     0);
    assert_nothing_is_left();
}

static void what_it_can_not_do_is_said(void **state)
{
    (void)state;
    assert_int_equal(fx_shell("scripts/redis-topology triangle 2>/dev/null", "", MS), 64);
    assert_int_equal(fx_shell("scripts/redis-topology --help | grep -q '^  cluster '", "", MS), 0);
    assert_int_equal(fx_shell("mkdir \"$1/there\"; touch \"$1/there/mine\";"
                              "! scripts/redis-topology single --dir \"$1/there\" 2>/dev/null;"
                              "test -f \"$1/there/mine\"; rm -r \"$1/there\"",
                              tmp, MS),
                     0);
    assert_int_equal(fx_shell("REDIS_SERVER=no-such-server; export REDIS_SERVER;"
                              "scripts/redis-topology single 2>&1 | grep -q no-such-server",
                              "", MS),
                     0);
    assert_int_equal(
        fx_shell("scripts/redis-topology single -- --no-such-setting x 2>&1 | grep -q no-such-set",
                 "", MS),
        0);
    assert_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server_alone),
        cmocka_unit_test(replicas_have_what_the_primary_has),
        cmocka_unit_test(sentinels_make_another_the_primary),
        cmocka_unit_test(a_cluster_serves_every_slot),
        cmocka_unit_test(a_cluster_goes_on_with_a_replica),
        cmocka_unit_test(a_cluster_has_two_replicas_a_primary_and_serves_all_or_nothing),
        cmocka_unit_test(quorum_servers_are_strangers),
        cmocka_unit_test(settings_reach_every_server_and_a_restart_keeps_the_data),
        cmocka_unit_test(two_run_at_once),
        cmocka_unit_test(nothing_runs_when_the_script_is_killed),
        cmocka_unit_test(it_leaves_nothing_however_it_ends),
        cmocka_unit_test(what_it_can_not_do_is_said),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
