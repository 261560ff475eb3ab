/* The dlock command on a real Redis: run, status, release. */
#include "tests/lock/cmd/by_shell.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

static bool key_exists(void *key)
{
    return ask("EXISTS %s", (const char *)key) == 1;
}

/* Starts "dlock run OPTIONS n -- COMMAND" and waits until it prints a line under the lock. */
static fx_process *start_running(const char *words)
{
    char line[256];
    fx_process *process = start(words);
    assert_true(fx_process_first_line(process, line, sizeof(line), SOON_MS));
    assert_int_equal(ask("EXISTS n"), 1);
    return process;
}

static bool is_gone(void *pid)
{
    return kill(*(pid_t *)pid, 0) != 0;
}

/* ---- run ------------------------------------------------------------------------------------- */

static void run_takes_over_exit_code_and_hands_over_fence_and_owner(void **state)
{
    (void)state;
    char out[512], owner[256];
    unsigned long long first, second;
    const char *words = "run n -- sh -c 'echo $DLOCK_FENCE $DLOCK_OWNER; exit 7'";
    assert_int_equal(run(words, out, sizeof(out)), 7);
    assert_int_equal(sscanf(out, "%llu %255s", &first, owner), 2);
    assert_int_equal(ask("EXISTS n"), 0);
    assert_int_equal(run(words, out, sizeof(out)), 7);
    assert_int_equal(sscanf(out, "%llu %255s", &second, owner), 2);
    assert_true(second > first);
}

static void run_owner_is_what_stands_in_redis(void **state)
{
    (void)state;
    char owner[256];
    fx_process *process = start("run n -- sh -c 'echo $DLOCK_OWNER; exec sleep 60'");
    assert_true(fx_process_first_line(process, owner, sizeof(owner), SOON_MS));
    redisReply *reply = fx_redis_reply(redis, "GET n");
    assert_string_equal(reply->str, owner);
    freeReplyObject(reply);
    fx_process_signal(process, SIGTERM);
    assert_int_equal(fx_process_wait(process, SOON_MS), 128 + SIGTERM);
    fx_process_free(process);
}

static const struct {
    const char *words;
    int code;
} exit_codes[] = {
    {"run n -- true", 0},
    {"run n -- false", 1},
    {"run n -- sh -c 'kill -9 $$'", 137},
    {"run n -- /nonexistent", 127},
    {"run n -- /etc/passwd", 126},
    {"run --wait-ms 0 taken -- true", 75},
    {"run --wait-ms 150 taken -- true", 75},
    {"run --wait-ms 0 hash -- true", 75},
    {"run --wait-ms 0 list -- true", 75},
    {"run --wait 0 taken -- true", 75},
    {"run --wait=1.15 taken -- true", 75},
    {"run -w .95 taken -- true", 75},
    {"run -n taken -- true", 75},
    {"run --nonblock --conflict-exit-code 0 taken -- true", 0},
    {"run -nE 9 taken -- true", 9},
    {"run n --wait 0 -- true", 0},
    {"run n sh -c 'exit 5'", 5},
    {"run n sh -c 'test $1 = -n' sh -n", 0},
    {"run -n --redis redis://127.0.0.1:1 n -- true", 69},
    {"run -E 9 --wait-ms 300 --redis redis://127.0.0.1:1 n -- true", 69},
    {"run --redis redis://127.0.0.1:1 n -- true", 69},
    {"run --redis nonsense n -- true", 64},
    {"run --wait-ms soon n -- true", 64},
    {"run --wait-ms -5 n -- true", 64},
    {"run --wait-ms +5 n -- true", 64},
    {"run --wait-ms ' 5' n -- true", 64},
    {"run --wait-ms 31536000000 n -- true", 0},
    {"run --wait-ms 31536000001 n -- true", 64},
    {"run --lease-ms 99 n -- true", 64},
    {"run --grace-ms 86400000 n -- true", 0},
    {"run --lease-ms 86400000 n -- true", 0},
    {"run --lease-ms 86400001 n -- true", 64},
    {"run --grace-ms 86400001 n -- true", 64},
    {"run --lease-ms 900 --lease-ms 900 n -- true", 64},
    {"run --wait '' n -- true", 64},
    {"run --wait 1e3 n -- true", 64},
    {"run --wait -1 n -- true", 64},
    {"run --wait . n -- true", 64},
    {"run --wait 31536000 n -- true", 0},
    {"run --wait 31536000.1 n -- true", 64},
    {"run --wait 1 --wait-ms 1000 n -- true", 64},
    {"run --wait 1 -n n -- true", 64},
    {"run -n -E 255 taken -- true", 255},
    {"run -E 256 n -- true", 64},
    {"run -E 5 -E 5 n -- true", 64},
    {"run --grace-ms -1 n -- true", 64},
    {"run --redis '' n -- true", 64},
    {"run --wait-m 100 n -- true", 64},
    {"run -- true", 64},
    {"run n two -- true", 64},
    {"status --redis= n", 64},
    {"status --jso n", 64},
    {"release --forc n", 64},
    {"release --redis '' --force n", 64},
    {"bench --redis ''", 64},
    {"bench --duration 100", 64},
    {"run --unknown n -- true", 64},
    {"run n", 64},
    {"run", 64},
    {"", 64},
    {"dance", 64},
    {"--help", 0},
    {"-h", 0},
    {"run --help", 0},
    {"run -h", 0},
    {"--version", 0},
};

static void run_exit_codes(void **state)
{
    (void)state;
    ask("SET taken stranger");
    ask("HSET hash stranger 1");
    ask("LPUSH list stranger");
    for (size_t i = 0; i < COUNT(exit_codes); i++) {
        int code = run(exit_codes[i].words, NULL, 0);
        if (code != exit_codes[i].code)
            fail_msg("dlock %s: exit %d, not %d", exit_codes[i].words, code, exit_codes[i].code);
    }
    /* The shortest lease: a busy machine may lose it. */
    assert_int_not_equal(run("run --lease-ms 100 n -- true", NULL, 0), 64);
    assert_int_equal(ask("EXISTS n"), 0);
}

static void complaints_name_dlock_and_what_was_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *words, *says;
    } cases[] = {
        {"run --unknown n", "dlock: run: unrecognized option '--unknown'\n"},
        {"run -y n -- true", "dlock: run: invalid option -- 'y'\n"},
        {"run --wait-m 5 n", "dlock: run: options are not abbreviated: is --wait-ms meant?\n"},
        {"run --redis '' n -- true", "dlock: --redis is empty\n"},
        {"run --wait soon n -- true", "dlock: --wait takes seconds from 0 to 31536000, such as"},
        {"run n -- ", "dlock: run: what is needed is NAME -- COMMAND\n"},
        {"status", "dlock: status: one NAME is needed\nTry 'dlock status --help'.\n"},
        {"status --x n", "dlock: status: unrecognized option '--x'\n"},
        {"release n", "dlock: a lock is released by its holder; --force takes it away from it\n"
                      "Try 'dlock release --help'.\n"},
        {"bench x", "dlock: bench: what to do with \"x\"?\n"},
        {"dance", "dlock: there is no command \"dance\"\nTry 'dlock --help'.\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        fx_process *process = start(cases[i].words);
        assert_int_equal(fx_process_wait(process, SOON_MS), 64);
        const char *said = fx_process_stderr(process);
        if (strncmp(said, cases[i].says, strlen(cases[i].says)) != 0)
            fail_msg("dlock %s: %s", cases[i].words, said);
        fx_process_free(process);
    }
}

static void each_subcommand_has_its_own_help(void **state)
{
    (void)state;
    static const char *const subcommands[] = {"run",     "semaphore", "elect", "leader", "status",
                                              "release", "latch",     "wait",  "bench"};
    for (size_t i = 0; i < COUNT(subcommands); i++) {
        char words[64], usage[64], out[8192];
        snprintf(words, sizeof(words), "%s --help", subcommands[i]);
        snprintf(usage, sizeof(usage), "usage: dlock %s ", subcommands[i]);
        assert_int_equal(run(words, out, sizeof(out)), 0);
        assert_int_equal(strncmp(out, usage, strlen(usage)), 0);
        assert_non_null(strstr(out, "--redis URL"));
        assert_non_null(strstr(out, "Exit codes"));
        assert_non_null(strstr(out, "Example"));
    }
}

static void an_empty_address_in_the_environment_is_not_the_default(void **state)
{
    (void)state;
    setenv("DLOCK_REDIS", "", 1);
    int code = run("run n -- true", NULL, 0);
    setenv("DLOCK_REDIS", fx_redis_url(redis), 1);
    assert_int_equal(code, 64);
}

static bool has_complained(void *process)
{
    return strchr(fx_process_stderr(process), '\n') != NULL;
}

static void run_waits_for_a_redis_that_is_not_there_yet(void **state)
{
    (void)state;
    fx_only_single("it kills Redis");
    fx_redis_kill(redis);
    fx_process *process = start("run --wait 60 n -- echo here");
    fx_process *ended = start("run --wait 60 n -- true");
    fx_process *tired = start("run --wait 1 n -- true");
    assert_true(fx_wait_until(has_complained, process, SOON_MS));
    assert_true(fx_wait_until(has_complained, ended, SOON_MS));
    fx_process_signal(ended, SIGTERM);
    assert_int_equal(fx_process_wait(ended, SOON_MS), 128 + SIGTERM);
    assert_int_equal(fx_process_wait(tired, SOON_MS), 69);
    const char *again = strstr(fx_process_stderr(tired), "trying again for 1 s");
    assert_non_null(again);
    assert_null(strstr(again + 1, "trying again")); /* said once, however many tries there were */
    fx_redis_restart(redis);
    assert_int_equal(fx_process_wait(process, SOON_MS), 0);
    assert_string_equal(fx_process_stdout(process), "here\n");
    assert_non_null(strstr(fx_process_stderr(process), "can not be reached, trying again for 60"));
    fx_process_free(process);
    fx_process_free(ended);
    fx_process_free(tired);
}

static void run_waits_for_seconds(void **state)
{
    (void)state;
    ask("SET n stranger PX 300");
    assert_int_equal(run("run --wait 60 n -- true", NULL, 0), 0);
}

static void run_waits_until_the_lock_is_free(void **state)
{
    (void)state;
    ask("SET n stranger PX 300");
    assert_int_equal(run("run n -- true", NULL, 0), 0);
}

static void runs_exclude_each_other(void **state)
{
    (void)state;
    enum { RUNS = 8 };
    char dir[256], words[600], count[32] = "";
    fx_process *processes[RUNS];
    fx_dir_make(dir, sizeof(dir));
    snprintf(words, sizeof(words),
             "run n -- sh -c 'c=$(cat %s/c 2>&- || echo 0); echo $((c+1)) >%s/c'", dir, dir);
    for (int i = 0; i < RUNS; i++)
        processes[i] = start(words);
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(fx_process_wait(processes[i], SOON_MS), 0);
        fx_process_free(processes[i]);
    }
    snprintf(words, sizeof(words), "%s/c", dir);
    FILE *file = fopen(words, "r");
    assert_non_null(file);
    assert_non_null(fgets(count, sizeof(count), file));
    fclose(file);
    assert_string_equal(count, "8\n");
    fx_dir_remove(dir);
}

static void run_renews(void **state)
{
    (void)state;
    /* Without renewal the command is ended, and the exit code 76. A busy machine may keep the
     * watchdog waiting for a quarter of the lease. */
    assert_int_equal(run("run --lease-ms 4000 n -- sleep 5", NULL, 0), 0);
}

static void run_ends_the_command_when_the_lock_is_lost(void **state)
{
    (void)state;
    fx_process *process = start_running("run --lease-ms 3000 n -- sh -c 'echo; exec sleep 60'");
    ask("SET n stranger");
    assert_int_equal(fx_process_wait(process, SOON_MS), 76);
    assert_non_null(strstr(fx_process_stderr(process), "is lost"));
    assert_int_equal(ask("EXISTS n"), 1); /* the stranger's lock is left alone */
    fx_process_free(process);
}

static void run_kills_a_command_that_does_not_heed_sigterm(void **state)
{
    (void)state;
    fx_process *process = start_running("run --lease-ms 600 --grace-ms 100 n -- "
                                        "sh -c 'trap : TERM; echo; while :; do sleep 0.02; done'");
    ask("DEL n");
    assert_int_equal(fx_process_wait(process, SOON_MS), 76);
    fx_process_free(process);
}

static void run_notices_the_loss_when_redis_does_not_answer(void **state)
{
    (void)state;
    fx_process *process = start_running("run --lease-ms 900 n -- sh -c 'echo; exec sleep 60'");
    fx_redis_signal(redis, SIGSTOP);
    int code = fx_process_wait(process, SOON_MS);
    fx_redis_signal(redis, SIGCONT);
    assert_int_equal(code, 76);
    fx_process_free(process);
}

static void run_passes_signals_on(void **state)
{
    (void)state;
    fx_process *process =
        start_running("run n -- sh -c 'trap \"exit 9\" USR1; echo; while :; do sleep 0.02; done'");
    fx_process_signal(process, SIGUSR1);
    assert_int_equal(fx_process_wait(process, SOON_MS), 9);
    assert_int_equal(ask("EXISTS n"), 0);
    fx_process_free(process);
}

static bool somebody_asked(void *before)
{
    redisReply *reply = fx_redis_reply(redis, "INFO clients");
    long clients =
        strtol(strstr(reply->str, "connected_clients:") + strlen("connected_clients:"), NULL, 10);
    freeReplyObject(reply);
    return clients > *(long *)before;
}

static void run_stops_waiting_on_a_signal(void **state)
{
    (void)state;
    long alone = 1;
    ask("SET n stranger");
    fx_process *process = start("run n -- true");
    assert_true(fx_wait_until(somebody_asked, &alone, SOON_MS));
    fx_process_signal(process, SIGTERM);
    assert_int_equal(fx_process_wait(process, SOON_MS), 128 + SIGTERM);
    fx_process_free(process);
}

static void the_command_dies_with_dlock(void **state)
{
    (void)state;
    char line[64];
    fx_process *process = start("run n -- sh -c 'echo $$; exec sleep 60'");
    assert_true(fx_process_first_line(process, line, sizeof(line), SOON_MS));
    pid_t command = (pid_t)strtol(line, NULL, 10);
    assert_int_equal(kill(command, 0), 0);
    fx_process_signal(process, SIGKILL);
    assert_true(fx_wait_until(is_gone, &command, SOON_MS));
    fx_process_free(process);
}

static void the_command_inherits_no_descriptors(void **state)
{
    (void)state;
    char out[256];
    assert_int_equal(run("run n -- ls /proc/self/fd", out, sizeof(out)), 0);
    assert_string_equal(out, "0\n1\n2\n3\n"); /* 3 is the directory that ls reads */
}

/* ---- status, release ------------------------------------------------------------------------- */

static void status_tells_free_from_held(void **state)
{
    (void)state;
    char out[1024], pid[32];
    assert_int_equal(run("status n", out, sizeof(out)), 1);
    assert_non_null(strstr(out, "n is free"));

    fx_process *process = start_running("run n -- /bin/sh -c 'echo; exec sleep 60'");
    snprintf(pid, sizeof(pid), "%d on ", (int)fx_process_pid(process));
    assert_int_equal(run("status n", out, sizeof(out)), 0);
    assert_non_null(strstr(out, "n is held"));
    assert_non_null(strstr(out, "  owner    sh@"));
    assert_non_null(strstr(out, pid));
    assert_non_null(strstr(out, " (sh)\n"));
    fx_process_signal(process, SIGTERM);
    fx_process_wait(process, SOON_MS);
    fx_process_free(process);

    ask("LPUSH list stranger");
    assert_int_equal(run("status list", out, sizeof(out)), 0);
    assert_int_equal(run("status --redis redis://127.0.0.1:1 n", NULL, 0), 69);
    assert_int_equal(run("status", NULL, 0), 64);
}

static void status_as_json(void **state)
{
    (void)state;
    char out[1024], host[64];
    fx_process *process = start_running("run n -- sh -c 'echo; exec sleep 60'");
    assert_int_equal(run("status --json n", out, sizeof(out)), 0);
    cJSON *json = cJSON_Parse(out);
    assert_non_null(json);
    gethostname(host, sizeof(host));
    assert_string_equal(cJSON_GetObjectItem(json, "name")->valuestring, "n");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(json, "held")));
    assert_string_equal(cJSON_GetObjectItem(json, "host")->valuestring, host);
    assert_string_equal(cJSON_GetObjectItem(json, "label")->valuestring, "sh");
    assert_int_equal(cJSON_GetObjectItem(json, "pid")->valueint, fx_process_pid(process));
    assert_in_range(cJSON_GetObjectItem(json, "ttl_ms")->valueint, 1, 10000);
    assert_true(cJSON_GetObjectItem(json, "fence")->valuedouble > 0);
    cJSON_Delete(json);
    fx_process_signal(process, SIGTERM);
    fx_process_wait(process, SOON_MS);
    fx_process_free(process);

    assert_int_equal(run("status --json n", out, sizeof(out)), 1);
    json = cJSON_Parse(out);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(json, "held")));
    cJSON_Delete(json);
}

/* A holder that is no process of ours, put there by hand. */
static void status_tells_the_time_that_is_left(void **state)
{
    (void)state;
    char out[1024];
    ask("SET n stranger PX 60000");
    ask("SET dlock:{n}:fence %s", "7 s another");
    assert_int_equal(run("status n", out, sizeof(out)), 0);
    double left_s = 0;
    int waiting = -1;
    const char *expires = strstr(out, "\n  expires  in ");
    assert_non_null(expires);
    assert_int_equal(sscanf(expires,
                            "\n  expires  in %lf s unless renewed\n  fence    7\n"
                            "  waiting  %d\n",
                            &left_s, &waiting),
                     2);
    assert_true(left_s > 0 && left_s <= 60 && waiting == 0);
    assert_null(strstr(out, "process"));
    ask("SET n stranger");
    assert_int_equal(run("status n", out, sizeof(out)), 0);
    assert_string_equal(out, "n is held\n  owner    stranger\n  expires  never\n  fence    7\n"
                             "  waiting  0\n");
    ask("DEL n");
    assert_int_equal(run("status n", out, sizeof(out)), 1);
    assert_string_equal(out, "n is free\n  fence    7\n");
    ask("DEL dlock:{n}:fence");
    assert_int_equal(run("status n", out, sizeof(out)), 1);
    assert_string_equal(out, "n is free\n");
}

static void release_needs_force_and_ends_the_holder(void **state)
{
    (void)state;
    char name[] = "n";
    fx_process *process = start_running("run --lease-ms 600 n -- sh -c 'echo; exec sleep 60'");
    assert_int_equal(run("release n", NULL, 0), 64);
    assert_true(key_exists(name));
    assert_int_equal(run("release --force n", NULL, 0), 0);
    assert_false(key_exists(name));
    assert_int_equal(fx_process_wait(process, SOON_MS), 76);
    assert_int_equal(run("release --force n", NULL, 0), 1);
    fx_process_free(process);
}

#define TEST(name) cmocka_unit_test_setup(name, flush)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(run_takes_over_exit_code_and_hands_over_fence_and_owner),
        TEST(run_owner_is_what_stands_in_redis),
        TEST(run_exit_codes),
        TEST(complaints_name_dlock_and_what_was_wrong),
        TEST(each_subcommand_has_its_own_help),
        TEST(an_empty_address_in_the_environment_is_not_the_default),
        TEST(run_waits_for_a_redis_that_is_not_there_yet),
        TEST(run_waits_for_seconds),
        TEST(run_waits_until_the_lock_is_free),
        TEST(runs_exclude_each_other),
        TEST(run_renews),
        TEST(run_ends_the_command_when_the_lock_is_lost),
        TEST(run_kills_a_command_that_does_not_heed_sigterm),
        TEST(run_notices_the_loss_when_redis_does_not_answer),
        TEST(run_passes_signals_on),
        TEST(run_stops_waiting_on_a_signal),
        TEST(the_command_dies_with_dlock),
        TEST(the_command_inherits_no_descriptors),
        TEST(status_tells_free_from_held),
        TEST(status_as_json),
        TEST(status_tells_the_time_that_is_left),
        TEST(release_needs_force_and_ends_the_holder),
    };
    return cmocka_run_group_tests_name("dlock command", tests, setup_group, teardown_group);
}
