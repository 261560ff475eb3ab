/* What a call on a shared connection costs those beside it. */
#include "tests/lock/redis/shared_rig.h"

#include <stdlib.h>
#include <sys/resource.h>

static dlock_script one = DLOCK_SCRIPT("one", "#!lua\nreturn 1");

static dlock_script slow = DLOCK_SCRIPT("slow", "#!lua\n"
                                                "local function us() local t = redis.call('TIME')\n"
                                                "    return t[1] * 1000000 + t[2] end\n"
                                                "local till = us() + 60000\n"
                                                "repeat until us() >= till\n"
                                                "return 1");

static void *call_slow(void *arg)
{
    caller *c = arg;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "words");
    c->counts[dlock_redis_eval(c->redis, &slow, 1, &args, dlock_in_ms(c->ms), NULL)]++;
    dlock_args_free(&args);
    return NULL;
}

/* The last one to wait on a connection has its answer, while one behind it is not waited for any
 * more. */
static void an_answer_that_nobody_waits_for_keeps_no_connection(void **state)
{
    (void)state;
    bool wrong = false;
    dlock_redis *redis = open_named(fx_redis_url(server));
    call_slow(&(caller){.redis = redis, .ms = SOON_MS});
    for (int i = 0; i < 12; i++) {
        caller longer = {.redis = redis, .ms = SOON_MS}, shorter = {.redis = redis, .ms = 20};
        pthread_create(&longer.thread, NULL, call_slow, &longer);
        until_in_flight(redis, 1);
        pthread_create(&shorter.thread, NULL, call_slow, &shorter);
        pthread_join(shorter.thread, NULL);
        pthread_join(longer.thread, NULL);
        assert_int_equal(longer.counts[DLOCK_REDIS_OK], 1);
    }
    assert_int_equal(call_add(redis, "last", SOON_MS, &wrong), DLOCK_REDIS_OK);
    assert_in_range(connections(), 1, 4);
    dlock_redis_close(redis);
}

typedef struct hasty {
    dlock_redis *redis;
    atomic_bool stop;
} hasty;

static void *call_hastily(void *arg)
{
    hasty *h = arg;
    bool wrong = false;
    while (!atomic_load(&h->stop))
        if (call_add(h->redis, "hasty", 5, &wrong) == DLOCK_REDIS_NOT_SENT)
            dlock_sleep(dlock_in_ms(1));
    return NULL;
}

/* One thread's deadlines are below the round trip. */
static void deadlines_that_can_not_be_kept_cost_nobody_else(void **state)
{
    (void)state;
    int counts[DLOCK_REDIS_UNKNOWN + 1];
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    hasty h = {.redis = redis};
    pthread_t thread;
    run_callers(redis, 1, SOON_MS, counts);
    fx_proxy_say(proxy, "delay reply 20ms");
    pthread_create(&thread, NULL, call_hastily, &h);
    run_callers(redis, 50, SOON_MS, counts);
    atomic_store(&h.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(counts[DLOCK_REDIS_OK], THREADS * 50);
    dlock_redis_close(redis);
    fx_proxy_stop(proxy);
}

/* A server far away stood still for longer than the callers wait, who ask again at once. */
static void callers_recover_from_an_outage(void **state)
{
    (void)state;
    enum { MS = 300 };
    int counts[DLOCK_REDIS_UNKNOWN + 1] = {0};
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    run_callers(redis, 1, SOON_MS, counts);
    fx_proxy_say(proxy, "delay reply 20ms");
    fx_redis_signal(server, SIGSTOP);
    static caller callers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        callers[t] = (caller){.redis = redis, .number = t, .calls = 200, .ms = MS};
        pthread_create(&callers[t].thread, NULL, call_often, &callers[t]);
    }
    fx_let_pass(2 * MS);
    fx_redis_signal(server, SIGCONT);
    int last = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(callers[t].thread, NULL);
        last += callers[t].sent[199] == DLOCK_REDIS_OK;
    }
    assert_true(last >= THREADS / 2); /* without recovery: one in fifty */
    dlock_redis_close(redis);
    fx_proxy_stop(proxy);
}

/* Each has a connection that says nothing; the server is well. */
static void long_waits_for_nothing_block_nobody(void **state)
{
    (void)state;
    enum { LONG = 6 };
    bool wrong = false;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    caller callers[LONG];
    assert_int_equal(call_add(redis, "first", SOON_MS, &wrong), DLOCK_REDIS_OK);
    fx_proxy_say(proxy, "drop reply match once:");
    for (int i = 0; i < LONG; i++) {
        char word[16];
        callers[i] = (caller){.redis = redis, .number = i, .ms = 5000};
        pthread_create(&callers[i].thread, NULL, call_once, &callers[i]);
        until_in_flight(redis, 1);
        fx_let_pass(200); /* it is silent for too long to be used */
        snprintf(word, sizeof(word), "well:%d", i);
        assert_int_equal(call_add(redis, word, SOON_MS, &wrong), DLOCK_REDIS_OK);
    }
    for (int i = 0; i < LONG; i++) {
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].counts[DLOCK_REDIS_UNKNOWN], 1);
    }
    assert_false(wrong);
    dlock_redis_close(redis);
    fx_proxy_stop(proxy);
}

static void *call_big(void *arg)
{
    enum { BIG = 16 * 1024 * 1024 };
    caller *c = arg;
    char *bytes = calloc(1, BIG);
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "words");
    dlock_args_bytes(&args, bytes, BIG);
    c->counts[dlock_redis_eval(c->redis, &one, 1, &args, dlock_in_ms(c->ms), NULL)]++;
    dlock_args_free(&args);
    free(bytes);
    return NULL;
}

/* Behind a call that the kernel has not taken as yet. */
static void what_was_not_given_to_the_kernel_was_not_sent(void **state)
{
    (void)state;
    bool wrong = false;
    dlock_redis *redis = open_named(fx_redis_url(server));
    caller big = {.redis = redis, .ms = SOON_MS};
    assert_int_equal(call_add(redis, "first", SOON_MS, &wrong), DLOCK_REDIS_OK);
    call_big(&(caller){.redis = redis, .ms = SOON_MS});
    fx_redis_signal(server, SIGSTOP);
    pthread_create(&big.thread, NULL, call_big, &big);
    until_in_flight(redis, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(call_add(redis, "small", 20, &wrong), DLOCK_REDIS_NOT_SENT);
    fx_redis_signal(server, SIGCONT);
    pthread_join(big.thread, NULL);
    assert_int_equal(big.counts[DLOCK_REDIS_OK], 1);
    assert_int_equal(fx_redis_number(server, "SISMEMBER words small"), 0);
    dlock_redis_close(redis);
}

/* ---- the queue ------------------------------------------------------------------------------- */

enum { IN_FLIGHT = 64 };

static void start_calls(dlock_redis *redis, caller *callers, int n, int ms)
{
    for (int i = 0; i < n; i++) {
        callers[i] = (caller){.redis = redis, .number = i, .ms = ms};
        pthread_create(&callers[i].thread, NULL, call_once, &callers[i]);
    }
}

static int told(caller *callers, int n, dlock_redis_outcome what)
{
    int told = 0;
    for (int i = 0; i < n; i++)
        told += callers[i].counts[what];
    return told;
}

static void join(caller *callers, int n)
{
    for (int i = 0; i < n; i++)
        pthread_join(callers[i].thread, NULL);
}

/* A crowd that wakes up again and again leaves no processor to those who read. */
static void those_in_the_queue_sleep(void **state)
{
    (void)state;
    enum { CALLERS = 1000, MS = 3000 };
    static caller callers[CALLERS];
    bool wrong = false;
    struct rusage before, after;
    dlock_redis *redis = rig_redis(fx_redis_url(server));
    assert_int_equal(call_add(redis, "first", SOON_MS, &wrong), DLOCK_REDIS_OK);
    fx_redis_signal(server, SIGSTOP);
    getrusage(RUSAGE_SELF, &before);
    start_calls(redis, callers, CALLERS, MS);
    join(callers, CALLERS);
    getrusage(RUSAGE_SELF, &after);
    fx_redis_signal(server, SIGCONT);
    assert_int_equal(told(callers, CALLERS, DLOCK_REDIS_OK), 0);
    print_message("%ld sleeps of %d callers\n", after.ru_nvcsw - before.ru_nvcsw, CALLERS);
    assert_in_range(after.ru_nvcsw - before.ru_nvcsw, CALLERS, CALLERS * 6);
    dlock_redis_close(redis);
}

/* The one that looks goes at its deadline. The line is silent, and another one is to be opened for
 * those who wait on. */
static void somebody_looks_after_the_queue_when_another_leaves_it(void **state)
{
    (void)state;
    static caller silent[IN_FLIGHT], brief, patient[4];
    bool wrong = false;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(server));
    for (int round = 0; round < 5; round++) {
        dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
        assert_int_equal(call_add(redis, "first", SOON_MS, &wrong), DLOCK_REDIS_OK);
        fx_proxy_say(proxy, "halfopen");
        start_calls(redis, silent, IN_FLIGHT, 2 * SOON_MS);
        until_in_flight(redis, IN_FLIGHT);
        start_calls(redis, &brief, 1, 20);
        fx_let_pass(5);
        start_calls(redis, patient, COUNT(patient), SOON_MS);
        join(&brief, 1);
        join(patient, COUNT(patient));
        fx_proxy_say(proxy, "reset");
        join(silent, IN_FLIGHT);
        assert_int_equal(told(patient, COUNT(patient), DLOCK_REDIS_OK), COUNT(patient));
        dlock_redis_close(redis);
    }
    fx_proxy_stop(proxy);
}

static void start_slow(dlock_redis *redis, caller *callers, int n, int ms)
{
    for (int i = 0; i < n; i++) {
        callers[i] = (caller){.redis = redis, .ms = ms};
        pthread_create(&callers[i].thread, NULL, call_slow, &callers[i]);
    }
}

/* The same, when it is sent. After a loss two calls may be in flight. */
static void somebody_looks_after_the_queue_when_another_is_sent(void **state)
{
    (void)state;
    static caller lost, first[2], next[2], patient[4];
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(server));
    for (int round = 0; round < 5; round++) {
        dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
        call_slow(&(caller){.redis = redis, .ms = SOON_MS});
        start_slow(redis, &lost, 1, SOON_MS);
        until_in_flight(redis, 1);
        fx_proxy_say(proxy, "reset");
        join(&lost, 1);
        for (int i = 0; i < 2; i++) {
            start_slow(redis, &first[i], 1, SOON_MS);
            until_in_flight(redis, i + 1);
        }
        start_slow(redis, next, COUNT(next), SOON_MS);
        fx_let_pass(5);
        start_slow(redis, patient, COUNT(patient), SOON_MS / 2);
        join(first, COUNT(first));
        fx_proxy_say(proxy, "halfopen");
        join(patient, COUNT(patient));
        fx_proxy_say(proxy, "reset");
        join(next, COUNT(next));
        assert_int_equal(told(patient, COUNT(patient), DLOCK_REDIS_NOT_SENT), 0);
        dlock_redis_close(redis);
    }
    fx_proxy_stop(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_nobody_waits_for_keeps_no_connection),
        cmocka_unit_test(deadlines_that_can_not_be_kept_cost_nobody_else),
        cmocka_unit_test(callers_recover_from_an_outage),
        cmocka_unit_test(long_waits_for_nothing_block_nobody),
        cmocka_unit_test(what_was_not_given_to_the_kernel_was_not_sent),
        cmocka_unit_test(those_in_the_queue_sleep),
        cmocka_unit_test(somebody_looks_after_the_queue_when_another_leaves_it),
        cmocka_unit_test(somebody_looks_after_the_queue_when_another_is_sent),
    };
    return cmocka_run_group_tests_name("shared costs", tests, setup, teardown);
}
