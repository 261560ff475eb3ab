/*
 * dlock elect and dlock leader on a real Redis: who leads, what ends its command, and who is next.
 *
 * Each command takes a flock(2) on a file, which its descendants keep, and prints its fence: one
 * that finds the flock taken is not alone, and says so instead.
 */
#include "tests/lock/cmd/by_shell.h"
#include "tests/support/patience.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#define ALONE                                                                                      \
    "sh -c 'exec 9>>$ELECT_FILE; flock -n 9 || { echo together; exit 9; }; "                       \
    "echo $DLOCK_FENCE `grep SigIgn /proc/self/status`; exec sleep 600'"

static char dir[256];

/* ---- candidates ------------------------------------------------------------------------------ */

/* Those of this case; what a case that failed leaves must not lead in the next one. */
enum { CANDIDATES = 4 };
static fx_process *candidates[CANDIDATES];

static fx_process *start_as(const char *words)
{
    int i = 0;
    while (i < CANDIDATES && candidates[i])
        i++;
    assert_in_range(i, 0, CANDIDATES - 1);
    return candidates[i] = start(words);
}

static fx_process *start_candidate(const char *command)
{
    char words[512];
    snprintf(words, sizeof(words), "elect --lease-ms %d n -- %s", fx_lease_ms(3000), command);
    return start_as(words);
}

/* Kills it, if it has not ended. */
static void let_go(fx_process *process)
{
    for (int i = 0; i < CANDIDATES; i++) {
        if (candidates[i] == process)
            candidates[i] = NULL;
    }
    fx_process_free(process);
}

static int lines_in(const char *text)
{
    int lines = 0;
    for (; (text = strchr(text, '\n')); text++)
        lines++;
    return lines;
}

typedef struct awaited {
    fx_process *process;
    int lines;
    const char *words; /* in what it complains of */
} awaited;

static bool has_printed(void *arg)
{
    awaited *a = arg;
    return lines_in(fx_process_stdout(a->process)) >= a->lines;
}

/* Waits until its command runs for the n-th time, and is alone. Its fence. */
static unsigned long long until_term(fx_process *process, int n, char *signals, size_t len)
{
    awaited a = {.process = process, .lines = n};
    char ignored[64] = "";
    unsigned long long fence = 0;
    if (!fx_wait_until(has_printed, &a, SOON_MS))
        fail_msg("term %d did not come: %s", n, fx_process_stderr(process));
    const char *line = fx_process_stdout(process);
    for (int i = 1; i < n; i++)
        line = strchr(line, '\n') + 1;
    if (sscanf(line, "%llu SigIgn: %63s", &fence, ignored) != 2)
        fail_msg("it said: %s", line);
    if (signals)
        snprintf(signals, len, "%s", ignored);
    return fence;
}

static unsigned long long until_leads(fx_process *process)
{
    return until_term(process, 1, NULL, 0);
}

static bool has_complained(void *arg)
{
    awaited *a = arg;
    return strstr(fx_process_stderr(a->process), a->words);
}

static void until_complains(fx_process *process, const char *words)
{
    awaited a = {.process = process, .words = words};
    if (!fx_wait_until(has_complained, &a, SOON_MS))
        fail_msg("it does not say \"%s\": %s", words, fx_process_stderr(process));
}

static bool has_queue(void *unused)
{
    (void)unused;
    return ask("LLEN dlock:{n}:queue") > 0;
}

static fx_process *start_follower(void)
{
    fx_process *process = start_candidate(ALONE);
    assert_true(fx_wait_until(has_queue, NULL, SOON_MS));
    return process;
}

/* By SIGTERM, while its command runs or none does. */
static void end(fx_process *process)
{
    fx_process_signal(process, SIGTERM);
    assert_int_equal(fx_process_wait(process, SOON_MS), 128 + SIGTERM);
    let_go(process);
}

/* ---- who leads ------------------------------------------------------------------------------- */

static void the_next_one_follows_at_once(void **state)
{
    (void)state;
    char out[1024], pid[32];
    assert_int_equal(run("leader n", out, sizeof(out)), 1);
    assert_string_equal(out, "n has no leader\n");
    fx_process *first = start_as("elect --lease-ms 86400000 n -- " ALONE);
    unsigned long long fence = until_leads(first);
    fx_process *second = start_follower();
    assert_int_equal(run("leader n", out, sizeof(out)), 0);
    snprintf(pid, sizeof(pid), "\n  process  %d on ", (int)fx_process_pid(first));
    assert_non_null(strstr(out, pid));
    assert_non_null(strstr(out, "\n  waiting  1\n"));
    assert_string_equal(fx_process_stdout(second), "");
    end(first);
    assert_true(until_leads(second) > fence); /* and not after a day */
    end(second);
    assert_int_equal(run("leader n", NULL, 0), 1);
}

static void its_commands_end_is_its_own(void **state)
{
    (void)state;
    fx_process *process = start_candidate("sh -c 'exit 76'"); /* as if it were lost */
    assert_int_equal(fx_process_wait(process, SOON_MS), 76);
    assert_string_equal(fx_process_stderr(process), "");
    let_go(process);
    assert_int_equal(ask("EXISTS n"), 0);
}

static void a_signal_ends_a_campaign(void **state)
{
    (void)state;
    ask("SET n stranger");
    fx_process *process = start_follower();
    end(process);
}

/* ---- losses ---------------------------------------------------------------------------------- */

static void a_killed_leader_is_followed(void **state)
{
    (void)state;
    fx_process *first = start_candidate(ALONE);
    unsigned long long fence = until_leads(first);
    fx_process *second = start_follower();
    fx_process_signal(first, SIGKILL);
    assert_true(until_leads(second) > fence);
    let_go(first);
    end(second);
}

/* Signals 32 and 33 are glibc's own: it catches them with the first thread that it makes, and a
 * caller may have ignored them. */
static unsigned long long ignored(const char *mask)
{
    return strtoull(mask, NULL, 16) & ~(3ULL << 31);
}

/* Its command has ended before the next one's begins. It then leads again, with a command that is
 * started as the first one was. */
static void a_stopped_leader_is_followed_and_campaigns_again(void **state)
{
    (void)state;
    char before[64], after[64];
    fx_process *first = start_candidate(ALONE);
    unsigned long long fence = until_term(first, 1, before, sizeof(before));
    fx_process *second = start_follower();
    fx_process_signal(first, SIGSTOP);
    unsigned long long next = until_leads(second);
    assert_true(next > fence);
    fx_process_signal(first, SIGCONT);
    until_complains(first, "dlock: leadership of \"n\" is lost: campaigning again\n");
    assert_true(fx_wait_until(has_queue, NULL, SOON_MS));
    end(second);
    assert_true(until_term(first, 2, after, sizeof(after)) > next);
    assert_true(ignored(after) == ignored(before));
    end(first);
}

/* Beside the next one for a moment: what it writes then is refused by its fence. */
static void one_whose_leadership_is_taken_away_campaigns_again(void **state)
{
    (void)state;
    fx_process *first = start_candidate("sh -c 'echo $DLOCK_FENCE SigIgn: 0; exec sleep 600'");
    unsigned long long fence = until_leads(first);
    fx_process *second = start_candidate("sh -c 'echo $DLOCK_FENCE SigIgn: 0; exec sleep 600'");
    assert_true(fx_wait_until(has_queue, NULL, SOON_MS));
    assert_int_equal(run("release --force n", NULL, 0), 0);
    unsigned long long next = until_leads(second);
    assert_true(next > fence);
    until_complains(first, "campaigning again");
    end(second);
    assert_true(until_term(first, 2, NULL, 0) > next);
    end(first);
}

static void a_redis_that_comes_back_empty_elects_anew(void **state)
{
    (void)state;
    fx_only_single("it restarts Redis");
    fx_process *process = start_candidate(ALONE);
    unsigned long long fence = until_leads(process);
    fx_redis_restart(redis);
    assert_true(until_term(process, 2, NULL, 0) > fence);
    until_complains(process, "is lost: killing sh");
    end(process);
}

static void a_silent_redis_ends_the_command_and_is_waited_for(void **state)
{
    (void)state;
    fx_process *process = start_candidate(ALONE);
    unsigned long long fence = until_leads(process);
    fx_redis_signal(redis, SIGSTOP);
    until_complains(process, "about to be lost");
    until_complains(process, "campaigning again");
    fx_let_pass(100);
    fx_redis_signal(redis, SIGCONT);
    assert_true(until_term(process, 2, NULL, 0) > fence);
    end(process);
}

static void one_that_was_told_to_end_does_not_campaign_again(void **state)
{
    (void)state;
    fx_process *process = start_candidate(
        "sh -c 'trap \"echo heard\" TERM; echo here; while :; do sleep 0.02; done'");
    awaited a = {.process = process, .lines = 1};
    assert_true(fx_wait_until(has_printed, &a, SOON_MS));
    fx_process_signal(process, SIGTERM);
    a.lines = 2;
    assert_true(fx_wait_until(has_printed, &a, SOON_MS));
    assert_int_equal(run("release --force n", NULL, 0), 0);
    assert_int_equal(fx_process_wait(process, SOON_MS), 76);
    assert_null(strstr(fx_process_stderr(process), "campaigning"));
    let_go(process);
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct {
    const char *words;
    int code;
} exit_codes[] = {
    {"elect n -- true", 0},
    {"elect n -- sh -c 'exit 7'", 7},
    {"elect n -- sh -c 'kill -9 $$'", 137},
    {"elect n -- /nonexistent", 127},
    {"elect n --lease-ms 60000 -- true", 0},
    {"elect n sh -c 'exit 5'", 5},
    {"elect hash -- true", 64},
    {"elect --lease-ms 99 n -- true", 64},
    {"elect --wait 1 n -- true", 64},
    {"elect -n n -- true", 64},
    {"elect n", 64},
    {"elect '' -- true", 64},
    {"elect", 64},
    {"elect --redis redis://127.0.0.1:1 n -- true", 69},
    {"leader n", 1},
    {"leader --json n", 1},
    {"leader stranger", 64},
    {"leader writer", 64},
    {"run --at-least 1h kept -- true", 0},
    {"leader kept", 64},
    {"leader n n", 64},
    {"leader --force n", 64},
    {"leader", 64},
    {"leader --redis redis://127.0.0.1:1 n", 69},
};

static void exit_codes_are_those_of_the_manual(void **state)
{
    (void)state;
    ask("SET stranger somebody");
    ask("ZADD writer 9000000000000 host/1/00000000000000000000000000000000:0*w");
    ask("SET dlock:{writer}:fence %s", "7 r host/1/00000000000000000000000000000000:0*w");
    ask("HSET hash stranger 1");
    ask("SET dlock:{hash}:fence %s", "7 h stranger");
    for (size_t i = 0; i < COUNT(exit_codes); i++) {
        int code = run(exit_codes[i].words, NULL, 0);
        if (code != exit_codes[i].code)
            fail_msg("dlock %s: exit %d, not %d", exit_codes[i].words, code, exit_codes[i].code);
    }
}

static void leader_as_json(void **state)
{
    (void)state;
    char out[1024], host[64];
    fx_process *process = start_candidate(ALONE);
    unsigned long long fence = until_leads(process);
    assert_int_equal(run("leader --json n", out, sizeof(out)), 0);
    cJSON *json = cJSON_Parse(out);
    assert_non_null(json);
    gethostname(host, sizeof(host));
    assert_string_equal(cJSON_GetObjectItem(json, "name")->valuestring, "n");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(json, "led")));
    assert_string_equal(cJSON_GetObjectItem(json, "host")->valuestring, host);
    assert_int_equal(cJSON_GetObjectItem(json, "pid")->valueint, fx_process_pid(process));
    assert_true(cJSON_GetObjectItem(json, "fence")->valuedouble == (double)fence);
    assert_true(cJSON_GetObjectItem(json, "since_us")->valuedouble == (double)fence);
    assert_int_equal(cJSON_GetObjectItem(json, "candidates")->valueint, 0);
    cJSON_Delete(json);
    end(process);
    assert_int_equal(run("leader --json n", out, sizeof(out)), 1);
    json = cJSON_Parse(out);
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(json, "led")));
    cJSON_Delete(json);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int setup_elect(void **state)
{
    char path[512];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/file", dir);
    setenv("ELECT_FILE", path, 1);
    return setup_group(state);
}

static int teardown_elect(void **state)
{
    fx_dir_remove(dir);
    return teardown_group(state);
}

static int begin(void **state)
{
    unlink(getenv("ELECT_FILE")); /* a failed case may have left it locked */
    return flush(state);
}

static int end_case(void **state)
{
    (void)state;
    for (int i = 0; i < CANDIDATES; i++)
        let_go(candidates[i]);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_next_one_follows_at_once),
        TEST(its_commands_end_is_its_own),
        TEST(a_signal_ends_a_campaign),
        TEST(a_killed_leader_is_followed),
        TEST(a_stopped_leader_is_followed_and_campaigns_again),
        TEST(one_whose_leadership_is_taken_away_campaigns_again),
        TEST(a_redis_that_comes_back_empty_elects_anew),
        TEST(a_silent_redis_ends_the_command_and_is_waited_for),
        TEST(one_that_was_told_to_end_does_not_campaign_again),
        TEST(exit_codes_are_those_of_the_manual),
        TEST(leader_as_json),
    };
    return cmocka_run_group_tests_name("dlock elect", tests, setup_elect, teardown_elect);
}
