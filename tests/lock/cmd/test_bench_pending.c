/* dlock bench --pending: that it counts what it says, and leaves nothing behind. */
#include "tests/lock/cmd/bench_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_MS 60000 /* limit for one bench */
#define WAITERS  300
#define FEW      40 /* threads and connections that need not grow with the waiters */

static fx_redis *redis;

static int setup_group(void **state)
{
    (void)state;
    redis = fx_redis_start(NULL);
    return setenv("DLOCK_REDIS", fx_redis_url(redis), 1);
}

static cJSON *bench_pending(const char *waiters)
{
    char path[256], dir[256], result[300];
    fx_build_path("dlock", path, sizeof(path));
    fx_dir_make(dir, sizeof(dir));
    snprintf(result, sizeof(result), "%s/bench.json", dir);
    fx_process *process = fx_spawn(
        (const char *const[]){path, "bench", "--pending", waiters, "--json", result, NULL}, true);
    int code = fx_process_wait(process, BENCH_MS);
    if (code != 0)
        fail_msg("exit %d: %s", code, fx_process_stderr(process));
    assert_non_null(strstr(fx_process_stdout(process), "\npending "));
    fx_process_free(process);
    cJSON *json = bench_file_read(result);
    assert_non_null(json);
    fx_dir_remove(dir);
    return json;
}

static void waiters_without_threads_cost_no_threads(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        int locks, waiting;
    } expected[] = {
        {"pending", 1, WAITERS}, {"threads", 1, 64}, {"threads", 1, WAITERS},
        {"pending", 3, WAITERS}, {"threads", 3, 64}, {"threads", 3, WAITERS},
    };
    cJSON *json = bench_pending("300");
    const cJSON *rows = cJSON_GetObjectItem(json, "pending"), *row;
    int i = 0;
    assert_int_equal(cJSON_GetArraySize(rows), COUNT(expected));
    cJSON_ArrayForEach(row, rows) {
        bool threads = strcmp(expected[i].form, "threads") == 0;
        assert_string_equal(cJSON_GetObjectItem(row, "form")->valuestring, expected[i].form);
        assert_int_equal((int64_t)bench_number(row, "locks"), expected[i].locks);
        assert_int_equal((int64_t)bench_number(row, "waiting"), expected[i].waiting);
        assert_int_equal((int64_t)bench_number(row, "grants"), WAITERS);
        assert_int_equal((int64_t)bench_number(row, "errors"), 0);
        assert_true((int64_t)bench_number(row, "resident_bytes") > 0 &&
                    (int64_t)bench_number(row, "connections") > 0);
        if (threads)
            assert_true((int64_t)bench_number(row, "threads") >= expected[i].waiting);
        else
            assert_true((int64_t)bench_number(row, "threads") < FEW &&
                        (int64_t)bench_number(row, "connections") < FEW);
        i++;
    }
    cJSON_Delete(json);
    redisReply *reply = fx_redis_reply(redis, "KEYS *bench:{*");
    for (size_t k = 0; k < reply->elements; k++)
        if (!strstr(reply->element[k]->str, ":wake:")) /* too late, these end by themselves */
            fail_msg("%s is left", reply->element[k]->str);
    freeReplyObject(reply);
}

static void other_modes_do_not_go_with_it(void **state)
{
    (void)state;
    static const char *const words[] = {"--renew=3", "--kinds=fair"};
    char path[256];
    fx_build_path("dlock", path, sizeof(path));
    for (int i = 0; i < 2; i++) {
        fx_process *process =
            fx_spawn((const char *const[]){path, "bench", "--pending", "3", words[i], NULL}, true);
        assert_int_equal(fx_process_wait(process, BENCH_MS), 64);
        assert_non_null(strstr(fx_process_stderr(process), "--pending measures kind fair"));
        fx_process_free(process);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiters_without_threads_cost_no_threads),
        cmocka_unit_test(other_modes_do_not_go_with_it),
    };
    return cmocka_run_group_tests_name("dlock bench --pending", tests, setup_group, NULL);
}
