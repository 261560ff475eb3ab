/* dlock run, started in surroundings that are not the usual: descriptors closed, signals ignored,
 * another /proc, a Redis that refuses or keeps silent. */
#include "tests/support/fixture.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOON_MS 60000 /* limit for what should take a moment */

static fx_redis *redis;

/* Runs a line of the shell, in which $DLOCK is the program. */
static fx_process *start(const char *line)
{
    return fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
}

static int end_of(fx_process *process, char *out, size_t out_len)
{
    int code = fx_process_wait(process, SOON_MS);
    snprintf(out, out_len, "%s", fx_process_stdout(process));
    fx_process_free(process);
    return code;
}

static int setup_group(void **state)
{
    (void)state;
    char path[256];
    redis = fx_redis_start(NULL);
    setenv("DLOCK", fx_build_path("dlock", path, sizeof(path)), 1);
    return setenv("DLOCK_REDIS", fx_redis_url(redis), 1);
}

static int flush(void **state)
{
    (void)state;
    fx_redis_do(redis, "FLUSHALL");
    return 0;
}

/* ---- what was inherited ---------------------------------------------------------------------- */

static void the_command_runs_whatever_was_inherited(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "exec $DLOCK run n -- sh -c 'cd /proc/self/fd && test -e 0 && exit 7' <&-",
        "exec $DLOCK run n -- sh -c 'cd /proc/self/fd && test -e 1 && exit 7' >&-",
        "exec $DLOCK run n -- sh -c 'cd /proc/self/fd && test -e 2 && exit 7' 2>&-",
        "exec $DLOCK run n -- sh -c 'cd /proc/self/fd && ls 0 1 2 && exit 7' <&- >&- 2>&-",
        "exec env --ignore-signal=CHLD $DLOCK run n -- sh -c 'exit 7'",
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char out[16];
        int code = end_of(start(lines[i]), out, sizeof(out));
        if (code != 7)
            fail_msg("%s: exit %d", lines[i], code);
    }
}

/* A limit is high enough, or dlock says that it is not; what it can not open later it would wait
 * for without an end, or lose the lock. */
static void too_few_descriptors_are_said_at_once(void **state)
{
    (void)state;
    static const char *const commands[] = {"run", "elect", "semaphore 2"};
    fx_only_single("several servers take more");
    for (size_t i = 0; i < COUNT(commands); i++) {
        int code = 71;
        for (int limit = 5; limit <= 40; limit += limit < 14 ? 1 : 26) {
            char line[256];
            snprintf(line, sizeof(line), "ulimit -n %d; exec $DLOCK %s n%zu -- true", limit,
                     commands[i], i);
            int before = code;
            fx_process *process = start(line);
            code = fx_process_wait(process, SOON_MS);
            const char *said = fx_process_stderr(process);
            if ((code != before && code != 0) || (code == 71) != (*said != '\0'))
                fail_msg("%s with %d: exit %d, %s", commands[i], limit, code, said);
            fx_process_free(process);
        }
        assert_int_equal(code, 0);
    }
}

static bool sigpipe_is_ignored(const char *how)
{
    char line[256], out[256];
    snprintf(line, sizeof(line),
             "exec env --%s-signal=PIPE $DLOCK run n -- sed -n 's/^SigIgn:\t*//p' "
             "/proc/self/status",
             how);
    assert_int_equal(end_of(start(line), out, sizeof(out)), 0);
    return strtoull(out, NULL, 16) >> (SIGPIPE - 1) & 1;
}

static void the_command_inherits_what_becomes_of_sigpipe(void **state)
{
    (void)state;
    assert_true(sigpipe_is_ignored("ignore"));
    assert_false(sigpipe_is_ignored("default"));
}

static bool a_waiter_asked(void *unused)
{
    (void)unused;
    redisReply *reply = fx_redis_reply(redis, "CLIENT LIST");
    bool yes = strstr(reply->str, " name=dlock ") != NULL;
    freeReplyObject(reply);
    return yes;
}

static void a_signal_ignored_at_the_start_stays_ignored(void **state)
{
    fx_only_single("it counts the connections");
    (void)state;
    char out[16];
    fx_redis_do(redis, "SET n stranger");
    fx_process *process = start("exec env --ignore-signal=HUP $DLOCK run n -- echo whole");
    assert_true(fx_wait_until(a_waiter_asked, NULL, SOON_MS));
    fx_process_signal(process, SIGHUP);
    fx_redis_do(redis, "DEL n");
    assert_int_equal(end_of(process, out, sizeof(out)), 0);
    assert_string_equal(out, "whole\n");
}

/* ---- processes ------------------------------------------------------------------------------- */

static void the_supervisor_is_not_found_by_dlocks_words(void **state)
{
    (void)state;
    char out[256];
    assert_int_equal(
        end_of(start("exec $DLOCK run n -- sh -c 'tr -d \"\\0\" </proc/$PPID/cmdline'"), out,
               sizeof(out)),
        0);
    assert_string_equal(out, "lock-supervisor");
}

static void nothing_runs_where_processes_can_not_be_seen(void **state)
{
    (void)state;
    if (fx_shell("unshare --map-root-user --pid --fork true 2>&-", "", SOON_MS) != 0)
        fx_skip("pid namespaces can not be made here");
    fx_redis_do(redis, "SET n stranger"); /* it would wait forever */
    fx_process *process =
        start("exec unshare --map-root-user --pid --fork $DLOCK run n -- echo done");
    assert_int_equal(fx_process_wait(process, SOON_MS), 71);
    assert_non_null(strstr(fx_process_stderr(process), "/proc"));
    fx_process_free(process);
}

static void dlock_may_be_the_only_process_there_is(void **state)
{
    (void)state;
    if (fx_shell("unshare --map-root-user --pid --fork --mount-proc true 2>&-", "", SOON_MS) != 0)
        fx_skip("pid namespaces can not be made here");
    char out[16];
    fx_process *process = start("exec unshare --map-root-user --pid --fork --mount-proc "
                                "$DLOCK run n -- echo done");
    assert_int_equal(end_of(process, out, sizeof(out)), 0);
    assert_string_equal(out, "done\n");
}

/* ---- Redis ----------------------------------------------------------------------------------- */

static void a_refusal_of_redis_is_not_waited_out(void **state)
{
    (void)state;
    char line[640], url[512];
    snprintf(line, sizeof(line), "exec $DLOCK run --wait 600 --redis %s n -- true",
             fx_redis_url_as(redis, "who:wrong", url, sizeof(url)));
    fx_process *process = start(line);
    assert_int_equal(fx_process_wait(process, SOON_MS), 69);
    assert_non_null(strstr(fx_process_stderr(process), "WRONGPASS"));
    fx_process_free(process);

    fx_redis_do(redis, "CONFIG SET requirepass secret");
    process = start("exec $DLOCK run --wait 600 n -- true");
    int code = fx_process_wait(process, SOON_MS);
    fx_redis_do(redis, "CONFIG SET requirepass \"\"");
    assert_int_equal(code, 69);
    assert_non_null(strstr(fx_process_stderr(process), "NOAUTH"));
    fx_process_free(process);
}

static void a_signal_ends_the_wait_for_a_silent_redis(void **state)
{
    (void)state;
    char line[256];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    snprintf(line, sizeof(line), "exec $DLOCK run --wait 60 --redis redis://127.0.0.1:%d n -- true",
             ntohs(address.sin_port));
    /* After a second it complains and asks again; a test that was held up is repeated. */
    bool complained = true;
    for (int tries = 0; complained && tries < 5; tries++) {
        fx_process *process = start(line);
        int asked = accept(listener, NULL, NULL);
        fx_process_signal(process, SIGTERM);
        assert_int_equal(fx_process_wait(process, SOON_MS), 128 + SIGTERM);
        complained = *fx_process_stderr(process);
        fx_process_free(process);
        close(asked);
    }
    assert_false(complained);
    close(listener);
}

#define TEST(name) cmocka_unit_test_setup(name, flush)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_command_runs_whatever_was_inherited),
        TEST(too_few_descriptors_are_said_at_once),
        TEST(the_command_inherits_what_becomes_of_sigpipe),
        TEST(a_signal_ignored_at_the_start_stays_ignored),
        TEST(the_supervisor_is_not_found_by_dlocks_words),
        TEST(nothing_runs_where_processes_can_not_be_seen),
        TEST(dlock_may_be_the_only_process_there_is),
        TEST(a_refusal_of_redis_is_not_waited_out),
        TEST(a_signal_ends_the_wait_for_a_silent_redis),
    };
    return cmocka_run_group_tests_name("dlock run's start", tests, setup_group, NULL);
}
