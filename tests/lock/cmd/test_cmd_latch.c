/* dlock latch and dlock wait on a real Redis: one program waits for others. */
#include "tests/lock/cmd/by_shell.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 3 };

#define WHO_16 "0123456789abcdef"
#define WHO_64 WHO_16 WHO_16 WHO_16 WHO_16

/* Runs it to its end: the exit code, and what it said in `out` and `err`. */
static int run_to_end(const char *words, char out[512], char err[512])
{
    fx_process *process = start(words);
    int code = fx_process_wait(process, SOON_MS);
    if (out)
        snprintf(out, 512, "%s", fx_process_stdout(process));
    if (err)
        snprintf(err, 512, "%s", fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

static int prepare(void **state)
{
    (void)state;
    fx_redis_do(redis, "FLUSHALL");
    fx_redis_do(redis, "SET taken token");
    return 0;
}

static void they_say_what_came_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int code;
        const char *out, *err;
    } steps[] = {
        {"latch set 2 l", 0, "l is set to 2\n", ""},
        {"latch set 5 l", 75, "", "dlock: l is set already, and has not opened yet\n"},
        {"latch left l", 0, "2\n", ""},
        {"wait -n l", 75, "", "dlock: l is not open\n"},
        {"latch down --who a l", 0, "1\n", ""},
        {"latch down l --who a", 0, "1\n", ""},
        {"wait --wait-ms 50 l", 75, "", "dlock: l is not open\n"},
        {"wait --wait .05 l", 75, "", "dlock: l is not open\n"},
        {"latch down l", 0, "0\n", ""},
        {"latch down l", 0, "0\n", ""},
        {"latch left l", 0, "0\n", ""},
        {"wait l", 0, "", ""},
        {"wait -w 5 l", 0, "", ""},
        {"latch set --life-ms 31536000000 1 l", 0, "l is set to 1\n", ""},
        {"latch down --who " WHO_64 WHO_64 " l", 0, "0\n", ""},
        {"latch set --life-ms 600000 1000000000 l", 0, "l is set to 1000000000\n", ""},
        {"latch left --json l", 0,
         "{\n  \"schema\": 1,\n  \"name\": \"l\",\n  \"set\": true,\n  \"left\": 1000000000,\n"
         "  \"open\": false\n}\n",
         ""},
        {"latch left --json none", 76,
         "{\n  \"schema\": 1,\n  \"name\": \"none\",\n  \"set\": false,\n  \"left\": 0,\n"
         "  \"open\": false\n}\n",
         ""},
        {"latch left none", 76, "", "dlock: none is not set, or its life is over\n"},
        {"latch down none", 76, "", "dlock: none is not set, or its life is over\n"},
        {"wait -n none", 75, "", "dlock: none is not open\n"},
        {"wait taken", 64, "",
         "dlock: taken is no latch: something else stands there, such as a lock\n"},
        {"latch set 1 taken", 64, "",
         "dlock: taken is no latch: something else stands there, such as a lock\n"},
        {"latch down taken", 64, "",
         "dlock: taken is no latch: something else stands there, such as a lock\n"},
        {"latch left taken", 64, "",
         "dlock: taken is no latch: something else stands there, such as a lock\n"},
    };
    for (size_t i = 0; i < COUNT(steps); i++) {
        char out[512], err[512];
        int code = run_to_end(steps[i].words, out, err);
        if (code != steps[i].code || strcmp(out, steps[i].out) != 0 ||
            strcmp(err, steps[i].err) != 0)
            fail_msg("dlock %s: exit %d, stdout \"%s\", stderr \"%s\"", steps[i].words, code, out,
                     err);
    }
    long long life = fx_redis_number(redis, "PTTL l");
    assert_in_range(life, 1, 600000);
}

static void wrong_words_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words, *says;
    } cases[] = {
        {"latch", "latch: what is needed is set, down or left"},
        {"latch open l", "latch: what is needed is set, down or left"},
        {"latch set l", "latch set: what is needed is N NAME"},
        {"latch set 1 2 l", "latch set: what is needed is N NAME"},
        {"latch set 0 l", "latch set: N is a whole number from 1 to 1000000000, not \"0\""},
        {"latch set 1e3 l", "latch set: N is a whole number from 1 to 1000000000, not \"1e3\""},
        {"latch set 1000000001 l", "latch set: N is a whole number"},
        {"latch set -- -1 l", "latch set: N is a whole number"},
        {"latch down", "latch down: what is needed is NAME"},
        {"latch left a b", "latch left: what is needed is NAME"},
        {"latch set --life-ms 0 1 l", "--life-ms takes a whole number from 1 to 31536000000"},
        {"latch set --life-ms 31536000001 1 l", "--life-ms takes a whole number from 1 to"},
        {"latch down --who '' l", "--who takes 1 to 128 bytes"},
        {"latch down --who " WHO_64 WHO_64 "x l", "--who takes 1 to 128 bytes"},
        {"latch down --life-ms 5 l", "--life-ms is for set, --who for down, --json for left"},
        {"latch set 1 l --json", "--life-ms is for set, --who for down, --json for left"},
        {"latch left --json --who a l", "no two of --life-ms, --who and --json go together"},
        {"latch left --jso l", "options are not abbreviated: is --json meant?"},
        {"latch left '{x'", "a name with braces needs a hash tag"},
        {"latch left ''", "needs a name"},
        {"wait", "wait: one NAME is needed"},
        {"wait a b", "wait: one NAME is needed"},
        {"wait -w soon l", "--wait takes seconds from 0 to 31536000"},
        {"wait --wait-ms 31536000001 l", "--wait-ms takes a whole number from 0 to 31536000000"},
        {"wait --wait-ms -1 l", "--wait-ms takes a whole number from 0 to 31536000000"},
        {"wait -n --wait 1 l", "only one of --wait, --wait-ms and --nonblock may be given, once"},
        {"wait --redis '' l", "--redis is empty"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[512];
        int code = run_to_end(cases[i].words, NULL, err);
        if (code != 64 || !strstr(err, cases[i].says))
            fail_msg("dlock %s: exit %d, stderr \"%s\"", cases[i].words, code, err);
    }
    assert_int_equal(run_to_end("latch left --redis redis://127.0.0.1:1 l", NULL, NULL), 69);
    assert_int_equal(run_to_end("wait --redis redis://127.0.0.1:1 l", NULL, NULL), 69);
    assert_int_equal(fx_redis_number(redis, "EXISTS l"), 0);
}

static bool are_waiting(void *count)
{
    redisReply *reply = fx_redis_reply(redis, "PUBSUB NUMSUB dlock:{jobs}:open");
    bool all = reply->elements == 2 && reply->element[1]->integer == *(const long long *)count;
    freeReplyObject(reply);
    return all;
}

/* Two programs wait for three workers, from before the latch is set on. */
static void several_wait_for_several(void **state)
{
    (void)state;
    fx_only_single("its subscribers are counted");
    long long two = 2;
    fx_process *waiters[] = {start("wait jobs"), start("wait -w 60 jobs")};
    fx_process *workers[WORKERS];
    assert_true(fx_wait_until(are_waiting, &two, SOON_MS));
    assert_int_equal(run_to_end("latch set 3 jobs", NULL, NULL), 0);
    for (int i = 0; i < WORKERS; i++) {
        char words[64];
        assert_int_equal(run_to_end("wait -n jobs", NULL, NULL), 75);
        assert_int_equal(fx_process_wait(waiters[i % 2], 0), -1);
        snprintf(words, sizeof(words), "latch down --who worker%d jobs", i);
        workers[i] = start(words);
        assert_int_equal(fx_process_wait(workers[i], SOON_MS), 0);
        fx_process_free(workers[i]);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fx_process_wait(waiters[i], SOON_MS), 0);
        fx_process_free(waiters[i]);
    }
}

static void a_life_that_is_over_and_a_signal_end_the_wait(void **state)
{
    (void)state;
    fx_only_single("its subscribers are counted");
    long long one = 1, none = 0;
    fx_redis_do(redis, "HSET jobs left 1 round 7 first 7 life 90000");
    fx_process *waiter = start("wait jobs");
    assert_true(fx_wait_until(are_waiting, &one, SOON_MS));
    fx_redis_do(redis, "PEXPIRE jobs 20");
    assert_int_equal(fx_process_wait(waiter, SOON_MS), 76);
    assert_string_equal(fx_process_stderr(waiter),
                        "dlock: jobs was set, and is gone: its life was over before it opened, or "
                        "Redis has lost it\n");
    fx_process_free(waiter);
    assert_true(fx_wait_until(are_waiting, &none, SOON_MS));
    waiter = start("wait jobs");
    assert_true(fx_wait_until(are_waiting, &one, SOON_MS));
    fx_process_signal(waiter, SIGTERM);
    assert_int_equal(fx_process_wait(waiter, SOON_MS), 128 + SIGTERM);
    fx_process_free(waiter);
}

#define TEST(name) cmocka_unit_test_setup(name, prepare)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(they_say_what_came_of_it),
        TEST(wrong_words_are_refused),
        TEST(several_wait_for_several),
        TEST(a_life_that_is_over_and_a_signal_end_the_wait),
    };
    return cmocka_run_group_tests_name("dlock latch", tests, setup_group, teardown_group);
}
