/*
 * test_failover_command.c - scripts/failover: under load it moves a sale in memory to another
 * server and no acknowledged order is missing there, behind sentinels and on a cluster; the rights
 * in its help suffice, and no password is on a command line. When it can not, the primary goes on
 * before sentinels take it for down; if another failover has begun, and in doubt, no held write is
 * executed.
 *
 * FAILOVER_RUNS=10 in the environment repeats the first two cases.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sale/rest.h"
#include "tests/support/topology.h"

enum {
    PACE_MS = 40, /* of each buyer: 300 buys a second at most */
    STOCK = 6000, /* a busy machine sells while the command makes ready */
    BEFORE = 300, /* acknowledged before the command */
    AFTER = 100,  /* ... and after it, by each instance */
    DONE = 0,
    UNCHANGED = 1,
    DOUBT = 2,
    BAD_WORDS = 64,
    LIMIT_MS = 60000,
};

/* On a busy machine each of its questions takes long. Sentinels have to be as patient. */
#define PATIENTLY "--drain", "30"
#define PATIENT   "SENTINEL SET mymaster down-after-milliseconds 60000"

static char dir[256], history[300];
static const char *cli; /* redis-cli, or valkey-cli where that is alone */
static fx_topology *redis;

/* ---- before and after ------------------------------------------------------------------------ */

static int setup(const char *kind, void **state)
{
    unsetenv("FLASHSALE_REDIS");
    cli = fx_shell("command -v redis-cli >/dev/null", NULL, LIMIT_MS) == 0 ? "redis-cli"
                                                                           : "valkey-cli";
    fx_dir_make(dir, sizeof(dir));
    snprintf(history, sizeof(history), "%s/sale.history", dir);
    setenv("FX_REDIS", kind, 1);
    fx.plan = (fx_plan){.instances = FX_INSTANCES};
    fx_service_start(state);
    redis = fx_redis_topology(fx.redis);
    return 0;
}

static int teardown(void **state)
{
    fx_service_stop(state);
    fx_dir_remove(dir);
    unsetenv("REDIS_CLI");
    memset(fx.server, 0, sizeof(fx.server));
    fx.redis = NULL;
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static fx_process *begin(const char *program, const char *const *words)
{
    const char *argv[8] = {program};
    for (int i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    return fx_spawn(argv, true);
}

/* Waits for its end, which must be this one, with this in what it says. */
static void finish(fx_process *command, int code, const char *said)
{
    int ended = fx_process_wait(command, LIMIT_MS);
    if (ended != code || !strstr(fx_process_stderr(command), said))
        fail_msg("ended with %d, not %d and \"%s\": %s%s", ended, code, said,
                 fx_process_stdout(command), fx_process_stderr(command));
    fx_process_free(command);
}

static void run(int code, const char *said, const char *const *words)
{
    finish(begin("scripts/failover", words), code, said);
}

/* ---- what the servers say -------------------------------------------------------------------- */

/* Asks again where a member, made a primary or a replica just then, has closed the connection. */
static void tell(int member, const char *command)
{
    redisReply *reply = fx_topology_ask(redis, member, command);
    if (!reply)
        reply = fx_topology_ask(redis, member, command);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply ? reply->str : "no answer");
    freeReplyObject(reply);
}

static void tell_sentinels(const char *command)
{
    for (int i = 0; i < fx_topology_size(redis); i++)
        if (fx_topology_is_sentinel(redis, i))
            tell(i, command);
}

static bool says(int member, const char *command, const char *part)
{
    redisReply *reply = fx_topology_ask(redis, member, command);
    bool said = reply && reply->str && strstr(reply->str, part);
    freeReplyObject(reply);
    return said;
}

static bool was_held(void *member)
{
    return says(*(int *)member, "INFO commandstats", "cmdstat_client|pause:");
}

static int primary_now(void)
{
    return fx_topology_primary(redis, NULL);
}

/* All is well, and nothing has been held: the primary. Sentinels take it for down after 10 s: the
 * command holds writes for 5 s at most, and for 7.5 s when it can not end that. */
static int begin_failure(void)
{
    unsetenv("REDIS_CLI");
    tell_sentinels("SENTINEL SET mymaster down-after-milliseconds 10000");
    fx_topology_settle(redis, LIMIT_MS);
    int primary = primary_now();
    tell(primary, "CONFIG RESETSTAT");
    assert_false(was_held(&primary));
    return primary;
}

/* It is the primary still, and a write is executed: before the pause would end by itself. */
static void assert_goes_on(int member)
{
    assert_true(says(member, "INFO replication", "role:master"));
    assert_true(says(member, "SET after v", "OK")); /* within 20 s */
}

/* ---- under load ------------------------------------------------------------------------------ */

static bool all_sold(void *so_far)
{
    bool all = true;
    for (int i = 0; i < FX_INSTANCES; i++)
        all = all && atomic_load(&crew.since[i]) >= *(int *)so_far;
    return all;
}

static void let_buyers_in(void)
{
    const fx_terms terms = {.item = "P0001", .strategy = "combined", .stock = STOCK};
    rest_before(&terms);
    crew_begin(&(crew_habits){.several = true, .looks = true});
    crew_pace(PACE_MS);
    crew_come(fx_sale_start(&terms, history), CREW_BUYERS);
    assert_true(crew_until(&crew.bought, BEFORE, LIMIT_MS));
}

static void move_under_load(int number)
{
    char of[32];
    int so_far = AFTER;
    let_buyers_in();
    tell_sentinels(PATIENT);
    int primary = fx_topology_primary(redis, "fs:{P0001}:sale");
    snprintf(of, sizeof(of), "127.0.0.1:%d", fx_topology_port(redis, primary));
    bool cluster = strcmp(fx_topology_kind(redis), "cluster") == 0;
    int64_t begun_us = journal_now_us();
    run(DONE, "", FX_ARGS(PATIENTLY, fx_topology_url(redis), cluster ? "--of" : NULL, of));
    int64_t ended_us = journal_now_us();
    crew_mark();
    assert_true(says(primary, "INFO replication", "role:slave"));
    assert_int_not_equal(fx_topology_primary(redis, "fs:{P0001}:sale"), primary);
    assert_true(fx_wait_until(all_sold, &so_far, LIMIT_MS));
    print_message("%s, run %d: %d x 201, %d x 503, %d unknown; the command took %lld ms, and %lld "
                  "ms later all instances had sold %d again\n",
                  fx_topology_kind(redis), number, atomic_load(&crew.bought),
                  atomic_load(&crew.busy), atomic_load(&crew.unknown),
                  (long long)(ended_us - begun_us) / 1000,
                  (long long)(journal_now_us() - ended_us) / 1000, AFTER);
    crew_pace(0);
    assert_true(crew_sell_out(0, LIMIT_MS));
    crew_end();
    rest_expect_undisturbed(history);
    fx_topology_settle(redis, LIMIT_MS);
}

/* Each run but the first one on servers of its own: a cluster does not vote twice about a server
 * in a short time. */
static void no_acknowledged_order_of_a_sale_in_memory_is_lost(void **state)
{
    const char *runs = getenv("FAILOVER_RUNS");
    move_under_load(1);
    for (int i = 2; runs && i <= (int)strtol(runs, NULL, 10); i++) {
        teardown(state);
        setup(fx_redis_kind(), state);
        move_under_load(i);
    }
}

/* ---- rights and passwords -------------------------------------------------------------------- */

/* Behind `label` in the command's help. */
static void read_rights(const char *label, char *ret, size_t ret_len)
{
    char command[128];
    snprintf(command, sizeof(command),
             "scripts/failover --help | sed -n 's/^  %s  *//p' | tr '\\n' ' '", label);
    assert_int_equal(fx_shell_output(command, ret, ret_len), 0);
    assert_string_not_equal(ret, "");
}

/* All members of the kind have the operator's user, and nothing to complain of yet. */
static void make_operator(bool sentinels, const char *label)
{
    char rights[256], user[512];
    read_rights(label, rights, sizeof(rights));
    snprintf(user, sizeof(user),
             "ACL SETUSER operator on >secret@1 resetkeys resetchannels -@all %s", rights);
    for (int i = 0; i < fx_topology_size(redis); i++)
        if (fx_topology_is_sentinel(redis, i) == sentinels) {
            tell(i, user);
            tell(i, "ACL LOG RESET");
        }
}

static void assert_nothing_was_denied(void)
{
    for (int i = 0; i < fx_topology_size(redis); i++) {
        redisReply *log = fx_topology_ask(redis, i, "ACL LOG");
        assert_non_null(log);
        assert_int_equal(log->elements, 0);
        freeReplyObject(log);
    }
}

/* redis-cli, which writes its words down before. */
static void spy(void)
{
    char program[300];
    snprintf(program, sizeof(program), "%s/cli", dir);
    FILE *to = fopen(program, "w");
    assert_non_null(to);
    fprintf(to, "#!/bin/sh\necho \"$@\" >>%s/words\nexec %s \"$@\"\n", dir, cli);
    fclose(to);
    assert_int_equal(fx_shell("chmod +x \"$1\"", program, LIMIT_MS), 0);
    setenv("REDIS_CLI", program, 1);
}

static void as_operator(const char *query, const char *of)
{
    char url[600];
    const char *plain = fx_topology_url(redis), *hosts = strstr(plain, "://") + 3;
    snprintf(url, sizeof(url), "%.*soperator:secret%%401@%s%s", (int)(hosts - plain), plain, hosts,
             query);
    spy();
    setenv("FLASHSALE_REDIS", url, 1);
    tell_sentinels(PATIENT);
    run(DONE, "", FX_ARGS(PATIENTLY, of ? "--of" : NULL, of));
    unsetenv("FLASHSALE_REDIS");
    unsetenv("REDIS_CLI");
    assert_nothing_was_denied();
    assert_int_equal(
        fx_shell("grep -q -e '--user operator' \"$1/words\" && ! grep cret \"$1/words\"", dir,
                 LIMIT_MS),
        0);
}

static void the_rights_in_its_help_suffice_on_sentinels(void **state)
{
    (void)state;
    make_operator(false, "on servers");
    make_operator(true, "on sentinels");
    as_operator("?sentinel_user=operator&sentinel_password=secret%401", NULL);
}

static void the_rights_in_its_help_suffice_on_a_cluster(void **state)
{
    (void)state;
    char of[32];
    int primary = fx_topology_primary(redis, "{b}1"); /* not that of P0001: not the same twice */
    make_operator(false, "on a cluster");
    snprintf(of, sizeof(of), "127.0.0.1:%d", fx_topology_port(redis, primary));
    as_operator("", of);
    assert_int_not_equal(fx_topology_primary(redis, "{b}1"), primary);
    run(BAD_WORDS, "one of the primaries: 127", FX_ARGS(fx_topology_url(redis)));
    run(BAD_WORDS, "one of the primaries: 127", FX_ARGS(fx_topology_url(redis), "--of", of));
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

/* A replica that executes nothing and answers: it follows, and is behind. */
static void hold_back(int replica)
{
    tell(replica, "CLIENT PAUSE 60000 WRITE");
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

/* A redis-cli that does `first` before the first CLIENT of this word. */
static void meddle(const char *word, const char *first)
{
    char program[300];
    snprintf(program, sizeof(program), "%s/meddler", dir);
    FILE *to = fopen(program, "w");
    assert_non_null(to);
    fprintf(to,
            "#!/bin/sh\n"
            "case \"$*\" in *' client %s'*) rm \"$0.first\" && (%s) ;; esac >/dev/null 2>&1\n"
            "exec %s \"$@\"\n",
            word, first, cli);
    fclose(to);
    assert_int_equal(fx_shell("chmod +x \"$1\" && touch \"$1.first\"", program, LIMIT_MS), 0);
    setenv("REDIS_CLI", program, 1);
}

/* The replica stays behind from when writes are held, for so long; then do this. */
static void meddle_behind(int primary, int replica, int ms, const char *then)
{
    char first[300];
    snprintf(first, sizeof(first), "%s -p %d client pause %d write; %s -p %d set behind v%s", cli,
             fx_topology_port(redis, replica), ms, cli, fx_topology_port(redis, primary), then);
    meddle("pause", first);
}

static int a_sentinel(void)
{
    int i = 0;
    while (!fx_topology_is_sentinel(redis, i))
        i++;
    return i;
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
    meddle_behind(primary, replica, LIMIT_MS, "");
    run(UNCHANGED, "catching up", FX_ARGS("--drain", "10", fx_topology_url(redis)));
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
    meddle_behind(primary, replica, LIMIT_MS, "");
    fx_process *command = begin("scripts/failover", FX_ARGS(PATIENTLY, fx_topology_url(redis)));
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
    tell_sentinels("SENTINEL SET mymaster down-after-milliseconds 120000");
    tell(primary, "CLIENT PAUSE 60000 WRITE");
    tell(primary, "CONFIG RESETSTAT");
    run(UNCHANGED, "held already", FX_ARGS(fx_topology_url(redis)));
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

static bool has_replicated(void *member)
{
    return says(*(int *)member, "GET replicated", "v");
}

/* Redis 7.0 never executes its primary's commands again if it is told CLIENT UNPAUSE and REPLICAOF
 * in one turn of its event loop (replicationCacheMaster() leaves CLIENT_PENDING_COMMAND set). */
static bool follows_the_new_primary(void *member)
{
    char port[32];
    int primary = primary_now();
    if (primary < 0 || primary == *(int *)member)
        return primary >= 0;
    snprintf(port, sizeof(port), "master_port:%d\r", fx_topology_port(redis, primary));
    return says(*(int *)member, "INFO replication", port) &&
           says(*(int *)member, "INFO replication", "master_link_status:up");
}

/* The replicas do not catch up, and another has begun a failover meanwhile: a write that is held
 * is refused, not executed by a server that is replaced; and the old primary is not held as a
 * replica. */
static void when_another_failover_has_begun_no_write_goes_on(void **state)
{
    (void)state;
    char then[100];
    int primary = begin_failure(), replica = primary == 0 ? 1 : 0;
    snprintf(then, sizeof(then), "; (sleep 0.5; %s -p %d sentinel failover mymaster) &", cli,
             fx_topology_port(redis, a_sentinel()));
    meddle_behind(primary, replica, LIMIT_MS, then);
    redisContext *writer = redisConnect("127.0.0.1", fx_topology_port(redis, primary));
    assert_true(writer && writer->err == 0);
    fx_process *command = begin("scripts/failover", FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    assert_true(fx_wait_until(was_held, &primary, LIMIT_MS));
    redisReply *reply = redisCommand(writer, "SET lost v");
    assert_true(reply && reply->type == REDIS_REPLY_ERROR && strstr(reply->str, "READONLY"));
    freeReplyObject(reply);
    redisFree(writer);
    finish(command, DONE, "writes stay held");
    unsetenv("REDIS_CLI");
    assert_true(fx_wait_until(follows_the_new_primary, &replica, LIMIT_MS));
    tell(replica, "CLIENT UNPAUSE");
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
    run(DONE, "", FX_ARGS(fx_topology_url(redis)));
    unsetenv("REDIS_CLI");
    tell(primary_now(), "SET lifted v");
    assert_true(fx_wait_until(is_not_held, &primary, 10000)); /* before a pause would end */
    fx_topology_settle(redis, LIMIT_MS);
}

static void when_the_sentinel_refuses_the_primary_goes_on(void **state)
{
    (void)state;
    int primary = begin_failure();
    tell_sentinels("ACL SETUSER default -sentinel|failover");
    run(UNCHANGED, "SENTINEL FAILOVER: NOPERM", FX_ARGS(fx_topology_url(redis)));
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

static bool is_in_doubt(void *command)
{
    return strstr(fx_process_stderr(command), "in doubt: ");
}

/* The old primary can not be made a replica by the command, whose patience is short here: another
 * takes writes already, so those that are held must not go on. */
static void in_doubt_the_writes_stay_held(void **state)
{
    (void)state;
    char program[300];
    int primary = begin_failure();
    snprintf(program, sizeof(program), "%s/impatient", dir);
    assert_int_equal(
        fx_shell("sed 's/^limit_s=60 /limit_s=2 /' scripts/failover >\"$1\" && chmod +x "
                 "\"$1\" && ! cmp -s \"$1\" scripts/failover",
                 program, LIMIT_MS),
        0);
    tell(primary, "ACL SETUSER default -replicaof");
    tell(primary, "CONFIG SET min-replicas-to-write 0"); /* it loses both: that is not to save it */
    redisContext *writer = redisConnect("127.0.0.1", fx_topology_port(redis, primary));
    assert_true(writer && writer->err == 0);
    fx_process *command = begin(program, FX_ARGS(PATIENTLY, fx_topology_url(redis)));
    assert_true(fx_wait_until(is_in_doubt, command, LIMIT_MS));
    fx_process_signal(command, SIGTERM);
    finish(command, DOUBT, "stopped in doubt");
    assert_int_not_equal(fx_topology_next_primary(redis, NULL, primary, LIMIT_MS), primary);
    redisSetTimeout(writer, (struct timeval){.tv_sec = 1});
    redisReply *reply = redisCommand(writer, "SET lost v");
    assert_true(reply == NULL || strstr(reply->str, "READONLY")); /* if sentinels were quick */
    freeReplyObject(reply);
    redisFree(writer);
}

static void what_it_does_not_know_is_refused(void **state)
{
    (void)state;
    run(DONE, "", FX_ARGS("--help"));
    run(BAD_WORDS, "what is 'now'", FX_ARGS("now"));
    run(BAD_WORDS, "what is '--force'", FX_ARGS("redis+cluster://127.0.0.1:1", "--force"));
    run(BAD_WORDS, "which Redis", FX_ARGS("--drain", "5"));
    run(BAD_WORDS, "needs a value", FX_ARGS("redis+cluster://127.0.0.1:1", "--of"));
    run(BAD_WORDS, "1 to 30", FX_ARGS("--drain", "31", "redis+sentinel://127.0.0.1:1/m"));
    run(BAD_WORDS, "names no master", FX_ARGS("redis+sentinel://127.0.0.1:1"));
    run(BAD_WORDS, "is for a cluster", FX_ARGS("--of", "h:1", "redis+sentinel://127.0.0.1:1/m"));
    run(BAD_WORDS, "redis-cli FAILOVER", FX_ARGS("redis://127.0.0.1:1"));
}

/* ---- the cases ------------------------------------------------------------------------------- */

static int with_sentinels(void **state)
{
    return setup("sentinel", state);
}

static int with_a_cluster(void **state)
{
    return setup("cluster", state);
}

/* Behind a case that has failed, too. */
static int end_crew(void **state)
{
    (void)state;
    crew_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest sentinels[] = {
        cmocka_unit_test(what_it_does_not_know_is_refused),
        cmocka_unit_test(behind_a_replica_that_is_far_behind_nothing_is_held),
        cmocka_unit_test(when_a_replica_stays_behind_no_sentinel_replaces_the_primary),
        cmocka_unit_test(when_it_is_interrupted_the_primary_goes_on),
        cmocka_unit_test(when_the_sentinel_refuses_the_primary_goes_on),
        cmocka_unit_test(two_commands_do_not_hold_writes_at_once),
        cmocka_unit_test(with_hasty_sentinels_nothing_is_held),
        cmocka_unit_test(when_another_failover_has_begun_no_write_goes_on),
        cmocka_unit_test(a_lost_unpause_is_sent_again),
        cmocka_unit_test(without_a_replica_or_a_sentinel_nothing_is_held),
        cmocka_unit_test_teardown(no_acknowledged_order_of_a_sale_in_memory_is_lost, end_crew),
        cmocka_unit_test(the_rights_in_its_help_suffice_on_sentinels),
        cmocka_unit_test(in_doubt_the_writes_stay_held),
    };
    const struct CMUnitTest cluster[] = {
        cmocka_unit_test_teardown(no_acknowledged_order_of_a_sale_in_memory_is_lost, end_crew),
        cmocka_unit_test(the_rights_in_its_help_suffice_on_a_cluster),
    };
    return cmocka_run_group_tests(sentinels, with_sentinels, teardown) +
           cmocka_run_group_tests(cluster, with_a_cluster, teardown);
}
