/*
 * What is looked at when a program starts: a Redis that will not do is refused or warned of, in a
 * sentence that says what to do.
 */
#include "lock/dlock_redis.h"
#include "tests/support/fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOON_MS = 30000 };

/* ---- a server that says what it is, and OK to all else --------------------------------------- */

static _Atomic(const char *) version; /* what it says */
static int listener, listener_port;

static void answer(int fd, const char *command)
{
    char info[128], reply[256];
    if (strstr(command, "\r\nINFO\r\n")) {
        int len =
            snprintf(info, sizeof(info),
                     "# Server\r\nredis_version:%s\r\nrun_id:%040d\r\nloading:0\r\n", version, 1);
        snprintf(reply, sizeof(reply), "$%d\r\n%s\r\n", len, info);
    } else {
        snprintf(reply, sizeof(reply), "+OK\r\n");
    }
    if (send(fd, reply, strlen(reply), MSG_NOSIGNAL) < 0)
        print_message("the stub's client is gone\n");
}

/* Each command comes as a whole, and alone, as long as a client waits for its answers. */
static void *serve_one(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char command[4096];
    for (ssize_t len; (len = recv(fd, command, sizeof(command) - 1, 0)) > 0;) {
        command[len] = '\0';
        answer(fd, command);
    }
    close(fd);
    return NULL;
}

static void *serve(void *arg)
{
    (void)arg;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
        pthread_t thread;
        pthread_create(&thread, NULL, serve_one, (void *)(intptr_t)fd);
        pthread_detach(thread);
    }
    return NULL;
}

static int setup(void **state)
{
    (void)state;
    pthread_t thread;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(listener, 64), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    listener_port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&thread, NULL, serve, NULL), 0);
    return pthread_detach(thread);
}

/* Runs "PROGRAM WORDS" to its end: the exit code; stdout and stderr in ret. */
static int run(const char *program, const char *words, char *ret, size_t ret_len)
{
    char line[1024], path[512];
    snprintf(line, sizeof(line), "exec %s %s", fx_build_path(program, path, sizeof(path)), words);
    fx_process *process = fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
    int code = fx_process_wait(process, SOON_MS);
    snprintf(ret, ret_len, "%s%s", fx_process_stdout(process), fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

/* ---- the version ----------------------------------------------------------------------------- */

static void an_old_server_is_refused_by_name(void **state)
{
    (void)state;
    char words[256], said[2048];
    version = "6.2.14";
    snprintf(words, sizeof(words), "run --redis redis://127.0.0.1:%d n -- echo done",
             listener_port);
    assert_int_equal(run("dlock", words, said, sizeof(said)), 69);
    assert_non_null(strstr(said, "Redis 6.2.14, but Redis 7.0 or newer, or Valkey, is needed"));
    assert_null(strstr(said, "done"));
    snprintf(words, sizeof(words),
             "--listen 127.0.0.1:0 --redis redis://127.0.0.1:%d --item P1 --stock 1",
             listener_port);
    assert_int_equal(run("flashsale", words, said, sizeof(said)), 1);
    assert_non_null(strstr(said, "Redis 6.2.14, but Redis 7.0 or newer, or Valkey, is needed"));
}

static void versions_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *info;
        bool recent;
    } cases[] = {
        {"# Server\r\nredis_version:7.0.0\r\n", true},
        {"# Server\r\nredis_version:8.0.2\r\n", true},
        {"# Server\r\nredis_version:10.1.0\r\n", true},
        {"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\n", true},
        {"# Server\r\nredis_version:6.2.14\r\n", false},
        {"# Server\r\nredis_version:255.255.255\r\n", true}, /* built from its sources */
        {"# Server\r\nredis_mode:standalone\r\n", true},     /* it does not say */
        {"", true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[256] = "";
        assert_int_equal(dlock_redis_is_recent(cases[i].info, err, sizeof(err)), cases[i].recent);
        assert_int_equal(err[0] == '\0', cases[i].recent);
    }
}

static bool admits(void *arg, int server, const char *run_id)
{
    (void)arg, (void)server, (void)run_id;
    return true;
}

/* Behind an address that moves, an older server may come later. */
static void an_old_server_is_not_used_later_either(void **state)
{
    (void)state;
    char url[64], err[256] = "";
    dlock_redis *redis;
    dlock_redis_conn *conn;
    version = "7.4.0";
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", listener_port);
    dlock_redis_options options = {.url = url, .admit = admits};
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn), DLOCK_REDIS_OK);
    dlock_redis_hang_up(conn);
    version = "6.0.16";
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn),
                     DLOCK_REDIS_NOT_SENT);
    assert_string_equal(dlock_redis_said(), DLOCK_TOO_OLD);
    dlock_redis_last_error(redis, err, sizeof(err));
    assert_non_null(strstr(err, "Redis 6.0.16"));
    dlock_redis_close(redis);
}

/* ---- its settings ---------------------------------------------------------------------------- */

static void dlock_warns_of_eviction(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *maxmemory;
        bool warned;
    } cases[] = {
        {"noeviction", "100mb", false},
        {"allkeys-lru", "100mb", true},
        {"volatile-ttl", "1gb", true},
        {"volatile-lru", "0", false}, /* nothing is short */
    };
    fx_redis *redis = fx_redis_start_single(NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char words[256], said[1024];
        fx_redis_do(redis, "CONFIG SET maxmemory %s maxmemory-policy %s", cases[i].maxmemory,
                    cases[i].policy);
        snprintf(words, sizeof(words), "run --redis %s n -- echo done", fx_redis_tcp_url(redis));
        assert_int_equal(run("dlock", words, said, sizeof(said)), 0);
        assert_non_null(strstr(said, "done"));
        assert_int_equal(strstr(said, "set it to noeviction") != NULL, cases[i].warned);
        if (cases[i].warned)
            assert_non_null(strstr(said, cases[i].policy));
    }
    fx_redis_stop(redis);
}

/* Who may not ask is not told, and runs. */
static void a_user_without_info_runs_too(void **state)
{
    (void)state;
    char words[256], said[1024];
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_redis_do(redis, "ACL SETUSER cron on >pw allkeys allchannels +@all -info");
    snprintf(words, sizeof(words), "run --redis redis://cron:pw@127.0.0.1:%d n -- echo done",
             fx_redis_port(redis));
    assert_int_equal(run("dlock", words, said, sizeof(said)), 0);
    assert_string_equal(said, "done\n");
    fx_redis_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_server_is_refused_by_name),
        cmocka_unit_test(versions_are_told_apart),
        cmocka_unit_test(an_old_server_is_not_used_later_either),
        cmocka_unit_test(dlock_warns_of_eviction),
        cmocka_unit_test(a_user_without_info_runs_too),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, setup, NULL);
}
