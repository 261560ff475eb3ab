/*
 * test_instances.c - scripts/up, down and demo (scripts/instances.sh): what they start is gone
 * afterwards, however they end, and what is not theirs is left alone. On ports of our own, so that
 * it disturbs nobody.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/postgres.h"
#include "tests/support/service.h"

enum { SCRIPT_MS = 300000 }; /* of a busy machine */

static int port[3];
static char home[256]; /* holds build/ and tmp/, the scripts' own */

/* build/ holds this build's programs, and takes the scripts' notes and reports; tmp/ is their
 * TMPDIR: what they leave behind is seen there. */
static int setup(void **state)
{
    (void)state;
    char ports[64], path[300], flashsale[512];
    for (int i = 0; i < 3; i++)
        port[i] = fx_free_port();
    snprintf(ports, sizeof(ports), "%d %d %d", port[0], port[1], port[2]);
    fx_dir_make(home, sizeof(home));
    fx_build_path("", flashsale, sizeof(flashsale));
    setenv("BUILT", flashsale, 1);
    assert_int_equal(
        fx_shell("mkdir $1/build $1/tmp;"
                 "for it in flashsale loadtest flashsale-orders; do"
                 "  [ ! -x $BUILT/$it ] || ln -s $(realpath $BUILT/$it) $1/build; done",
                 home, 5000),
        0);

    setenv("FLASHSALE_PORTS", ports, 1);
    snprintf(path, sizeof(path), "%s/build", home);
    setenv("FLASHSALE_BUILD", path, 1);
    snprintf(path, sizeof(path), "%s/tmp", home);
    setenv("TMPDIR", path, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_shell("scripts/down", NULL, SCRIPT_MS); /* in case a failed test left them up */
    fx_dir_remove(home);
    return 0;
}

static bool listens(int at)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)at),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool yes = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
    close(fd);
    return yes;
}

/* No file is in the scripts' TMPDIR, no program has it on its command line, no port listens. */
static bool nothing_is_left(void)
{
    return fx_shell("test -z \"$(ls -A $TMPDIR)\";"
                    "! printf %s \"$TMPDIR\" | grep -lsF -f - /proc/[0-9]*/cmdline >&2",
                    NULL, 5000) == 0 &&
           !listens(port[0]) && !listens(port[1]) && !listens(port[2]);
}

static fx_process *run(const char *script, const char *const *args)
{
    char path[64];
    const char *argv[16] = {path};
    snprintf(path, sizeof(path), "scripts/%s", script);
    for (size_t i = 0; args && args[i]; i++)
        argv[i + 1] = args[i];
    return fx_spawn(argv, true);
}

static const char *const small_demo[] = {"--stock", "100",          "--requests", "400", "--runs",
                                         "1",       "--run-length", "300ms",      NULL};

/* Every strategy that the service lists has a row. How many there are. */
static int assert_all_strategies_in(const char *out)
{
    char program[512], row[64];
    fx_process *list =
        fx_spawn((const char *const[]){fx_build_path("flashsale", program, sizeof(program)),
                                       "--list-strategies", NULL},
                 true);
    assert_int_equal(fx_process_wait(list, SCRIPT_MS), 0);
    int count = 0;
    for (const char *line = fx_process_stdout(list); line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line == ' ' || *line == '\0')
            continue;
        count++;
        snprintf(row, sizeof(row), "\n%.*s ", (int)strcspn(line, " "), line);
        if (!strstr(out, row))
            fail_msg("%s in:\n%s", row, out);
    }
    fx_process_free(list);
    return count;
}

/* It begins with what it will do, and ends with what this run has shown: three lines. */
static void assert_told_from_first_to_last(const char *out, int strategies)
{
    char first[64], last[512];
    int wrong = 0;
    const char *row = strstr(out, "\nnone ");
    assert_int_equal(sscanf(row, " none OVERSOLD %*d %d", &wrong), 1);
    snprintf(first, sizeof(first), "under %d strategies", strategies);
    snprintf(last, sizeof(last),
             "\nnone sold %d units too many of 100\n%d strategies sold each unit once\n"
             "report: %s/build/demo/report.html\n",
             wrong, strategies - 1, home);
    const char *told = strstr(out, first);
    size_t len = strlen(out), tail = strlen(last);
    if (!told || told > row || len < tail || strcmp(out + len - tail, last) != 0)
        fail_msg("neither %s, nor%sin:\n%s", first, last, out);
}

static void demo_shows_it_and_leaves_nothing(void **state)
{
    (void)state;
    fx_process *demo = run("demo", small_demo);
    int code = fx_process_wait(demo, SCRIPT_MS);
    for (int i = 1; i < FX_LOADTEST_TRIES && code == FX_LOADTEST_INVALID; i++) {
        fx_process_free(demo);
        demo = run("demo", small_demo);
        code = fx_process_wait(demo, SCRIPT_MS);
    }
    const char *out = fx_process_stdout(demo);
    if (code != 0 || !strstr(out, "OVERSOLD") || !strstr(out, "SAFE")) {
        fputs(out, stdout); /* more than fits into a message of cmocka's */
        fail_msg("exit code %d\n%s", code, fx_process_stderr(demo));
    }
    assert_told_from_first_to_last(out, assert_all_strategies_in(out));
    fx_process_free(demo);
    assert_true(nothing_is_left());
}

static bool all_listen(void *arg)
{
    (void)arg;
    return listens(port[0]) && listens(port[1]) && listens(port[2]);
}

static void an_interrupted_demo_leaves_nothing_running(void **state)
{
    (void)state;
    fx_process *demo = run("demo", NULL);
    assert_true(fx_wait_until(all_listen, NULL, SCRIPT_MS));
    fx_process_signal(demo, SIGTERM);
    assert_int_equal(fx_process_wait(demo, SCRIPT_MS), 130);
    fx_process_free(demo);
    assert_true(nothing_is_left());
}

static void a_port_in_use_is_named(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port[1]),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 16), 0);

    char number[16];
    snprintf(number, sizeof(number), "%d", port[1]);
    static const char *const scripts[] = {"up", "demo"};
    for (size_t i = 0; i < 2; i++) {
        fx_process *p = run(scripts[i], NULL);
        assert_int_equal(fx_process_wait(p, SCRIPT_MS), 1);
        assert_non_null(strstr(fx_process_stderr(p), number));
        fx_process_free(p);
    }
    assert_true(listens(port[1])); /* ours is left alone */
    close(fd);
    assert_true(nothing_is_left());
}

/* The pid of a program that up has started. */
static pid_t pid_of(const char *name)
{
    char script[256];
    snprintf(script, sizeof(script),
             "awk -v name=%s '$3 == name { print $1 }' \"$(cat \"$1/build/up\")/pids\"", name);
    fx_process *p = fx_spawn((const char *const[]){"sh", "-c", script, "sh", home, NULL}, true);
    assert_int_equal(fx_process_wait(p, 5000), 0);
    long pid = strtol(fx_process_stdout(p), NULL, 10);
    fx_process_free(p);
    assert_true(pid > 1);
    return (pid_t)pid;
}

/* What is started is named with its pid and where it listens, and how it is stopped. */
static void assert_programs_named(const char *out)
{
    char line[128], name[32];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "flashsale-%d", port[i]);
        snprintf(line, sizeof(line), " %d  instance, http://127.0.0.1:%d/\n", (int)pid_of(name),
                 port[i]);
        if (!strstr(out, line))
            fail_msg("not%s in:\n%s", line, out);
    }
    snprintf(line, sizeof(line), " %d  Redis, unix://", (int)pid_of("redis-0"));
    if (!strstr(out, line) || !strstr(out, "make down"))
        fail_msg("not%s, or not how to stop it, in:\n%s", line, out);
}

/* On any TCP port. */
static bool pid_listens(const char *name)
{
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)pid_of(name));
    return fx_shell("all=$(awk '$4 == \"0A\" { print \"socket:[\" $10 \"]\" }' /proc/net/tcp*)\n"
                    "readlink /proc/$1/fd/* | grep -qxF \"$all\"",
                    pid, 5000) == 0;
}

static void up_sells_until_down(void **state)
{
    (void)state;
    char url[128], name[32];
    fx_reply reply;
    fx_process *up = run("up", NULL);
    assert_int_equal(fx_process_wait(up, SCRIPT_MS), 0);
    assert_programs_named(fx_process_stdout(up));
    fx_process_free(up);

    snprintf(url, sizeof(url), "http://127.0.0.1:%d/buy?item=P0001&user=u1", port[1]);
    assert_int_equal(fx_http("POST", url, NULL, NULL, 5000, &reply), 201);
    fx_reply_free(&reply);

    snprintf(url, sizeof(url), "http://127.0.0.1:%d/dashboard", port[1]);
    assert_int_equal(fx_http("GET", url, NULL, NULL, 5000, &reply), 200);
    fx_has(reply.body, "\"demo\":true");
    fx_reply_free(&reply);

    snprintf(name, sizeof(name), "flashsale-%d", port[1]);
    assert_true(pid_listens(name));
    assert_false(pid_listens("redis-0")); /* on a Unix socket, where this user alone gets at it */

    fx_process *again = run("up", NULL);
    assert_int_equal(fx_process_wait(again, SCRIPT_MS), 0);
    assert_non_null(strstr(fx_process_stdout(again), "Already up"));
    assert_programs_named(fx_process_stdout(again));
    fx_process_free(again);

    fx_process *down = run("down", NULL);
    assert_int_equal(fx_process_wait(down, SCRIPT_MS), 0);
    fx_process_free(down);
    assert_true(nothing_is_left());
}

static bool is_not_ready(void *arg)
{
    (void)arg;
    char url[64];
    fx_reply reply;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/readyz", port[1]);
    int status = fx_http("GET", url, NULL, NULL, 5000, &reply);
    fx_reply_free(&reply);
    return status == 503;
}

static void start_and_go(void)
{
    fx_process *up = run("up", NULL);
    if (fx_process_wait(up, SCRIPT_MS) != 0)
        fail_msg("%s", fx_process_stderr(up));
    fx_process_free(up);
}

/* A second up must fail, and name what does not serve, with this in its words. */
static void assert_told(const char *what, const char *words)
{
    fx_process *again = run("up", NULL);
    int code = fx_process_wait(again, SCRIPT_MS);
    const char *said = fx_process_stderr(again);
    if (code != 1 || !strstr(said, what) || !strstr(said, words) ||
        strstr(fx_process_stdout(again), "Already up"))
        fail_msg("%d: %s%s", code, fx_process_stdout(again), said);
    fx_process_free(again);
}

static bool has_ended(void *pid)
{
    char state = fx_pid_state(*(pid_t *)pid);
    return state == 'Z' || state == 'X';
}

static void up_tells_what_is_down(void **state)
{
    (void)state;
    char name[32];
    snprintf(name, sizeof(name), "flashsale-%d", port[1]);
    start_and_go();
    pid_t killed = pid_of(name);
    kill(killed, SIGKILL);
    assert_true(fx_wait_until(has_ended, &killed, SCRIPT_MS));
    assert_told(name, "has ended");
    assert_int_equal(fx_shell("scripts/down", NULL, SCRIPT_MS), 0);

    start_and_go();
    pid_t redis = pid_of("redis-0");
    kill(redis, SIGSTOP);
    assert_true(fx_wait_until(is_not_ready, NULL, SCRIPT_MS));
    assert_told(name, "is not ready: HTTP/1.1 503");
    kill(redis, SIGCONT);
    kill(redis, SIGKILL);
    assert_true(fx_wait_until(has_ended, &redis, SCRIPT_MS));
    assert_told("redis", "has ended");
    assert_int_equal(fx_shell("scripts/down", NULL, SCRIPT_MS), 0);
    assert_true(nothing_is_left());
}

/* ---- orders in a database -------------------------------------------------------------------- */

enum { ORDERS = 20 };

/* Runs flashsale-orders with these words, on the instances and on what `make up` was told of. */
static int orders(const char *words, char *output, size_t len)
{
    char command[1024];
    snprintf(command, sizeof(command),
             "to=$ORDERS; [ $to != sqlite ] || to=sqlite:$(cat $FLASHSALE_BUILD/up)/orders.db;"
             "FLASHSALE_ORDERS_FROM=http://127.0.0.1:%d FLASHSALE_ORDERS_TO=$to "
             "$FLASHSALE_BUILD/flashsale-orders %s 2>&1",
             port[1], words);
    return fx_shell_output(command, output, len);
}

/* The follower has written all orders, and check agrees. */
static bool all_are_there(void *said)
{
    return orders("check", said, 4096) == 0 &&
           orders("export --csv | grep -c P0001", said, 4096) == 0 &&
           strtol(said, NULL, 10) == ORDERS;
}

static void assert_orders_follow(const char *database)
{
    char url[128], said[4096] = "";
    setenv("ORDERS", database, 1);
    start_and_go();
    for (int i = 0; i < ORDERS; i++) {
        fx_reply reply;
        snprintf(url, sizeof(url), "http://127.0.0.1:%d/buy?item=P0001&user=u%d", port[i % 3], i);
        assert_int_equal(fx_http("POST", url, NULL, NULL, 5000, &reply), 201);
        fx_reply_free(&reply);
    }
    if (!fx_wait_until(all_are_there, said, 60000))
        fail_msg("flashsale-orders: %s", said);

    pid_t follower = pid_of("orders");
    kill(follower, SIGKILL);
    assert_true(fx_wait_until(has_ended, &follower, SCRIPT_MS));
    assert_told("orders", "has ended");
    assert_int_equal(fx_shell("scripts/down", NULL, SCRIPT_MS), 0);
    unsetenv("ORDERS");
}

static void need_orders(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/build/flashsale-orders", home);
    if (access(path, X_OK) != 0)
        fx_skip("flashsale-orders is not built: neither sqlite3 nor libpq is here");
}

static void orders_follow_into_a_file(void **state)
{
    (void)state;
    need_orders();
    assert_orders_follow("sqlite");
    assert_true(nothing_is_left());
}

static void orders_follow_into_postgresql(void **state)
{
    (void)state;
    need_orders();
    fx_postgres *pg = fx_postgres_start(NULL);
    assert_orders_follow(fx_postgres_url(pg));
    fx_postgres_stop(pg);
    assert_true(nothing_is_left());
}

static void another_database_is_refused(void **state)
{
    (void)state;
    setenv("ORDERS", "mysql://127.0.0.1/orders", 1);
    fx_process *up = run("up", NULL);
    unsetenv("ORDERS");
    assert_int_equal(fx_process_wait(up, SCRIPT_MS), 1);
    assert_non_null(strstr(fx_process_stderr(up), "ORDERS is neither"));
    fx_process_free(up);
    assert_true(nothing_is_left());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demo_shows_it_and_leaves_nothing),
        cmocka_unit_test(an_interrupted_demo_leaves_nothing_running),
        cmocka_unit_test(a_port_in_use_is_named),
        cmocka_unit_test(up_sells_until_down),
        cmocka_unit_test(up_tells_what_is_down),
        cmocka_unit_test(orders_follow_into_a_file),
        cmocka_unit_test(orders_follow_into_postgresql),
        cmocka_unit_test(another_database_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
