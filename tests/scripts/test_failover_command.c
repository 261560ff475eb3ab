/*
 * test_failover_command.c - scripts/failover: under load it moves a sale in memory to another
 * server and no acknowledged order is missing there, behind sentinels and on a cluster; the rights
 * in its help suffice, and no password is on a command line.
 *
 * FAILOVER_RUNS=10 in the environment repeats the first two cases.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/scripts/failover.h"
#include "tests/support/sale/rest.h"

enum {
    PACE_MS = 40, /* of each buyer: 300 buys a second at most */
    STOCK = 6000, /* a busy machine sells while the command makes ready */
    BEFORE = 300, /* acknowledged before the command */
    AFTER = 100,  /* ... and after it, by each instance */
};

static char history[300];

static int with_sentinels(void **state)
{
    return failover_setup("sentinel", FX_INSTANCES, state);
}

static int with_a_cluster(void **state)
{
    return failover_setup("cluster", FX_INSTANCES, state);
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
    snprintf(history, sizeof(history), "%s/sale.history", dir);
    rest_before(&terms);
    crew_begin(&(crew_habits){.several = true, .looks = true});
    crew_pace((int)(PACE_MS * fx_crowding())); /* or all is sold by then */
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
        failover_teardown(state);
        failover_setup(fx_redis_kind(), FX_INSTANCES, state);
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
        cmocka_unit_test_teardown(no_acknowledged_order_of_a_sale_in_memory_is_lost, end_crew),
        cmocka_unit_test(the_rights_in_its_help_suffice_on_sentinels),
    };
    const struct CMUnitTest cluster[] = {
        cmocka_unit_test_teardown(no_acknowledged_order_of_a_sale_in_memory_is_lost, end_crew),
        cmocka_unit_test(the_rights_in_its_help_suffice_on_a_cluster),
    };
    return cmocka_run_group_tests(sentinels, with_sentinels, failover_teardown) +
           cmocka_run_group_tests(cluster, with_a_cluster, failover_teardown);
}
