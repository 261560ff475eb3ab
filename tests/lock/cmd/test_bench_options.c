/*
 * test_bench_options.c - the options of dlock bench: the limits of each, what does not go together,
 * and what holds where none is given. What is understood asks Redis next: where there is none, the
 * exit code tells which of both it was.
 */
#include "tests/lock/cmd/bench_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_MS 30000 /* limit for one bench */

enum { USAGE = 64, NOT_REACHED = 69 };

static char path[256], nowhere[64];
static char said[4096]; /* by the last one, on stderr */

static int setup_group(void **state)
{
    (void)state;
    fx_build_path("dlock", path, sizeof(path));
    snprintf(nowhere, sizeof(nowhere), "redis://127.0.0.1:%d", fx_free_port());
    return setenv("DLOCK_REDIS", nowhere, 1);
}

/* Runs dlock bench with words that blanks separate. */
static int bench(const char *words)
{
    char line[2048];
    snprintf(line, sizeof(line), "exec %s bench %s", path, words);
    fx_process *process = fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
    int code = fx_process_wait(process, BENCH_MS);
    snprintf(said, sizeof(said), "%s", fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

static void understood(const char *words)
{
    int code = bench(words);
    if (code != NOT_REACHED || !strstr(said, "Redis can not be reached: "))
        fail_msg("bench %s: exit %d, %s", words, code, said);
}

/* With a sentence that has this in it, and the way to the help. */
static void refused(const char *words, const char *why)
{
    int code = bench(words);
    if (code != USAGE || !strstr(said, why) || !strstr(said, "Try 'dlock bench --help'."))
        fail_msg("bench %s: exit %d, %s", words, code, said);
}

static void a_number_has_its_limits(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        long long min, max;
        const char *beside;
    } numbers[] = {
        {"processes", 1, 64, ""},          {"threads", 1, 256, ""},
        {"duration-ms", 100, 3600000, ""}, {"hold-us", 0, 3600000000, ""},
        {"lease-ms", 10, 86400000, ""},    {"cohort-max", 1, 1000000, ""},
        {"cohort-ms", 1, 3600000, ""},     {"renew", 1, 1000000, ""},
        {"pending", 1, 1000000, ""},       {"readers", 0, 100, ""},
        {"permits", 1, 1000000000, ""},    {"take", 1, 1000000000, "--permits 1000000000"},
    };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        char words[128], why[128];
        const char *name = numbers[i].name, *beside = numbers[i].beside;
        const long long good[] = {numbers[i].min, numbers[i].max};
        const long long bad[] = {numbers[i].min - 1, numbers[i].max + 1};
        for (int k = 0; k < 2; k++) {
            snprintf(words, sizeof(words), "--%s %lld %s", name, good[k], beside);
            understood(words);
            snprintf(words, sizeof(words), "--%s=%lld %s", name, bad[k], beside);
            snprintf(why, sizeof(why), "--%s takes a whole number from %lld to %lld, not \"%lld\"",
                     name, numbers[i].min, numbers[i].max, bad[k]);
            refused(words, why);
        }
    }
}

static void a_list_has_as_many_parts_as_fit(void **state)
{
    (void)state;
    understood("--kinds poll50,string,hash,pubsub,fair,cohort,rw,semaphore,fair,fair,fair,fair,"
               "fair,fair,fair,fair");
    refused("--kinds fair,fair,fair,fair,fair,fair,fair,fair,fair,fair,fair,fair,fair,fair,fair,"
            "fair,fair",
            "--kinds takes 1 to 16 kinds");
    understood("--kinds ,fair,,hash,");
    refused("--kinds ''", "--kinds takes 1 to 16 kinds");
    refused("--kinds ,", "--kinds takes 1 to 16 kinds");
    refused("--kinds fair,nosuch", "there is no kind \"nosuch\"");
    refused("--kinds nosuch,fair", "there is no kind \"nosuch\"");
    refused("--kinds fairly", "there is no kind \"fairly\"");
    understood("--kinds quorum --quorum a:1,a:2,a:3,a:4,a:5,a:6,a:7,a:8,a:9,a:10,a:11,a:12,a:13,"
               "a:14,a:15,127.0.0.1:1 --kinds fair");
    refused("--quorum a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "--quorum takes 1 to 16 addresses");
    refused("--quorum ''", "--quorum takes 1 to 16 addresses");
    refused("--kinds quorum", "the kind quorum needs --quorum URL,URL,...");
    refused("--kinds fair,redlock", "the kind quorum needs --quorum URL,URL,...");
}

static void words_go_together_or_are_refused(void **state)
{
    (void)state;
    understood("--kill holder --processes 2");
    understood("--kill queued --processes 2");
    refused("--kill holder --processes 1", "--kill needs two processes at least");
    refused("--kill queued --processes 1", "--kill needs two processes at least");
    refused("--kill nobody", "--kill takes holder or queued");
    refused("--kill ''", "--kill takes holder or queued");
    refused("--kill holder --kinds fair,rw", "not with rw");
    refused("--kill queued --kinds semaphore,fair", "not with semaphore");
    understood("--take 7 --permits 7");
    refused("--take 8 --permits 7", "--take is more than --permits");
    understood("--take 4"); /* of 4 */
    refused("--take 5", "--take is more than --permits");
    understood("--pending 3");
    refused("--pending 3 --renew 3", "--pending measures kind fair");
    refused("--pending 3 --kinds fair", "--pending measures kind fair");
    understood("--renew 3 --kinds hash");
    refused("more", "what to do with \"more\"?");
    refused("--kinds fair more", "what to do with \"more\"?");
    refused("--nosuch", "unrecognized option '--nosuch'");
    refused("--kinds", "requires an argument");
    refused("--redis ''", "--redis is empty");
    assert_int_equal(bench("--help"), 0);
    assert_string_equal(said, "");
}

/* --redis goes before the environment, which here leads nowhere. */
static cJSON *bench_of(fx_redis *redis, const char *words)
{
    char dir[256], line[1024];
    fx_dir_make(dir, sizeof(dir));
    snprintf(line, sizeof(line), "--redis %s --json %s/bench.json %s", fx_redis_url(redis), dir,
             words);
    int code = bench(line);
    snprintf(line, sizeof(line), "%s/bench.json", dir);
    cJSON *json = bench_file_read(line);
    if (code != 0 || !json)
        fail_msg("bench %s: exit %d, %s", words, code, said);
    fx_dir_remove(dir);
    return json;
}

/* As the help says it. */
static void what_is_not_given_has_its_default(void **state)
{
    (void)state;
    static const char *const kinds[] = {"poll50", "hash", "fair", "cohort"};
    fx_redis *redis = fx_redis_start(NULL);
    cJSON *json = bench_of(redis, "--duration-ms 100"), *row;
    int i = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows")) {
        assert_in_range(i, 0, 3);
        assert_string_equal(cJSON_GetObjectItem(row, "kind")->valuestring, kinds[i++]);
        assert_true(bench_number(row, "processes") == 3 && bench_number(row, "threads") == 16);
        assert_string_equal(cJSON_GetObjectItem(row, "think_ms")->valuestring, "1-3");
        assert_true(bench_number(row, "hold_ms") == 0 && bench_number(row, "duration_ms") == 100);
    }
    assert_int_equal(i, 4);
    cJSON_Delete(json);
    json = bench_of(redis, "--kinds rw,semaphore --duration-ms 100 --processes 1 --threads 1");
    const cJSON *rows = cJSON_GetObjectItem(json, "rows");
    assert_true(bench_number(cJSON_GetArrayItem(rows, 0), "readers_percent") == 90);
    assert_true(bench_number(cJSON_GetArrayItem(rows, 1), "permits") == 4);
    assert_true(bench_number(cJSON_GetArrayItem(rows, 1), "take") == 1);
    cJSON_Delete(json);
    json = bench_of(redis, "--renew 1 --duration-ms 100");
    const cJSON *renew = cJSON_GetObjectItem(json, "renew");
    assert_true(bench_number(renew, "lease_ms") == 10000);
    assert_string_equal(cJSON_GetObjectItem(renew, "kind")->valuestring, "string");
    cJSON_Delete(json);
    fx_redis_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_has_its_limits),
        cmocka_unit_test(a_list_has_as_many_parts_as_fit),
        cmocka_unit_test(words_go_together_or_are_refused),
        cmocka_unit_test(what_is_not_given_has_its_default),
    };
    return cmocka_run_group_tests_name("dlock bench, options", tests, setup_group, NULL);
}
