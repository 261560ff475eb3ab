/*
 * Calls of many threads on one connection: under faults each answer is its own, and what is said of
 * a call that has none is true.
 */
#include "tests/lock/redis/shared_rig.h"

static dlock_script one = DLOCK_SCRIPT("one", "#!lua\nreturn 1");

static void many_threads_share_one_connection(void **state)
{
    (void)state;
    int counts[DLOCK_REDIS_UNKNOWN + 1];
    dlock_redis *redis = open_named(fx_redis_url(server));
    run_callers(redis, 100, SOON_MS, counts);
    assert_int_equal(counts[DLOCK_REDIS_OK], THREADS * 100);
    assert_int_equal(connections(), 1);
    dlock_redis_close(redis);
}

/* An unanswered call takes few others with it. */
static void faults_leave_every_definite_answer_right(void **state)
{
    (void)state;
    enum { CALLS = 60, MS = 500 };
    static const struct {
        const char *order, *counter;
    } faults[] = {
        {"drop reply 5%", "dropped"},  {"drop request 5%", "dropped"}, {"reset after 5%", "resets"},
        {"reset before 5%", "resets"}, {"truncate 2 5%", "truncated"},
    };
    for (size_t i = 0; i < COUNT(faults); i++) {
        int counts[DLOCK_REDIS_UNKNOWN + 1];
        fx_proxy *proxy = fx_proxy_start(fx_redis_url(server));
        dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
        run_callers(redis, 1, SOON_MS, counts); /* the hash is known */
        fx_proxy_say(proxy, "%s", faults[i].order);
        run_callers(redis, CALLS, MS, counts);
        int64_t landed = fx_proxy_count(proxy, faults[i].counter);
        print_message("%s: %lld landed, ok %d, not sent %d, unknown %d\n", faults[i].order,
                      (long long)landed, counts[DLOCK_REDIS_OK], counts[DLOCK_REDIS_NOT_SENT],
                      counts[DLOCK_REDIS_UNKNOWN]);
        assert_true(landed > 0);
        assert_true(counts[DLOCK_REDIS_OK] > 0);
        assert_true(counts[DLOCK_REDIS_UNKNOWN] > 0); /* a connection a caller: as many as landed */
        assert_true(counts[DLOCK_REDIS_UNKNOWN] <= 4 * landed);
        dlock_redis_close(redis);
        fx_proxy_stop(proxy);
    }
}

static void a_script_that_is_forgotten_meanwhile_is_sent_again(void **state)
{
    (void)state;
    int counts[DLOCK_REDIS_UNKNOWN + 1];
    dlock_redis *redis = open_named(fx_redis_url(server));
    for (int i = 0; i < 20; i++) {
        fx_redis_do(server, "SCRIPT FLUSH");
        run_callers(redis, 5, SOON_MS, counts);
        assert_int_equal(counts[DLOCK_REDIS_OK], THREADS * 5);
    }
    dlock_redis_close(redis);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

/* The leader's call gives up; those behind it keep their time, and get their answers. */
static void a_short_deadline_costs_no_other_call(void **state)
{
    (void)state;
    bool wrong = false;
    dlock_redis *redis = open_named(fx_redis_url(server));
    assert_int_equal(call_add(redis, "first", SOON_MS, &wrong), DLOCK_REDIS_OK);
    caller shorter = {.redis = redis, .number = 1, .ms = 200};
    caller longer = {.redis = redis, .number = 2, .ms = SOON_MS};
    fx_redis_signal(server, SIGSTOP);
    pthread_create(&shorter.thread, NULL, call_once, &shorter);
    until_in_flight(redis, 1);
    pthread_create(&longer.thread, NULL, call_once, &longer);
    until_in_flight(redis, 2);
    pthread_join(shorter.thread, NULL);
    fx_redis_signal(server, SIGCONT);
    pthread_join(longer.thread, NULL);
    assert_int_equal(shorter.counts[DLOCK_REDIS_UNKNOWN], 1);
    assert_int_equal(longer.counts[DLOCK_REDIS_OK], 1);
    assert_false(longer.wrong);
    assert_int_equal(call_add(redis, "last", SOON_MS, &wrong), DLOCK_REDIS_OK);
    assert_false(wrong);
    dlock_redis_close(redis);
}

/* Who connects for all gives up; those behind it connect anew. */
static void a_short_deadline_while_connecting_costs_no_other_call(void **state)
{
    (void)state;
    dlock_redis *redis = open_named(fx_redis_url(server));
    caller shorter = {.redis = redis, .number = 1, .ms = 300};
    caller longer = {.redis = redis, .number = 2, .ms = SOON_MS};
    fx_redis_signal(server, SIGSTOP);
    pthread_create(&shorter.thread, NULL, call_once, &shorter);
    dlock_sleep(dlock_in_ms(100));
    pthread_create(&longer.thread, NULL, call_once, &longer);
    pthread_join(shorter.thread, NULL);
    fx_redis_signal(server, SIGCONT);
    pthread_join(longer.thread, NULL);
    assert_int_equal(shorter.counts[DLOCK_REDIS_NOT_SENT], 1);
    assert_int_equal(longer.counts[DLOCK_REDIS_OK], 1);
    dlock_redis_close(redis);
}

typedef struct told_call {
    shared_call call; /* first, so that the one is the other */
    atomic_bool done;
} told_call;

static void note_done(shared_call *a)
{
    atomic_store(&((told_call *)a)->done, true);
}

static bool is_told(void *arg)
{
    return atomic_load(&((told_call *)arg)->done);
}

/* first, then an asynchronous call, then one that is never answered: its thread reads meanwhile. */
static void an_answer_is_told_while_the_reader_waits_for_its_own(void **state)
{
    (void)state;
    bool wrong = false;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    assert_int_equal(call_add(redis, "zeroth", SOON_MS, &wrong), DLOCK_REDIS_OK);
    fx_proxy_say(proxy, "delay reply 1s match once:1");
    fx_proxy_say(proxy, "delay reply 2s match between");
    fx_proxy_say(proxy, "drop reply match once:3");
    caller first = {.redis = redis, .number = 1, .ms = SOON_MS};
    caller last = {.redis = redis, .number = 3, .ms = SOON_MS / 2};
    pthread_create(&first.thread, NULL, call_once, &first);
    until_in_flight(redis, 1);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "words");
    dlock_args_text(&args, "between");
    told_call between = {.call = {.script = &add,
                                  .args = &args,
                                  .keys = 1,
                                  .deadline = dlock_in_ms(SOON_MS),
                                  .done = note_done}};
    dlock_shared_put(redis->shared, 0, &between.call);
    pthread_create(&last.thread, NULL, call_once, &last);
    dlock_time since = dlock_now();
    assert_true(fx_wait_until(is_told, &between, SOON_MS));
    assert_true(dlock_now().us - since.us < SOON_MS / 2 * 1000); /* `last` still waits */
    assert_int_equal(between.call.outcome, DLOCK_REDIS_OK);
    freeReplyObject(between.call.reply);
    dlock_args_free(&args);
    pthread_join(first.thread, NULL);
    pthread_join(last.thread, NULL);
    assert_int_equal(last.counts[DLOCK_REDIS_UNKNOWN], 1);
    dlock_redis_close(redis);
    fx_proxy_stop(proxy);
}

/* Redis says NOSCRIPT before it runs anything; a script says what it likes, and has run. */
static void a_script_that_says_noscript_itself_ran_once(void **state)
{
    (void)state;
    static dlock_script liar =
        DLOCK_SCRIPT("liar", "#!lua\n"
                             "redis.call('INCR', KEYS[1])\n"
                             "return redis.error_reply('NOSCRIPT of the script itself')");
    dlock_redis *redis = open_named(fx_redis_url(server));
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "runs");
    assert_int_equal(dlock_redis_eval(redis, &liar, 1, &args, dlock_in_ms(SOON_MS), &reply),
                     DLOCK_REDIS_ERROR);
    freeReplyObject(reply);
    dlock_args_free(&args);
    assert_int_equal(fx_redis_number(server, "INCRBY runs 0"), 1);
    dlock_redis_close(redis);
}

/* A connect that failed is followed by a pause. */
static bool is_back(void *redis)
{
    bool wrong = false;
    return call_add(redis, "last", SOON_MS, &wrong) == DLOCK_REDIS_OK && !wrong;
}

/* So many are in flight, and no more; the others were not sent. */
static void a_silent_server_gets_no_more_than_64_calls_a_connection(void **state)
{
    (void)state;
    enum { CALLERS = 100, MS = 80, MOST = 64 };
    static caller callers[CALLERS];
    int unknown = 0, not_sent = 0;
    bool wrong = false;
    dlock_redis *redis = open_named(fx_redis_url(server));
    assert_int_equal(call_add(redis, "first", SOON_MS, &wrong), DLOCK_REDIS_OK);
    fx_redis_do(server, "DEL words");
    fx_redis_signal(server, SIGSTOP);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (caller){.redis = redis, .number = i, .ms = MS};
        pthread_create(&callers[i].thread, NULL, call_once, &callers[i]);
    }
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    fx_redis_signal(server, SIGCONT);
    assert_true(fx_wait_until(is_back, redis, SOON_MS));
    for (int i = 0; i < CALLERS; i++) {
        char command[64];
        unknown += callers[i].counts[DLOCK_REDIS_UNKNOWN];
        not_sent += callers[i].counts[DLOCK_REDIS_NOT_SENT];
        snprintf(command, sizeof(command), "SISMEMBER words once:%d", i);
        if (callers[i].counts[DLOCK_REDIS_NOT_SENT])
            assert_int_equal(fx_redis_number(server, command), 0);
    }
    assert_int_equal(unknown + not_sent, CALLERS);
    assert_true(unknown >= 1 && not_sent >= 1);
    assert_true(unknown <= MOST + 4 * 2); /* a connection that is new has room for few */
    dlock_redis_close(redis);
}

/* A reply of a wrong form ends the connection for those behind it too. */
static void an_answer_of_a_wrong_form_ends_the_connection(void **state)
{
    (void)state;
    bool wrong = false;
    dlock_redis *redis = open_named(fx_redis_url(server));
    dlock_args none;
    redisReply *reply;
    dlock_args_init(&none);
    assert_int_equal(call_add(redis, "first", SOON_MS, &wrong), DLOCK_REDIS_OK);
    long long id = fx_redis_number(server, "CLIENT ID");
    assert_int_equal(dlock_redis_eval(redis, &one, 0, &none, dlock_in_ms(SOON_MS), &reply),
                     DLOCK_REDIS_OK);
    assert_false(dlock_redis_check(redis, "one", reply, reply->type == REDIS_REPLY_STRING));
    freeReplyObject(reply);
    assert_int_equal(call_add(redis, "second", SOON_MS, &wrong), DLOCK_REDIS_OK);
    char list[65536], told[64];
    assert_true(fx_redis_text(server, list, sizeof(list), "CLIENT LIST TYPE normal"));
    const char *at = strstr(list, "name=shared");
    assert_non_null(at);
    while (at > list && at[-1] != '\n')
        at--;
    snprintf(told, sizeof(told), "%.20s", at);
    assert_true(strtoll(told + strlen("id="), NULL, 10) > id); /* a new one */
    dlock_redis_close(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_threads_share_one_connection),
        cmocka_unit_test(faults_leave_every_definite_answer_right),
        cmocka_unit_test(a_script_that_is_forgotten_meanwhile_is_sent_again),
        cmocka_unit_test(a_short_deadline_costs_no_other_call),
        cmocka_unit_test(a_short_deadline_while_connecting_costs_no_other_call),
        cmocka_unit_test(an_answer_is_told_while_the_reader_waits_for_its_own),
        cmocka_unit_test(a_script_that_says_noscript_itself_ran_once),
        cmocka_unit_test(a_silent_server_gets_no_more_than_64_calls_a_connection),
        cmocka_unit_test(an_answer_of_a_wrong_form_ends_the_connection),
    };
    return cmocka_run_group_tests_name("shared", tests, setup, teardown);
}
