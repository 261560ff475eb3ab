/* dlock run --at-least and --once-per: the hosts of a fleet are processes here, one after the other
 * or side by side, on one real Redis. */
#include "dlock.h"
#include "tests/lock/cmd/by_shell.h"
#include "tests/support/clocks.h"
#include "tests/support/proxy.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define HOSTS 5

/* Prints a line under the lock, and ends with the code once it gets USR1. */
#define UNTIL_USR1(code)                                                                           \
    "sh -c 'exec 2>/dev/null; trap \"exit " code "\" USR1; echo; while :; do sleep 0.02; done'"

static fx_process *start_running(const char *words)
{
    char line[64];
    fx_process *process = start(words);
    assert_true(fx_process_first_line(process, line, sizeof(line), SOON_MS));
    return process;
}

/* The exit code; its complaints go to `said`, if given. */
static int finish(fx_process *process, char *said, size_t said_len)
{
    int code = fx_process_wait(process, SOON_MS);
    if (said)
        snprintf(said, said_len, "%s", fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

static void assert_stands(const char *key, const char *value)
{
    char is[256] = "";
    assert_true(fx_redis_text(redis, is, sizeof(is), "GET %s", key));
    assert_string_equal(is, value);
}

/* Whether the host ran its command, which prints "ran". */
static int ran(fx_process *host, int code)
{
    assert_int_equal(fx_process_wait(host, SOON_MS), code);
    int yes = strcmp(fx_process_stdout(host), "ran\n") == 0;
    fx_process_free(host);
    return yes;
}

static bool is_gone(void *key)
{
    return ask("EXISTS %s", (const char *)key) == 0;
}

/* ---- --at-least ------------------------------------------------------------------------------ */

static void a_short_job_runs_once_among_five_hosts(void **state)
{
    (void)state;
    fx_process *hosts[HOSTS];
    int runs = 0;
    for (int i = 0; i < HOSTS; i++)
        hosts[i] = start("run -n -E 0 --at-least 60s n -- echo ran");
    for (int i = 0; i < HOSTS; i++)
        runs += ran(hosts[i], 0);
    for (int i = 0; i < HOSTS; i++)
        runs += ran(start("run -n -E 0 --at-least 60s n -- echo ran"), 0);
    assert_int_equal(runs, 1);
    assert_in_range(ask("PTTL n"), 1, 60000);
}

static void the_rest_is_counted_from_the_grant(void **state)
{
    (void)state;
    char key[] = "n";
    assert_int_equal(run("run --at-least 1m n -- sleep 1", NULL, 0), 0);
    assert_in_range(ask("PTTL n"), 1, 59000);
    ask("DEL n");
    assert_int_equal(run("run --at-least 0.05 n -- sleep 0.2", NULL, 0), 0);
    assert_int_equal(ask("EXISTS n"), 0); /* nothing is left: released at the end */
    assert_int_equal(run("run --at-least 0.3s n -- true", NULL, 0), 0);
    assert_true(fx_wait_until(is_gone, key, SOON_MS));
}

static void a_failing_job_keeps_the_name_taken(void **state)
{
    (void)state;
    assert_int_equal(run("run --at-least 1h failed -- sh -c 'exit 3'", NULL, 0), 3);
    assert_in_range(ask("PTTL failed"), 60000, 3600000);
    assert_int_equal(run("run --at-least 1h none -- /nonexistent", NULL, 0), 127);
    assert_in_range(ask("PTTL none"), 60000, 3600000);
    assert_int_equal(run("run -n failed -- true", NULL, 0), 75);
}

/* The lease, of a second, would let the next host in. */
static void the_name_stays_taken_when_dlock_is_killed(void **state)
{
    (void)state;
    fx_process *killed =
        start_running("run --lease-ms 1000 --at-least 2h n -- sh -c 'echo; exec sleep 60'");
    fx_process_signal(killed, SIGKILL);
    assert_int_equal(finish(killed, NULL, 0), 128 + SIGKILL);
    assert_in_range(ask("PTTL n"), 3600000, 7200000);
    assert_int_equal(run("run -n --at-least 2h n -- true", NULL, 0), 75);
}

static void a_signal_ends_the_job_and_not_the_rest(void **state)
{
    (void)state;
    fx_process *ended = start_running("run --at-least 1h n -- sh -c 'echo; exec sleep 60'");
    fx_process_signal(ended, SIGTERM);
    assert_int_equal(finish(ended, NULL, 0), 128 + SIGTERM);
    assert_in_range(ask("PTTL n"), 60000, 3600000);
}

/* No renewal comes between the loss and the end. */
static void what_was_lost_meanwhile_is_the_later_owners(void **state)
{
    (void)state;
    char said[512];
    fx_process *loser = start_running("run --lease-ms 3600000 --at-least 2h --once-per 1h n -- " //
                                      UNTIL_USR1("0"));
    ask("SET n later PX 600000");
    fx_process_signal(loser, SIGUSR1);
    assert_int_equal(finish(loser, said, sizeof(said)), 76);
    assert_non_null(strstr(said, "was lost before"));
    assert_stands("n", "later");
    assert_in_range(ask("PTTL n"), 1, 600000);
    assert_int_equal(ask("EXISTS dlock:{n}:ran"), 0);
    /* The same token with a later fence is another's, too. */
    loser = start_running("run --lease-ms 3600000 --at-least 2h --once-per 1h m -- " //
                          UNTIL_USR1("0"));
    ask("SET dlock:{m}:fence %s", "9 s another");
    fx_process_signal(loser, SIGUSR1);
    assert_int_equal(finish(loser, NULL, 0), 76);
    assert_int_equal(ask("EXISTS dlock:{m}:ran"), 0);
}

/* However long the name is to stay taken, the loss is noticed as soon as without. */
static void a_lock_that_is_taken_away_ends_the_job(void **state)
{
    (void)state;
    fx_process *loser = start_running("run --lease-ms 900 --at-least 2h n -- " UNTIL_USR1("0"));
    ask("SET n later");
    assert_int_equal(finish(loser, NULL, 0), 76);
    assert_stands("n", "later");
}

static void writers_keep_the_name_from_readers(void **state)
{
    (void)state;
    char out[512];
    assert_int_equal(run("run -x --at-least 1h n -- true", NULL, 0), 0);
    assert_in_range(ask("PTTL n"), 60000, 3600000);
    assert_int_equal(ask("ZCARD n"), 1);
    assert_int_equal(run("run -n -s n -- true", NULL, 0), 75);
    assert_int_equal(run("run -n -x n -- true", NULL, 0), 75);
    assert_int_equal(run("status n", out, sizeof(out)), 0);
    assert_non_null(strstr(out, "n is held by a writer\n"));
    assert_int_equal(run("run -x --lease-ms 3600000 --at-least 60s k -- true", NULL, 0), 0);
    assert_in_range(ask("PTTL k"), 1, 60000);
    assert_int_equal(run("run -x --at-least 0.3 m -- true", NULL, 0), 0);
    assert_int_equal(run("run -s m -- true", NULL, 0), 0);
}

static dlock_lock *fair_lock(dlock_client *client, const char *name)
{
    char err[256] = "";
    dlock_lock *lock;
    dlock_options fair = {.kind = DLOCK_FAIR};
    assert_int_equal(dlock_lock_new(client, name, &fair, &lock, err, sizeof(err)), DLOCK_OK);
    return lock;
}

/* Of the library, with a queue: it finds the name held, waits, and is not forgotten. */
static void a_fair_waiter_gets_it_after_the_rest(void **state)
{
    (void)state;
    char err[256] = "";
    dlock_client *client;
    dlock_hold *hold;
    assert_int_equal(dlock_client_open(fx_redis_url(redis), NULL, &client, err, sizeof(err)),
                     DLOCK_OK);
    dlock_lock *kept = fair_lock(client, "n"), *soon_free = fair_lock(client, "m");
    assert_int_equal(run("run --at-least 1h n -- true", NULL, 0), 0);
    assert_int_equal(dlock_acquire(kept, NULL, &hold), DLOCK_BUSY);
    assert_int_equal(dlock_acquire(kept, &(dlock_wait){.wait_ms = 300}, &hold), DLOCK_BUSY);

    assert_int_equal(run("run --at-least 2s m -- true", NULL, 0), 0);
    fx_process *waits = start("run --wait 60 m -- true");
    assert_int_equal(dlock_acquire(soon_free, &(dlock_wait){.wait_ms = SOON_MS}, &hold), DLOCK_OK);
    dlock_release(hold);
    assert_int_equal(finish(waits, NULL, 0), 0);
    dlock_lock_free(soon_free);
    dlock_lock_free(kept);
    dlock_client_free(client);
}

static void status_tells_of_a_kept_name_and_force_frees_it(void **state)
{
    (void)state;
    char out[512];
    assert_int_equal(run("run --at-least 1h n -- true", NULL, 0), 0);
    assert_int_equal(run("status n", out, sizeof(out)), 0);
    assert_non_null(strstr(out, ", which has ended\n"));
    assert_non_null(strstr(out, " s unless taken away\n"));
    assert_int_equal(run("release --force n", NULL, 0), 0);
    assert_int_equal(run("run -n n -- true", NULL, 0), 0);
}

/* ---- --once-per ------------------------------------------------------------------------------ */

static void a_second_host_does_not_run_in_the_period(void **state)
{
    (void)state;
    char said[512];
    assert_int_equal(ran(start("run --once-per 1h n -- echo ran"), 0), 1);
    assert_int_equal(ask("EXISTS n"), 0);
    assert_in_range(ask("PTTL dlock:{n}:ran"), 60000, 3600000);
    assert_int_equal(ran(start("run --once-per 1h n -- echo ran"), 75), 0);
    assert_int_equal(ran(start("run --once-per 1h -n -E 0 n -- echo ran"), 0), 0);
    assert_int_equal(finish(start("run --once-per 1h -E 0 n -- true"), said, sizeof(said)), 0);
    assert_string_equal(said, "");
    ask("SET taken stranger");
    assert_int_equal(finish(start("run -n -E 0 taken -- true"), said, sizeof(said)), 0);
    assert_string_equal(said, "");
    assert_int_equal(finish(start("run --once-per 1h -E 9 n -- echo ran"), said, sizeof(said)), 9);
    assert_non_null(strstr(said, "echo is not run: under the lock \"n\" a run that succeeded"));
    assert_int_equal(ask("EXISTS n"), 0);
    /* Of another kind of lock the record is the same, and who does not ask for it runs. */
    assert_int_equal(ran(start("run -x --once-per 1h n -- echo ran"), 75), 0);
    assert_int_equal(ran(start("run n -- echo ran"), 0), 1);
    assert_int_equal(ran(start("run --once-per 1h job:{7} -- echo ran"), 0), 1);
    assert_int_equal(ask("EXISTS dlock:{7}:ran:job:{7}"), 1);
}

static void five_hosts_at_once_run_it_once(void **state)
{
    (void)state;
    fx_process *hosts[HOSTS];
    int runs = 0;
    for (int i = 0; i < HOSTS; i++)
        hosts[i] = start("run -E 0 --once-per 1h n -- sh -c 'echo ran; sleep 0.1'");
    for (int i = 0; i < HOSTS; i++)
        runs += ran(hosts[i], 0);
    assert_int_equal(runs, 1);
}

static void a_job_that_failed_does_not_count(void **state)
{
    (void)state;
    fx_process *killed = start_running("run --once-per 1h n -- sh -c 'echo; exec sleep 60'");
    fx_process_signal(killed, SIGTERM);
    assert_int_equal(finish(killed, NULL, 0), 128 + SIGTERM);
    assert_int_equal(run("run --once-per 1h n -- sh -c 'exit 3'", NULL, 0), 3);
    killed = start_running("run --lease-ms 3000 --once-per 1h n -- sh -c 'echo; exec sleep 60'");
    fx_process_signal(killed, SIGKILL);
    assert_int_equal(finish(killed, NULL, 0), 128 + SIGKILL);
    assert_int_equal(ran(start("run --once-per 1h n -- echo ran"), 0), 1);
    assert_int_equal(ran(start("run --once-per 1h n -- echo ran"), 75), 0);
}

static void it_runs_again_when_the_period_is_over(void **state)
{
    (void)state;
    char key[] = "dlock:{n}:ran";
    assert_int_equal(run("run --once-per 1m n -- sleep 1", NULL, 0), 0);
    assert_in_range(ask("PTTL dlock:{n}:ran"), 1, 59000); /* counted from its start */
    assert_int_equal(ran(start("run --once-per 1s n -- echo ran"), 0), 1);
    assert_true(fx_wait_until(is_gone, key, SOON_MS));
    assert_int_equal(ran(start("run --once-per 1m n -- echo ran"), 0), 1);
    /* Something else at the record counts as none, and goes. */
    ask("DEL dlock:{n}:ran");
    ask("RPUSH dlock:{n}:ran strange");
    assert_int_equal(ran(start("run --once-per 1m n -- echo ran"), 0), 1);
    assert_int_equal(ran(start("run --once-per 1m n -- echo ran"), 75), 0);
}

static void both_together(void **state)
{
    (void)state;
    assert_int_equal(run("run --at-least 1h --once-per 2h n -- sh -c 'exit 3'", NULL, 0), 3);
    assert_int_equal(ran(start("run -n --at-least 1h --once-per 2h n -- echo ran"), 75), 0);
    ask("DEL n");
    assert_int_equal(ran(start("run -n --at-least 1h --once-per 2h n -- echo ran"), 0), 1);
    assert_in_range(ask("PTTL n"), 60000, 3600000);
    assert_in_range(ask("PTTL dlock:{n}:ran"), 3600001, 7200000);
    /* Who does not run does not keep the name. */
    ask("DEL n");
    assert_int_equal(ran(start("run -n --at-least 1h --once-per 2h n -- echo ran"), 75), 0);
    assert_int_equal(ask("EXISTS n"), 0);
}

/* ---- what Redis does not answer -------------------------------------------------------------- */

static bool has_complained(void *process)
{
    return strchr(fx_process_stderr(process), '\n') != NULL;
}

/* Starts it behind a proxy, which is told `order` once it has the lock; then the
 * command succeeds. With `heals` the proxy is well again once dlock has complained. */
static int end_beside(const char *options, const char *order, bool heals, char *said,
                      size_t said_len)
{
    char words[512];
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(redis));
    snprintf(words, sizeof(words), "run --redis %s %s n -- " UNTIL_USR1("0"), fx_proxy_url(proxy),
             options);
    fx_process *process = start_running(words);
    fx_proxy_say(proxy, "%s", order);
    fx_process_signal(process, SIGUSR1);
    if (heals) {
        assert_true(fx_wait_until(has_complained, process, SOON_MS));
        fx_proxy_say(proxy, "heal");
    }
    int code = finish(process, said, said_len);
    fx_proxy_stop(proxy);
    return code;
}

static void a_lost_question_or_answer_is_asked_again(void **state)
{
    (void)state;
    static const char *const orders[] = {"drop request 1 match script PXAT",
                                         "drop reply 1 match script PXAT"};
    fx_only_single("a proxy stands before it");
    for (size_t i = 0; i < COUNT(orders); i++) {
        char said[512];
        ask("FLUSHALL");
        assert_int_equal(
            end_beside("--at-least 1h --once-per 2h", orders[i], false, said, sizeof(said)), 0);
        assert_string_equal(said, "");
        assert_int_equal(run("status n", said, sizeof(said)), 0);
        assert_non_null(strstr(said, "which has ended"));
        assert_int_equal(ask("EXISTS dlock:{n}:ran"), 1);
        assert_in_range(ask("PTTL n"), 60000, 3600000);
        ask("FLUSHALL");
        assert_int_equal(end_beside("--once-per 2h", orders[i], false, said, sizeof(said)), 0);
        assert_string_equal(said, "");
        assert_int_equal(ask("EXISTS dlock:{n}:ran"), 1);
        assert_int_equal(ask("EXISTS n"), 0);
        /* Also where the lease is shorter than the first question. */
        ask("FLUSHALL");
        assert_int_equal(end_beside("--lease-ms 600 --at-least 1h --once-per 2h", orders[i], false,
                                    said, sizeof(said)),
                         0);
        assert_string_equal(said, "");
        assert_in_range(ask("PTTL n"), 60000, 3600000);
    }
}

/* The first question keeps the name; neither it nor the others are answered. */
static void a_kept_name_is_found_by_its_token(void **state)
{
    (void)state;
    char said[512];
    fx_only_single("a proxy stands before it");
    assert_int_equal(end_beside("--lease-ms 600 --at-least 1h --once-per 2h",
                                "reset after match script PXAT", false, said, sizeof(said)),
                     0);
    assert_string_equal(said, "");
    assert_int_equal(ask("EXISTS dlock:{n}:ran"), 1);
}

static void a_silent_end_leaves_the_lock_to_its_lease(void **state)
{
    (void)state;
    static const char both[] = "--lease-ms 2000 --at-least 2h --once-per 3h";
    char said[1024];
    fx_only_single("a proxy stands before it");
    assert_int_equal(end_beside(both, "blackhole", false, said, sizeof(said)), 69);
    assert_non_null(strstr(said, "counts for --once-per is not known"));
    assert_int_equal(ask("EXISTS dlock:{n}:ran"), 0);
    assert_in_range(ask("PTTL n"), 3600000, 7200000);
    ask("DEL n");
    /* Nor is it released when Redis is back before dlock has ended. */
    assert_int_equal(
        end_beside("--lease-ms 2000 --at-least 2h", "blackhole", true, said, sizeof(said)), 0);
    assert_non_null(strstr(said, "it stays until its lease ends"));
    assert_in_range(ask("PTTL n"), 3600000, 7200000);
    ask("DEL n");
    assert_int_equal(
        end_beside("--lease-ms 6000 --once-per 3h", "blackhole", false, said, sizeof(said)), 69);
    assert_int_equal(ask("EXISTS dlock:{n}:ran"), 0);
}

/* It is not known whether the command ran: it is not run, and the name not kept. */
static void no_answer_to_whether_it_ran_is_no_run(void **state)
{
    (void)state;
    char words[512], said[512];
    fx_only_single("a proxy stands before it");
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(redis));
    fx_proxy_say(proxy, "reset before match script math.abs");
    snprintf(words, sizeof(words),
             "run --redis %s --lease-ms 1000 --at-least 1h --once-per 1h n -- touch %s/file",
             fx_proxy_url(proxy), fx_redis_dir(redis));
    assert_int_equal(finish(start(words), said, sizeof(said)), 69);
    assert_non_null(strstr(said, "is not known, it is not run"));
    assert_int_equal(ask("EXISTS n"), 0);
    assert_int_not_equal(fx_shell("test -e \"$1/file\"", fx_redis_dir(redis), SOON_MS), 0);
    fx_proxy_stop(proxy);
}

static bool is_taken(void *unused)
{
    (void)unused;
    return ask("EXISTS n") == 1;
}

/* `what` becomes of its question whether the command ran; then it gets the signal. `order` is for
 * the proxy before that. */
static void interrupt_question(const char *what, int signo, const char *order, char *said,
                               size_t said_len)
{
    char words[512];
    ask("FLUSHALL");
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(redis));
    fx_proxy_say(proxy, "%s match script math.abs", what);
    snprintf(words, sizeof(words),
             "run --redis %s --lease-ms 60000 --at-least 1h --once-per 1h n -- touch %s/file",
             fx_proxy_url(proxy), fx_redis_dir(redis));
    fx_process *process = start(words);
    assert_true(fx_wait_until(is_taken, NULL, SOON_MS));
    if (order)
        fx_proxy_say(proxy, "%s", order);
    fx_process_signal(process, SIGUSR1); /* is for a command */
    fx_process_signal(process, signo);
    assert_int_equal(finish(process, said, said_len), 128 + signo);
    assert_int_not_equal(fx_shell("test -e \"$1/file\"", fx_redis_dir(redis), SOON_MS), 0);
    assert_int_equal(ask("EXISTS dlock:{n}:ran"), 0);
    fx_proxy_stop(proxy);
}

static void a_signal_ends_the_question_whether_it_ran(void **state)
{
    (void)state;
    char said[512];
    fx_only_single("a proxy stands before it");
    interrupt_question("drop request", SIGTERM, NULL, said, sizeof(said));
    assert_string_equal(said, "");
    assert_int_equal(ask("EXISTS n"), 0);
    interrupt_question("drop request", SIGINT, NULL, said, sizeof(said));
    assert_int_equal(ask("EXISTS n"), 0);
    /* One that comes before the answer is not passed on to a command that does not run yet. */
    interrupt_question("delay request 500ms", SIGINT, NULL, said, sizeof(said));
    assert_int_equal(ask("EXISTS n"), 0);
    /* Where Redis does not take the lock back either, it is said. */
    interrupt_question("drop request", SIGTERM, "blackhole", said, sizeof(said));
    assert_non_null(strstr(said, "the lock \"n\" may stay until its lease ends"));
}

/* ---- Redis and clocks ------------------------------------------------------------------------ */

static void a_redis_that_came_back_empty_has_forgotten(void **state)
{
    (void)state;
    fx_only_single("it is restarted");
    assert_int_equal(run("run --at-least 1h --once-per 1h n -- true", NULL, 0), 0);
    fx_redis_restart(redis);
    assert_int_equal(ran(start("run -n --at-least 1h --once-per 1h n -- echo ran"), 0), 1);
    /* And under the command: it is ended, and counts for nothing, whoever has the name by then. */
    fx_process *loser =
        start_running("run --lease-ms 3000 --at-least 1h --once-per 1h m -- " UNTIL_USR1("0"));
    fx_redis_restart(redis);
    fx_process *later = start("run --at-least 1h m -- true");
    assert_int_equal(finish(later, NULL, 0), 0);
    assert_int_equal(finish(loser, NULL, 0), 76);
    assert_in_range(ask("PTTL m"), 60000, 3600000);
    assert_int_equal(ask("EXISTS dlock:{m}:ran"), 0);
}

/* Each process has a clock of its own here, a day or two off. */
static void the_clocks_of_hosts_do_not_matter(void **state)
{
    (void)state;
    static const int64_t ahead_s[] = {86400, -86400, 172800, -172800, 43200};
    int runs = 0, periods = 0;
    fx_clocks_give("dlock");
    for (int i = 0; i < HOSTS; i++)
        fx_clocks_set(i, ahead_s[i]);
    for (int i = 0; i < HOSTS; i++)
        fx_clocks_set(HOSTS + i, ahead_s[i]);
    fx_clocks_set(HOSTS + HOSTS, 86400);
    for (int i = 0; i < HOSTS; i++)
        runs += ran(start("run -n -E 0 --at-least 1h n -- echo ran"), 0);
    for (int i = 0; i < HOSTS; i++)
        periods += ran(start("run -n -E 0 --once-per 1h m -- echo ran"), 0);
    run("status n", NULL, 0);
    bool told = fx_clocks_told(HOSTS + HOSTS);
    fx_clocks_end();
    assert_true(told); /* by a clock that is off, which status asks */
    assert_int_equal(runs, 1);
    assert_int_equal(periods, 1);
    assert_in_range(ask("PTTL n"), 60000, 3600000);
    assert_in_range(ask("PTTL dlock:{m}:ran"), 60000, 3600000);
}

/* ---- options --------------------------------------------------------------------------------- */

static void times_and_combinations(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int code;
        const char *says;
    } cases[] = {
        {"run --at-least 24h n1 -- true", 0, ""},
        {"run --at-least 1.5m --lease-ms 86400000 n2 -- true", 0, ""},
        {"run --once-per 8760h n3 -- true", 0, ""},
        {"run --once-per 31536000s n4 -- true", 0, ""},
        {"run --at-least 24.1h n -- true", 64, "--at-least takes a time above 0, up to 24h, such"},
        {"run --once-per 8761h n -- true", 64, "--once-per takes a time above 0, up to 8760h,"},
        {"run --at-least 0 n -- true", 64, "above 0"},
        {"run --at-least 0h n -- true", 64, "above 0"},
        {"run --at-least '' n -- true", 64, "not \"\""},
        {"run --at-least . n -- true", 64, "not \".\""},
        {"run --at-least h n -- true", 64, "not \"h\""},
        {"run --at-least -5 n -- true", 64, "not \"-5\""},
        {"run --at-least 5d n -- true", 64, "not \"5d\""},
        {"run --at-least 5ms n -- true", 64, "not \"5ms\""},
        {"run --at-least 1e3 n -- true", 64, "not \"1e3\""},
        {"run --at-least 1.2.3s n -- true", 64, "not \"1.2.3s\""},
        {"run --at-least 5 --at-least 5 n -- true", 64, "given twice"},
        {"run --shared --at-least 5s n -- true", 64, "--shared has the lock together with others"},
        {"run --once-per 5s -s n -- true", 64, "--shared has the lock together with others"},
        {"semaphore --at-least 5s 2 n -- true", 64, "unrecognized option '--at-least'"},
        {"semaphore --once-per 5s 2 n -- true", 64, "unrecognized option '--once-per'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char said[512];
        int code = finish(start(cases[i].words), said, sizeof(said));
        if (code != cases[i].code || !strstr(said, cases[i].says))
            fail_msg("dlock %s: exit %d, %s", cases[i].words, code, said);
    }
    assert_in_range(ask("PTTL n1"), 80000000, 86400000);
    assert_in_range(ask("PTTL n2"), 1, 90000);
}

#define TEST(name) cmocka_unit_test_setup(name, flush)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_short_job_runs_once_among_five_hosts),
        TEST(the_rest_is_counted_from_the_grant),
        TEST(a_failing_job_keeps_the_name_taken),
        TEST(the_name_stays_taken_when_dlock_is_killed),
        TEST(a_signal_ends_the_job_and_not_the_rest),
        TEST(what_was_lost_meanwhile_is_the_later_owners),
        TEST(a_lock_that_is_taken_away_ends_the_job),
        TEST(writers_keep_the_name_from_readers),
        TEST(a_fair_waiter_gets_it_after_the_rest),
        TEST(status_tells_of_a_kept_name_and_force_frees_it),
        TEST(a_second_host_does_not_run_in_the_period),
        TEST(five_hosts_at_once_run_it_once),
        TEST(a_job_that_failed_does_not_count),
        TEST(it_runs_again_when_the_period_is_over),
        TEST(both_together),
        TEST(a_lost_question_or_answer_is_asked_again),
        TEST(a_kept_name_is_found_by_its_token),
        TEST(a_silent_end_leaves_the_lock_to_its_lease),
        TEST(no_answer_to_whether_it_ran_is_no_run),
        TEST(a_signal_ends_the_question_whether_it_ran),
        TEST(a_redis_that_came_back_empty_has_forgotten),
        TEST(the_clocks_of_hosts_do_not_matter),
        TEST(times_and_combinations),
    };
    return cmocka_run_group_tests_name("dlock run on a fleet", tests, setup_group, teardown_group);
}
