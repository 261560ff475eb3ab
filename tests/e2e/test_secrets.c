/*
 * Passwords of Redis: given in every place where one may stand, they are in no line that ps shows,
 * no output, no log and no answer.
 */
#include "tests/support/fixture.h"
#include "tests/support/http.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECRET "5ecre7-0f-redis"

enum { SOON_MS = 30000 };

static fx_redis *redis;
static char good_url[128], bad_url[128]; /* of a user with that password; the bad one adds to it */

static void assert_unseen_in(const char *text, const char *where)
{
    if (strstr(text, SECRET))
        fail_msg("%s shows the password: %s", where, text);
}

/* The words of a running process, as ps shows them. */
static void assert_unseen_by_ps(fx_process *process)
{
    char path[64], words[8192];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)fx_process_pid(process));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t len = read(fd, words, sizeof(words) - 1);
    close(fd);
    assert_true(len > 0);
    for (ssize_t i = 0; i < len; i++)
        words[i] = words[i] ? words[i] : ' ';
    words[len] = '\0';
    assert_unseen_in(words, path);
}

static void assert_said_nothing(fx_process *process)
{
    assert_unseen_in(fx_process_stdout(process), "stdout");
    assert_unseen_in(fx_process_stderr(process), "stderr");
}

/* Starts "PROGRAM WORDS" by the shell, after $URL and $BAD were set. */
static fx_process *start(const char *program, const char *words)
{
    char line[4096], path[512];
    snprintf(line, sizeof(line), "URL='%s' BAD='%s'; PROGRAM=%s; %s", good_url, bad_url,
             fx_build_path(program, path, sizeof(path)), words);
    return fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
}

/* ---- flashsale ------------------------------------------------------------------------------- */

static void look_at_answers(int port)
{
    static const char *const asked[][2] = {
        {"POST", "/buy?item=P0001&user=u1"},
        {"GET", "/stock?item=P0001"},
        {"GET", "/readyz"},
        {"GET", "/metrics"},
        {"GET", "/locks"},
        {"GET", "/"},
    };
    for (size_t i = 0; i < COUNT(asked); i++) {
        char url[128];
        fx_reply reply;
        snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", port, asked[i][1]);
        assert_int_not_equal(fx_http(asked[i][0], url, NULL, NULL, SOON_MS, &reply), 0);
        assert_unseen_in(reply.body, asked[i][1]);
        assert_unseen_in(reply.headers, asked[i][1]);
        fx_reply_free(&reply);
    }
}

static void an_instance_shows_no_password(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "exec $PROGRAM --listen 127.0.0.1:0 --redis $URL",
        "exec $PROGRAM --listen 127.0.0.1:0 --redis=$URL",
        "exec $PROGRAM --listen 127.0.0.1:0 --redis=$BAD",
        "exec $PROGRAM --listen 127.0.0.1:0 --redis $URL --redlock $BAD,redis://h2,redis://h3",
        "FLASHSALE_REDIS=$URL exec $PROGRAM --listen 127.0.0.1:0",
        "FLASHSALE_REDIS=$BAD exec $PROGRAM --listen 127.0.0.1:0",
    };
    for (size_t i = 0; i < COUNT(ways); i++) {
        char line[128];
        int port = 0;
        fx_process *process = start("flashsale", ways[i]);
        if (!fx_process_first_line(process, line, sizeof(line), SOON_MS) ||
            sscanf(line, "flashsale listening on 127.0.0.1:%d", &port) != 1)
            fail_msg("%s: %s", ways[i], fx_process_stderr(process));
        assert_unseen_by_ps(process);
        look_at_answers(port);
        fx_process_signal(process, SIGTERM);
        assert_int_equal(fx_process_wait(process, SOON_MS), 0);
        assert_said_nothing(process);
        fx_process_free(process);
    }
}

/* ---- dlock ----------------------------------------------------------------------------------- */

#define RUNS "n -- sh -c 'echo runs; exec tail -f /dev/null'"

static void a_running_dlock_shows_no_password(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "exec $PROGRAM run --redis $URL " RUNS, "exec $PROGRAM run --redis=$URL " RUNS,
        "DLOCK_REDIS=$URL exec $PROGRAM run " RUNS,
        "exec $PROGRAM run --redis $URL " RUNS " $URL", /* which sh forgets */
    };
    for (size_t i = 0; i < COUNT(ways); i++) {
        char line[64];
        fx_process *process = start("dlock", ways[i]);
        if (!fx_process_first_line(process, line, sizeof(line), SOON_MS))
            fail_msg("%s: %s", ways[i], fx_process_stderr(process));
        assert_unseen_by_ps(process);
        fx_process_signal(process, SIGTERM);
        assert_true(fx_process_wait(process, SOON_MS) >= 0);
        assert_said_nothing(process);
        fx_process_free(process);
    }
}

/* What belongs to the command reaches it whole. */
static void the_command_gets_its_words(void **state)
{
    (void)state;
    fx_process *process = start("dlock", "exec $PROGRAM run --redis $URL n -- echo $URL");
    assert_int_equal(fx_process_wait(process, SOON_MS), 0);
    assert_non_null(strstr(fx_process_stdout(process), good_url));
    fx_process_free(process);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void no_error_shows_a_password(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "exec $PROGRAM status --redis $BAD n",
        "exec $PROGRAM run -w 0 --redis $BAD n -- true",
        "exec $PROGRAM bench --redis $BAD",
        "exec $PROGRAM $URL",
        "exec $PROGRAM status $URL x y",
        "exec $PROGRAM status --redus=$URL n",
        "exec $PROGRAM status --redi=$URL n",
        "exec $PROGRAM run --nonblock=$URL n -- true",
        "exec $PROGRAM run --wait $URL n -- true",
        "exec $PROGRAM run --lease-ms=$URL n -- true",
        "exec $PROGRAM run --redis $URL n -- $URL",
        "exec $PROGRAM status --redis http://u:" SECRET "@h n",
        "exec $PROGRAM status --redis redis://u:" SECRET "@h/none n",
        "exec $PROGRAM status --redis redis://u:" SECRET "%zz@h n",
        "exec $PROGRAM status --redis rediss://u:" SECRET "@127.0.0.1:1 n",
        "exec $PROGRAM status --redis 'redis+sentinel://u:" SECRET "@127.0.0.1:1' n",
        "exec $PROGRAM status --redis 'redis+sentinel://u:" SECRET
        "@127.0.0.1:1/m?sentinel_password=" SECRET "' n",
        "exec $PROGRAM status --redis 'redis+sentinel://127.0.0.1:1/m?sentinel_pass=" SECRET "' n",
        "exec $PROGRAM status --redis redis+cluster://u:" SECRET "@127.0.0.1:1 n",
        "DLOCK_REDIS=redis://" SECRET "@ exec $PROGRAM status n",
        "PROGRAM=${PROGRAM%dlock}flashsale; exec $PROGRAM $URL",
        "PROGRAM=${PROGRAM%dlock}flashsale; exec $PROGRAM --redis",
        "PROGRAM=${PROGRAM%dlock}flashsale; exec $PROGRAM --redus=$URL",
        "PROGRAM=${PROGRAM%dlock}flashsale; exec $PROGRAM --stock $URL",
        "PROGRAM=${PROGRAM%dlock}flashsale; exec $PROGRAM --listen $URL",
        "PROGRAM=${PROGRAM%dlock}flashsale; exec $PROGRAM --redlock $URL,redis://" SECRET "@",
        "PROGRAM=${PROGRAM%dlock}flashsale; exec $PROGRAM --redis redis://u:" SECRET "@h:x",
        "PROGRAM=${PROGRAM%dlock}flashsale; FLASHSALE_REDIS=http://u:" SECRET "@h exec $PROGRAM",
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        fx_process *process = start("dlock", lines[i]);
        int code = fx_process_wait(process, SOON_MS);
        if (code <= 0 || fx_process_stderr(process)[0] == '\0')
            fail_msg("%s: exit code %d: %s", lines[i], code, fx_process_stderr(process));
        assert_said_nothing(process);
        fx_process_free(process);
    }
}

/* ---- the server ------------------------------------------------------------------------------ */

static int setup(void **state)
{
    (void)state;
    redis = fx_redis_start_single(NULL);
    fx_redis_do(redis, "ACL SETUSER app on >" SECRET " allkeys allchannels +@all");
    snprintf(good_url, sizeof(good_url), "redis://app:" SECRET "@127.0.0.1:%d",
             fx_redis_port(redis));
    snprintf(bad_url, sizeof(bad_url), "redis://app:" SECRET "-wrong@127.0.0.1:%d",
             fx_redis_port(redis));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instance_shows_no_password),
        cmocka_unit_test(a_running_dlock_shows_no_password),
        cmocka_unit_test(the_command_gets_its_words),
        cmocka_unit_test(no_error_shows_a_password),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
