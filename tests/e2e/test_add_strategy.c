/*
 * test_add_strategy.c - a new strategy is one file and nothing else. Follows the example in
 * CONTRIBUTING.md on a copy of the tree: adds optimistic.c, sells with it under faults and with the
 * rights of docker/users.acl; then sells with it here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

#define NAME "optimistic"

enum { BUILD_MS = 240000, SELL_MS = 60000 };

static char dir[256];

/* From here on, the programs of this test are those of the copy. */
static int setup(void **state)
{
    char build[512];
    const char *ours = getenv("FLASHSALE_BUILD");
    fx_dir_make(dir, sizeof(dir));
    if (fx_shell("tests/e2e/add_strategy.sh \"$1\"", dir, BUILD_MS) != 0)
        return -1;
    snprintf(build, sizeof(build), "%s/%s", dir, ours ? ours : "build");
    setenv("FLASHSALE_BUILD", build, 1);
    fx.plan = (fx_plan){.instances = 3, .args = FX_ARGS(FX_P0001)};
    return fx_service_start(state);
}

static int teardown(void **state)
{
    fx_service_stop(state);
    fx_dir_remove(dir);
    return 0;
}

static void it_is_known_to_the_service(void **state)
{
    (void)state;
    const fx_strategy *s = fx_strategies();
    while (s->name[0] != '\0' && strcmp(s->name, NAME) != 0)
        s++;
    assert_string_equal(s->name, NAME);
    assert_true(s->guarded);
    const char *refusal = fx_refused(fx.server[0], 400, "bad_sale",
                                     "POST /sales {'item':'P0001','stock':1,'strategy':'hope'}");
    assert_non_null(strstr(refusal, NAME)); /* where those are named that there are */
    assert_non_null(strstr(fx_expect(fx.server[0], 200, "GET /openapi.json"), "\"" NAME "\""));
}

static void it_sells_exactly_the_stock(void **state)
{
    (void)state;
    int code;
    cJSON *result = fx_loadtest(FX_ARGS("run", "--strategy", NAME, "--stock", "300", "--requests",
                                        "1500", "--users", "100", "--wait-ms", "30000"),
                                SELL_MS, &code);
    const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(result, "runs"), 0);
    assert_string_equal(fx_json_text(run, "strategy"), NAME);
    assert_string_equal(fx_json_text(run, "verdict"), "SAFE");
    assert_int_equal(code, 0);
    cJSON_Delete(result);
    assert_int_equal(fx_stock("orders"), 300);
    assert_int_equal(fx_stock("remaining"), 0);
}

/* In the copy, where docker/users.acl grants nothing of WATCH. */
static void a_right_that_is_missing_is_named(void **state)
{
    (void)state;
    static const char script[] = "cd \"$1\" && sed -i 's/ +watch / /' docker/users.acl &&"
                                 " FX_CASE=every_strategy_has_the_rights_it_needs exec \"$2\"";
    char program[512];
    fx_build_path("tests/docker/test_acl", program, sizeof(program));
    fx_process *test = fx_spawn(FX_ARGS("sh", "-c", script, "sh", dir, program), true);
    assert_true(fx_process_wait(test, SELL_MS) > 0);
    const char *said = fx_process_stderr(test);
    if (!strstr(said, NAME " needs +watch: add it to docker/users.acl, line 2"))
        fail_msg("%s%s", fx_process_stdout(test), fx_process_stderr(test));
    fx_process_free(test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_known_to_the_service),
        cmocka_unit_test(it_sells_exactly_the_stock),
        cmocka_unit_test(a_right_that_is_missing_is_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
