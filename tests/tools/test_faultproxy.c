/* Each fault of the proxy, as a client of a real Redis sees it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/fixture.h"
#include "tests/support/proxy.h"

struct ground {
    fx_redis *redis;
    fx_proxy *proxy;
    redisContext *client; /* through the proxy */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- clients --------------------------------------------------------------------------------- */

static redisContext *dial(const char *url)
{
    struct timeval limit = {.tv_sec = 5};
    char host[64] = "";
    int port = 0;
    bool tcp = sscanf(url, "redis://%63[^:]:%d", host, &port) == 2;
    return tcp ? redisConnectWithTimeout(host, port, limit)
               : redisConnectUnixWithTimeout(url + strlen("unix://"), limit);
}

static redisContext *client_new(const char *url, int timeout_ms)
{
    redisContext *client = dial(url);
    assert_non_null(client);
    assert_int_equal(client->err, 0);
    struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    redisSetTimeout(client, limit);
    return client;
}

static void client_anew(struct ground *ground, int timeout_ms)
{
    if (ground->client)
        redisFree(ground->client);
    ground->client = client_new(fx_proxy_url(ground->proxy), timeout_ms);
}

static void expect_int(redisContext *client, const char *command, int64_t expected)
{
    redisReply *reply = redisCommand(client, command);
    if (!reply)
        fail_msg("%s: %s", command, client->errstr);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    assert_int_equal(reply->integer, expected);
    freeReplyObject(reply);
}

static void expect_no_reply(redisContext *client, const char *command)
{
    redisReply *reply = redisCommand(client, command);
    if (reply)
        fail_msg("%s was answered", command);
}

/* What the server itself has, asked past the proxy. */
static int64_t value_of(struct ground *ground, const char *key)
{
    redisReply *reply = fx_redis_reply(ground->redis, "GET %s", key);
    assert_non_null(reply);
    int64_t value = reply->str ? strtoll(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return value;
}

struct expected_value {
    struct ground *ground;
    const char *key;
    int64_t value;
};

static bool has_value(void *arg)
{
    struct expected_value *expected = arg;
    return value_of(expected->ground, expected->key) == expected->value;
}

/* A command whose reply was lost may still be on its way to the server. */
static void await_value(struct ground *ground, const char *key, int64_t value)
{
    struct expected_value expected = {ground, key, value};
    assert_true(fx_wait_until(has_value, &expected, 5000));
}

/* ---- fixture --------------------------------------------------------------------------------- */

static int setup_redis(void **state)
{
    struct ground *ground = calloc(1, sizeof(*ground));
    ground->redis = fx_redis_start_single(NULL);
    *state = ground;
    return 0;
}

static int teardown_redis(void **state)
{
    struct ground *ground = *state;
    fx_redis_stop(ground->redis);
    free(ground);
    return 0;
}

static int setup_tcp(void **state)
{
    struct ground *ground = *state;
    freeReplyObject(fx_redis_reply(ground->redis, "FLUSHALL"));
    ground->proxy = fx_proxy_start(fx_redis_tcp_url(ground->redis));
    ground->client = NULL;
    client_anew(ground, 5000);
    return 0;
}

static int setup_unix(void **state)
{
    struct ground *ground = *state;
    ground->proxy = fx_proxy_start(fx_redis_url(ground->redis));
    ground->client = NULL;
    client_anew(ground, 5000);
    return 0;
}

static int teardown(void **state)
{
    struct ground *ground = *state;
    redisFree(ground->client);
    fx_proxy_stop(ground->proxy);
    return 0;
}

/* ---- without faults -------------------------------------------------------------------------- */

static void pipelines_pass_unchanged(void **state)
{
    struct ground *ground = *state;
    enum { COMMANDS = 2000, BIG = 300000 };
    char *big = malloc(BIG);
    memset(big, '\n', BIG); /* a payload that looks like ends of lines */
    for (int i = 0; i < COMMANDS; i++)
        redisAppendCommand(ground->client, "ECHO %d", i);
    redisAppendCommand(ground->client, "ECHO %b", big, (size_t)BIG);
    redisReply *reply;
    for (int i = 0; i < COMMANDS; i++) {
        assert_int_equal(redisGetReply(ground->client, (void **)&reply), REDIS_OK);
        assert_int_equal(strtol(reply->str, NULL, 10), i);
        freeReplyObject(reply);
    }
    assert_int_equal(redisGetReply(ground->client, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->len, BIG);
    assert_memory_equal(reply->str, big, BIG);
    freeReplyObject(reply);
    free(big);
    assert_int_equal(fx_proxy_count(ground->proxy, "requests"), COMMANDS + 1);
    assert_int_equal(fx_proxy_count(ground->proxy, "replies"), COMMANDS + 1);
}

static void nested_replies_and_errors_pass(void **state)
{
    struct ground *ground = *state;
    redisReply *reply = redisCommand(ground->client, "EVAL %s 0",
                                     "return {1, {'a', {}, false}, redis.error_reply('E x')}");
    assert_non_null(reply);
    assert_int_equal(reply->elements, 3);
    assert_int_equal(reply->element[1]->elements, 3);
    assert_int_equal(reply->element[2]->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    expect_int(ground->client, "INCR after", 1);
}

/* ---- delays ---------------------------------------------------------------------------------- */

static void delay_is_the_round_trip_of_a_whole_pipeline(void **state)
{
    struct ground *ground = *state;
    /* One delay after the other would take 20 s. */
    enum { DELAY_MS = 100, COMMANDS = 200, LIMIT_MS = 15000 };
    fx_proxy_say(ground->proxy, "delay %dms", DELAY_MS);
    int64_t start_ms = now_ms();
    for (int i = 0; i < COMMANDS; i++)
        redisAppendCommand(ground->client, "INCR n");
    for (int i = 0; i < COMMANDS; i++) {
        redisReply *reply;
        assert_int_equal(redisGetReply(ground->client, (void **)&reply), REDIS_OK);
        assert_int_equal(reply->integer, i + 1);
        freeReplyObject(reply);
    }
    int64_t took_ms = now_ms() - start_ms;
    assert_in_range(took_ms, DELAY_MS - 1, LIMIT_MS);
}

static void delay_can_pick_one_reply(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "delay reply 300ms 2 match slow");
    client_anew(ground, 100);
    expect_int(ground->client, "INCR slow", 1);
    expect_int(ground->client, "INCR fast", 1);
    expect_no_reply(ground->client, "INCR slow");
    assert_int_equal(value_of(ground, "slow"), 2); /* executed; only the answer is late */
}

/* A command that is executed after its client has given up. */
static void delayed_request_is_executed_late(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "delay request 200ms match late");
    client_anew(ground, 50);
    expect_no_reply(ground->client, "INCR late");
    assert_int_equal(value_of(ground, "late"), 0);
    client_anew(ground, 5000); /* closes the connection that gave up */
    await_value(ground, "late", 1);
}

/* ---- drops and resets ------------------------------------------------------------------------ */

static void dropped_reply_was_executed(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "drop reply 2 match INCR");
    client_anew(ground, 100);
    expect_int(ground->client, "INCR n", 1);
    expect_no_reply(ground->client, "INCR n");
    assert_int_equal(value_of(ground, "n"), 2);
    client_anew(ground, 5000);
    expect_int(ground->client, "INCR n", 3); /* only the second */
    assert_int_equal(fx_proxy_count(ground->proxy, "dropped"), 1);
}

/* No reply may be delivered behind a lost one: it would be taken for the lost one's. */
static void nothing_follows_a_dropped_reply(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "drop reply 1");
    client_anew(ground, 100);
    redisAppendCommand(ground->client, "ECHO first");
    redisAppendCommand(ground->client, "INCR n");
    redisReply *reply = NULL;
    assert_int_equal(redisGetReply(ground->client, (void **)&reply), REDIS_ERR);
    await_value(ground, "n", 1);
}

static void dropped_request_was_not_executed(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "drop request match incr");
    client_anew(ground, 100);
    expect_no_reply(ground->client, "INCR n");
    assert_int_equal(value_of(ground, "n"), 0);
}

static void reset_before_was_not_executed(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "reset before 1 match INCR");
    expect_no_reply(ground->client, "INCR n");
    assert_int_equal(ground->client->err, REDIS_ERR_IO);
    client_anew(ground, 5000);
    expect_int(ground->client, "INCR n", 1);
}

static void reset_after_was_executed(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "reset after 1 match INCR");
    expect_no_reply(ground->client, "INCR n");
    assert_int_equal(value_of(ground, "n"), 1);
    client_anew(ground, 5000);
    expect_int(ground->client, "INCR n", 2);
}

static void chance_is_kept(void **state)
{
    struct ground *ground = *state;
    enum { TRIES = 400 };
    fx_proxy_say(ground->proxy, "reset before 25%% match INCR");
    int answered = 0;
    for (int i = 0; i < TRIES; i++) {
        client_anew(ground, 5000);
        redisReply *reply = redisCommand(ground->client, "INCR n");
        answered += reply != NULL;
        freeReplyObject(reply);
    }
    assert_in_range(answered, TRIES * 65 / 100, TRIES * 85 / 100);
    assert_int_equal(value_of(ground, "n"), answered);
}

static void truncated_reply_ends_the_connection(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "truncate 5 match GET");
    freeReplyObject(fx_redis_reply(ground->redis, "SET key 0123456789"));
    expect_no_reply(ground->client, "GET key");
    assert_int_equal(fx_proxy_count(ground->proxy, "truncated"), 1);
}

/* ---- silence --------------------------------------------------------------------------------- */

static void half_open_connection_is_silent_until_healed(void **state)
{
    struct ground *ground = *state;
    client_anew(ground, 5000);
    expect_int(ground->client, "INCR n", 1);
    fx_proxy_say(ground->proxy, "halfopen");
    redisAppendCommand(ground->client, "INCR n");
    int done = 0;
    while (!done)
        assert_int_equal(redisBufferWrite(ground->client, &done), REDIS_OK);
    redisContext *other = client_new(fx_proxy_url(ground->proxy), 5000);
    expect_int(other, "INCR other", 1); /* later connections work */
    redisFree(other);
    assert_int_equal(value_of(ground, "n"), 1);
    fx_proxy_say(ground->proxy, "heal");
    redisReply *reply;
    assert_int_equal(redisGetReply(ground->client, (void **)&reply), REDIS_OK);
    assert_int_equal(reply->integer, 2);
    freeReplyObject(reply);
}

static void half_open_can_begin_at_a_request(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "halfopen 2 match n");
    client_anew(ground, 100);
    expect_int(ground->client, "INCR n", 1);
    expect_no_reply(ground->client, "INCR n");
    assert_int_equal(value_of(ground, "n"), 1);
}

static void black_hole_accepts_and_never_answers(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "blackhole");
    client_anew(ground, 100);
    expect_no_reply(ground->client, "INCR n");
    fx_proxy_say(ground->proxy, "after 200ms heal");
    client_anew(ground, 5000);
    redisReply *reply = redisCommand(ground->client, "PING"); /* answered once it is healed */
    assert_non_null(reply);
    freeReplyObject(reply);
}

static void down_refuses_and_heals(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "down");
    expect_no_reply(ground->client, "PING");
    redisContext *refused = dial(fx_proxy_url(ground->proxy));
    if (refused && !refused->err)
        expect_no_reply(refused, "PING");
    redisFree(refused);
    fx_proxy_say(ground->proxy, "heal");
    client_anew(ground, 5000);
    expect_int(ground->client, "INCR n", 1);
}

/* ---- scripts and subscriptions --------------------------------------------------------------- */

static void script_is_matched_through_its_hash(void **state)
{
    struct ground *ground = *state;
    const char *texts[] = {"return redis.call('INCR', 'wanted')",
                           "return redis.call('INCR', 'other')"};
    char sha[2][41];
    for (int i = 0; i < 2; i++) {
        redisReply *reply = redisCommand(ground->client, "SCRIPT LOAD %s", texts[i]);
        assert_non_null(reply);
        snprintf(sha[i], sizeof(sha[i]), "%s", reply->str);
        freeReplyObject(reply);
    }
    fx_proxy_say(ground->proxy, "drop reply match script 'wanted'");
    client_anew(ground, 100);
    redisReply *reply = redisCommand(ground->client, "EVALSHA %s 0", sha[1]);
    assert_non_null(reply);
    freeReplyObject(reply);
    assert_null(redisCommand(ground->client, "EVALSHA %s 0", sha[0]));
    assert_int_equal(value_of(ground, "wanted"), 1);
}

static void expect_ok(struct ground *ground, const char *command)
{
    redisReply *reply = redisCommand(ground->client, command);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply ? reply->str : "no reply");
    freeReplyObject(reply);
}

/* Of all that names wanted, and not other, it is the write that is executed and not answered. */
static void a_write_is_matched_where_it_takes_place(void **state)
{
    struct ground *ground = *state;
    static const char *const passed[] = {"GET wanted",
                                         "EVAL #!lua\tflags=no-writes\nreturn\t1 1 wanted",
                                         "MSET wanted 0 other 1",
                                         "WATCH wanted",
                                         "MULTI",
                                         "INCR wanted",
                                         "DISCARD",
                                         "MULTI",
                                         "INCR wanted"};
    static const char *const lost[] = {"INCR wanted",
                                       "EVAL return\tredis.call('INCR',KEYS[1]) 1 wanted", NULL};
    for (int i = 0; i < 3; i++) {
        fx_proxy_say(ground->proxy, "heal");
        fx_proxy_say(ground->proxy, "drop reply match write wanted not other");
        client_anew(ground, 100);
        for (size_t k = 0; k < COUNT(passed) - (i < 2 ? 2 : 0); k++)
            expect_ok(ground, passed[k]);
        expect_no_reply(ground->client, lost[i] ? lost[i] : "EXEC");
        assert_int_equal(value_of(ground, "wanted"), 1);
    }
}

static void message_of_a_subscription_can_be_lost_alone(void **state)
{
    struct ground *ground = *state;
    fx_proxy_say(ground->proxy, "drop push 1");
    redisReply *reply = redisCommand(ground->client, "SUBSCRIBE a b");
    assert_non_null(reply);
    freeReplyObject(reply);
    assert_int_equal(redisGetReply(ground->client, (void **)&reply), REDIS_OK); /* b's */
    freeReplyObject(reply);
    expect_int(fx_redis_ctx(ground->redis), "PUBLISH a lost", 1);
    expect_int(fx_redis_ctx(ground->redis), "PUBLISH b kept", 1);
    assert_int_equal(redisGetReply(ground->client, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->element[2]->str, "kept");
    freeReplyObject(reply);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void bad_script_is_refused_with_its_line(void **state)
{
    struct ground *ground = *state;
    static const char *const bad[] = {"delay",        "delay 1",        "drop",
                                      "drop reply x", "reset sideways", "truncate match x",
                                      "drop reply 0", "after 1s",       "nonsense"};
    char path[256], program[256];
    snprintf(path, sizeof(path), "%s/faults", fx_redis_dir(ground->redis));
    for (size_t i = 0; i < COUNT(bad); i++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "# a comment\n\ndelay 1ms\n%s\n", bad[i]);
        fclose(file);
        const char *argv[] = {fx_build_path("tests/faultproxy", program, sizeof(program)),
                              "--listen",
                              "127.0.0.1:0",
                              "--upstream",
                              fx_redis_url(ground->redis),
                              "--script",
                              path,
                              NULL};
        fx_process *process = fx_spawn(argv, true);
        assert_int_equal(fx_process_wait(process, 5000), EXIT_FAILURE);
        assert_non_null(strstr(fx_process_stderr(process), ":4: error"));
        fx_process_free(process);
    }
}

/* ---- many at once ---------------------------------------------------------------------------- */

static void messages_of_fifty_clients_are_delayed_at_the_same_time(void **state)
{
    struct ground *ground = *state;
    enum { CLIENTS = 50, ROUNDS = 200 };
    redisContext *clients[CLIENTS];
    fx_proxy_say(ground->proxy, "delay 1ms");
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = client_new(fx_proxy_url(ground->proxy), 60000);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0, done = 0; i < CLIENTS; i++, done = 0) {
            redisAppendCommand(clients[i], "INCR n");
            while (!done)
                assert_int_equal(redisBufferWrite(clients[i], &done), REDIS_OK);
        }
        for (int i = 0; i < CLIENTS; i++) {
            redisReply *reply;
            assert_int_equal(redisGetReply(clients[i], (void **)&reply), REDIS_OK);
            assert_in_range(reply->integer, round * CLIENTS + 1, (round + 1) * CLIENTS);
            freeReplyObject(reply);
        }
    }
    for (int i = 0; i < CLIENTS; i++)
        redisFree(clients[i]);
    assert_int_equal(value_of(ground, "n"), CLIENTS * ROUNDS);
}

#define TCP(test) cmocka_unit_test_setup_teardown(test, setup_tcp, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TCP(pipelines_pass_unchanged),
        cmocka_unit_test_setup_teardown(pipelines_pass_unchanged, setup_unix, teardown),
        TCP(nested_replies_and_errors_pass),
        TCP(delay_is_the_round_trip_of_a_whole_pipeline),
        TCP(delay_can_pick_one_reply),
        TCP(delayed_request_is_executed_late),
        TCP(dropped_reply_was_executed),
        TCP(nothing_follows_a_dropped_reply),
        TCP(dropped_request_was_not_executed),
        TCP(reset_before_was_not_executed),
        TCP(reset_after_was_executed),
        TCP(chance_is_kept),
        TCP(truncated_reply_ends_the_connection),
        TCP(half_open_connection_is_silent_until_healed),
        TCP(half_open_can_begin_at_a_request),
        TCP(black_hole_accepts_and_never_answers),
        TCP(down_refuses_and_heals),
        TCP(script_is_matched_through_its_hash),
        TCP(a_write_is_matched_where_it_takes_place),
        TCP(message_of_a_subscription_can_be_lost_alone),
        cmocka_unit_test(bad_script_is_refused_with_its_line),
        TCP(messages_of_fifty_clients_are_delayed_at_the_same_time),
    };
    return cmocka_run_group_tests_name("faultproxy", tests, setup_redis, teardown_redis);
}
