/*
 * test_bench_report.c - what dlock bench shows: the table has the figures of the file, they belong
 * together, and what is not known is not shown as a number. How a bench ends that can not go on.
 */
#include "tests/lock/cmd/bench_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_MS 60000 /* limit for one bench */

enum { BROKEN = 1, USAGE = 64, SYSTEM = 71 };

static fx_redis *redis;
static char dir[256], result[300], path[256];
static char shown[16384], said[4096]; /* by the last bench */

static int setup_group(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    fx_dir_make(dir, sizeof(dir));
    snprintf(result, sizeof(result), "%s/bench.json", dir);
    fx_build_path("dlock", path, sizeof(path));
    return setenv("DLOCK_REDIS", fx_redis_url(redis), 1);
}

static int run(const char *words)
{
    char line[2048];
    snprintf(line, sizeof(line), "exec %s bench %s", path, words);
    fx_process *process = fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
    int code = fx_process_wait(process, BENCH_MS);
    snprintf(shown, sizeof(shown), "%s", fx_process_stdout(process));
    snprintf(said, sizeof(said), "%s", fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

/* The file of a bench that went well; to be deleted. */
static cJSON *bench(const char *words)
{
    char line[1024];
    snprintf(line, sizeof(line), "--json %s %s", result, words);
    remove(result);
    int code = run(line);
    cJSON *json = bench_file_read(result);
    if (code != 0 || !json)
        fail_msg("bench %s: exit %d, %s", words, code, said);
    return json;
}

/* NAN for what is null. */
static double figure(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(item) && !cJSON_IsNull(item))
        fail_msg("no number \"%s\"", name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bool all_worked(const cJSON *json)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows"))
        if (figure(row, "ops") == 0)
            return false;
    return true;
}

/* One in which nobody was kept from working by whatever else the machine has to do. */
static cJSON *bench_some(const char *words)
{
    for (int tries = 0; tries < 50; tries++) {
        cJSON *json = bench(words);
        if (all_worked(json))
            return json;
        cJSON_Delete(json);
    }
    fail_msg("bench %s: nobody did anything", words);
    return NULL;
}

/* Wake-ups that came too late end by themselves. */
static void nothing_is_left(const char *pattern)
{
    redisReply *reply = fx_redis_reply(redis, "KEYS %s", pattern);
    for (size_t i = 0; i < reply->elements; i++)
        if (!strstr(reply->element[i]->str, ":wake:"))
            fail_msg("%s is left", reply->element[i]->str);
    freeReplyObject(reply);
}

/* ---- the table has what the file has --------------------------------------------------------- */

/* The next word of a line is the figure, rounded to so many decimals; each was rounded once. */
static const char *shows(const char *at, double expected, int decimals)
{
    char word[64];
    int len = 0;
    double unit = pow(10, -decimals);
    if (sscanf(at, "%63s%n", word, &len) != 1)
        fail_msg("nothing where %f should be in %s", expected, shown);
    bool same = isnan(expected) ? strcmp(word, "-") == 0
                                : fabs(strtod(word, NULL) - expected) <= unit * 0.56;
    if (!same)
        fail_msg("%s where %f should be: %s", word, expected, shown);
    return at + len;
}

static const char *shows_quantiles(const char *at, const cJSON *row, const char *name)
{
    const cJSON *latency = cJSON_GetObjectItemCaseSensitive(row, name);
    double p50 = figure(latency, "p50"), p99 = figure(latency, "p99");
    assert_false(p50 > p99 || p99 > figure(latency, "p999"));
    at = shows(at, p50, 0);
    at = shows(at, p99, 0);
    return shows(at, figure(latency, "p999"), 0);
}

/* A row's line begins with its kind. */
static const char *line_of(const cJSON *row, const char *name)
{
    char start[64];
    snprintf(start, sizeof(start), "\n%s ",
             cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, name)));
    const char *at = strstr(shown, start);
    if (!at)
        fail_msg("no line of%s in %s", start, shown);
    return at + strlen(start);
}

static void table_has_row(const cJSON *row, const char *broken)
{
    const char *at = line_of(row, "kind");
    at = shows(at, figure(row, "ops_per_s"), 0);
    at = shows_quantiles(at, row, "handoff_us");
    at = shows_quantiles(at, row, "acquire_us");
    at = shows(at, figure(row, "fairness"), 2);
    at = shows(at, figure(row, "round_trips_per_op"), 1);
    at = shows(at, figure(row, "redis_cmds_per_op"), 1);
    at = shows(at, figure(row, "cpu_us_per_op"), 0);
    at = shows(at, figure(row, "canary_lost") + (broken ? figure(row, broken) : 0), 0);
    at = shows(at, figure(row, "errors"), 0);
    assert_int_equal(*at, '\n');
}

static void the_table_has_the_figures_of_the_file(void **state)
{
    (void)state;
    static const char *const broken[] = {NULL, NULL, "torn_reads", "above_permits"};
    cJSON *json =
              bench_some("--processes 2 --threads 2 --think-ms 0.25-0.5 --hold-us 500 --readers 50 "
                         "--duration-ms 200 --kinds hash,fair,rw,semaphore"),
          *row;
    int i = 0;
    assert_non_null(strstr(shown, "2 processes x 2 threads on one lock, think 0.25-0.5 ms, hold "
                                  "0.5 ms, 0.2 s each, Redis "));
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows")) {
        assert_in_range(i, 0, 3);
        table_has_row(row, broken[i]);
        assert_string_equal(cJSON_GetObjectItem(row, "think_ms")->valuestring, "0.25-0.5");
        assert_true(figure(row, "hold_ms") == 0.5);
        /* An operation takes its pauses at least: nobody does more of them than fit in. */
        double most = 4 * (200 / 0.75 + 1), alone = 200 / 0.5 + 1;
        assert_true(figure(row, "ops") > 0 && figure(row, "ops") <= (i < 2 ? alone : most));
        double fairness = figure(row, "fairness");
        assert_true(fairness >= 0 && fairness <= 1);
        assert_int_equal(cJSON_HasObjectItem(row, "write_acquire_us"), i == 2);
        assert_int_equal(cJSON_HasObjectItem(row, "permits"), i == 3);
        i++;
    }
    const cJSON *rw = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 2);
    const cJSON *writing = cJSON_GetObjectItem(rw, "write_acquire_us");
    const char *at = strstr(shown, "  its ");
    assert_non_null(at);
    at = shows(at + strlen("  its "), figure(writing, "samples"), 0);
    assert_memory_equal(at, " writers ", 9);
    shows_quantiles(at + strlen(" writers "), rw, "write_acquire_us");
    cJSON_Delete(json);
}

/* A lone thread waits for nobody, and is as fast as the slowest. */
static void one_alone_follows_nobody(void **state)
{
    (void)state;
    cJSON *json = bench_some("--processes 1 --threads 1 --think-ms 0 --duration-ms 100 --readers 0 "
                             "--kinds string,fair,rw");
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows")) {
        table_has_row(row, NULL);
        assert_true(figure(row, "fairness") == 1);
        assert_true(figure(cJSON_GetObjectItem(row, "handoff_us"), "samples") == 0);
        assert_false(cJSON_HasObjectItem(row, "killed"));
    }
    const cJSON *rw = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 2);
    assert_true(figure(cJSON_GetObjectItem(rw, "write_acquire_us"), "samples") ==
                figure(rw, "ops")); /* nobody only reads */
    cJSON_Delete(json);
}

static void all_servers_of_a_quorum_are_measured_and_cleaned(void **state)
{
    (void)state;
    fx_redis *others[2] = {fx_redis_start_single(NULL), fx_redis_start_single(NULL)};
    char words[1024];
    fx_only_single("a quorum is of single servers");
    snprintf(words, sizeof(words),
             "--kinds redlock --quorum %s,%s,%s --processes 2 --threads 1 --think-ms 0 "
             "--duration-ms 150",
             fx_redis_url(redis), fx_redis_url(others[0]), fx_redis_url(others[1]));
    cJSON *json = bench_some(words);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 0);
    assert_string_equal(cJSON_GetObjectItem(row, "kind")->valuestring, "quorum");
    assert_true(figure(row, "ops") > 0 && figure(row, "canary_lost") == 0);
    assert_true(figure(row, "errors") == 0);
    assert_true(figure(row, "round_trips_per_op") > 3); /* one alone has two */
    cJSON_Delete(json);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fx_redis_number(others[i], "DBSIZE"), 0);
        fx_redis_stop(others[i]);
    }
}

/* ---- what is not known ----------------------------------------------------------------------- */

/* A pause ends with the measurement, however long it is. */
static void who_never_comes_to_it_has_no_figures(void **state)
{
    (void)state;
    static const char *const pauses[] = {"--think-ms 3600000", "--hold-us 3600000000"};
    static const char *const unknown[] = {"fairness", "redis_cmds_per_op", "round_trips_per_op",
                                          "cpu_us_per_op"};
    for (int i = 0; i < 2; i++) {
        char words[256];
        snprintf(words, sizeof(words),
                 "--processes 1 --threads 2 --kinds string --duration-ms 100 %s", pauses[i]);
        cJSON *json = bench(words);
        const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 0);
        assert_true(figure(row, "ops") == 0 && figure(row, "ops_per_s") == 0);
        assert_true(figure(row, "canary_lost") == 0 && figure(row, "errors") == 0);
        for (int k = 0; k < 4; k++)
            assert_true(isnan(figure(row, unknown[k])));
        table_has_row(row, NULL);
        cJSON_Delete(json);
    }
}

/* Whose INFO is not for this user. */
static void what_redis_does_not_tell_is_no_number(void **state)
{
    (void)state;
    char url[512], words[1024];
    fx_only_single("a user of one server");
    fx_redis_do(redis, "ACL SETUSER blind on >secret allkeys allchannels +@all -info");
    snprintf(words, sizeof(words),
             "--redis %s --processes 1 --threads 1 --think-ms 0 --duration-ms 100 --kinds string",
             fx_redis_url_as(redis, "blind:secret", url, sizeof(url)));
    cJSON *json = bench_some(words);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 0);
    assert_true(isnan(figure(row, "redis_cmds_per_op")));
    assert_true(isnan(figure(row, "round_trips_per_op")));
    assert_true(figure(row, "ops") > 0 && figure(row, "cpu_us_per_op") > 0);
    table_has_row(row, NULL);
    assert_non_null(strstr(shown, ", Redis unknown\n"));
    assert_string_equal(
        cJSON_GetObjectItem(cJSON_GetObjectItem(json, "environment"), "redis")->valuestring,
        "unknown");
    cJSON_Delete(json);
    fx_redis_do(redis, "ACL DELUSER blind");
}

/* ---- the other modes ------------------------------------------------------------------------- */

static void table_has_waiters(const cJSON *row, const char *form)
{
    char start[64];
    snprintf(start, sizeof(start), "\n%-14s %6.0f ", form, figure(row, "locks"));
    const char *at = strstr(shown, start);
    if (!at)
        fail_msg("no line of%s in %s", start, shown);
    at = shows(at + strlen(start), figure(row, "waiting"), 0);
    at = shows(at, figure(row, "threads"), 0);
    at = shows(at, figure(row, "connections"), 0);
    at = shows(at, figure(row, "resident_bytes") / 1e6, 1);
    at = shows(at, figure(row, "bytes_each") / 1e3, 2);
    at = shows(at, figure(row, "grants_per_s"), 0);
    at = shows(at, figure(row, "cpu_us_per_grant"), 0);
    at = shows(at, figure(row, "errors"), 0);
    assert_int_equal(*at, '\n');
    double per_s = figure(row, "grants") / figure(row, "seconds"); /* which is rounded */
    assert_true(fabs(figure(row, "grants_per_s") / per_s - 1) < 0.2);
    assert_true(figure(row, "bytes_each") * figure(row, "waiting") <=
                figure(row, "resident_bytes"));
    assert_true(figure(row, "cpu_us_per_grant") >= 0);
    assert_true(figure(row, "resident_bytes") < 1e9);
}

/* A lock of 100 at most is one lock: nothing more is measured. The threads are no more than their
 * work. */
static void waiters_of_one_lock_are_measured_once(void **state)
{
    (void)state;
    static const char *const forms[] = {"pending", "64 threads", "199 threads"};
    cJSON *json = bench("--pending 199"), *row;
    int i = 0;
    assert_non_null(strstr(shown, "199 acquisitions of kind fair by one process"));
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "pending")) {
        assert_in_range(i, 0, 2);
        assert_true(figure(row, "locks") == 1);
        assert_true(figure(row, "waiting") == (i == 1 ? 64 : 199));
        assert_true(figure(row, "grants") == 199);
        table_has_waiters(row, forms[i++]);
    }
    assert_int_equal(i, 3);
    cJSON_Delete(json);
    nothing_is_left("*bench:{*");
}

static void renewals_are_shown_as_they_are_written(void **state)
{
    (void)state;
    cJSON *json = bench("--renew 3 --lease-ms 6000 --kinds hash --duration-ms 100");
    const cJSON *renew = cJSON_GetObjectItem(json, "renew");
    double seconds = 0;
    char lines[512], rest[512] = "";
    assert_int_equal(sscanf(shown, "3 locks of kind hash held for %lf%511[^@]", &seconds, rest), 2);
    assert_true(fabs(seconds - figure(renew, "seconds")) < 0.056); /* each was rounded once */
    snprintf(
        lines, sizeof(lines),
        " s, lease 6000 ms: %.0f renewals, %.0f failed, %.0f locks lost\nshortest time to live "
        "%.0f ms: renewed %.0f ms late at most; %.2f %% of one core\n",
        figure(renew, "renewals"), figure(renew, "renewals_failed"), figure(renew, "lost"),
        figure(renew, "lowest_ttl_ms"), figure(renew, "late_ms"), figure(renew, "cpu_percent"));
    assert_string_equal(rest, lines);
    assert_string_equal(cJSON_GetObjectItem(renew, "kind")->valuestring, "hash");
    assert_true(figure(renew, "seconds") >= 0.1 && figure(renew, "lost") == 0);
    cJSON_Delete(json);
    nothing_is_left("bench:{*"); /* fences last a day */
}

/* ---- ends ------------------------------------------------------------------------------------ */

static const char *const modes[] = {
    "--processes 1 --threads 1 --think-ms 0 --kinds string --duration-ms 100",
    "--renew 1 --duration-ms 100", "--pending 1"};

static void ends_with(int code, const char *words, const char *why)
{
    int found = run(words);
    if (found != code || !strstr(said, why))
        fail_msg("bench %s: exit %d, %s", words, found, said);
}

static void a_file_that_takes_nothing_is_an_error(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        char words[512];
        snprintf(words, sizeof(words), "%s --json %s/none/bench.json", modes[i], dir);
        ends_with(USAGE, words, "bench.json: No such file or directory");
        snprintf(words, sizeof(words), "%s --json /dev/full", modes[i]);
        ends_with(SYSTEM, words, "/dev/full could not be written");
        assert_int_equal(run(modes[i]), 0); /* nor is a file needed */
        assert_string_equal(said, "");
    }
}

static void what_can_not_be_measured_is_an_error(void **state)
{
    (void)state;
    char words[512];
    ends_with(SYSTEM,
              "--processes 2 --threads 1 --kinds string --duration-ms 100 --think-ms 3600000 "
              "--kill holder",
              "no process could be killed: nobody held the lock");
    snprintf(words, sizeof(words),
             "--processes 2 --threads 1 --duration-ms 100 --kinds redlock --quorum %s,what://is",
             fx_redis_url(redis));
    ends_with(SYSTEM, words, "bad Redis address");
    ends_with(USAGE, "--redis what://is --renew 1", "bad Redis address");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_the_figures_of_the_file),
        cmocka_unit_test(one_alone_follows_nobody),
        cmocka_unit_test(all_servers_of_a_quorum_are_measured_and_cleaned),
        cmocka_unit_test(who_never_comes_to_it_has_no_figures),
        cmocka_unit_test(what_redis_does_not_tell_is_no_number),
        cmocka_unit_test(waiters_of_one_lock_are_measured_once),
        cmocka_unit_test(renewals_are_shown_as_they_are_written),
        cmocka_unit_test(a_file_that_takes_nothing_is_an_error),
        cmocka_unit_test(what_can_not_be_measured_is_an_error),
    };
    return cmocka_run_group_tests_name("dlock bench, report", tests, setup_group, NULL);
}
