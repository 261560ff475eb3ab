/* test_fixture.c - the tests' own ground: what fixture.h and process.h promise. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/fixture.h"
#include "tests/support/http.h"

static bool exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static void assert_command(fx_redis *redis, const char *command, const char *expected)
{
    redisReply *reply = fx_redis_reply(redis, command);
    assert_non_null(reply);
    assert_string_equal(reply->str ? reply->str : "(nil)", expected);
    freeReplyObject(reply);
}

static void redis_answers_on_both_addresses_and_leaves_nothing(void **state)
{
    (void)state;
    char dir[256];
    fx_redis *redis = fx_redis_start_single(NULL);
    snprintf(dir, sizeof(dir), "%s", fx_redis_dir(redis));
    assert_command(redis, "PING", "PONG");

    redisContext *tcp = redisConnect("127.0.0.1", fx_redis_port(redis));
    assert_int_equal(tcp->err, 0);
    redisFree(tcp);

    assert_true(exists(dir));
    fx_redis_stop(redis);
    assert_false(exists(dir));
}

static void two_redis_servers_are_strangers(void **state)
{
    (void)state;
    fx_redis *a = fx_redis_start_single(NULL), *b = fx_redis_start_single(NULL);
    assert_int_not_equal(fx_redis_port(a), fx_redis_port(b));
    assert_command(a, "SET k a", "OK");
    assert_command(b, "GET k", "(nil)");
    fx_redis_stop(a);
    fx_redis_stop(b);
}

static void restart_keeps_the_address_and_what_was_persisted(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(
        (const char *const[]){"--appendonly", "yes", "--appendfsync", "always", NULL});
    int port = fx_redis_port(redis);
    assert_command(redis, "SET k v", "OK");
    fx_redis_kill(redis);
    redisContext *refused = redisConnect("127.0.0.1", port);
    assert_int_not_equal(refused->err, 0);
    redisFree(refused);
    fx_redis_restart(redis);
    assert_int_equal(fx_redis_port(redis), port);
    assert_command(redis, "GET k", "v");
    fx_redis_stop(redis);
}

static void output_and_exit_code_of_a_program_are_kept(void **state)
{
    (void)state;
    char line[64];
    fx_process *p = fx_spawn(
        (const char *const[]){"sh", "-c", "echo one; echo two; echo err >&2; exit 7", NULL}, true);
    assert_true(fx_process_first_line(p, line, sizeof(line), 5000));
    assert_string_equal(line, "one");
    assert_int_equal(fx_process_wait(p, 5000), 7);
    assert_string_equal(fx_process_stdout(p), "one\ntwo\n");
    assert_string_equal(fx_process_stderr(p), "err\n");
    fx_process_free(p);
}

static void a_program_that_does_not_end_is_told_from_one_that_did(void **state)
{
    (void)state;
    fx_process *p = fx_spawn((const char *const[]){"sleep", "600", NULL}, false);
    assert_int_equal(fx_process_wait(p, 20), -1);
    fx_process_signal(p, SIGTERM);
    assert_int_equal(fx_process_wait(p, 5000), 128 + SIGTERM);
    fx_process_free(p);

    p = fx_spawn((const char *const[]){"/does/not/exist", NULL}, false);
    assert_int_equal(fx_process_wait(p, 5000), 127);
    fx_process_free(p);
}

static bool is_gone(void *arg)
{
    return kill(*(pid_t *)arg, 0) != 0;
}

/* The grandchild's parent is a child that spawns it with fx_spawn() and then dies by SIGKILL. */
static void a_spawned_program_dies_with_its_test(void **state)
{
    (void)state;
    int to_us[2];
    pid_t grandchild = 0;
    assert_int_equal(pipe(to_us), 0);
    pid_t child = fork();
    if (child == 0) {
        pid_t pid = fx_process_pid(fx_spawn((const char *const[]){"sleep", "600", NULL}, false));
        _exit(write(to_us[1], &pid, sizeof(pid)) == sizeof(pid) && raise(SIGKILL));
    }
    assert_int_equal(read(to_us[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
    assert_true(grandchild > 0);
    assert_true(fx_wait_until(is_gone, &grandchild, 5000));
    close(to_us[0]);
    close(to_us[1]);
}

static void no_server_is_an_answer_without_status(void **state)
{
    (void)state;
    char url[64];
    fx_reply reply;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", fx_free_port());
    assert_int_equal(fx_http("GET", url, NULL, NULL, 1000, &reply), 0);
    assert_true(strlen(reply.error) > 0);
    fx_reply_free(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redis_answers_on_both_addresses_and_leaves_nothing),
        cmocka_unit_test(two_redis_servers_are_strangers),
        cmocka_unit_test(restart_keeps_the_address_and_what_was_persisted),
        cmocka_unit_test(output_and_exit_code_of_a_program_are_kept),
        cmocka_unit_test(a_program_that_does_not_end_is_told_from_one_that_did),
        cmocka_unit_test(a_spawned_program_dies_with_its_test),
        cmocka_unit_test(no_server_is_an_answer_without_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
