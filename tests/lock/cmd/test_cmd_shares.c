/* The dlock command on locks that several hold: run --shared and --exclusive, semaphore, status. */
#include "tests/lock/cmd/by_shell.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

/* Starts one that prints a line under the lock, and waits for that. */
static fx_process *start_running(const char *words, char *line, size_t len)
{
    char own[256];
    fx_process *process = start(words);
    assert_true(
        fx_process_first_line(process, line ? line : own, line ? len : sizeof(own), SOON_MS));
    return process;
}

static void end(fx_process *process)
{
    fx_process_signal(process, SIGTERM);
    assert_int_equal(fx_process_wait(process, SOON_MS), 128 + SIGTERM);
    fx_process_free(process);
}

static bool somebody_waits(void *name)
{
    return ask("LLEN dlock:{%s}:queue", (const char *)name) > 0;
}

#define STAYS "-- sh -c 'echo ${DLOCK_FENCE-unset}; exec sleep 60'"

/* ---- readers and writers --------------------------------------------------------------------- */

static void readers_share_and_a_writer_is_alone(void **state)
{
    (void)state;
    fx_process *one = start_running("run --shared n " STAYS, NULL, 0);
    fx_process *two = start_running("run -s n " STAYS, NULL, 0);
    assert_int_equal(run("run -n --exclusive n -- true", NULL, 0), 75);
    assert_int_equal(run("run -n -s n -- sh -c 'exit 7'", NULL, 0), 7);
    assert_int_equal(run("run -n n -- true", NULL, 0), 64); /* of another kind */
    assert_int_equal(run("semaphore --resize 0 n", NULL, 0), 64);
    end(one);
    end(two);
    fx_process *writer = start_running("run -x n " STAYS, NULL, 0);
    assert_int_equal(run("run -n -x n -- true", NULL, 0), 75);
    assert_int_equal(run("run -n -s n -- true", NULL, 0), 75);
    end(writer);
    assert_int_equal(run("run -n -s n -- true", NULL, 0), 0);
    assert_int_equal(ask("EXISTS n"), 0);
}

static void a_waiting_writer_stops_later_readers(void **state)
{
    (void)state;
    char name[] = "n", out[64];
    fx_process *reader = start_running("run -s n " STAYS, NULL, 0);
    fx_process *writer = start("run -x n -- echo written");
    assert_true(fx_wait_until(somebody_waits, name, SOON_MS));
    assert_int_equal(run("run -n -s n -- true", NULL, 0), 75);
    end(reader);
    assert_int_equal(fx_process_wait(writer, SOON_MS), 0);
    assert_string_equal(fx_process_stdout(writer), "written\n");
    fx_process_free(writer);
    assert_int_equal(run("run -n -s n -- echo read", out, sizeof(out)), 0);
    assert_string_equal(out, "read\n");
}

static void a_readers_fence_is_the_last_writers(void **state)
{
    (void)state;
    static const char tells[] = "-- sh -c 'echo ${DLOCK_FENCE-unset}'";
    char words[160], first[64], second[64], read[64];
    snprintf(words, sizeof(words), "run -s n %s", tells);
    assert_int_equal(setenv("DLOCK_FENCE", "12", 1), 0); /* of one around it */
    int code = run(words, read, sizeof(read));
    unsetenv("DLOCK_FENCE");
    assert_int_equal(code, 0);
    assert_string_equal(read, "unset\n");
    snprintf(words, sizeof(words), "run -x n %s", tells);
    assert_int_equal(run(words, first, sizeof(first)), 0);
    assert_int_equal(run(words, second, sizeof(second)), 0);
    assert_true(strtoull(second, NULL, 10) > strtoull(first, NULL, 10));
    snprintf(words, sizeof(words), "run -s n %s", tells);
    assert_int_equal(run(words, read, sizeof(read)), 0);
    assert_string_equal(read, second);
}

static void all_readers_lose_what_is_taken_away(void **state)
{
    (void)state;
    char out[256], name[] = "n";
    fx_process *one = start_running("run -s --lease-ms 900 n " STAYS, NULL, 0);
    fx_process *two = start_running("run -s --lease-ms 900 n " STAYS, NULL, 0);
    fx_process *writer = start("run -x n -- echo next");
    assert_true(fx_wait_until(somebody_waits, name, SOON_MS));
    assert_int_equal(run("release --force n", out, sizeof(out)), 0);
    assert_string_equal(out, "n is released\n");
    assert_int_equal(fx_process_wait(writer, SOON_MS), 0);
    assert_string_equal(fx_process_stdout(writer), "next\n");
    fx_process_free(writer);
    assert_int_equal(fx_process_wait(one, SOON_MS), 76);
    assert_int_equal(fx_process_wait(two, SOON_MS), 76);
    fx_process_free(one);
    fx_process_free(two);
    assert_int_equal(run("release --force n", out, sizeof(out)), 1);
}

/* ---- semaphores ------------------------------------------------------------------------------ */

/* Each takes one of two places in a folder; a third at once would find none, and exit with 9. */
static void a_semaphore_of_two_has_never_three(void **state)
{
    (void)state;
    enum { RUNS = 8 };
    char dir[256], words[700];
    fx_process *processes[RUNS];
    fx_dir_make(dir, sizeof(dir));
    snprintf(words, sizeof(words),
             "semaphore 2 n -- sh -c 'cd %s; for p in 1 2; do mkdir $p 2>&- || continue; "
             "sleep 0.1; rmdir $p; exit; done; exit 9'",
             dir);
    for (int i = 0; i < RUNS; i++)
        processes[i] = start(words);
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(fx_process_wait(processes[i], SOON_MS), 0);
        fx_process_free(processes[i]);
    }
    fx_dir_remove(dir);
    assert_int_equal(ask("EXISTS n"), 0);
}

static void permits_are_taken_several_at_once(void **state)
{
    (void)state;
    fx_process *two = start_running("semaphore --take 2 3 n " STAYS, NULL, 0);
    assert_int_equal(run("semaphore -n --take 2 3 n -- true", NULL, 0), 75);
    assert_int_equal(run("semaphore -n 3 n -- true", NULL, 0), 0);
    assert_int_equal(run("semaphore -n -E 5 --take 2 3 n -- true", NULL, 0), 5);
    end(two);
    assert_int_equal(run("semaphore -n --take 3 3 n -- true", NULL, 0), 0);
}

static void the_permit_of_a_dead_holder_comes_back(void **state)
{
    (void)state;
    fx_process *dead = start_running("semaphore --lease-ms 600 1 n " STAYS, NULL, 0);
    assert_int_equal(run("semaphore -n 1 n -- true", NULL, 0), 75);
    fx_process_signal(dead, SIGKILL);
    fx_process_wait(dead, SOON_MS);
    fx_process_free(dead);
    assert_int_equal(run("semaphore --wait 25 1 n -- true", NULL, 0), 0);
}

static void one_more_permit_lets_the_next_in(void **state)
{
    (void)state;
    char name[] = "n", out[64];
    fx_process *first = start_running("semaphore 1 n " STAYS, NULL, 0);
    fx_process *next = start("semaphore 1 n -- echo in");
    assert_true(fx_wait_until(somebody_waits, name, SOON_MS));
    assert_int_equal(run("semaphore --resize 2 n", out, sizeof(out)), 0);
    assert_string_equal(out, "n has 2 permits\n");
    assert_int_equal(fx_process_wait(next, SOON_MS), 0);
    assert_string_equal(fx_process_stdout(next), "in\n");
    fx_process_free(next);
    end(first);
}

static void the_number_is_redis_own(void **state)
{
    (void)state;
    char out[256];
    assert_int_equal(run("semaphore 3 n -- true", NULL, 0), 0);
    fx_process *other = start("semaphore 2 n -- echo ran");
    assert_int_equal(fx_process_wait(other, SOON_MS), 64);
    assert_string_equal(fx_process_stdout(other), "");
    assert_string_equal(
        fx_process_stderr(other),
        "dlock: the semaphore \"n\" has 3 permits, not 2: --resize sets their number\n");
    fx_process_free(other);
    assert_int_equal(run("semaphore --resize 2 n -- echo ran", out, sizeof(out)), 0);
    assert_string_equal(out, "ran\n");
    assert_int_equal(run("semaphore 3 n -- true", NULL, 0), 64);
    assert_int_equal(run("semaphore 2 n -- true", NULL, 0), 0);
    assert_int_equal(run("semaphore --resize 1 n", out, sizeof(out)), 0);
    assert_string_equal(out, "n has 1 permit\n");
}

static void without_permits_everybody_waits(void **state)
{
    (void)state;
    char name[] = "n";
    assert_int_equal(run("semaphore --resize 0 n", NULL, 0), 0);
    fx_process *refused = start("semaphore -n 3 n -- true");
    assert_int_equal(fx_process_wait(refused, SOON_MS), 75);
    assert_string_equal(fx_process_stderr(refused),
                        "dlock: the permits of \"n\" were not obtained: not as many are free, or "
                        "others wait for them\n");
    fx_process_free(refused);
    fx_process *waits = start("semaphore 3 n -- echo in");
    assert_true(fx_wait_until(somebody_waits, name, SOON_MS));
    assert_int_equal(run("semaphore --resize 3 n", NULL, 0), 0);
    assert_int_equal(fx_process_wait(waits, SOON_MS), 0);
    fx_process_free(waits);
}

static void what_is_no_semaphore_is_waited_for(void **state)
{
    (void)state;
    ask("SET n stranger");
    assert_int_equal(run("semaphore -n 3 n -- true", NULL, 0), 75);
    assert_int_equal(run("run -n -s n -- true", NULL, 0), 75);
    assert_int_equal(run("run -n -x n -- true", NULL, 0), 75);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct {
    const char *words, *says;
} wrong[] = {
    {"run -s -x n -- true", "run: only one of --shared and --exclusive may be given"},
    {"run -s -s n -- true", "run: only one of --shared and --exclusive may be given"},
    {"run --take 2 n -- true", "run: unrecognized option '--take'"},
    {"semaphore -s 2 n -- true", "semaphore: invalid option -- 's'"},
    {"semaphore 2 n", "semaphore: what is needed is N NAME -- COMMAND"},
    {"semaphore n -- true", "semaphore: what is needed is N NAME -- COMMAND"},
    {"semaphore 2 -- true", "semaphore: what is needed is N NAME -- COMMAND"},
    {"semaphore 2 n m -- true", "semaphore: what is needed is N NAME -- COMMAND"},
    {"semaphore 2 n --", "semaphore: what is needed is N NAME -- COMMAND"},
    {"semaphore --resize 2 n --", "semaphore: what is needed is N NAME -- COMMAND"},
    {"semaphore --resize 2", "semaphore: what is needed is N NAME -- COMMAND"},
    {"semaphore two n -- true", "semaphore: N is a whole number from 1 to 1000000000, not \"two\""},
    {"semaphore 0 n -- true", "semaphore: N is a whole number from 1 to 1000000000, not \"0\""},
    {"semaphore 2x n -- true", "semaphore: N is a whole number from 1 to 1000000000, not \"2x\""},
    {"semaphore 1000000001 n -- true", "semaphore: N is a whole number from 1 to 1000000000, not"},
    {"semaphore --resize 0 n -- true", "semaphore: N is a whole number from 1 to 1000000000, not"},
    {"semaphore --resize -- -1 n", "semaphore: what is needed is N NAME -- COMMAND"},
    {"semaphore --resize x n", "semaphore: N is a whole number from 0 to 1000000000, not \"x\""},
    {"semaphore --take 0 2 n -- true", "--take takes a whole number from 1 to 1000000000"},
    {"semaphore --take 3 2 n -- true", "semaphore: --take 3 is more than all permits, 2"},
    {"semaphore --take 1 --take 1 2 n -- true", "semaphore: an option is given twice"},
    {"semaphore --resize -n 2 n", "semaphore: without a COMMAND there is nothing but --resize"},
    {"semaphore --resize --take 2 2 n", "semaphore: without a COMMAND there is nothing but"},
};

static void wrong_words_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        char says[256];
        fx_process *process = start(wrong[i].words);
        int code = fx_process_wait(process, SOON_MS);
        snprintf(says, sizeof(says), "dlock: %s", wrong[i].says);
        if (code != 64 || strncmp(fx_process_stderr(process), says, strlen(says)) != 0)
            fail_msg("dlock %s: exit %d, %s", wrong[i].words, code, fx_process_stderr(process));
        fx_process_free(process);
    }
    assert_int_equal(ask("EXISTS n dlock:{n}:permits"), 0);
}

static const struct {
    const char *words;
    int code;
} right[] = {
    {"semaphore 2 n true", 0},
    {"semaphore 2 n -w 1 -- sh -c 'exit 5'", 5},
    {"semaphore 2 n sh -c 'test $1 = -n' sh -n", 0},
    {"semaphore --resize 2 n true", 0},
    {"semaphore --redis redis://127.0.0.1:1 -n 2 n -- true", 69},
    {"semaphore --redis redis://127.0.0.1:1 --resize 2 n", 69},
    {"semaphore --redis '' --resize 2 n", 64},
    {"semaphore 2 'n{' -- true", 64},
    {"run n -x -- true", 0},
    {"run --exclusive m true", 0},
};

static void words_come_in_any_order_that_is_clear(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(right); i++) {
        int code = run(right[i].words, NULL, 0);
        if (code != right[i].code)
            fail_msg("dlock %s: exit %d, not %d", right[i].words, code, right[i].code);
    }
}

/* ---- status ---------------------------------------------------------------------------------- */

/* Shares of a lock, put there by hand. */
static void share(const char *name, const char *token)
{
    ask("EVAL %s 1 %s %s",
        "local t = redis.call('TIME') return redis.call('ZADD', KEYS[1], (t[1] + 900) * 1000, "
        "ARGV[1])",
        name, token);
}

#define ID "host-1/77/0123456789abcdef0123456789abcdef"

static const struct {
    const char *name, *says, *mode;
    int holders;
} shared[] = {
    {"readers", "readers is held by 2 readers\n  reader   ", "readers", 2},
    {"readers", "  reader   77 on host-1, expires in ", "readers", 2},
    {"readers", "  reader   stranger, expires in ", "readers", 2},
    {"reader", "reader is held by 1 reader\n", "readers", 1},
    {"writer", "writer is held by a writer\n  owner    " ID ":4*w\n  process  77 on host-1\n",
     "writer", 1},
    {"permits", "permits is held, 4 of 5 permits are taken\n", "semaphore", 2},
    {"permits", "  3 of them  77 on host-1, expires in ", "semaphore", 2},
    {"unused", "unused is free, 0 of 7 permits are taken\n", "semaphore", 0},
    {"none", "none is closed, 0 of 0 permits are taken\n", "semaphore", 0},
    {"nothing", "nothing is free\n", "free", 0},
    {"closed", "closed is a latch, 2 left\n  expires  in ", "latch", 0},
    {"open", "open is a latch, open\n  expires  in ", "latch", 0},
    {"closed", " s unless counted down\n", "latch", 0},
    {"open", " s unless set again\n", "latch", 0},
    {"list", "list is held\n  owner    a key of another kind\n", "other", 1},
    {"string", "string is held\n  owner    stranger\n", "exclusive", 1},
};

static void status_shows_all_who_share(void **state)
{
    (void)state;
    share("readers", ID ":1");
    share("readers", "stranger");
    share("reader", ID ":a2");
    share("writer", ID ":4*w");
    share("permits", ID ":5*3");
    share("permits", ID ":6");
    ask("SET dlock:{permits}:permits 5");
    ask("SET dlock:{unused}:permits 7");
    ask("SET dlock:{none}:permits 0");
    ask("HSET closed left 2 round 7 first 7 life 600000");
    ask("PEXPIRE closed 600000");
    ask("HSET open left 0 round 7 first 7 life 600000");
    ask("PEXPIRE open 600000");
    ask("LPUSH list x");
    ask("SET string stranger");
    for (size_t i = 0; i < COUNT(shared); i++) {
        char words[64], out[4096];
        bool held = shared[i].holders > 0 || strcmp(shared[i].name, "closed") == 0 ||
                    strcmp(shared[i].name, "none") == 0;
        snprintf(words, sizeof(words), "status %s", shared[i].name);
        assert_int_equal(run(words, out, sizeof(out)), held ? 0 : 1);
        if (!strstr(out, shared[i].says))
            fail_msg("%s: \"%s\" is not in \"%s\"", words, shared[i].says, out);
        snprintf(words, sizeof(words), "status --json %s", shared[i].name);
        assert_int_equal(run(words, out, sizeof(out)), held ? 0 : 1);
        cJSON *json = cJSON_Parse(out);
        assert_non_null(json);
        assert_string_equal(cJSON_GetObjectItem(json, "mode")->valuestring, shared[i].mode);
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "holders")),
                         shared[i].holders);
        assert_int_equal(cJSON_GetObjectItem(json, "left")->valueint,
                         strcmp(shared[i].name, "closed") == 0 ? 2 : 0);
        cJSON_Delete(json);
    }
}

#define UGLY                                                                                       \
    "a\x1b]0;b\x07\r\xc2\x9b"                                                                      \
    "31m\x7f\xff\xc3\xbc"

/* What Redis has may be anybody's, and the terminal obeys what it is sent. */
static void status_shows_no_control_characters(void **state)
{
    (void)state;
    static const char plain[] = "a\\x1b]0;b\\x07\\x0d\\xc2\\x9b31m\\x7f\\xff\xc3\xbc";
    static const char *const names[] = {"text", "process", "hash", "readers", "permits"};
    ask("SET text %s", UGLY);
    ask("SET process %s", UGLY "/7/0123456789abcdef0123456789abcdef:1");
    ask("HSET hash %s 1", UGLY);
    share("readers", UGLY);
    share("readers", UGLY "/7/0123456789abcdef0123456789abcdef:1");
    share("permits", UGLY "*3");
    ask("SET dlock:{permits}:permits 5");
    for (size_t i = 0; i < COUNT(names); i++) {
        char words[64], out[4096];
        snprintf(words, sizeof(words), "status %s", names[i]);
        assert_int_equal(run(words, out, sizeof(out)), 0);
        if (strpbrk(out, "\x1b\x07\r\x7f\xff\x9b") || !strstr(out, plain))
            fail_msg("%s: %s", words, out);
        snprintf(words, sizeof(words), "status --json %s", names[i]);
        assert_int_equal(run(words, out, sizeof(out)), 0);
        if (strpbrk(out, "\x1b\x07\r\x7f\xff\x9b") ||
            !strstr(out, "a\\u001b]0;b\\u0007\\u000d\\u009b31m\\u007f\\ufffd\xc3\xbc"))
            fail_msg("%s: %s", words, out);
        cJSON *json = cJSON_Parse(out);
        assert_non_null(json);
        cJSON_Delete(json);
    }
    char free_name[4096];
    assert_int_equal(run("status 'n" UGLY "'", free_name, sizeof(free_name)), 1);
    assert_non_null(strstr(free_name, plain));
    fx_process *process = start("latch down 'n" UGLY "'"); /* a complaint */
    assert_int_not_equal(fx_process_wait(process, SOON_MS), 0);
    assert_non_null(strstr(fx_process_stderr(process), plain));
    fx_process_free(process);
}

static void status_as_json_tells_of_each_holder(void **state)
{
    (void)state;
    char out[4096];
    share("permits", ID ":5*3");
    ask("SET dlock:{permits}:permits 5");
    assert_int_equal(run("status --json permits", out, sizeof(out)), 0);
    cJSON *json = cJSON_Parse(out);
    assert_non_null(json);
    assert_int_equal(cJSON_GetObjectItem(json, "permits")->valueint, 5);
    assert_int_equal(cJSON_GetObjectItem(json, "taken")->valueint, 3);
    cJSON *holder = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "holders"), 0);
    assert_string_equal(cJSON_GetObjectItem(holder, "owner")->valuestring, ID ":5*3");
    assert_string_equal(cJSON_GetObjectItem(holder, "host")->valuestring, "host-1");
    assert_string_equal(cJSON_GetObjectItem(holder, "label")->valuestring, "");
    assert_int_equal(cJSON_GetObjectItem(holder, "pid")->valueint, 77);
    assert_int_equal(cJSON_GetObjectItem(holder, "permits")->valueint, 3);
    assert_in_range(cJSON_GetObjectItem(holder, "ttl_ms")->valueint, 1, 900000);
    cJSON_Delete(json);
}

/* No share of ours is without an end, or of infinitely many permits. */
static void status_of_a_strange_share(void **state)
{
    (void)state;
    char out[4096];
    ask("ZADD strange inf c*inf");
    assert_int_equal(run("status --json strange", out, sizeof(out)), 0);
    assert_non_null(strstr(out, "\"ttl_ms\": -1,\n      \"permits\": 1\n"));
}

static void status_shows_what_runs(void **state)
{
    (void)state;
    char out[1024], name[] = "n";
    fx_process *one = start_running("run -s n " STAYS, NULL, 0);
    fx_process *two = start_running("run -s n " STAYS, NULL, 0);
    fx_process *writer = start("run -x n -- true");
    assert_true(fx_wait_until(somebody_waits, name, SOON_MS));
    assert_int_equal(run("status n", out, sizeof(out)), 0);
    assert_non_null(strstr(out, "n is held by 2 readers\n"));
    assert_non_null(strstr(out, " (sh), expires in "));
    assert_non_null(strstr(out, "\n  waiting  1\n"));
    end(one);
    end(two);
    assert_int_equal(fx_process_wait(writer, SOON_MS), 0);
    fx_process_free(writer);

    char pid[64];
    writer = start_running("run -x n " STAYS, NULL, 0);
    assert_int_equal(run("status n", out, sizeof(out)), 0);
    snprintf(pid, sizeof(pid), "\n  process  %d on ", (int)fx_process_pid(writer));
    assert_non_null(strstr(out, "n is held by a writer\n"));
    assert_non_null(strstr(out, pid));
    assert_non_null(strstr(out, "\n  since    "));
    end(writer);

    one = start_running("semaphore --take 2 5 m " STAYS, NULL, 0);
    assert_int_equal(run("status m", out, sizeof(out)), 0);
    snprintf(pid, sizeof(pid), "\n  2 of them  %d on ", (int)fx_process_pid(one));
    assert_non_null(strstr(out, "m is held, 2 of 5 permits are taken\n"));
    assert_non_null(strstr(out, pid));
    end(one);
    assert_int_equal(run("status m", out, sizeof(out)), 1);
    assert_non_null(strstr(out, "m is free, 0 of 5 permits are taken\n"));
}

static void a_latch_is_not_released(void **state)
{
    (void)state;
    ask("HSET n left 2 round 7 first 7 life 600000");
    assert_int_equal(run("release --force n", NULL, 0), 64);
    assert_int_equal(ask("EXISTS n"), 1);
}

#define TEST(name) cmocka_unit_test_setup(name, flush)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(readers_share_and_a_writer_is_alone),
        TEST(a_waiting_writer_stops_later_readers),
        TEST(a_readers_fence_is_the_last_writers),
        TEST(all_readers_lose_what_is_taken_away),
        TEST(a_semaphore_of_two_has_never_three),
        TEST(permits_are_taken_several_at_once),
        TEST(the_permit_of_a_dead_holder_comes_back),
        TEST(one_more_permit_lets_the_next_in),
        TEST(the_number_is_redis_own),
        TEST(without_permits_everybody_waits),
        TEST(what_is_no_semaphore_is_waited_for),
        TEST(wrong_words_are_told),
        TEST(words_come_in_any_order_that_is_clear),
        TEST(status_shows_what_runs),
        TEST(status_shows_all_who_share),
        TEST(a_latch_is_not_released),
        TEST(status_shows_no_control_characters),
        TEST(status_as_json_tells_of_each_holder),
        TEST(status_of_a_strange_share),
    };
    return cmocka_run_group_tests_name("dlock on shares", tests, setup_group, teardown_group);
}
