/*
 * test_failover_refusals.c - scripts/failover when it can not: the primary goes on before sentinels
 * take it for down, and no write is held where it is clear before.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/scripts/failover.h"

/* A replica that executes nothing and answers: it follows, and is behind. */
static void hold_back(int replica)
{
    char pause[64];
    snprintf(pause, sizeof(pause), "CLIENT PAUSE %d WRITE", BEHIND_MS);
    tell(replica, pause);
    tell(primary_now(), "SET behind v");
}

static void behind_a_replica_that_is_far_behind_nothing_is_held(void **state)
{
    (void)state;
    int primary = begin_failure(), replica = primary == 0 ? 1 : 0;
    hold_back(replica);
    run(UNCHANGED, "does not follow", FX_ARGS("--drain", "1", fx_topology_url(redis)));
    assert_false(was_held(&primary));
    assert_goes_on(primary);
    tell(replica, "CLIENT UNPAUSE");
}

/* The number of failovers that sentinels have ever begun. */
static int epoch(void)
{
    char text[64], command[128];
    snprintf(command, sizeof(command),
             "%s -p %d sentinel master mymaster | sed -n '/^config-epoch$/{n;p;}'", cli,
             fx_topology_port(redis, a_sentinel()));
    assert_int_equal(fx_shell_output(command, text, sizeof(text)), 0);
    return (int)strtol(text, NULL, 10);
}

/* However long the replicas may take: writes go on before sentinels take the primary for down. */
static void when_a_replica_stays_behind_no_sentinel_replaces_the_primary(void **state)
{
    (void)state;
    int primary = begin_failure(), replica = primary == 0 ? 1 : 0, before = epoch();
    meddle_behind(primary, replica);
    run(UNCHANGED, "catching up", FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    unsetenv("REDIS_CLI");
    assert_true(was_held(&primary));
    assert_goes_on(primary);
    tell(replica, "CLIENT UNPAUSE");
    fx_topology_settle(redis, LIMIT_MS);
    assert_int_equal(epoch(), before);
    assert_goes_on(primary);
}

static void when_it_is_interrupted_the_primary_goes_on(void **state)
{
    (void)state;
    int primary = begin_failure(), replica = primary == 0 ? 1 : 0;
    meddle_behind(primary, replica);
    fx_process *command = begin(LIMIT_S, FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    assert_true(fx_wait_until(was_held, &primary, LIMIT_MS));
    fx_process_signal(command, SIGTERM);
    finish(command, UNCHANGED, "interrupted");
    unsetenv("REDIS_CLI");
    assert_goes_on(primary);
    tell(replica, "CLIENT UNPAUSE");
}

static void two_commands_do_not_hold_writes_at_once(void **state)
{
    (void)state;
    int primary = begin_failure();
    tell_sentinels("SENTINEL SET mymaster down-after-milliseconds 1200000");
    tell(primary, "CLIENT PAUSE 600000 WRITE");
    tell(primary, "CONFIG RESETSTAT");
    run(UNCHANGED, "held already", FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    assert_false(was_held(&primary));
    tell(primary, "CLIENT UNPAUSE");
    assert_goes_on(primary);
}

static void with_hasty_sentinels_nothing_is_held(void **state)
{
    (void)state;
    int primary = begin_failure();
    tell(a_sentinel(), "SENTINEL SET mymaster down-after-milliseconds 1299");
    run(UNCHANGED, "1300 is the least", FX_ARGS(fx_topology_url(redis)));
    assert_false(was_held(&primary));
}

static void when_the_sentinel_refuses_the_primary_goes_on(void **state)
{
    (void)state;
    int primary = begin_failure();
    tell_sentinels("ACL SETUSER default -sentinel|failover");
    run(UNCHANGED, "SENTINEL FAILOVER: NOPERM", FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    assert_true(was_held(&primary));
    assert_goes_on(primary);
    tell_sentinels("ACL SETUSER default +@all");
}

/* Nobody is held up where it is clear before. */
static void without_a_replica_or_a_sentinel_nothing_is_held(void **state)
{
    (void)state;
    char nowhere[64];
    int primary = begin_failure(), replica = primary == 0 ? 1 : 0;
    snprintf(nowhere, sizeof(nowhere), "redis+sentinel://127.0.0.1:%d/mymaster", fx_free_port());
    run(UNCHANGED, "and name none", FX_ARGS(nowhere));
    fx_topology_signal(redis, replica, SIGSTOP);
    run(UNCHANGED, "does not follow", FX_ARGS("--drain", "1", fx_topology_url(redis)));
    assert_false(was_held(&primary));
    assert_goes_on(primary);
    fx_topology_signal(redis, replica, SIGCONT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_a_replica_that_is_far_behind_nothing_is_held),
        cmocka_unit_test(when_a_replica_stays_behind_no_sentinel_replaces_the_primary),
        cmocka_unit_test(when_it_is_interrupted_the_primary_goes_on),
        cmocka_unit_test(when_the_sentinel_refuses_the_primary_goes_on),
        cmocka_unit_test(two_commands_do_not_hold_writes_at_once),
        cmocka_unit_test(with_hasty_sentinels_nothing_is_held),
        cmocka_unit_test(without_a_replica_or_a_sentinel_nothing_is_held),
    };
    return cmocka_run_group_tests(tests, failover_servers, failover_teardown);
}
