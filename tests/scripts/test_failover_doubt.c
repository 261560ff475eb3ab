/*
 * test_failover_doubt.c - scripts/failover when another failover has begun, when its word is lost,
 * and in doubt: no held write is executed by a server that is replaced.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/scripts/failover.h"

static bool has_replicated(void *member)
{
    return says(*(int *)member, "GET replicated", "v");
}

static bool follows(void *member)
{
    char port[32];
    snprintf(port, sizeof(port), "master_port:%d\r", fx_topology_port(redis, primary_now()));
    return says(*(int *)member, "INFO replication", port) &&
           says(*(int *)member, "INFO replication", "master_link_status:up");
}

/* Sentinels hardly get a word through to one that is held. Redis 7.0 never executes its primary's
 * commands again if it is told CLIENT UNPAUSE and REPLICAOF in one turn of its event loop
 * (replicationCacheMaster() leaves CLIENT_PENDING_COMMAND set). */
static void let_follow(int replica)
{
    char words[64];
    snprintf(words, sizeof(words), "REPLICAOF 127.0.0.1 %d",
             fx_topology_port(redis, primary_now()));
    tell(replica, words);
    assert_true(fx_wait_until(follows, &replica, LIMIT_MS));
    tell(replica, "CLIENT UNPAUSE");
}

static bool is_last_choice(void *unused)
{
    char command[128];
    (void)unused;
    snprintf(command, sizeof(command),
             "%s -p %d sentinel replicas mymaster | grep -A1 '^slave-priority$' | grep -qx 200",
             cli, fx_topology_port(redis, a_sentinel()));
    return fx_shell(command, NULL, LIMIT_MS) == 0;
}

/* Sentinels choose the other one: this one will be held, and could not be promoted in time. */
static void make_last_choice(int replica)
{
    tell(replica, "CONFIG SET replica-priority 200");
    assert_true(fx_wait_until(is_last_choice, NULL, LIMIT_MS));
}

/* A sentinel that has not heard of its replicas of late does not. */
static bool begins_another(void *unused)
{
    (void)unused;
    return says(a_sentinel(), "SENTINEL FAILOVER mymaster", "OK");
}

/* It is the command that makes a replica of a primary. Otherwise the first one to do so would be
 * decided by time, and sentinels close the connection of who waits for an answer, too. */
static void deny_to_sentinels(int primary)
{
    tell(primary, "ACL SETUSER default -slaveof");
}

/* The replicas do not catch up, and another has begun a failover meanwhile: a write that is held
 * is refused, not executed by a server that is replaced; and the old primary is not held as a
 * replica. */
static void when_another_failover_has_begun_no_write_goes_on(void **state)
{
    (void)state;
    int primary = begin_failure(), replica = primary == 0 ? 1 : 0;
    deny_to_sentinels(primary);
    make_last_choice(replica);
    meddle_behind(primary, replica);
    redisContext *writer = redisConnect("127.0.0.1", fx_topology_port(redis, primary));
    assert_true(writer && writer->err == 0);
    fx_process *command = begin(LIMIT_S, FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    assert_true(fx_wait_until(was_held, &primary, LIMIT_MS));
    assert_true(fx_wait_until(begins_another, NULL, DOWN_MS / 2)); /* the command's time */
    redisReply *reply = redisCommand(writer, "SET lost v");
    if (!reply || reply->type != REDIS_REPLY_ERROR || !strstr(reply->str, "READONLY"))
        fail_msg("%s; %s", reply ? reply->str : writer->errstr, fx_process_stderr(command));
    freeReplyObject(reply);
    redisFree(writer);
    finish(command, DONE, "writes stay held");
    unsetenv("REDIS_CLI");
    tell(primary, "ACL SETUSER default +slaveof");
    let_follow(replica);
    tell(primary_now(), "SET replicated v");
    assert_true(fx_wait_until(has_replicated, &primary, 10000)); /* before a pause would end */
    assert_true(fx_wait_until(has_replicated, &replica, LIMIT_MS));
    fx_topology_settle(redis, LIMIT_MS);
}

static bool is_not_held(void *member)
{
    return says(*(int *)member, "GET lifted", "v");
}

static void a_lost_unpause_is_sent_again(void **state)
{
    (void)state;
    int primary = begin_failure();
    meddle("unpause", "kill $$");
    run(DONE, "", FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    unsetenv("REDIS_CLI");
    tell(primary_now(), "SET lifted v");
    assert_true(fx_wait_until(is_not_held, &primary, 10000)); /* before a pause would end */
    fx_topology_settle(redis, LIMIT_MS);
}

static bool is_in_doubt(void *command)
{
    return strstr(fx_process_stderr(command), "in doubt: ");
}

/* The old primary can not be made a replica by the command, whose patience is short here: another
 * takes writes already, so those that are held must not go on. */
static void in_doubt_the_writes_stay_held(void **state)
{
    (void)state;
    int primary = begin_failure();
    deny_to_sentinels(primary);
    tell(primary, "ACL SETUSER default -replicaof");
    tell(primary, "CONFIG SET min-replicas-to-write 0"); /* it loses both: that is not to save it */
    redisContext *writer = redisConnect("127.0.0.1", fx_topology_port(redis, primary));
    assert_true(writer && writer->err == 0);
    fx_process *command = begin(2, FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    assert_true(fx_wait_until(is_in_doubt, command, LIMIT_MS));
    fx_process_signal(command, SIGTERM);
    finish(command, DOUBT, "stopped in doubt");
    assert_int_not_equal(fx_topology_next_primary(redis, NULL, primary, LIMIT_MS), primary);
    redisSetTimeout(writer, (struct timeval){.tv_sec = 1});
    redisReply *reply = redisCommand(writer, "SET lost v");
    assert_null(reply);
    freeReplyObject(reply);
    redisFree(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_another_failover_has_begun_no_write_goes_on),
        cmocka_unit_test(a_lost_unpause_is_sent_again),
        cmocka_unit_test(in_doubt_the_writes_stay_held),
    };
    return cmocka_run_group_tests(tests, failover_servers, failover_teardown);
}
