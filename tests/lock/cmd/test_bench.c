/* dlock bench: what it measures, that it leaves nothing behind, and that it can say no. */
#include "tests/lock/cmd/bench_file.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/support/patience.h"

/* The command's parts are no library: their tests take them in whole. */
#include "lock/cmd/bench/latency.c" // NOLINT(bugprone-suspicious-include)
#include "lock/cmd/json.c"          // NOLINT(bugprone-suspicious-include)
#include "lock/cmd/plain.c"         // NOLINT(bugprone-suspicious-include)

#define BENCH_MS 30000 /* limit for one bench */
#define TRIES    6     /* where a bench on a busy machine may show nothing */

static fx_redis *redis;
static char dir[256], result[300];
static char shown[8192]; /* what the last bench printed */

/* Runs "dlock bench WORDS --json FILE"; the file's content goes to *ret, to be deleted. */
static int bench(const char *words, cJSON **ret)
{
    char line[1024], path[256];
    remove(result);
    snprintf(line, sizeof(line), "exec %s bench %s --json %s", fx_build_path("dlock", path, 256),
             words, result);
    fx_process *process = fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
    int code = fx_process_wait(process, BENCH_MS);
    snprintf(shown, sizeof(shown), "%s", fx_process_stdout(process));
    *ret = bench_file_read(result);
    if (!*ret)
        fail_msg("bench %s: exit %d, no result; %s", words, code, fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

static void is_text(const cJSON *object, const char *name, const char *expected)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    if (!text || (expected && strcmp(text, expected) != 0))
        fail_msg("\"%s\" is %s", name, text ? text : "no text");
}

static bool is_about(double found, double expected)
{
    return fabs(found - expected) <= 0.001 * fabs(expected) + 0.1;
}

static int setup_group(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    fx_dir_make(dir, sizeof(dir));
    snprintf(result, sizeof(result), "%s/bench.json", dir);
    return setenv("DLOCK_REDIS", fx_redis_url(redis), 1);
}

/* ---- its parts ------------------------------------------------------------------------------- */

static void quantiles_are_exact_to_3_percent(void **state)
{
    (void)state;
    static latency_histogram latency;
    for (int64_t us = 1; us <= 100000; us++)
        latency_record(&latency, us * 1000);
    static const double quantiles[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999};
    for (size_t i = 0; i < COUNT(quantiles); i++) {
        double us = latency_us(&latency, quantiles[i]), expected = quantiles[i] * 100000;
        assert_true(us >= expected && us <= expected * 1.032 + 1);
    }
    assert_true(latency_us(&latency, 0.99999) != latency_us(&latency, 0.99999)); /* too few: NAN */
}

static void small_and_huge_durations_have_buckets(void **state)
{
    (void)state;
    for (int64_t ns = 0; ns < 5000; ns++) {
        assert_true(bucket_end(bucket_of((uint64_t)ns)) >= ns);
        assert_true(ns == 0 || bucket_end(bucket_of((uint64_t)ns) - 1) < ns);
    }
    static latency_histogram latency;
    for (int i = 0; i < 20; i++)
        latency_record(&latency, INT64_MAX);
    assert_int_equal(latency.bucket[LATENCY_BUCKETS - 1], 20);
}

static void json_is_escaped_and_strict(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len = 0;
    json_writer json = {.file = open_memstream(&text, &len)};
    json_open(&json, NULL, '{');
    json_text(&json, "a\"b", "back\\slash, \"quotes\", tab\t, \x01");
    json_number(&json, "nothing", NAN, 1);
    json_bool(&json, "yes", true);
    json_bool(&json, "no", false);
    json_number(&json, "number", 1.25, 1);
    json_int(&json, "int", -7);
    json_open(&json, "empty", '[');
    json_close(&json, ']');
    json_close(&json, '}');
    fclose(json.file);
    cJSON *parsed = cJSON_ParseWithOpts(text, NULL, 1);
    assert_non_null(parsed);
    assert_string_equal(cJSON_GetObjectItem(parsed, "a\"b")->valuestring,
                        "back\\slash, \"quotes\", tab\t, \x01");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(parsed, "nothing")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(parsed, "empty")), 0);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(parsed, "yes")));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(parsed, "no")));
    assert_true(bench_number(parsed, "number") == 1.2 && bench_number(parsed, "int") == -7);
    assert_int_equal(json.depth, 0);
    assert_non_null(strstr(text, "{\n  \"a"));
    assert_non_null(strstr(text, ",\n  \"empty\": []\n}\n"));
    cJSON_Delete(parsed);
    free(text);
}

static void histograms_add_up(void **state)
{
    (void)state;
    static latency_histogram all, other, few;
    for (int i = 0; i < 600; i++) {
        latency_record(&all, 10);
        latency_record(&other, 1000);
    }
    latency_record(&other, -5); /* a clock that was set counts as nothing */
    latency_add(&all, &other);
    assert_int_equal(all.count, 1201);
    assert_int_equal(all.max_ns, 1000);
    assert_int_equal(all.bucket[0], 1);
    assert_true(latency_us(&all, 0.5) == 0.01 && latency_us(&all, 0.99) == 1);
    latency_add(&other, &all); /* the larger maximum stays */
    assert_int_equal(other.max_ns, 1000);
    latency_add(&few, &all);
    assert_int_equal(few.max_ns, 1000);
    few = (latency_histogram){0};
    for (int i = 0; i < 10; i++)
        latency_record(&few, 7000);
    assert_true(latency_us(&few, 0.5) == 7); /* five beyond it are enough, ... */
    assert_true(isnan(latency_us(&few, 0.51)));
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void is_true_of_here(const cJSON *environment)
{
    static const char *const names[] = {"host", "kernel", "machine", "time"};
    char info[8192], version[64], wanted[80];
    assert_true(fx_redis_text(redis, info, sizeof(info), "INFO server"));
    is_text(environment, "dlock", FLASHSALE_VERSION);
    is_text(environment, "redis", NULL);
    snprintf(version, sizeof(version), "%s",
             cJSON_GetObjectItem(environment, "redis")->valuestring);
    snprintf(wanted, sizeof(wanted), "_version:%s\r", version);
    assert_non_null(strstr(info, wanted));
    for (size_t i = 0; i < COUNT(names); i++)
        is_text(environment, names[i], NULL);
    assert_true(bench_number(environment, "cpus") >= 1);
}

/* The figures of a row belong together, and its line for people has the same. */
static void agrees_with_itself(const cJSON *row, double duration_ms)
{
    char line[160];
    const cJSON *acquire = cJSON_GetObjectItem(row, "acquire_us");
    const cJSON *handoff = cJSON_GetObjectItem(row, "handoff_us");
    double ops = bench_number(row, "ops");
    assert_true(bench_number(row, "duration_ms") == duration_ms);
    assert_true(bench_number(row, "hold_ms") == 0);
    assert_true(is_about(bench_number(row, "ops_per_s"), ops * 1000 / duration_ms));
    assert_true(bench_number(acquire, "samples") == ops);
    assert_true(bench_number(row, "cpu_us_per_op") > 0);
    assert_true(bench_number(row, "round_trips_per_op") > 0);
    if (cJSON_IsNull(cJSON_GetObjectItem(handoff, "p50"))) /* too few on a busy machine */
        return;
    assert_true(bench_number(acquire, "p50") > 0 && bench_number(handoff, "samples") >= 10);
    snprintf(line, sizeof(line), "\n%-9s ", cJSON_GetObjectItem(row, "kind")->valuestring);
    const char *at = strstr(shown, line);
    double shown_ops, shown_p50;
    if (!at || sscanf(at + strlen(line), "%lf %lf", &shown_ops, &shown_p50) != 2)
        fail_msg("no \"%s\" in %s", line, shown);
    /* each is rounded once more */
    assert_true(fabs(shown_ops - bench_number(row, "ops_per_s")) <= 1);
    assert_true(fabs(shown_p50 - bench_number(handoff, "p50")) <= 1);
}

/* Wake-ups that came too late end by themselves. */
static void nothing_is_left(void)
{
    redisReply *reply = fx_redis_reply(redis, "KEYS *bench:{*");
    for (size_t i = 0; i < reply->elements; i++)
        if (!strstr(reply->element[i]->str, ":wake:"))
            fail_msg("%s is left", reply->element[i]->str);
    freeReplyObject(reply);
}

static double cpu_us_of_children(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void measures_each_kind_and_cleans_up(void **state)
{
    (void)state;
    static const char *const kinds[] = {"poll50", "string", "hash", "fair", "cohort"};
    cJSON *json;
    double before_us = cpu_us_of_children(), cpu_us = 0;
    assert_int_equal(bench("--processes 2 --threads 3 --think-ms 0-1 --duration-ms 600 "
                           "--kinds poll50,string,pubsub,fair,cohort",
                           &json),
                     0);
    assert_int_equal(bench_number(json, "schema"), 1);
    is_true_of_here(cJSON_GetObjectItem(json, "environment"));
    assert_non_null(strstr(shown, "2 processes x 3 threads on one lock, think 0-1 ms, hold 0 ms"));
    const cJSON *rows = cJSON_GetObjectItem(json, "rows"), *row;
    assert_int_equal(cJSON_GetArraySize(rows), 5);
    int i = 0;
    cJSON_ArrayForEach(row, rows) {
        assert_string_equal(cJSON_GetObjectItem(row, "kind")->valuestring, kinds[i++]);
        assert_int_equal(bench_number(row, "processes"), 2);
        assert_int_equal(bench_number(row, "threads"), 3);
        assert_string_equal(cJSON_GetObjectItem(row, "think_ms")->valuestring, "0-1");
        assert_true(bench_number(row, "ops_per_s") > 0);
        agrees_with_itself(row, 600);
        cpu_us += bench_number(row, "cpu_us_per_op") * bench_number(row, "ops");
        assert_false(cJSON_HasObjectItem(row, "killed"));
        assert_true(bench_number(row, "redis_cmds_per_op") >= 2);
        assert_in_range((int)(bench_number(row, "fairness") * 100), 0, 100);
        assert_int_equal(bench_number(row, "canary_lost"), 0);
        assert_int_equal(bench_number(row, "errors"), 0);
        assert_true(cJSON_HasObjectItem(cJSON_GetObjectItem(row, "handoff_us"), "p999"));
        assert_true(cJSON_HasObjectItem(cJSON_GetObjectItem(row, "acquire_us"), "p99"));
    }
    assert_true(cpu_us <= 1.05 * (cpu_us_of_children() - before_us)); /* rounded */
    cJSON_Delete(json);
    nothing_is_left();
}

/* The two kinds that several hold at once, each with figures of its own. */
static void measures_kinds_that_several_hold(void **state)
{
    (void)state;
    cJSON *json;
    assert_int_equal(
        bench("--processes 2 --threads 4 --think-ms 0-1 --duration-ms 800 --readers 60 "
              "--permits 3 --take 2 --kinds rw,semaphore",
              &json),
        0);
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows")) {
        agrees_with_itself(row, 800);
        assert_true(bench_number(row, "ops") > 0);
        assert_int_equal(bench_number(row, "canary_lost"), 0);
        assert_int_equal(bench_number(row, "errors"), 0);
        assert_int_equal(bench_number(cJSON_GetObjectItem(row, "handoff_us"), "samples"), 0);
    }
    const cJSON *rows = cJSON_GetObjectItem(json, "rows");
    const cJSON *rw = cJSON_GetArrayItem(rows, 0), *semaphore = cJSON_GetArrayItem(rows, 1);
    is_text(rw, "kind", "rw");
    double writes = bench_number(cJSON_GetObjectItem(rw, "write_acquire_us"), "samples");
    assert_true(writes > 0 && writes < bench_number(rw, "ops"));
    assert_int_equal(bench_number(rw, "readers_percent"), 60);
    assert_int_equal(bench_number(rw, "torn_reads"), 0);
    assert_non_null(strstr(shown, " writers "));
    is_text(semaphore, "kind", "semaphore");
    assert_int_equal(bench_number(semaphore, "permits"), 3);
    assert_int_equal(bench_number(semaphore, "take"), 2);
    assert_int_equal(bench_number(semaphore, "above_permits"), 0);
    cJSON_Delete(json);
    nothing_is_left();
}

static void one_alone_pays_two_round_trips(void **state)
{
    (void)state;
    cJSON *json;
    assert_int_equal(bench("--processes 1 --threads 1 --think-ms 0 --duration-ms 500 "
                           "--kinds string,hash,fair,cohort,rw,semaphore",
                           &json),
                     0);
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows")) {
        double trips = bench_number(row, "round_trips_per_op");
        double beside = 50 / bench_number(row, "ops"); /* connecting and INFO are in it, too */
        if (trips < 1.9 || trips > 2.1 + beside)
            fail_msg("%s: %.2f round trips", cJSON_GetObjectItem(row, "kind")->valuestring, trips);
    }
    cJSON_Delete(json);
}

/* Takes the locks away from their holders, again and again. */
static atomic_bool enough;
static void *steal(void *arg)
{
    redisContext *ctx = arg;
    while (!enough) {
        redisReply *reply = redisCommand(ctx, "EVAL %s 0",
                                         "for _, k in ipairs(redis.call('KEYS', 'bench:{*}')) do "
                                         "redis.call('DEL', k) end");
        assert_non_null(reply);
        freeReplyObject(reply);
    }
    return NULL;
}

static void tells_when_a_lock_does_not_exclude(void **state)
{
    (void)state;
    fx_only_single("a thief has one connection");
    static const struct {
        const char *words, *figure;
    } cases[] = {
        {"--kinds string", "canary_lost"},
        {"--kinds rw --readers 50 --hold-us 2000", "torn_reads"},
        {"--kinds semaphore --permits 1", "above_permits"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        pthread_t thread;
        cJSON *json;
        char words[160];
        redisContext *ctx = redisConnect("127.0.0.1", fx_redis_port(redis));
        assert_int_equal(ctx->err, 0);
        enough = false;
        assert_int_equal(pthread_create(&thread, NULL, steal, ctx), 0);
        snprintf(words, sizeof(words),
                 "--processes 2 --threads 4 --think-ms 0 --duration-ms 1000 %s", cases[i].words);
        int code = bench(words, &json);
        for (int tries = 1; code == 0 && tries < TRIES; tries++) {
            cJSON_Delete(json);
            code = bench(words, &json);
        }
        enough = true;
        pthread_join(thread, NULL);
        redisFree(ctx);
        assert_int_equal(code, 1);
        const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 0);
        if (bench_number(row, cases[i].figure) <= 0)
            fail_msg("%s: nothing broken, %s", words, shown);
        cJSON_Delete(json);
    }
}

/* Added to what the library promises, for a machine that runs other tests too. Still far from what
 * a lost wake-up (the lease), or a claim window for each dead thread (2 s), would cost, so one of
 * some tries is as quick, however little of a processor the others had. */
#define SLACK_MS 500

/* Of the rows of a bench with a kill, whether all have this figure, and not above this. */
static bool kills_cost(const char *words, const char *killed, const char *figure, double most_ms)
{
    cJSON *json;
    const cJSON *row;
    bool all = true;
    assert_int_equal(bench(words, &json), 0);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows")) {
        const cJSON *found = cJSON_GetObjectItem(row, figure);
        all = all && cJSON_IsNumber(found) && found->valuedouble <= most_ms;
        is_text(row, "killed", killed);
        assert_int_equal(bench_number(row, "canary_lost"), 0);
        if (!all || strcmp(figure, "takeover_ms") != 0)
            continue;
        assert_true(bench_number(row, "takeover_ms") > 0);
        assert_true(bench_number(row, "longest_gap_ms") >= bench_number(row, "takeover_ms"));
        assert_true(bench_number(row, "stalled_ms") >= bench_number(row, "longest_gap_ms"));
        assert_non_null(strstr(shown, "killed: next grant after "));
    }
    cJSON_Delete(json);
    return all;
}

static void a_killed_holder_is_followed_after_its_lease(void **state)
{
    (void)state;
    bool soon = false;
    for (int i = 0; i < TRIES && !soon; i++)
        soon = kills_cost("--processes 3 --threads 2 --duration-ms 3200 --lease-ms 900 --hold-us "
                          "150000 --kinds string,fair --kill holder",
                          "holder", "takeover_ms", 900 + 100 + SLACK_MS);
    assert_true(soon);
}

/* Its lease would outlive the bench by far. */
static void a_killed_holders_lock_is_removed(void **state)
{
    (void)state;
    cJSON *json;
    assert_int_equal(bench("--processes 2 --threads 1 --duration-ms 800 --lease-ms 60000 "
                           "--hold-us 100000 --kinds string --kill holder",
                           &json),
                     0);
    const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "rows"), 0);
    is_text(row, "killed", "holder");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "takeover_ms")));
    cJSON_Delete(json);
    nothing_is_left();
}

static void a_killed_process_costs_one_claim_window_for_all_its_waiters(void **state)
{
    (void)state;
    bool soon = false;
    for (int i = 0; i < TRIES && !soon; i++)
        soon = kills_cost("--processes 3 --threads 8 --duration-ms 2000 --kinds fair,cohort "
                          "--kill queued",
                          "queued", "longest_gap_ms", 250 + 100 + SLACK_MS);
    assert_true(soon);
}

/* A renewal is due when two thirds of the lease are left. */
static void is_late_by_what_was_lowest(const cJSON *renew, int lease_ms)
{
    double late_ms = lease_ms * 2 / 3.0 - bench_number(renew, "lowest_ttl_ms");
    assert_true(bench_number(renew, "late_ms") == (late_ms > 0 ? late_ms : 0));
}

static void holds_many_locks_and_renews_them_in_time(void **state)
{
    (void)state;
    cJSON *json;
    char words[80];
    int lease_ms = 3 * fx_lease_ms(500), for_ms = lease_ms * 4 / 3;
    snprintf(words, sizeof(words), "--renew 500 --lease-ms %d --duration-ms %d", lease_ms, for_ms);
    assert_int_equal(bench(words, &json), 0);
    const cJSON *renew = cJSON_GetObjectItem(json, "renew");
    assert_true(bench_number(renew, "renewals") >= 500 * 2);
    assert_int_equal(bench_number(renew, "lost"), 0);
    assert_true(bench_number(renew, "lowest_ttl_ms") > lease_ms / 3.0);
    is_text(renew, "kind", "string");
    assert_true(bench_number(renew, "locks") == 500);
    assert_true(bench_number(renew, "lease_ms") == lease_ms);
    assert_int_equal(bench_number(renew, "renewals_failed"), 0);
    assert_true(bench_number(renew, "seconds") >= for_ms / 1000.0);
    assert_true(bench_number(renew, "cpu_percent") > 0);
    is_late_by_what_was_lowest(renew, lease_ms);
    is_true_of_here(cJSON_GetObjectItem(json, "environment"));
    assert_non_null(strstr(shown, "500 locks of kind string held for "));
    cJSON_Delete(json);
    redisReply *reply = fx_redis_reply(redis, "KEYS bench:{*:1"); /* the first ones */
    assert_int_equal(reply->elements, 0);
    freeReplyObject(reply);
}

/* Takes one of many locks away, once it is there. */
static const char *theft; /* what is done to k */
static void *steal_one(void *arg)
{
    redisContext *ctx = arg;
    char script[256];
    snprintf(script, sizeof(script),
             "local n = 0 for _, k in ipairs(redis.call('KEYS', 'bench:{*:19')) do "
             "%s n = n + 1 end return n",
             theft);
    long long stolen = 0;
    while (stolen == 0 && !enough) {
        redisReply *reply = redisCommand(ctx, "EVAL %s 0", script);
        assert_non_null(reply);
        stolen = reply->integer;
        freeReplyObject(reply);
    }
    return NULL;
}

/* Whether its key is gone, or another has it and lets it live. */
static void tells_when_a_lock_of_many_is_lost(void **state)
{
    (void)state;
    fx_only_single("a thief has one connection");
    static const char *const thefts[] = {"redis.call('DEL', k)",
                                         "redis.call('SET', k, 'thief', 'PX', 60000)"};
    char words[80];
    int lease_ms = 3 * fx_lease_ms(500);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        cJSON *json;
        redisContext *ctx = redisConnect("127.0.0.1", fx_redis_port(redis));
        assert_int_equal(ctx->err, 0);
        enough = false;
        theft = thefts[i];
        assert_int_equal(pthread_create(&thread, NULL, steal_one, ctx), 0);
        snprintf(words, sizeof(words), "--renew 20 --lease-ms %d --duration-ms %d", lease_ms,
                 lease_ms * 5 / 3);
        int code = bench(words, &json);
        enough = true;
        pthread_join(thread, NULL);
        assert_int_equal(code, 1);
        const cJSON *renew = cJSON_GetObjectItem(json, "renew");
        assert_int_equal(bench_number(renew, "lost"), 1);
        assert_true(i == 0 ? bench_number(renew, "lowest_ttl_ms") == -2
                           : bench_number(renew, "lowest_ttl_ms") >= 0);
        is_late_by_what_was_lowest(renew, lease_ms);
        cJSON_Delete(json);
        freeReplyObject(redisCommand(ctx, "FLUSHALL"));
        redisFree(ctx);
    }
}

/* ---- its words ------------------------------------------------------------------------------- */

/* What is understood asks Redis next, of which there is none. */
static void a_think_time_is_a_number_or_two_up_to_an_hour(void **state)
{
    (void)state;
    enum { USAGE = 64, NOT_REACHED = 69 };
    static const char *const good[] = {"0", "0-0", "0.5", "2-2", "1-3", "3600000", "0-3600000"};
    static const char *const bad[] = {"",   "x",    "-1",      "3-1",       "1-",  "1-x",
                                      "1x", "1-3x", "3600001", "1-3600001", "nan", "1 - 3"};
    enum { GOOD = COUNT(good), BAD = COUNT(bad) };
    char url[64], path[256];
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", fx_free_port());
    fx_build_path("dlock", path, sizeof(path));
    for (int i = 0; i < GOOD + BAD; i++) {
        const char *text = i < GOOD ? good[i] : bad[i - GOOD];
        fx_process *process = fx_spawn(
            (const char *const[]){path, "bench", "--redis", url, "--think-ms", text, NULL}, true);
        int code = fx_process_wait(process, BENCH_MS);
        if (code != (i < GOOD ? NOT_REACHED : USAGE))
            fail_msg("--think-ms \"%s\": exit %d, %s", text, code, fx_process_stderr(process));
        fx_process_free(process);
    }
}

static void options_that_contradict_each_other_are_refused(void **state)
{
    (void)state;
    static const char *const words[][2] = {{"--take", "5"},
                                           {"--kinds=rw", "--kill=holder"},
                                           {"--kinds=fair,semaphore", "--kill=queued"},
                                           {"--readers", "101"},
                                           {"--permits", "0"}};
    char path[256];
    fx_build_path("dlock", path, sizeof(path));
    for (size_t i = 0; i < COUNT(words); i++) {
        fx_process *process =
            fx_spawn((const char *const[]){path, "bench", words[i][0], words[i][1], NULL}, true);
        int code = fx_process_wait(process, BENCH_MS);
        if (code != 64 || !*fx_process_stderr(process))
            fail_msg("%s %s: exit %d", words[i][0], words[i][1], code);
        fx_process_free(process);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_exact_to_3_percent),
        cmocka_unit_test(small_and_huge_durations_have_buckets),
        cmocka_unit_test(histograms_add_up),
        cmocka_unit_test(json_is_escaped_and_strict),
        cmocka_unit_test(measures_each_kind_and_cleans_up),
        cmocka_unit_test(measures_kinds_that_several_hold),
        cmocka_unit_test(one_alone_pays_two_round_trips),
        cmocka_unit_test(tells_when_a_lock_does_not_exclude),
        cmocka_unit_test(a_killed_holder_is_followed_after_its_lease),
        cmocka_unit_test(a_killed_holders_lock_is_removed),
        cmocka_unit_test(a_killed_process_costs_one_claim_window_for_all_its_waiters),
        cmocka_unit_test(holds_many_locks_and_renews_them_in_time),
        cmocka_unit_test(tells_when_a_lock_of_many_is_lost),
        cmocka_unit_test(a_think_time_is_a_number_or_two_up_to_an_hour),
        cmocka_unit_test(options_that_contradict_each_other_are_refused),
    };
    return cmocka_run_group_tests_name("dlock bench", tests, setup_group, NULL);
}
